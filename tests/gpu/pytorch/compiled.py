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


@check(device_only=True)
def graph_trees_of_reduce_overhead():
    """Captures that torch.compile makes: recorded by install(every_capture=True), and counted as outside every scope."""
    gat.install(every_capture=True)
    try:

        @torch.compile(mode="reduce-overhead")
        def compiled(data):
            return (data @ data).relu()

        data = torch.ones(64, 64, device=DEVICE)
        with torch.no_grad():
            for _ in range(4):
                torch.compiler.cudagraph_mark_step_begin()
                compiled(data)
            recorder().take()
            torch.compiler.cudagraph_mark_step_begin()
            compiled(data)
        records = [record for record in recorder().take() if record.node_id]
        assert records, "nothing ran in a graph"
        origins = Counter(graphtag.resolve(record.node_id).origin for record in records)
        assert set(origins) <= {"outside-scope"}, origins
        document = json.loads(graphtag._ext.snapshot_json())
        assert document.get("graphs"), "the captures of graph trees were not seen"
        return f"{len(records)} kernels: {dict(origins)}"
    finally:
        gat.uninstall()


@check(device_only=True)
def a_graph_tree_within_a_module_scope():
    """annotate_modules under reduce-overhead: the capture happens within a module's call, and its window opens after the scope. What stays unnamed is
    reported, never misnamed."""
    net, data = model(), torch.ones(16, 64, device=DEVICE)
    gat.install(every_capture=True)
    try:
        with gat.annotate_modules(net, prefix="m"), torch.no_grad():
            compiled = torch.compile(net, mode="reduce-overhead")
            for _ in range(4):
                torch.compiler.cudagraph_mark_step_begin()
                compiled(data)
            recorder().take()
            torch.compiler.cudagraph_mark_step_begin()
            compiled(data)
        every = recorder().take()
        records = [record for record in every if record.node_id]
        skips = torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]
        assert records or skips, f"{len(every)} kernels ran, none in a graph, and nothing was skipped"
        found = Counter((graphtag.resolve(record.node_id).annotation or {}).get("name") for record in records)
        assert set(found) <= {None, "m", "m.0", "m.1", "m.2"}, found
        origins = Counter(graphtag.resolve(record.node_id).origin for record in records)
        return f"{len(records)} of {len(every)} kernels in graphs: {dict(found)}, {dict(origins)}; {skips} skips"
    finally:
        gat.uninstall()


if __name__ == "__main__":
    sys.exit(main("modules and compilers", recorder))
