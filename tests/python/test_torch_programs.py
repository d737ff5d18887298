"""install(), and the programs of the wild that must run unchanged after it; modules, regions, collectives, export, `python -m graphtag.auto`."""
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
import types

import fake_cuda
import pytest
from made_traces import kernel, write_trace
from torch_captures import COMMAND, false_programs  # noqa: F401 - false_programs is a fixture

import graphtag
import graphtag.torch as gat
import torch
import torch._dynamo  # noqa: F401 - before the false CUDA: an older one looks at torch.cuda.Stream


@pytest.fixture
def installed():
    gat.install()


def named(graph):
    view = dict(gat.get_kernel_annotations())
    return [view[node_id][0]["name"] for node_id in sorted(graph.replay().values()) if node_id in view]


# --- install and uninstall


def test_uninstall_puts_all_back():
    before = (torch.cuda.graph, torch.cuda.graphs.graph, torch.cuda.make_graphed_callables, sys.modules.get("torch.cuda.graph_annotations"))
    methods = dict(torch.distributed.ProcessGroup.__dict__)
    gat.install()
    gat.install(every_capture=True)
    assert torch.cuda.graph is gat.graph and torch.cuda.graphs.graph is gat.graph
    gat.uninstall()
    gat.uninstall()
    after = (torch.cuda.graph, torch.cuda.graphs.graph, torch.cuda.make_graphed_callables, sys.modules.get("torch.cuda.graph_annotations"))
    assert after == before or before[3] is None
    assert dict(torch.distributed.ProcessGroup.__dict__) == methods
    assert not gat._capture.every_capture


def test_modules_that_imported_names_before_get_graphtags(monkeypatch):
    torchs = types.ModuleType("torch.cuda.graph_annotations")
    torchs.mark_kernels, torchs.get_kernel_annotations, torchs.other = object(), object(), object()
    monkeypatch.setattr(gat._install, "_own_module", lambda name: torchs if name == torchs.__name__ else None)
    early = types.ModuleType("early")  # from torch.cuda import graph; from torch.cuda.graph_annotations import mark_kernels
    early.graph, early.mark_kernels, early.get_kernel_annotations = torch.cuda.graph, torchs.mark_kernels, "its own"
    monkeypatch.setitem(sys.modules, "early", early)
    monkeypatch.setitem(sys.modules, torchs.__name__, torchs)
    before = dict(early.__dict__), dict(torchs.__dict__)
    gat.install()
    assert early.graph is gat.graph and early.mark_kernels is gat.mark_kernels is torchs.mark_kernels
    assert early.get_kernel_annotations == "its own" and sys.modules[torchs.__name__].other is torchs.other
    gat.uninstall()
    assert (early.__dict__, torchs.__dict__) == before and sys.modules[torchs.__name__] is torchs


def test_the_module_is_made_where_torch_has_none(monkeypatch):
    monkeypatch.setattr(gat._install, "_own_module", lambda name: None)
    gat.install()
    from torch.cuda.graph_annotations import mark_kernels

    assert mark_kernels is gat.mark_kernels
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        importlib.import_module("torch.cuda._graph_annotations").nothing  # noqa: B018


@pytest.mark.parametrize("module", ["torch.cuda.graph_annotations", "torch.cuda._graph_annotations"])
def test_all_that_the_wild_imports_is_there(installed, module):
    found = importlib.import_module(module)
    names = ["mark_kernels", "mark_stream", "get_stream_for_pg", "get_kernel_annotations", "clear_kernel_annotations", "is_available"]
    if module.endswith("._graph_annotations"):
        names += ["resolve_pending_annotations", "remap_to_exec_graph", "resolve_and_remap", "annotation_for", "_is_tools_id_unavailable"]
        names += ["enable_annotations"]
    for name in names:
        assert getattr(found, name).__module__.startswith("graphtag.torch"), name


# --- programs of the wild


def test_a_cuda_graph_wrapper_that_collects_right_after_the_capture(installed):
    """TorchTitan's pattern."""
    from torch.cuda._graph_annotations import get_kernel_annotations, mark_kernels

    collected, graphs = {}, []
    for batch in (1, 8):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=None, stream=fake_cuda.Stream(), enable_annotations=True):
            with mark_kernels({"name": "layer", "bs": batch}):
                fake_cuda.launch()
        collected.update(get_kernel_annotations())
        graphs.append(graph)
    for graph, batch in zip(graphs, (1, 8)):
        assert [collected[node_id] for node_id in graph.replay().values()] == [[{"name": "layer", "bs": batch}]]


def test_names_are_resolved_in_process(installed):
    """A profiler that asks for each record."""
    from torch.cuda._graph_annotations import annotation_for, get_kernel_annotations, mark_kernels

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True), mark_kernels("a"):
        fake_cuda.launch()
    for node_id in graph.replay().values():
        assert annotation_for(node_id) == {"name": "a"} and get_kernel_annotations()[node_id] == [{"name": "a"}]


