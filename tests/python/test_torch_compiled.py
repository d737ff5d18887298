"""torch.compile beside scopes: what runs within which scope, where the compiler's graphs break, and that nothing fails. On torch's CPU."""
import json
import warnings

import pytest

import fake_cuda  # noqa: F401 - before torch and graphtag
import graphtag
import graphtag.torch as gat
import torch
import torch._dynamo


@pytest.fixture(autouse=True)
def scopes_count():
    """As under install(every_capture=True)."""
    torch._dynamo.reset()
    with graphtag.window("none"), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch 2.11 tells of calls that it cannot trace
        yield
        assert graphtag._ext.scope_current() == 0, "a scope stayed open"


def open_now():
    """The path of what is open on this thread."""
    handle = graphtag._ext.scope_current()
    return tuple(json.loads(graphtag._ext.annotation_json(handle, True))["graphtag.path"]) if handle else ()


class Runs:
    """A backend that notes each run of a graph: (the scopes open, its operators)."""

    def __init__(self):
        self.seen = []

    def __call__(self, module, _inputs):
        operators = [getattr(node.target, "__name__", node.target) for node in module.graph.nodes if node.op.startswith("call")]

        def run(*arguments):
            self.seen.append((open_now(), operators))
            return module.forward(*arguments)

        return run

    def of(self, function, *arguments):
        """What runs in a call of `function` that compiles nothing."""
        function(*arguments)
        self.seen.clear()
        function(*arguments)
        return self.seen


class Layer(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(outputs, inputs))

    def forward(self, data):
        return torch.relu(data @ self.weight.t())


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(4, 6), Layer(6, 3)

    def forward(self, data):
        return self.second(self.first(data)).sin()


def test_named_modules_are_graphs_of_their_own():
    net, runs = Model(), Runs()
    with gat.annotate_modules(net, prefix="m"):
        compiled = torch.compile(net, backend=runs)
        layer = ["t", "matmul", "relu"]
        assert runs.of(compiled, torch.ones(2, 4)) == [(("m", "m.first"), layer), (("m", "m.second"), layer), (("m",), ["sin"])]
    # Taken out, the compiler has it whole again.
    torch._dynamo.reset()
    assert [path for path, _ in runs.of(torch.compile(net, backend=runs), torch.ones(2, 4))] == [()]


def test_modules_that_a_pattern_leaves_out_break_no_graph():
    net, runs = Model(), Runs()
    with gat.annotate_modules(net, pattern="first"):
        found = runs.of(torch.compile(net, backend=runs), torch.ones(2, 4))
    assert [path for path, _ in found] == [("first",), ()] and found[1][1][-1] == "sin", found


def test_a_scope_around_the_call_or_the_function_breaks_nothing():
    def work(x):
        return x.sin() + 1

    for around in (gat.mark_kernels("a"), graphtag.scope("a"), gat.region("a")):
        for compile_it in (lambda runs: around(torch.compile(work, backend=runs)), lambda runs: torch.compile(around(work), backend=runs)):
            torch._dynamo.reset()
            runs = Runs()
            assert runs.of(compile_it(runs), torch.ones(3)) == [(("a",), ["sin", "add"])]


@pytest.mark.parametrize("make", [gat.mark_kernels, graphtag.scope, gat.region])
def test_a_scope_within_compiled_code_breaks_its_graph_and_names(make):
    paths = []

    @torch.compiler.disable
    def note():
        paths.append(open_now())

    def work(x):
        y = x.sin()
        with make("in"):
            y = y.cos()
            note()
        note()
        return y + 1

    compiled = torch.compile(work, backend=Runs())
    for _ in range(2):
        paths.clear()
        assert torch.equal(compiled(torch.ones(3)), work(torch.ones(3)))
        assert paths == [("in",), ()] * 2
