"""graphtag.torch on PyPI's torch and a false CUDA: what is promised of scopes and the surface."""
import gzip
import inspect
import json
import os
import pickle
import subprocess
import sys
import threading

import fake_cuda
import pytest
from torch_captures import BACKENDS, body_a, capture, false_cuda, names  # noqa: F401 - false_cuda is a fixture

import graphtag
import graphtag.torch as gat
import torch


# --- scopes


@BACKENDS
def test_only_work_inside_a_scope_is_tagged(backend):
    tags = {}

    def body():
        tags["before"] = fake_cuda.launch()
        with gat.mark_kernels("a"):
            tags["a"] = [fake_cuda.launch() for _ in range(3)]
        tags["between"] = fake_cuda.launch()
        with gat.mark_kernels({"name": "b", "bs": 8}):
            tags["b"] = fake_cuda.launch()
        with gat.mark_kernels("empty"):
            pass
        tags["after"] = fake_cuda.launch()

    graph = capture(body, backend)
    assert names(graph) == {**dict.fromkeys(tags["a"], {"name": "a"}), tags["b"]: {"name": "b", "bs": 8}}


@BACKENDS
def test_inner_wins_common_keys_and_outer_ones_come_through(backend):
    tags = {}

    def body():
        with gat.mark_kernels({"name": "outer", "layer": 1, "kind": "x"}):
            tags["outer"] = fake_cuda.launch()
            with gat.mark_kernels({"name": "inner", "kind": "y"}):
                tags["inner"] = fake_cuda.launch()
            tags["again"] = fake_cuda.launch()

    graph = capture(body, backend)
    outer = {"name": "outer", "layer": 1, "kind": "x"}
    assert names(graph) == {tags["outer"]: outer, tags["inner"]: {"name": "inner", "layer": 1, "kind": "y"}, tags["again"]: outer}


@BACKENDS
def test_scopes_over_the_same_nodes(backend):
    tags = []

    def body():
        with gat.mark_kernels({"name": "outer", "layer": 1}), gat.mark_kernels("inner"):
            tags.append(fake_cuda.launch())

    graph = capture(body, backend)
    assert names(graph) == {tags[0]: {"name": "inner", "layer": 1}}


@BACKENDS
def test_every_kind_of_node_is_tagged(backend):
    kinds = [
        fake_cuda.KERNEL,
        fake_cuda.MEMCPY,
        fake_cuda.MEMSET,
        fake_cuda.BATCH_MEMORY,
        fake_cuda.EVENT_RECORD,
        fake_cuda.EVENT_WAIT,
        fake_cuda.HOST,
    ]

    def body():
        with gat.mark_kernels("all"):
            for kind in kinds:
                fake_cuda.launch(kind)

    graph = capture(body, backend)
    assert len(gat.get_kernel_annotations()) == len(kinds)
    assert set(map(json.dumps, (value[0] for value in gat.get_kernel_annotations().values()))) == {'{"name": "all"}'}
    del graph


@BACKENDS
def test_work_on_a_forked_stream_joined_or_not_yet(backend):
    tags = {}
    side = fake_cuda.Stream()

    def body():
        tags["main"] = fake_cuda.launch()
        side.wait_stream(torch.cuda.current_stream())
        with gat.mark_stream(side, "side"):
            tags["side"] = fake_cuda.launch()
        with gat.mark_kernels("main too"):
            tags["main too"] = fake_cuda.launch()
        torch.cuda.current_stream().wait_stream(side)
        tags["joined"] = fake_cuda.launch()

    graph = capture(body, backend)
    found = names(graph)
    assert found[tags["side"]]["name"] == "side" and found[tags["side"]]["stream"] >= 60
    assert found[tags["main too"]] == {"name": "main too"}
    assert tags["main"] not in found and tags["joined"] not in found


def test_a_scope_that_opens_before_the_side_stream_captures():
    side, tags = fake_cuda.Stream(), {}

    def body():
        with torch.cuda.stream(side), gat.mark_kernels("early"):
            side.wait_stream(fake_cuda._current[-2])
            tags["early"] = fake_cuda.launch()
        torch.cuda.current_stream().wait_stream(side)

    graph = capture(body, "cupti")
    assert names(graph)[tags["early"]] == {"name": "early"}


