"""Modules, graphed callables and torch.compile on a GPU: what is named, and that what is not is counted.

usage: compiled.py [--rehearse] [CHECK ...]
"""
import json
import sys
from collections import Counter

from harness import BACKENDS, DEVICE, capture, check, gat, graphtag, main, recorder, replayed, torch


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.Linear(96, 32)).to(DEVICE)


def warm_up(step, times=3):
    """Runs `step` on a side stream, as PyTorch asks for before a capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(times):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()


def names_of(records):
    """{(name, phase): how many records}"""
    found = [graphtag.resolve(record.node_id).annotation or {} for record in records]
    return Counter((annotation.get("name"), annotation.get("autograd_phase")) for annotation in found)


@check(backends=BACKENDS)
def modules_are_named_forward_and_backward(backend):
    net, data = model(), torch.ones(16, 64, device=DEVICE)
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    gradient = torch.ones(16, 32, device=DEVICE)

    def step():
        net(data).backward(gradient)

    warm_up(step)
    with gat.annotate_modules(net, prefix="m"):
        found = names_of(replayed(capture(step, backend=backend)))
    wanted = {(name, phase) for name in ("m.0", "m.1", "m.2") for phase in (None, "backward")}
    # Besides them only the gradients' way into .grad.
    assert wanted <= set(found) <= wanted | {("m", None), ("m", "backward"), (None, None)}, found
    assert names_of(replayed(capture(step, backend=backend)))[("m.0", None)] == 0, "they were taken out again"
    return f"{sum(found.values())} kernels, {found[None, None]} of them without a name"


@check
def graphed_callables_name_both_graphs():
    layer = torch.nn.Linear(48, 80).to(DEVICE)

    class Marked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, data):
            with gat.mark_kernels("callable"):
                return self.layer(data)

    data = torch.ones(8, 48, device=DEVICE, requires_grad=True)
    graphed = gat.make_graphed_callables(Marked(), (data,), enable_annotations=True)
    phases = {value[0].get("autograd_phase") for value in gat.get_kernel_annotations().values() if value[0].get("name") == "callable"}
    assert phases == {None, "backward"}, phases
    recorder().take()
    graphed(data).sum().backward()
    found = names_of([record for record in recorder().take() if record.node_id])
    assert found[("callable", None)] and found[("callable", "backward")], found
    return str(dict(found))


@check(device_only=True)
def modules_of_a_compiled_model_in_a_capture():
    """Each named module breaks the compiler's graph; its kernels, the compiler's own, keep its name."""
    net, data = model(), torch.ones(16, 64, device=DEVICE)
    with gat.annotate_modules(net, prefix="m"):
        compiled = torch.compile(net)
        with torch.no_grad():
            warm_up(lambda: compiled(data))
            found = names_of(replayed(capture(lambda: compiled(data))))
    assert {("m.0", None), ("m.2", None)} <= set(found), found
    return str(dict(found))


@check(device_only=True)
def backward_of_a_compiled_function_is_its_regions():
    linear, data = torch.nn.Linear(64, 96).to(DEVICE), torch.ones(16, 64, device=DEVICE)
    compiled = torch.compile(lambda x: torch.sigmoid(linear(x)).sum())
    for parameter in linear.parameters():
        parameter.grad = torch.zeros_like(parameter)

    def step():
        with gat.mark_kernels("compiled"):
            loss = compiled(data)
        loss.backward()

    warm_up(step)
    found = names_of(replayed(capture(step)))
    assert found[("compiled", None)] and found[("compiled", "backward")], found
    return str(dict(found))


@check
def captures_that_do_not_ask_are_named_by_the_scopes_around():
    """By torch.cuda.graph as it was before install(), and by CUDAGraph.capture_begin; the scopes began before."""
    data = torch.ones(8192, device=DEVICE)
    gat.install(every_capture=True)
    try:
        graphs = []
        for name in ("with torch.cuda.graph", "by hand"):
            graph = torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            with gat.mark_kernels({"name": name, "layer": 3}):
                if name == "by hand":
                    with torch.cuda.stream(torch.cuda.Stream()):
                        graph.capture_begin()
                        data.add_(1)
                        with gat.mark_kernels("inner"):
                            data.add_(1)
                        graph.capture_end()
                else:
                    with gat._capture.torch_graph(graph):
                        data.add_(1)
                        with gat.mark_kernels("inner"):
                            data.add_(1)
            graphs.append(graph)
    finally:
        gat.uninstall()
    found = [graphtag.resolve(record.node_id).annotation for record in replayed(*graphs)]
    wanted = [{"name": name, "layer": 3} for outer in ("with torch.cuda.graph", "by hand") for name in (outer, "inner")]
    assert found == wanted, found


def steps_of_graph_trees(step):
    """The records of one step of a program compiled with mode="reduce-overhead", all of whose captures are recorded: those in graphs, and all."""
    gat.install(every_capture=True)
    try:
        # Compiled, run eagerly, captured: a step each, and more where a function is met late.
        for _ in range(5):
            torch.compiler.cudagraph_mark_step_begin()
            step()
        torch.cuda.synchronize()
        recorder().take()
        torch.compiler.cudagraph_mark_step_begin()
        step()
        torch.cuda.synchronize()
        every = recorder().take()
        skips = torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]
        graphed = [record for record in every if record.node_id]
        assert graphed, f"{len(every)} kernels ran, none in a graph; inductor skipped {skips} graphs"
        document = json.loads(graphtag._ext.snapshot_json())
        assert document.get("graphs"), "the captures of graph trees were not seen"
        return graphed, every
    finally:
        gat.uninstall()


@check(device_only=True)
def graph_trees_of_reduce_overhead():
    """The captures that torch.compile makes are named by the scope around the call; without one they are outside of every scope."""

    @torch.compile(mode="reduce-overhead")
    def compiled(data):
        return (data @ data).relu()

    data = torch.ones(64, 64, device=DEVICE)

    def within_a_scope():
        with torch.no_grad(), gat.mark_kernels({"name": "around", "bs": 64}), graphtag.scope("compiled"):
            compiled(data)

    graphed, _ = steps_of_graph_trees(within_a_scope)
    found = [graphtag.resolve(record.node_id) for record in graphed]
    assert all(one.annotation == {"name": "compiled", "bs": 64} and one.path == ("around", "compiled") for one in found), found

    @torch.compile(mode="reduce-overhead")
    def another(data):
        return (data @ data).sin()

    def outside():
        with torch.no_grad():
            another(data)

    unnamed, _ = steps_of_graph_trees(outside)
    origins = Counter(graphtag.resolve(record.node_id).origin for record in unnamed)
    assert set(origins) <= {"outside-scope"}, origins
    return f"{len(graphed)} kernels named, {len(unnamed)} outside"


@check(device_only=True)
def graph_trees_of_a_forward_and_its_backward():
    """The forward's scope, which is around the call alone, names the backward's graph too."""
    linear, data = torch.nn.Linear(64, 96).to(DEVICE), torch.ones(16, 64, device=DEVICE)
    compiled = torch.compile(lambda x: torch.sigmoid(linear(x)).sum(), mode="reduce-overhead")

    def step():
        linear.zero_grad(set_to_none=True)
        with gat.mark_kernels("around"):
            loss = compiled(data)
        loss.backward()

    graphed, every = steps_of_graph_trees(step)
    found = names_of(graphed)
    assert set(found) == {("around", None), ("around", "backward")}, found
    return f"{dict(found)}, {len(every) - len(graphed)} kernels outside of graphs"


class Layer(torch.nn.Module):
    """Of a program's own: of modules that torch itself has, PyTorch before 2.15 compiles none by itself, as annotate_modules' graph breaks ask for."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(outputs, inputs))

    def forward(self, data):
        return torch.nn.functional.gelu(data @ self.weight.t())


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(64, 96), Layer(96, 32)

    def forward(self, data):
        return self.second(self.first(data)).sin()


@check(device_only=True)
def graph_trees_of_named_modules():
    """annotate_modules under reduce-overhead: each module breaks the compiler's graph, each piece is a graph of its own, and has its module's name."""
    net, data = Model().to(DEVICE), torch.ones(16, 64, device=DEVICE)
    with gat.annotate_modules(net, prefix="m"):
        compiled = torch.compile(net, mode="reduce-overhead")

        def step():
            with torch.no_grad():
                compiled(data)

        graphed, every = steps_of_graph_trees(step)
        found = Counter((graphtag.resolve(record.node_id).annotation or {}).get("name") for record in graphed)
        graphs = {record.node_id >> 32: set() for record in graphed}
        for record in graphed:
            graphs[record.node_id >> 32].add((graphtag.resolve(record.node_id).annotation or {}).get("name"))
    assert set(found) == {"m", "m.first", "m.second"}, found
    assert sorted(map(sorted, graphs.values())) == [["m"], ["m.first"], ["m.second"]], graphs
    return f"{len(graphed)} of {len(every)} kernels in {len(graphs)} graphs: {dict(found)}"


if __name__ == "__main__":
    sys.exit(main("modules and compilers", recorder))