def test_the_tutorial(installed, tmp_path):
    """Warm-up on a side stream, capture, nested scopes, profile, pickle, join."""
    from torch.cuda.graph_annotations import get_kernel_annotations, mark_kernels

    def step(launch):
        with mark_kernels("outer"):
            launch()
            with mark_kernels({"name": "inner", "dtype": "bf16"}):
                launch()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(lambda: None)
    torch.cuda.current_stream().wait_stream(side)
    assert not get_kernel_annotations(), "nothing was captured"
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True):
        step(fake_cuda.launch)
    nodes = sorted(graph.replay().values())
    events = [kernel(10 * i, 10 * i + 5, node=node & 0xFFFFFFFF, graph=node >> 32) for i, node in enumerate(nodes)]
    trace = write_trace(tmp_path / "trace.json", events)
    with open(tmp_path / "annotations.pkl", "wb") as file:
        pickle.dump(dict(get_kernel_annotations()), file)
    assert [graphtag.load(tmp_path / "annotations.pkl")[node_id]["name"] for node_id in nodes] == ["outer", "inner"]
    graphtag.annotate(trace, tmp_path / "named.json", tmp_path / "annotations.pkl")
    assert {row["region"] for row in graphtag.report(tmp_path / "named.json")} == {"outer", "inner"}


def test_older_versions_enable_by_hand(installed):
    from torch.cuda._graph_annotations import enable_annotations, get_kernel_annotations, mark_kernels, remap_to_exec_graph, resolve_pending_annotations

    enable_annotations()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=fake_cuda.Stream()):
        with mark_kernels("a"):
            fake_cuda.launch()
        resolve_pending_annotations()
    remap_to_exec_graph(graph)
    assert list(get_kernel_annotations().values()) == [[{"name": "a"}]]


def test_the_feature_probe(installed):
    import inspect

    from torch.cuda.graph_annotations import mark_kernels

    assert "backward" in inspect.signature(mark_kernels).parameters


def test_every_capture_records_when_asked():
    gat.install(every_capture=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=fake_cuda.Stream()):
        with gat.mark_kernels("a"):
            fake_cuda.launch()
    assert named(graph) == ["a"]


# --- modules


class Block(torch.nn.Module):
    def __init__(self, fail=False):
        super().__init__()
        self.mlp = torch.nn.Identity()
        self.fail = fail

    def forward(self, x):
        fake_cuda.launch()
        self.mlp(x)
        if self.fail:
            raise ZeroDivisionError
        return x


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        for block in self.layers:
            block.mlp.register_forward_hook(lambda *_: fake_cuda.launch() and None)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        fake_cuda.launch()
        return x


def capture_model(model):
    graph = torch.cuda.CUDAGraph()
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True):
        model(torch.ones(1))
    return graph


def test_modules_name_their_work_by_their_qualified_names():
    model = Model()
    with gat.annotate_modules(model, prefix="m") as added:
        graph = capture_model(model)
        assert named(graph) == ["m.layers.0", "m.layers.0.mlp", "m.layers.1", "m.layers.1.mlp", "m"]
    assert "m.layers.1.mlp" in added.names
    assert named(capture_model(model)) == [], "removed"
    with gat.annotate_modules(model, pattern=r"\.mlp$") as added:
        assert added.names == ["layers.0.mlp", "layers.1.mlp"]
        assert named(capture_model(model)) == added.names


def test_a_module_that_raises_closes_its_scope():
    block = Block(fail=True)
    gat.annotate_modules(block, prefix="b")
    with graphtag.window():
        stream = fake_cuda.Stream()
        with torch.cuda.stream(stream):
            assert fake_cuda.call("begin_capture", stream.cuda_stream)
            with pytest.raises(ZeroDivisionError):
                block(torch.ones(1))
            assert graphtag._ext.scope_current() == 0
            fake_cuda.call("end_capture", stream.cuda_stream)


# --- regions


def test_a_region_is_a_range_outside_captures_and_a_scope_inside(tmp_path):
    graph = torch.cuda.CUDAGraph()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        with gat.region({"name": "eager", "bs": 8}):
            torch.ones(2) + 1
        with gat.region({"name": "plain"}):
            torch.ones(2) + 1
    with gat.region("quiet"):
        pass
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True), gat.region("graphed"):
        fake_cuda.launch()
    assert named(graph) == ["graphed"]
    assert [event.name for event in profiler.events() if not event.name.startswith("aten::")] == ["{'name': 'eager', 'bs': 8}", "plain"]


