"""graphtag.torch on a GPU: names of captured work against CUPTI's own records in torch.profiler's trace. Each check has shapes, and so kernels, of
its own; the last line says how many passed. Exit code 1 if one failed.

    python tests/gpu/torch_parity.py [CHECK ...]
"""
import gzip
import json
import os
import sys
import tempfile
import traceback

import graphtag
import graphtag.torch as gat
import torch

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def capture(body, *, keep_graph=False, backend="auto", **options):
    graph = torch.cuda.CUDAGraph(keep_graph=True) if keep_graph else torch.cuda.CUDAGraph()
    with gat.graph(graph, enable_annotations=True, annotation_config={"backend": backend}, **options):
        body()
    return graph


def records(*graphs):
    """[(grid, node id, annotation args)] of a replay of each graph, by time, from an exported trace."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for graph in graphs:
            graph.replay()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json.gz")
        gat.export(profiler, path)
        with gzip.open(path, "rt") as file:
            events = json.load(file)["traceEvents"]
    found = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and event["args"].get("graph id", 0)]
    return [event["args"] for event in sorted(found, key=lambda event: event["ts"])]


def names(*graphs):
    return [args.get("name") for args in records(*graphs)]


x = torch.ones(1024, device="cuda")


def work(count=1):
    for _ in range(count):
        x.add_(1)


@check
def callbacks_name_what_the_profiler_records():
    def body():
        work()
        with gat.mark_kernels("a"):
            work(2)
            with gat.mark_kernels({"name": "b", "bs": 8}):
                work()
        work()

    graph = capture(body, backend="cupti")
    assert names(graph) == [None, "a", "a", "b", None], names(graph)


@check
def boundaries_name_the_same_after_kineto_has_run():
    def body():
        work()
        with gat.mark_kernels("a"):
            work(2)
        with gat.mark_kernels("b"):
            work()

    graph = capture(body)
    assert names(graph) == [None, "a", "a", "b"], names(graph)


@check
def the_profiler_gets_callbacks_after_a_window():
    capture(lambda: work(), backend="auto")
    graph = capture(gat.mark_kernels("a")(work))
    assert names(graph) == ["a"]


@check
def deferred_and_repeated_instantiation():
    graph = capture(gat.mark_kernels("a")(work), keep_graph=True)
    assert names(graph) == ["a"]
    graph.instantiate()
    assert names(graph) == ["a"]
    assert len({node_id >> 32 for node_id in gat.get_kernel_annotations()}) >= 1


@check
def graphs_interleave_without_mixing():
    first, second = capture(gat.mark_kernels("x")(work)), capture(gat.mark_kernels("y")(work))
    assert names(first, second, first) == ["x", "y", "x"]


@check
def side_streams_and_lanes():
    side = torch.cuda.Stream()

    def body():
        work()
        side.wait_stream(torch.cuda.current_stream())
        with gat.mark_stream(side, "side"):
            work()
        torch.cuda.current_stream().wait_stream(side)
        with gat.mark_kernels("main"):
            work()

    found = records(capture(body))
    assert [args.get("name") for args in found] == [None, "side", "main"], found
    assert found[1]["annotated_stream"] >= 60


@check
def pools_are_shared():
    first = capture(gat.mark_kernels("a")(work))
    second = capture(gat.mark_kernels("b")(work), pool=first.pool())
    assert names(first, second) == ["a", "b"]


@check
def a_failed_capture_leaves_the_process_usable():
    before = dict(gat.get_kernel_annotations())
    try:
        with gat.graph(torch.cuda.CUDAGraph(), enable_annotations=True):
            with gat.mark_kernels("lost"):
                work()
                torch.cuda.synchronize()
    except RuntimeError:
        pass
    else:
        raise AssertionError("the capture did not fail")
    assert dict(gat.get_kernel_annotations()) == before
    assert not graphtag._ext.active()
    assert names(capture(gat.mark_kernels("a")(work))) == ["a"]


@check
def reset_and_death_drop_their_own_entries():
    kept, gone = capture(gat.mark_kernels("kept")(work)), capture(gat.mark_kernels("gone")(work))
    gone.reset()
    values = [value[0]["name"] for value in gat.get_kernel_annotations().values()]
    assert "kept" in values and "gone" not in values
    del kept
    assert "kept" not in [value[0]["name"] for value in gat.get_kernel_annotations().values()]


@check
def modules_are_named_forward_and_backward():
    model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.Linear(96, 32)).cuda()
    data = torch.ones(16, 64, device="cuda")
    for _ in range(2):
        model(data).sum().backward()
    torch.cuda.synchronize()
    with gat.annotate_modules(model, prefix="m"):

        def body():
            model(data).sum().backward()

        found = records(capture(body))
    phases = {(args.get("name"), args.get("autograd_phase")) for args in found}
    assert {("m.0", None), ("m.1", None), ("m.0", "backward"), ("m.1", "backward")} <= phases, phases


@check
def make_graphed_callables_names_both_graphs():
    layer = torch.nn.Linear(48, 80).cuda()

    def marked(data):
        with gat.mark_kernels("callable"):
            return layer(data)

    data = torch.ones(8, 48, device="cuda", requires_grad=True)
    gat.make_graphed_callables(marked, (data,), enable_annotations=True)
    phases = {value[0].get("autograd_phase") for value in gat.get_kernel_annotations().values() if value[0].get("name") == "callable"}
    assert phases == {None, "backward"}, phases


@check
def graph_trees_of_reduce_overhead():
    gat.install(every_capture=True)
    try:

        @torch.compile(mode="reduce-overhead")
        def compiled(data):
            return (data @ data).relu()

        with gat.mark_kernels("outside any capture"):
            for _ in range(4):
                compiled(torch.ones(64, 64, device="cuda"))
        torch.cuda.synchronize()
        document = json.loads(graphtag._ext.snapshot_json())
        assert document.get("graphs"), "the captures of graph trees were seen"
    finally:
        gat.uninstall()


@check
def python_launch_stacks():
    graph = torch.cuda.CUDAGraph()
    config = {"record_py_stacks": True}
    try:
        with gat.graph(graph, enable_annotations=True, annotation_config=config):
            work()
    except graphtag.BusyError:
        print("    Kineto holds CUPTI's subscription: refused, as it must be")
        return
    assert any(":work" in stack for stack in gat.get_kernel_py_stacks().values())


def main():
    wanted = sys.argv[1:]
    failed = []
    # Stacks want callbacks, which Kineto takes for good at its first run: they come first.
    for function in sorted(CHECKS, key=lambda one: one is not python_launch_stacks):
        if wanted and function.__name__ not in wanted:
            continue
        try:
            function()
        except Exception:
            failed.append(function.__name__)
            print(f"FAIL {function.__name__}\n{traceback.format_exc()}", flush=True)
        else:
            print(f"ok   {function.__name__}", flush=True)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
