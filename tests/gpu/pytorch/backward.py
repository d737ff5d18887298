"""Ways to run backward work on a GPU, each against kernels of known sizes: forward is "sin", backward "cos" and "mul", of the same size.

usage: backward.py [--rehearse] [CHECK ...]
"""
import sys

from harness import BACKENDS, capture, check, expect, gat, graphtag, kernels, main, named, sine_with_a_scope_in_its_backward, torch
from torch.utils.checkpoint import checkpoint


def leaf(k):
    """A leaf of size k that shares memory with kernels().x[k], with a gradient to add to."""
    x = kernels().x[k].detach().requires_grad_()
    x.grad = torch.zeros_like(x)
    return x


def ones(k):
    return kernels().x[k]


def in_backward(name, **keys):
    return {"name": name, **keys, "autograd_phase": "backward"}


def sine(k, forward, backward=None):
    """What the kernels of size k are expected to be called."""
    return {("sin", k): forward, ("cos", k): backward, ("mul", k): backward}


@check(backends=BACKENDS)
def a_region_names_its_backward(backend):
    x, y = leaf(1), leaf(2)

    def body():
        with gat.mark_kernels("a"):
            a = x.sin()
        b = y.sin()
        torch.autograd.backward([a, b], [ones(1), ones(2)])

    # The gradients' way into .grad ("add") is nobody's.
    expect(capture(body, backend=backend), {**sine(1, {"name": "a"}, in_backward("a")), **sine(2, None), ("add", 1): None, ("add", 2): None})


@check
def by_autograd_grad_and_for_a_leaf_used_twice():
    x, y = leaf(1), leaf(2)

    def body():
        with gat.mark_kernels("a"):
            a = x.sin()
        torch.autograd.grad(a, x, ones(1))
        with gat.mark_kernels("b"):
            b = y.sin()
        with gat.mark_kernels("c"):
            c = y.exp()
        torch.autograd.backward([b, c], [ones(2), ones(2)])

    graph = capture(body)
    found = named(graph)
    assert [got for operator, k, got in found if k == 1] == [{"name": "a"}, in_backward("a"), in_backward("a")], found
    phases = [(operator, (got or {}).get("name"), (got or {}).get("autograd_phase")) for operator, k, got in found if k == 2]
    assert phases.count(("cos", "b", "backward")) == 1 and ("mul", "b", "backward") in phases and ("mul", "c", "backward") in phases, phases
    assert all(name is None for operator, name, _ in phases if operator == "add"), phases


@check(backends=BACKENDS)
def in_a_later_capture_and_in_a_graph_of_its_own(backend):
    x = leaf(1)
    made = {}

    def forward():
        with gat.mark_kernels("a"):
            made["y"] = x.sin()

    def backward():
        made["y"].backward(ones(1), retain_graph=True)

    first = capture(forward, backend=backend)
    second = capture(backward, backend=backend, pool=first.pool())
    third = capture(backward, backend=backend, pool=first.pool())
    expect(first, {("sin", 1): {"name": "a"}})
    for graph in (second, third):
        expect(graph, {("cos", 1): in_backward("a"), ("mul", 1): in_backward("a"), ("add", 1): None})


@check
def precedence_of_scopes():
    """A scope inside a custom backward wins over the frozen region, which wins over a scope around the call."""
    Custom = sine_with_a_scope_in_its_backward(gat.mark_kernels)
    x, y = leaf(1), leaf(2)

    def body():
        with gat.mark_kernels({"name": "region", "layer": 4}):
            a = Custom.apply(x)
        b = y.sin()
        with gat.mark_kernels({"name": "around", "step": 9}):
            torch.autograd.backward([a, b], [ones(1), ones(2)])

    keys = in_backward("region", layer=4, step=9)
    around = {"name": "around", "step": 9}
    expect(capture(body), {("sin", 1): {"name": "region", "layer": 4}, ("cos", 1): keys, ("mul", 1): {**keys, "name": "within", "own": 1},
                           ("sin", 2): None, ("cos", 2): around, ("mul", 2): around, ("add", 1): around, ("add", 2): around})  # fmt: skip


@check
def backward_false_names_forward_alone_but_hands_its_keys_on():
    x, y = leaf(1), leaf(2)

    def body():
        with gat.mark_kernels({"name": "outer", "step": 1}, backward=False):
            a = x.sin()
            with gat.mark_kernels("inner"):
                b = y.sin()
        torch.autograd.backward([a, b], [ones(1), ones(2)])

    expect(capture(body), {**sine(1, {"name": "outer", "step": 1}), **sine(2, {"name": "inner", "step": 1}, in_backward("inner", step=1)),
                           ("add", 1): None, ("add", 2): None})  # fmt: skip


@check
def second_order_after_a_first_order_that_was_not_captured():
    x = leaf(1)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), graphtag.window():
        with gat.mark_kernels("a"):
            y = x.sin()
        (first,) = torch.autograd.grad(y, x, ones(1), create_graph=True)
    torch.cuda.current_stream().wait_stream(side)
    graph = capture(lambda: torch.autograd.grad(first, x, ones(1), retain_graph=True))
    found = [got for operator, k, got in named(graph) if k == 1]
    assert found and all(got == in_backward("a") for got in found), found


@check
def checkpoints_of_both_kinds():
    for reentrant in (True, False):
        x = leaf(1)

        def forward(value):
            with gat.mark_kernels("a"):
                return value.sin().sin()

        def body():
            checkpoint(forward, x, use_reentrant=reentrant, preserve_rng_state=False).backward(ones(1))

        found = [(operator, got) for operator, k, got in named(capture(body)) if k == 1 and operator != "add"]
        # Computed again: both sines, or as far as the first, whose result is asked for.
        again = 2 if reentrant else 1
        assert [operator for operator, _ in found] == ["sin"] * (2 + again) + ["cos", "mul"] * 2, found
        assert all((got or {}).get("name") == "a" for _, got in found), found
        assert all(got == in_backward("a") for operator, got in found if operator != "sin"), found


@check
def a_reentrant_backward():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            context.save_for_backward(value)
            return value.clone()

        @staticmethod
        def backward(context, gradient):
            (value,) = context.saved_tensors
            with torch.enable_grad(), gat.mark_kernels("second"):
                inner = value.detach().requires_grad_()
                y = inner.sin()
            return torch.autograd.grad(y, inner, gradient)[0]

    x = leaf(1)

    def body():
        with gat.mark_kernels("first"):
            y = Inner.apply(x)
        y.backward(ones(1))

    expect(capture(body), {**sine(1, in_backward("second"), in_backward("second")), ("add", 1): None})


@check
def outside_a_capture_nothing_happens():
    x = leaf(1)
    before = dict(gat.get_kernel_annotations())
    with gat.mark_kernels("eager"):
        y = x.sin()
    y.backward(ones(1))
    assert dict(gat.get_kernel_annotations()) == before


if __name__ == "__main__":
    sys.exit(main("ways to run backward work", kernels))