def test_a_regions_name_comes_through_a_trace(tmp_path):
    """Kineto writes quotes and backslashes of names as they are, or changes them; a kernel is added, as this machine has no GPU."""
    annotations = [{"name": "it's \"50%\" C:\\d\n", "k'": ["é", None, {"x": 1.5}]}, "a\"b", {"name": "plain %"}]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for annotation in annotations:
            with gat.region(annotation):
                torch.ones(2) + 1
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    ranges = [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation" and not event["name"].startswith("Profiler")]
    for number, event in enumerate(ranges):
        launch = {**event, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 0, "args": {"correlation": number}}
        kernel = {**launch, "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 1, "args": {"device": 0, "stream": 7, "correlation": number}}
        trace["traceEvents"] += [launch, kernel]
    (tmp_path / "trace.json").write_text(json.dumps(trace), encoding="utf-8")
    rows = graphtag.report(tmp_path / "trace.json", by=["k'"], view="flat")
    expected = [(annotation if isinstance(annotation, str) else annotation["name"]) for annotation in annotations]
    assert len(ranges) == 3 and sorted(row["region"] for row in rows) == sorted(expected)
    assert [row["k'"] for row in rows if row["region"] == expected[0]] == [annotations[0]["k'"]]


def test_backward_work_of_an_eager_run_has_the_regions_of_its_forward(tmp_path):
    """In a trace of this PyTorch, with a launch put into each operator that is computed forward or backward."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        x = torch.ones(3, requires_grad=True)
        with gat.region("first"):
            y = x.sin()
        with gat.region({"name": "second", "bs": 8}):
            y = y.cos()
        y = y.tanh()
        y.sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    wanted = ("aten::sin", "aten::cos", "aten::tanh", "SinBackward0", "CosBackward0", "TanhBackward0")
    operators = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_op" and event["name"] in wanted]
    for number, event in enumerate(operators):
        at = event["ts"] + event["dur"] / 2
        launch = {**event, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at, "dur": 0, "args": {"correlation": number}}
        kernel = {**launch, "cat": "kernel", "name": event["name"], "pid": 0, "tid": 7, "ts": 10 * at, "dur": 1,
                  "args": {"device": 0, "stream": 7, "correlation": number}}  # fmt: skip
        trace["traceEvents"] += [launch, kernel]
    (tmp_path / "trace.json").write_text(json.dumps(trace), encoding="utf-8")
    rows = graphtag.report(tmp_path / "trace.json", by=["phase", "bs"], view="flat")
    assert {(row["region"], row["phase"], row["bs"]) for row in rows} >= {
        ("first", "fwd", None), ("first", "bwd", None), ("second", "fwd", 8), ("second", "bwd", 8),
    }  # fmt: skip
    # cos, sin and tanh are computed within backward operators too: those of the first two are of their regions.
    counts = {(row["region"], row["phase"]): row["sum_ns"] // 1000 for row in rows if row["region"] in ("first", "second")}
    assert sum(counts.values()) == sum(event["name"] not in ("aten::tanh", "TanhBackward0") for event in operators), counts


def test_a_region_is_entered_by_several_threads_at_once():
    region, inside = gat.region("a"), threading.Barrier(2)

    def enter():
        with region, region:
            inside.wait(timeout=60)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not any(thread.is_alive() for thread in threads)


def test_modules_are_named_in_an_eager_run_too():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with gat.annotate_modules(net, prefix="m"), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        net(torch.ones(1, 2))
    assert [event.name for event in profiler.events() if not event.name.startswith("aten::")] == ["m", "m.0", "m.1"]


# --- python -m


def run_module(*arguments, **environment):
    env = {**os.environ, "PYTHONPATH": str(fake_cuda.PACKAGE_DIR), "GRAPHTAG_COMMAND": str(COMMAND), **environment}
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, timeout=120, env=env)


def test_python_m_graphtag_is_the_command():
    assert run_module("graphtag", "--version").stdout == subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
    assert run_module("graphtag", "nonsense").returncode == 2


def test_auto_runs_a_script_and_writes_the_file(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, torch\nimport graphtag.torch\nprint(sys.argv, __name__, torch.cuda.graph is graphtag.torch.graph)\n")
    out = tmp_path / "a.%p.json"
    done = run_module("graphtag.auto", str(script), "--flag", GRAPHTAG=f"1,out={out}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{[str(script), '--flag']} __main__ True\n"
    [written] = tmp_path.glob("a.*.json")
    assert graphtag.load(written).format == "graphtag.annotations/1"
    off = run_module("graphtag.auto", str(script), GRAPHTAG="0")
    assert off.stdout.endswith("__main__ False\n") and len(list(tmp_path.glob("*.json"))) == 1


@pytest.mark.parametrize("option", ["2", "colour=1", "collectives=yes", "out"])
def test_auto_refuses_unknown_options_with_the_list(option):
    done = run_module("graphtag.auto", "script.py", GRAPHTAG=option)
    assert done.returncode == 2 and "collectives" in done.stderr and "Traceback" not in done.stderr


def test_the_backward_library_is_built_ahead_of_time(tmp_path):
    done = run_module("graphtag.torch", "build", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0 and os.path.exists(done.stdout.strip()), done.stderr
    assert run_module("graphtag.torch").returncode == 2