def test_child_graphs_and_bodies_are_tagged():
    child = fake_cuda.CUDAGraph(keep_graph=True)
    tags = {}
    body_stream = fake_cuda.Stream()

    def inner():
        with torch.cuda.stream(fake_cuda.Stream()):
            child.capture_begin()
            tags["child"] = fake_cuda.launch()
            child.capture_end()

    def body():
        with gat.mark_kernels({"name": "outer", "layer": 2}):
            with gat.mark_kernels("in child"):
                inner()
            assert fake_cuda.call("launch_child", torch.cuda.current_stream().cuda_stream, child._template)
            conditional = fake_cuda.call("launch_conditional", torch.cuda.current_stream().cuda_stream)
            assert fake_cuda.call("begin_capture_to_graph", body_stream.cuda_stream, conditional)
            with gat.mark_kernels("in body"):
                tags["body"] = fake_cuda.launch(on=body_stream)
            assert fake_cuda.call("end_capture", body_stream.cuda_stream)

    graph = capture(body, "cupti")
    found = names(graph)
    assert found[tags["child"]] == {"name": "in child", "layer": 2}
    assert found[tags["body"]] == {"name": "in body", "layer": 2}


def test_the_callers_dict_is_never_changed():
    annotation = {"name": "a", "shape": (1, 2), "type": torch.float32}
    before = dict(annotation)
    side = fake_cuda.Stream()

    def body():
        with gat.mark_kernels(annotation):
            fake_cuda.launch()
        side.wait_stream(torch.cuda.current_stream())
        with gat.mark_stream(side, annotation):
            fake_cuda.launch()
        torch.cuda.current_stream().wait_stream(side)

    graph = capture(body)
    assert annotation == before
    assert [value[0].get("stream", 0) >= 60 for value in gat.get_kernel_annotations().values()] == [False, True]
    assert next(iter(gat.get_kernel_annotations().values()))[0] == {"name": "a", "shape": [1, 2], "type": "torch.float32"}
    del graph


def test_mark_stream_on_the_current_stream_adds_no_lane():
    def body():
        with gat.mark_stream(torch.cuda.current_stream(), "here"):
            fake_cuda.launch()

    graph = capture(body)
    assert list(names(graph).values()) == [{"name": "here"}]


def test_marks_are_decorators_and_can_be_entered_again():
    @gat.mark_kernels("decorated")
    def work():
        return fake_cuda.launch()

    mark, tags = gat.mark_kernels("twice"), {}

    def body():
        tags["decorated"] = work()
        with mark:
            with mark:
                tags["inner"] = fake_cuda.launch()
            tags["outer"] = fake_cuda.launch()
        tags["none"] = fake_cuda.launch()

    graph = capture(body)
    assert names(graph) == {tags["decorated"]: {"name": "decorated"}, tags["inner"]: {"name": "twice"}, tags["outer"]: {"name": "twice"}}


def test_threads_have_scopes_of_their_own():
    """What another thread creates gets its own scopes, over those of the thread that began the capture."""
    tags = {}

    def other(stream):
        with torch.cuda.stream(stream), gat.mark_kernels("worker"):
            tags["worker"] = fake_cuda.launch()

    def body():
        with gat.mark_kernels({"name": "main", "layer": 3}):
            thread = threading.Thread(target=other, args=(torch.cuda.current_stream(),))
            thread.start()
            thread.join()
            tags["main"] = fake_cuda.launch()

    graph = capture(body, "cupti")
    assert names(graph) == {tags["worker"]: {"name": "worker", "layer": 3}, tags["main"]: {"name": "main", "layer": 3}}


def test_outside_a_capture_nothing_is_recorded():
    with gat.mark_kernels("a"), gat.mark_stream(fake_cuda.Stream(), "b"):
        pass
    graph = torch.cuda.CUDAGraph()
    with gat.graph(graph, stream=fake_cuda.Stream()):
        with gat.mark_kernels("not enabled"):
            fake_cuda.launch()
    assert not gat.get_kernel_annotations()


