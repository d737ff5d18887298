"""Backward work of second order, and what checkpoints compute again (see test_backward.py)."""
import contextlib
import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs PyTorch", allow_module_level=True)

from backward_fixtures import clean, leaf, library  # noqa: F401 - fixtures
from torch_scopes import Operators, Scope, Window, backward, current, current_path, in_backward, torch
from torch.utils.checkpoint import checkpoint


def test_second_order():
    with Window(), Operators() as ops:
        x, bias = leaf(4, 5), leaf(5)
        with Scope("a"):
            y = (x + bias).sigmoid()
        (first,) = torch.autograd.grad(y.sum(), bias, create_graph=True)
        loss = first.pow(2).sum()
        ops.rows.clear()
        loss.backward()
    # d/dx of the sum over rows that the engine made for the bias: its node is of the region too.
    assert ops.of("expand", (4, 5)) == [in_backward("a")]
    assert in_backward("a") in ops.of("sigmoid_backward", (4, 5)) and None not in ops.of("sigmoid_backward", (4, 5))
    assert ops.of("pow") == [None] * len(ops.of("pow"))


def test_second_order_after_a_first_order_that_was_not_captured():
    with Window():
        x = leaf(4, 5)
        with Scope("a"):
            y = x.sigmoid()
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with Window(), Operators() as ops:
        first.sum().backward()
    assert ops.of("sigmoid_backward") == [in_backward("a")]
    assert None not in ops.of("mul", (4, 5))


def test_nodes_made_in_a_backward_belong_to_the_scope_around_it():
    """A gradient penalty: the forward has no scope, the scope around the first backward owns the nodes that it makes."""
    with Window(), Operators() as ops:
        x = leaf(4, 5)
        y = x.sigmoid().sum()
        with Scope("penalty"):
            (first,) = torch.autograd.grad(y, x, create_graph=True)
        loss = first.sum()
        ops.rows.clear()
        loss.backward()
    # The second derivative's node was made within the scope, the first one's was not.
    assert ops.of("mul", (4, 5)) and set(map(str, ops.of("mul", (4, 5)))) == {str(in_backward("penalty"))}
    assert ops.of("sigmoid_backward") == [None]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(reentrant):
    def block(x):
        with Scope("up"):
            x = x.repeat(1, 2).sigmoid()  # (4, 10)
        with Scope("down"):
            return x[:, :5].tanh()  # (4, 5)

    with Window(), Operators() as ops:
        x = leaf(4, 5)
        with Scope({"name": "block", "layer": 1}):
            y = checkpoint(block, x, use_reentrant=reentrant)
        loss = y.sum()
        ops.rows.clear()
        loss.backward()
        assert current() is None
    both = {"layer": 1, "autograd_phase": "backward"}
    # recomputed, then backward
    assert ops.of("sigmoid") == [{"name": "up", **both}]
    assert ops.of("sigmoid_backward") == [{"name": "up", **both}]
    assert ops.of("tanh_backward") == [{"name": "down", **both}]
    # Without reentrance the recomputation stops once what was asked for is there.
    assert ops.of("tanh") == [{"name": "down", **both}]


class NotePath(torch.autograd.Function):
    """The identity; notes the scopes open in its forward and its backward."""

    @staticmethod
    def forward(context, value, key, paths):
        context.key, context.paths = key, paths
        paths.append(("forward " + key, current_path()))
        return value.view_as(value)

    @staticmethod
    def backward(context, gradient):
        context.paths.append(("backward " + context.key, current_path()))
        return gradient, None, None


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("called_in_scope", [True, False])
def test_a_recomputation_is_not_within_the_node_that_asked_for_it(reentrant, called_in_scope):
    paths = []

    def block(x):
        with Scope("block"):
            with Scope("up"):
                x = NotePath.apply(x.sigmoid(), "up", paths)
            with Scope("down"):
                return NotePath.apply(x.tanh(), "down", paths).cos()

    with Window():
        x = leaf(4, 5)
        outer = ["model"] if called_in_scope else []
        with Scope("model") if called_in_scope else contextlib.nullcontext():
            y = checkpoint(block, x, use_reentrant=reentrant)
        paths.clear()
        y.sum().backward()
        assert current() is None
    up, down = [*outer, "block", "up"], [*outer, "block", "down"]
    assert paths == [("forward up", up), ("forward down", down), ("backward down", down), ("backward up", up)]


def test_a_recomputation_within_a_scope_of_a_custom_backward():
    """That scope stays the innermost when the recomputation is over."""
    after = []

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            context.save_for_backward(value.sigmoid())
            return value * 2

        @staticmethod
        def backward(context, gradient):
            with Scope("custom"):
                context.saved_tensors
                after.append(current())
            after.append(current())
            return gradient

    def block(x):
        with Scope("block"):
            return Custom.apply(x)

    with Window():
        checkpoint(block, leaf(3), use_reentrant=False).sum().backward()
    assert after == [in_backward("custom"), in_backward("block")]


def test_disable_puts_torchs_checkpoint_back():
    names = [name for name in vars(torch.utils.checkpoint) if name.startswith("_checkpoint_without_reentrant_generator")]
    module = torch.utils.checkpoint.__name__
    assert any(getattr(torch.utils.checkpoint, name).__module__ != module for name in names)
    backward.disable()
    assert all(getattr(torch.utils.checkpoint, name).__module__ == module for name in names)
    assert backward.enable() == "callback"
