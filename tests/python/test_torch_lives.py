"""graphtag.torch on PyPI's torch and a false CUDA: what is promised of graphs' lives, of captures that fail, and of the view."""
import pickle

import fake_cuda
import pytest
from torch_captures import BACKENDS, body_a, capture, false_cuda, names  # noqa: F401 - false_cuda is a fixture

import graphtag
import graphtag.torch as gat
import torch


# --- captures that fail


@BACKENDS
def test_a_failed_capture_leaves_nothing(backend):
    graph, side = torch.cuda.CUDAGraph(), fake_cuda.Stream()
    stream = fake_cuda.Stream()
    with pytest.raises(RuntimeError, match="invalidated"):
        with gat.graph(graph, stream=stream, enable_annotations=True, annotation_config={"backend": backend}):
            side.wait_stream(torch.cuda.current_stream())
            with gat.mark_kernels("lost"):
                fake_cuda.launch()
                fake_cuda.launch(on=side)
    assert not gat.get_kernel_annotations()
    again = torch.cuda.CUDAGraph()
    with gat.graph(again, stream=stream, enable_annotations=True):
        with gat.mark_kernels("found"):
            fake_cuda.launch()
        fake_cuda.launch()
    assert list(names(again).values()) == [{"name": "found"}]


@BACKENDS
def test_an_exception_in_a_scope_closes_it(backend):
    graph, stream = torch.cuda.CUDAGraph(), fake_cuda.Stream()
    with pytest.raises(ZeroDivisionError):
        with gat.graph(graph, stream=stream, enable_annotations=True, annotation_config={"backend": backend}):
            with gat.mark_kernels("a"):
                fake_cuda.launch()
                raise ZeroDivisionError
    assert not gat.get_kernel_annotations()
    again = torch.cuda.CUDAGraph()
    with gat.graph(again, stream=stream, enable_annotations=True):
        fake_cuda.launch()
    assert names(again) == {}


def test_a_capture_that_cannot_begin():
    stream = fake_cuda.Stream()
    assert fake_cuda.call("begin_capture", stream.cuda_stream)
    with pytest.raises(RuntimeError, match="capturing"):
        with gat.graph(torch.cuda.CUDAGraph(), stream=stream, enable_annotations=True):
            raise AssertionError("the capture began")
    fake_cuda.call("end_capture", stream.cuda_stream)


# --- lives of graphs


def test_keys_carry_the_exec_graphs_id():
    graph = capture(body_a)
    exec_id = graphtag._ext.exec_id(graph.raw_cuda_graph_exec())
    assert {node_id >> 32 for node_id in gat.get_kernel_annotations()} == {exec_id}


@BACKENDS
def test_several_graphs_each_get_their_own(backend):
    graphs = [capture(gat.mark_kernels(name)(fake_cuda.launch), backend) for name in "xyz"]
    assert [list(names(graph).values()) for graph in graphs] == [[{"name": name}] for name in "xyz"]


@BACKENDS
def test_deferred_instantiation(backend):
    graph = capture(body_a, backend, keep_graph=True)
    graph_id = graphtag._ext.graph_id(graph.raw_cuda_graph())
    assert {node_id >> 32 for node_id in gat.get_kernel_annotations()} == {graph_id}
    graph.replay()
    assert list(names(graph).values()) == [{"name": "a"}], "moved by the first replay"
    old = next(iter(graph.records().values()))
    graph.instantiate()
    new = next(iter(graph.records().values()))
    assert old != new and list(gat.get_kernel_annotations()) == [new], "moved again"
    assert graphtag.resolve(old).annotation == {"name": "a"}, "the one before still resolves"
    assert "replay" not in graph.__dict__, "replay pays nothing"


def test_key_by_source_stays_with_the_template():
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True, annotation_config={"key_by": "source"}):
        body_a()
    graph_id = graphtag._ext.graph_id(graph.raw_cuda_graph())
    graph.replay()
    assert {node_id >> 32 for node_id in gat.get_kernel_annotations()} == {graph_id}


@pytest.mark.parametrize("how", ["reset", "death"])
@BACKENDS
def test_a_graph_that_goes_drops_its_own_entries_alone(backend, how):
    kept, gone = capture(body_a, backend), capture(body_a, backend)
    ids = list(gone.replay().values())
    if how == "reset":
        gone.reset()
    del gone
    assert list(gat.get_kernel_annotations()) == list(kept.replay().values())
    assert graphtag.resolve(ids[0]).annotation == {"name": "a"}, "traces may still come"


def test_a_reset_graph_captures_again():
    graph = capture(body_a)
    graph.reset()
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True):
        with gat.mark_kernels("b"):
            fake_cuda.launch()
    assert list(names(graph).values()) == [{"name": "b"}]


# --- the view


def test_the_view_is_live_and_read_only():
    view = gat.get_kernel_annotations()
    assert len(view) == 0 and 7 not in view
    graph = capture(body_a)
    assert len(view) == 1 and view[next(iter(view))] == [{"name": "a"}]
    with pytest.raises(TypeError):
        view[1] = []
    with pytest.raises(KeyError):
        view[1]
    assert pickle.loads(pickle.dumps(view)) == dict(view) == pickle.loads(pickle.dumps(dict(view)))
    del graph


def test_a_change_in_a_copy_changes_nothing():
    graph = capture(body_a)
    dict(gat.get_kernel_annotations())[next(iter(gat.get_kernel_annotations()))][0]["name"] = "changed"
    assert list(names(graph).values()) == [{"name": "a"}]


def test_clear_warns_and_clears():
    graph = capture(body_a)
    with pytest.warns(FutureWarning):
        gat.clear_kernel_annotations()
    assert not gat.get_kernel_annotations()
    del graph


def test_annotation_for():
    graph = capture(body_a)
    assert gat.annotation_for(next(iter(graph.replay().values()))) == {"name": "a"}
    assert gat.annotation_for(1 << 60) is None


def test_many_look_ups_read_the_registry_once(monkeypatch):
    graph = capture(body_a)
    view, reads = gat.get_kernel_annotations(), []
    read = graphtag._ext.live_nodes
    monkeypatch.setattr(gat._registry, "_read", lambda original=gat._registry._read: reads.append(1) or original())
    ids = list(graph.replay().values())
    for _ in range(100):
        assert [node_id in view for node_id in ids] == [True]
        assert view[ids[0]] == [{"name": "a"}] and view.get(12345) is None
    assert len(reads) <= 1
    view[ids[0]][0]["name"] = "changed"
    assert view[ids[0]] == [{"name": "a"}], "what it hands out is the caller's"
    graph.reset()
    assert ids[0] not in view and not len(view) and read() == []
    other = capture(body_a)
    assert len(view) == 1
    graphtag.forget()
    assert len(view) == 0
    del other