def test_both_backends_give_the_same_ids_and_dicts():
    def body():
        fake_cuda.launch()
        with gat.mark_kernels("a"):
            fake_cuda.launch()
            with gat.mark_kernels({"layer": 1}):
                fake_cuda.launch()

    found = []
    for backend in ("cupti", "edge_walk"):
        graph = capture(body, backend)
        ids = graph.replay().values()
        view = gat.get_kernel_annotations()
        found.append([(node_id & 0xFFFFFFFF, view[node_id]) for node_id in ids if node_id in view])
    assert found[0] == found[1] and len(found[0]) == 2

@BACKENDS
def test_streams_that_graphtag_is_not_told_of(backend):
    tags = {}
    first, second = fake_cuda.Stream(), fake_cuda.Stream()

    def body():
        main = torch.cuda.current_stream()
        first.wait_stream(main)
        with gat.mark_kernels("a"):
            tags["a"] = [fake_cuda.launch(), fake_cuda.launch(on=first)]
            second.wait_stream(first)
        with gat.mark_kernels("b"):
            tags["b"] = [fake_cuda.launch(on=second), fake_cuda.launch(), fake_cuda.launch(on=first)]
        tags["none"] = fake_cuda.launch(on=second)
        main.wait_stream(first)
        main.wait_stream(second)

    graph = capture(body, backend)
    assert names(graph) == {**dict.fromkeys(tags["a"], {"name": "a"}), **dict.fromkeys(tags["b"], {"name": "b"})}


# --- the surface


def test_signatures():
    assert list(inspect.signature(gat.mark_kernels).parameters.items())[1][1].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(gat.mark_kernels).parameters["backward"].default is True
    parameters = inspect.signature(gat.graph).parameters
    ours = set(parameters) - {"label"}
    assert set(inspect.signature(gat._capture.torch_graph).parameters) <= ours
    assert "enable_annotations" in inspect.signature(gat.make_graphed_callables).parameters


@pytest.mark.parametrize(
    ("config", "allowed"),
    [
        ({"backend": "cuspy"}, "'auto', 'cupti', 'edge_walk'"),
        ({"key_by": "node"}, "'exec', 'source', 'auto'"),
        ({"stacks": True}, "'backend', 'key_by', 'record_py_stacks', 'py_stack_filter_paths'"),
        ({"record_py_stacks": 1}, "True or False"),
        ({"py_stack_filter_paths": "folder"}, "list or tuple"),
        ({"py_stack_filter_paths": [""]}, "non-empty"),
        ({"record_py_stacks": True, "backend": "edge_walk"}, "callbacks"),
        ("auto", "must be a dict"),
    ],
)
def test_unknown_options_are_refused_with_the_list(config, allowed):
    with pytest.raises(ValueError, match=allowed):
        gat.graph(torch.cuda.CUDAGraph(), annotation_config=config)


def test_callbacks_that_cannot_be_had():
    assert fake_cuda.call("take_subscription")
    try:
        with pytest.raises(RuntimeError, match="subscription"):
            capture(body_a, "cupti")
        graph = capture(body_a, "auto")
        assert list(names(graph).values()) == [{"name": "a"}]
    finally:
        fake_cuda.call("release_subscription")


def test_lanes():
    first, second = gat.get_stream_for_pg("tp"), gat.get_stream_for_pg("dp")
    assert first >= 60 and second == first + 1 and gat.get_stream_for_pg("tp") == first


def test_labels():
    graph = capture(body_a, label={"batch_size": 8})
    document = json.loads(graphtag._ext.snapshot_json())
    exec_id = graphtag._ext.exec_id(graph.raw_cuda_graph_exec())
    template = next(entry["template"] for entry in document["execs"] if entry["id"] == exec_id)
    assert next(entry["label"] for entry in document["graphs"] if entry["id"] == template) == {"batch_size": 8}


def test_python_launch_stacks(tmp_path):
    tags = {}

    def attention():
        tags["attention"] = fake_cuda.launch()

    graph = torch.cuda.CUDAGraph()
    config = {"record_py_stacks": True, "py_stack_filter_paths": []}
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True, annotation_config=config):
        attention()
        fake_cuda.launch()
    stacks = gat.get_kernel_py_stacks()
    lines = stacks[graph.replay()[tags["attention"]]].split("\n")
    line = attention.__code__.co_firstlineno + 1
    assert f"{__file__}:{line}:attention" in lines
    assert lines.index(f"{__file__}:{line}:attention") < next(i for i, text in enumerate(lines) if text.endswith(":test_python_launch_stacks"))
    assert len(stacks) == 2 and pickle.loads(pickle.dumps(stacks)) == dict(stacks)
    gat.dump_kernel_py_stacks(tmp_path / "stacks.json.gz")
    with gzip.open(tmp_path / "stacks.json.gz", "rt") as file:
        assert json.load(file) == {str(node_id): stack for node_id, stack in stacks.items()}
    del graph
    assert not stacks


