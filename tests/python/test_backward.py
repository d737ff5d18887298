"""Backward work is called what its forward scope was called: on the CPU, with a fake CUDA that only makes scopes count. Which operator runs in which
region is told from shapes: each region works on sizes of its own."""
import importlib.util
import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs PyTorch", allow_module_level=True)

import torch_scopes
from backward_fixtures import clean, leaf, library, probe  # noqa: F401 - clean and library are fixtures
from torch_scopes import Operators, Probe, Scope, Window, backward, current, in_backward, torch


def test_a_region_names_its_backward():
    with Window(), Operators() as ops:
        x, y = leaf(4, 5), leaf(4, 7)
        with Scope({"name": "a", "layer": 3}):
            a = x.sigmoid()
        b = y.sigmoid()
        with Scope("c"):
            c = a.tanh()
        (c.sum() + b.sum()).backward()
    assert ops.of("sigmoid_backward", (4, 5)) == [in_backward({"name": "a", "layer": 3})]
    assert ops.of("sigmoid_backward", (4, 7)) == [None]
    assert ops.of("tanh_backward") == [in_backward("c")]
    assert ops.of("expand") == [None, None]


def test_what_the_engine_does_to_a_nodes_gradients_is_its_own():
    """The sum for a broadcast bias is made by the engine, after the node's own function has returned."""
    with Window(), Operators() as ops:
        x, weight, bias = leaf(4, 5), leaf(5, 6), leaf(6)
        with Scope("linear"):
            y = torch.addmm(bias, x, weight)
        y.sigmoid().sum().backward()
    assert ops.of("sum", (1, 6)) == [in_backward("linear")]
    assert ops.of("mm") == [in_backward("linear")] * 2
    assert ops.of("sigmoid_backward") == [None]


def test_adding_up_gradients_is_no_nodes_work():
    """A shared non-leaf, and a leaf used twice: the engine adds what two nodes returned."""
    with Window(), Operators() as ops:
        x = leaf(4, 5)
        shared = x.sigmoid()
        with Scope("twice"):
            y = shared.tanh() + shared.exp().sum(0)
            z = x.cos() * x.sin()
        loss = y.sum() + z.sum()
        ops.rows.clear()
        loss.backward()
    assert ops.of("add", (4, 5)) and set(map(str, ops.of("add", (4, 5)))) == {"None"}
    assert ops.of("add_") == [None] * len(ops.of("add_"))
    assert ops.of("tanh_backward") == [in_backward("twice")]
    assert ops.of("sigmoid_backward") == [None]
    # exp's gradient was broadcast along the rows; both factors of the product
    assert ops.of("mul", (4, 5)) == [in_backward("twice")] * len(ops.of("mul", (4, 5)))


def test_accumulate_grad_is_never_tagged():
    with Window(), Operators() as ops:
        x = leaf(4, 5)
        x.grad = torch.zeros(4, 5)
        with Scope("a"):
            y = x.sigmoid()
        loss = y.sum()
        ops.rows.clear()
        loss.backward()
    assert ops.of("sigmoid_backward") == [in_backward("a")]
    assert ops.of("add_", (4, 5)) == [None]


def test_inner_keys_win_and_outer_keys_come_through():
    seen = []
    with Window():
        x = leaf(3)
        with Scope({"name": "outer", "a": 1, "b": 1}):
            x = probe(x, "before", seen)
            with Scope({"name": "inner", "b": 2}):
                x = probe(x, "inside", seen)
            x = probe(x, "after", seen)
        x = probe(x, "outside", seen)
        x.sum().backward()
    assert dict(seen) == {
        "before": in_backward({"name": "outer", "a": 1, "b": 1}),
        "inside": in_backward({"name": "inner", "a": 1, "b": 2}),
        "after": in_backward({"name": "outer", "a": 1, "b": 1}),
        "outside": None,
    }


def test_backward_false_tags_forward_only_but_hands_its_keys_on():
    seen = []
    with Window():
        x = leaf(3)
        with Scope({"name": "forward", "group": "tp"}, backward=False):
            assert current() == {"name": "forward", "group": "tp"}
            x = probe(x, "forward only", seen)
            with Scope("both"):
                x = probe(x, "both", seen)
        x.sum().backward()
    assert dict(seen) == {"forward only": None, "both": in_backward({"name": "both", "group": "tp"})}


