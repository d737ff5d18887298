"""torch.profiler beside graphtag.torch on a GPU: it gets its records after a window; captures after it are still named; its traces come out named where
they hold node ids (PyTorch 2.12 and newer).

usage: kineto.py [CHECK ...]        (no rehearsal: there is no Kineto without a GPU)
"""
import gzip
import json
import os
import sys
import tempfile
import warnings

from harness import capture, check, gat, graphtag, has_subscriber, main, recorder, torch

KERNELS = 40
WRITES_NODE_IDS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 12)

x = torch.ones(4096, device="cuda")


def work(count=1):
    for _ in range(count):
        x.add_(1)


def marked():
    for i in range(KERNELS):
        with gat.mark_kernels({"name": f"region{i % 4}", "i": i}):
            work()


def profiled(*graphs):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for graph in graphs:
            graph.replay()
        torch.cuda.synchronize()
    return profiler


def exported(profiler, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json.gz")
        gat.export(profiler, path, **options)
        with gzip.open(path, "rt") as file:
            return json.load(file)["traceEvents"]


def kernels_in(events):
    return sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"])


@check
def the_profiler_gets_its_records_after_a_window():
    graph = capture(marked, backend="cupti")
    assert not has_subscriber()
    found = kernels_in(exported(profiled(graph)))
    assert len(found) == KERNELS, f"{len(found)} kernels in the trace"
    if WRITES_NODE_IDS:
        assert [event["args"].get("i") for event in found] == list(range(KERNELS)), found[:2]
    return f"{len(found)} kernels; keys {sorted(found[0]['args'])[:40]}"


@check
def the_eager_run_has_the_regions_of_the_graphed_run():
    """Forward and backward: by the user annotations around launches there, by nodes here."""
    first, second = torch.nn.Linear(64, 96).cuda(), torch.nn.Linear(96, 32).cuda()
    data, gradient = torch.ones(16, 64, device="cuda"), torch.ones(16, 32, device="cuda")
    parameters = [*first.parameters(), *second.parameters()]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)

    def step():
        with gat.region({"name": "model", "bs": 16}):
            with gat.region("first"):
                y = first(data)
            with gat.region("act"):
                y = torch.sigmoid(y)
            with gat.region("second"):
                y = second(y)
        y.backward(gradient)
        with gat.region("optimizer"):
            for parameter in parameters:
                parameter.grad.zero_()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    graph = capture(step)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "eager.json")
        profiler.export_chrome_trace(path)
        rows = graphtag.report(path, by=["phase", "bs"], view="flat")
    eager = {(row["region"], row["phase"], row["bs"]) for row in rows if row["self_ns"]}
    recorder()
    recorder().take()
    graph.replay()
    graphed = set()
    for record in recorder().take():
        found = graphtag.resolve(record.node_id)
        if found.annotation is not None:
            phase = "bwd" if found.annotation.get("autograd_phase") == "backward" else "fwd"
            graphed.add((".".join(found.path), phase, found.annotation.get("bs")))
    recorder().stop()  # before Kineto begins again
    wanted = {(f"model.{name}", phase) for name in ("first", "act", "second") for phase in ("fwd", "bwd")} | {("optimizer", "fwd")}
    assert {pair[:2] for pair in graphed} == wanted, graphed
    assert {(region, phase, str(bs)) for region, phase, bs in eager} == {(region, phase, str(bs)) for region, phase, bs in graphed}, (eager, graphed)
    return f"{len(eager)} regions"


@check
def captures_after_it_are_named_at_boundaries():
    """The profiler holds CUPTI's subscription for good."""
    holds = has_subscriber()
    graph = capture(marked)
    observer = "boundary" if holds else "callbacks"
    recorder()  # takes the activity records over from Kineto, which is done
    recorder().take()
    graph.replay()
    found = [graphtag.resolve(record.node_id) for record in recorder().take() if record.node_id]
    recorder().stop()
    assert [resolution.annotation["i"] for resolution in found] == list(range(KERNELS)), found[:3]
    origins = {resolution.origin for resolution in found}
    assert origins <= ({"boundary", "boundary-approximate"} if holds else {"callback"}), origins
    return f"held: {holds}, so {observer}; {origins}"


@check
def callbacks_that_another_tool_holds_are_refused():
    if not has_subscriber():
        return "nobody holds them"
    try:
        capture(marked, backend="cupti")
    except graphtag.BusyError:
        return None
    raise AssertionError("it did not raise")


@check
def lanes_and_the_report():
    """What a user sees: the trace of a capture with a lane, its report, and how much of it is explained."""
    side = torch.cuda.Stream()

    def body():
        with gat.mark_kernels("main"):
            work(3)
        side.wait_stream(torch.cuda.current_stream())
        with gat.mark_stream(side, "aside"):
            work(2)
        torch.cuda.current_stream().wait_stream(side)
        work()

    profiler = profiled(capture(body, label={"batch_size": 4}))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json.gz")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gat.export(profiler, path, graph_lanes="all")
        rows = list(graphtag.check(path))
        if not WRITES_NODE_IDS:
            # Nothing in such a trace says that a kernel is of a graph.
            assert not rows and any("does not write" in str(warning.message) for warning in caught), rows
            return "no node ids here: export says so"
        regions = {row["region"]: row for row in graphtag.report(path)}
    [row] = rows
    assert {"main", "aside"} <= set(regions), regions
    assert row["named"] == 5 and row["unnamed"] == {"outside-scope": 1}, row
    return str({key: row[key] for key in ("graph", "label", "replays", "named", "unnamed")})


if __name__ == "__main__":
    sys.exit(main("Kineto"))