def test_launch_stacks_leave_folders_out(tmp_path):
    graph = torch.cuda.CUDAGraph()
    config = {"record_py_stacks": True, "py_stack_filter_paths": [str(fake_cuda.Path(__file__).parent)]}
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True, annotation_config=config):
        fake_cuda.launch()
    assert __file__ not in next(iter(gat.get_kernel_py_stacks().values()))


# --- backward, where marks meet the autograd adaptor (test_backward*.py have the rest)


class Launch(torch.autograd.Function):
    """A kernel forward, another backward."""

    @staticmethod
    def forward(context, x, tags, key):
        context.tags, context.key = tags, key
        tags[key] = fake_cuda.launch()
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        context.tags[context.key + " backward"] = fake_cuda.launch(on=context.tags["stream"])
        return gradient, None, None


def test_backward_work_carries_its_region():
    tags = {}

    def body():
        tags["stream"] = torch.cuda.current_stream()
        x = torch.ones(3, requires_grad=True)
        with gat.mark_kernels({"name": "block", "layer": 1}):
            x = Launch.apply(x, tags, "marked")
        with gat.mark_kernels({"kind": "forward only"}, backward=False):
            x = Launch.apply(x, tags, "unmarked")
            with gat.mark_kernels("nested"):
                x = Launch.apply(x, tags, "nested")
        x.sum().backward()

    graph = capture(body, "cupti")
    found = names(graph)
    assert found[tags["marked"]] == {"name": "block", "layer": 1}
    assert found[tags["marked backward"]] == {"name": "block", "layer": 1, "autograd_phase": "backward"}
    assert tags["unmarked backward"] not in found
    assert found[tags["nested backward"]] == {"name": "nested", "kind": "forward only", "autograd_phase": "backward"}


@pytest.mark.skipif(not hasattr(torch.autograd.graph, "node_creation_hook"), reason="this PyTorch has no node_creation_hook")
def test_backward_work_carries_its_region_without_a_compiler_too(tmp_path):
    program = """
import fake_cuda, json, torch, graphtag, graphtag.torch as gat
from graphtag.torch import _backward

class Patch:
    setattr = staticmethod(lambda owner, name, value, raising=True: setattr(owner, name, value))
fake_cuda.put_into(torch, Patch)

class Work(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        fake_cuda.launch()
        return value * 1
    @staticmethod
    def backward(context, gradient):
        fake_cuda.launch()
        return gradient

graph = torch.cuda.CUDAGraph()
with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True):
    x = torch.ones(3, requires_grad=True)
    with gat.mark_kernels("a"):
        y = Work.apply(x)
    with gat.mark_kernels("b", backward=False):
        z = Work.apply(y)
    z.sum().backward()
print(json.dumps([_backward.mode(), [graphtag.resolve(node).annotation for node in graph.replay().values()]]))
"""
    environment = {**os.environ, "PATH": str(tmp_path), "GRAPHTAG_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.path.dirname(__file__)}
    environment.pop("CXX", None)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["hooks", [{"name": "a"}, {"name": "b"}, None, {"name": "a", "autograd_phase": "backward"}]]


def test_the_benchmarks_body_opens_every_scope(monkeypatch):
    """bench/python/capture_cost.py, which the comparison with PyTorch's own annotations measures as well."""
    monkeypatch.syspath_prepend(fake_cuda.SOURCE_DIR / "bench/python")
    import capture_cost

    steps = []

    class Mark:
        def __init__(self, name, backward):
            assert not backward
            self.name = name

        def __enter__(self):
            steps.append(f"+{self.name}")

        def __exit__(self, *error):
            steps.append(f"-{self.name}")

    x = torch.zeros(1)
    capture_cost.body(150, 2, x, mark=Mark)
    assert steps == ["+level0", "+level1", "-level1", "-level0"] * 3
    assert x.item() == 150
