"""What the tests of captures with graphtag.torch share: PyPI's torch on a false CUDA, captures, and what their records are called."""
import fake_cuda
import pytest

import graphtag
import graphtag.torch as gat
import torch

COMMAND = fake_cuda.BUILD / "graphtag"
BACKENDS = pytest.mark.parametrize("backend", ["cupti", "edge_walk"])


@pytest.fixture(autouse=True)
def false_cuda(monkeypatch):
    fake_cuda.put_into(torch, monkeypatch)
    monkeypatch.setattr(gat._capture.graph, "default_capture_stream", None)
    yield
    assert not graphtag._ext.active(), "a window stayed open"
    assert not fake_cuda.call("has_subscriber"), "a subscription stayed"
    graphtag.forget()


@pytest.fixture(autouse=True)
def false_programs(monkeypatch):
    """The same for whole programs, which install() and run the command."""
    fake_cuda.put_into(torch, monkeypatch)
    monkeypatch.setattr(gat._capture.graph, "default_capture_stream", None)
    monkeypatch.setenv("GRAPHTAG_COMMAND", str(COMMAND))
    yield
    gat.uninstall()
    assert not graphtag._ext.active()
    graphtag.forget()


def capture(body, backend="auto", keep_graph=False, **options):
    """Captures body() with annotations; returns the graph."""
    graph = torch.cuda.CUDAGraph(keep_graph)
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True, annotation_config={"backend": backend}, **options):
        body()
    return graph


def names(graph):
    """{tag: annotation} of the records of one replay, as the live view has them."""
    view = dict(gat.get_kernel_annotations())
    return {tag: view[node_id][0] for tag, node_id in graph.replay().items() if node_id in view}


def body_a():
    """A kernel called "a"."""
    with gat.mark_kernels("a"):
        fake_cuda.launch()