def test_precedence():
    """A scope within a custom backward wins over the frozen region, which wins over a scope around backward()."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value * 2

        @staticmethod
        def backward(context, gradient):
            with Scope({"name": "custom", "c": 3}):
                return gradient * 2

    seen = []
    with Window(), Operators() as ops:
        x = leaf(4, 5)
        with Scope({"name": "region", "r": 2, "c": 2}):
            y = probe(Custom.apply(x), "probe", seen)
        loss = y.sum()
        with Scope({"name": "around", "a": 1, "r": 1}):
            loss.backward()
    region = {"a": 1, "r": 2, "c": 2, "name": "region", "autograd_phase": "backward"}
    assert dict(seen) == {"probe": region}
    assert ops.of("mul", (4, 5))[-1] == {**region, "name": "custom", "c": 3}
    assert ops.of("expand") == [{"name": "around", "a": 1, "r": 1}]


@pytest.mark.parametrize("how", ["grad", "preallocated", "gradient given"])
def test_ways_to_call_it(how):
    seen = []
    with Window():
        x = leaf(3)
        with Scope("a"):
            y = probe(x, "a", seen)
        if how == "grad":
            torch.autograd.grad(y.sum(), x)
        elif how == "preallocated":
            x.grad = torch.zeros(3)
            y.sum().backward()
        else:
            y.backward(torch.ones(3))
    assert seen == [("a", in_backward("a"))]


def test_a_later_window_and_no_window():
    seen = []
    with Window():
        with Scope("a"):
            y = probe(leaf(3), "a", seen).sum()
    with Scope("not seen"):
        z = probe(leaf(3), "z", seen).sum()
    y.backward(retain_graph=True)
    with Window():
        y.backward()
        z.backward()
    assert seen == [("a", None), ("a", in_backward("a")), ("z", None)]


class Deep(torch.autograd.Function):
    """Runs backward() of itself, `depth` times; beyond 60 the engine goes on in threads of its own."""

    @staticmethod
    def forward(context, value, depth, seen):
        context.depth, context.seen = depth, seen
        return value.view_as(value)

    @staticmethod
    def backward(context, gradient):
        context.seen.append((context.depth, threading.get_native_id(), current()))
        if context.depth:
            with torch.enable_grad():
                x = leaf(3)
                with Scope({"name": "level", "depth": context.depth - 1}):
                    y = Deep.apply(x, context.depth - 1, context.seen)
                y.sum().backward()
        return gradient, None, None


def test_reentrant_backward_on_several_threads():
    seen = []
    with Window():
        with Scope("top"):
            y = Deep.apply(leaf(3), 80, seen)
        y.sum().backward()
        assert current() is None
    assert [depth for depth, _, _ in seen] == list(range(80, -1, -1))
    assert len({thread for _, thread, _ in seen}) > 1
    assert seen[0][2] == in_backward("top")
    for depth, _, opened in seen[1:]:
        assert opened == in_backward({"name": "level", "depth": depth})


def test_a_backward_on_another_thread_than_the_forward():
    seen = []
    with Window():
        with Scope("a"):
            y = probe(leaf(3), "a", seen).sum()
        other = threading.Thread(target=y.backward)
        other.start()
        other.join()
    assert seen == [("a", in_backward("a"))]


def test_a_compiled_function_is_one_node():
    compiled = torch.compile(lambda x: x.sigmoid().tanh(), backend="aot_eager")
    with Window(), Operators() as ops:
        x = leaf(4, 5)
        with torch.utils._python_dispatch._disable_current_modes():
            compiled(x)  # compiles
            with Scope("compiled"):
                y = compiled(x)
        loss = y.sum()
        ops.rows.clear()
        loss.backward()
    assert ops.of("tanh_backward") == [in_backward("compiled")]
    assert ops.of("sigmoid_backward") == [in_backward("compiled")]
    assert ops.of("expand") == [None]


@pytest.mark.parametrize("inside", [True, False])
def test_a_profiler_beside_it(inside):
    """It starts or stops within a scope, and keeps state of the same threads."""
    seen = []
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    with Window():
        x = leaf(3)
        if not inside:
            profiler.start()
        with Scope("a"):
            if inside:
                profiler.start()
            y = probe(x, "a", seen).sum()
            if not inside:
                profiler.stop()
        y.backward(retain_graph=True)
        if inside:
            profiler.stop()
        y.backward()
        assert current() is None
    assert seen == [("a", in_backward("a"))] * 2
    assert ("ProbeBackward" in {event.name for event in profiler.events()}) == inside


def test_a_child_of_fork_starts_with_nothing():
    """And with one callback, not its parent's beside its own."""
    code = """
import json, os
from torch_scopes import *
torch.set_num_threads(1)
assert backward.enable() == "callback"
with Window():
    with Scope("parent"):
        old = torch.ones(3, requires_grad=True).sigmoid().sum()
if os.fork() == 0:
    first, seen = backward.counters(), []
    with Window():
        with Scope("child"):
            new = Probe.apply(torch.ones(3, requires_grad=True), "child", seen).sum()
        old.backward()
        new.backward()
    last = backward.counters()
    print(json.dumps([first["intervals_now"], seen, last["nodes_seen"], last["nodes_matched"]]), flush=True)
    os._exit(0)
print(os.wait()[1])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=120)
    child, status = done.stdout.splitlines()
    assert status == "0", done.stderr
    # Seen: a sum, a sigmoid or probe, and a leaf each; the child's sum and probe are its region's.
    assert json.loads(child) == [0, [["child", in_backward("child")]], 6, 2]


def test_a_backward_that_raises_leaks_nothing():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value.view_as(value)

        @staticmethod
        def backward(context, gradient):
            with Scope("within"):
                assert current()["name"] == "within"
                raise ArithmeticError("meant to fail")

    seen = []
    with Window():
        x = leaf(3)
        with Scope("a"):
            y = Fails.apply(probe(x, "never", seen)).sum()
            z = probe(x, "z", seen).sum()
        with pytest.raises(ArithmeticError):
            y.backward()
        assert current() is None
        z.backward()
        assert current() is None
        with Scope("later"):
            w = probe(x, "w", seen).sum()
        w.backward()
    assert seen == [("z", in_backward("a")), ("w", in_backward("later"))]


def test_a_gradient_of_the_wrong_shape_leaks_nothing():
    """The engine raises after the node has returned, while its tail is open."""

    class Misshapen(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value.view_as(value)

        @staticmethod
        def backward(context, gradient):
            return torch.ones(17)

    with Window():
        with Scope("a"):
            y = Misshapen.apply(leaf(3)).sum()
        with pytest.raises(RuntimeError, match="shape"):
            y.backward()
        assert current() is None


def test_nothing_stays_open_after_the_last_node():
    """A backward that ends with a node of a region: autograd.grad towards a non-leaf runs no AccumulateGrad after it."""
    with Window():
        x = leaf(3)
        with Scope("a"):
            hidden = x.sigmoid()
            y = hidden.tanh()
        torch.autograd.grad(y.sum(), hidden)
        assert current() is None


def test_no_hook_is_put_on_a_node():
    with Window():
        with Scope("a"):
            y = leaf(3).sigmoid()
    node = y.grad_fn
    removed = node.register_prehook(lambda gradients: None)
    assert len(removed.hooks_dict_ref()) == 1  # the one just put there
    removed.remove()


def test_the_callback_is_registered_while_intervals_are_remembered():
    with Window():
        assert backward.counters()["callback_registered"] == 0
        with Scope("a"):
            y = leaf(3).sigmoid().sum()
    assert backward.counters()["callback_registered"] == 1
    seen_before = backward.counters()["nodes_seen"]
    y.backward(retain_graph=True)
    assert backward.counters()["nodes_seen"] == seen_before + 3  # the sum, the sigmoid, and the leaf's AccumulateGrad
    backward.forget()
    assert backward.counters()["callback_registered"] == 0
    y.backward()
    assert backward.counters()["nodes_seen"] == seen_before + 3


def test_forget_leaves_open_intervals_alone():
    seen = []
    with Window():
        with Scope("old"):
            old = probe(leaf(3), "old", seen).sum()
        with Scope("open"):
            backward.forget()
            after = probe(leaf(3), "after", seen).sum()
        old.backward()
        after.backward()
    assert seen == [("old", None), ("after", in_backward("open"))]


def test_an_interval_without_nodes_is_not_kept():
    with Window():
        with Scope("a"):
            with Scope("empty"):
                pass
        for _ in range(10):
            with Scope("empty"):
                pass
    assert backward.counters()["intervals_now"] == 0


def test_scopes_may_close_in_any_order():
    seen = []
    with Window():
        a, b = Scope({"name": "a", "a": 1}), Scope({"name": "b", "b": 1})
        a.__enter__()
        b.__enter__()
        x = probe(leaf(3), "both", seen)
        a.__exit__()
        x = probe(x, "b", seen)
        b.__exit__()
        probe(x, "none", seen).sum().backward()
    # b's region was frozen while a was open, as its keys were merged then.
    assert seen == [("none", None), ("b", in_backward({"name": "b", "a": 1, "b": 1})), ("both", in_backward({"name": "b", "a": 1, "b": 1}))]


def test_wrong_tokens():
    with Window():
        with Scope("a") as scope:
            assert not backward.thaw(scope.token + 1000)
            refused = []
            other = threading.Thread(target=lambda: refused.append(backward.thaw(scope.token)))
            other.start()
            other.join()
            assert refused == [False]
    assert not backward.thaw(scope.token)
    assert backward.thaw(None)


def test_the_oldest_intervals_go_first_and_are_counted():
    limit, extra = 1 << 20, 5
    before = backward.counters()["intervals_dropped"]
    seen = []
    x = leaf(1)
    with Window():
        with Scope("first"):
            first = probe(x, "first", seen)
        with Scope("second"):
            second = probe(x, "second", seen)
        # Two in turn, as neighbours of one annotation are kept as one.
        fillers = [torch_scopes.annotation("filler"), torch_scopes.annotation("other filler")]
        for i in range(limit + extra - 2):
            token = backward.freeze(fillers[i & 1])
            x.view(1)
            backward.thaw(token)
        with Scope("last"):
            last = probe(x, "last", seen)
        counted = backward.counters()
        assert counted["intervals_now"] == limit
        assert counted["intervals_dropped"] - before == extra + 1  # of them the first two
        for value in (first, second, last):
            value.sum().backward()
    assert seen == [("first", None), ("second", None), ("last", in_backward("last"))]


def random_program(pick, seen, expected, keys, depth=0):
    """Runs random scopes and probes; what each probe's backward must see is written down from the scopes alone."""
    losses = []
    open_now, frozen = keys
    for _ in range(pick.randint(1, 5)):
        if depth < 4 and pick.random() < 0.5:
            own = {"name": f"s{pick.randrange(1000)}", pick.choice("abc"): pick.randrange(10)}
            with_backward = pick.random() < 0.7
            merged = {**open_now, **own}
            with Scope(own, backward=with_backward):
                losses += random_program(pick, seen, expected, (merged, merged if with_backward else frozen), depth + 1)
        else:
            key = (threading.get_ident(), len(expected), pick.random())
            expected[key] = None if frozen is None else in_backward(frozen)
            losses.append(probe(leaf(2), key, seen).sum())
    return losses


@pytest.mark.parametrize("seed", range(20))
def test_random_scopes_on_several_threads(seed):
    """Forwards on three threads at once, then their backwards in random pieces on three others at once."""
    seen, expected, losses, problems = [], [{} for _ in range(3)], [[] for _ in range(3)], []

    def forward(which):
        try:
            losses[which] = random_program(random.Random(f"{seed}.{which}"), seen, expected[which], ({}, None))
        except BaseException as error:  # told below
            problems.append(error)

    def run(work):
        try:
            for loss in work:
                loss.backward()
                assert current() is None
        except BaseException as error:
            problems.append(error)

    def together(target, arguments):
        threads = [threading.Thread(target=target, args=(argument,)) for argument in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems

    with Window():
        together(forward, range(3))
        everything = [loss for some in losses for loss in some]
        random.Random(seed).shuffle(everything)
        together(run, [everything[i::3] for i in range(3)])
    wanted = {key: value for some in expected for key, value in some.items()}
    assert dict(seen) == wanted
    assert len(seen) == len(wanted)
