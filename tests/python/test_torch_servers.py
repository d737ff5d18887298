"""Servers with one graph a batch size, whose captures the user cannot reach: install(every_capture=True) at the start, and what docs/pytorch.md says."""
import fake_cuda
import pytest

import graphtag
import graphtag.torch as gat
import torch
import torch._dynamo  # noqa: F401 - before the false CUDA: an older one looks at torch.cuda.Stream


@pytest.fixture(autouse=True)
def false_cuda(monkeypatch):
    fake_cuda.put_into(torch, monkeypatch)
    monkeypatch.setattr(gat._capture.graph, "default_capture_stream", None)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 1))
    gat.install(every_capture=True)
    yield
    gat.uninstall()
    assert not graphtag._ext.active()
    graphtag.forget()


class Layer(torch.nn.Module):
    def forward(self, x):
        fake_cuda.launch()
        return x


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.mlp = Layer(), Layer()

    def forward(self, x):
        return self.mlp(self.attention(x))


def named(graph):
    return [graphtag.resolve(node_id).annotation for node_id in sorted(graph.replay().values())]


class DispatchingWrapper:
    """As vLLM wraps a model: a call while the server warms up captures the graph of its batch size, a later one replays it."""

    def __init__(self, model):
        self.model, self.graphs, self.pool = model, {}, torch.cuda.graph_pool_handle()

    def __call__(self, x):
        batch_size = x.shape[0]
        if batch_size not in self.graphs:
            self.graphs[batch_size] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[batch_size], pool=self.pool, stream=fake_cuda.Stream()):
                return self.model(x)
        return self.graphs[batch_size].replay()


class RunnerOfBatchSizes:
    """As SGLang captures: a method for one batch size, called from the largest to the smallest, with one pool and one stream."""

    def __init__(self, model, batch_sizes):
        self.model, self.graphs, self.stream = model, {}, fake_cuda.Stream()
        for batch_size in sorted(batch_sizes, reverse=True):
            self.graphs[batch_size] = self.capture_one_batch_size(batch_size, self.model.forward)

    def capture_one_batch_size(self, batch_size, forward):
        graph = torch.cuda.CUDAGraph()
        for _ in range(2):
            torch.cuda.synchronize()
        with torch.cuda.graph(cuda_graph=graph, pool=torch.cuda.graph_pool_handle(), stream=self.stream):
            forward(torch.zeros(batch_size))
        return graph


def test_the_scopes_around_a_call_that_captures_tell_batch_sizes_apart():
    model = Model()
    wrapper = DispatchingWrapper(model)
    gat.annotate_modules(model)
    for _ in range(2):
        for batch_size in (8, 4, 1):
            with gat.mark_kernels({"bs": batch_size}):
                wrapper(torch.zeros(batch_size))
    assert {size: named(graph) for size, graph in wrapper.graphs.items()} == {
        size: [{"name": "attention", "bs": size}, {"name": "mlp", "bs": size}] for size in (8, 4, 1)
    }


def test_a_method_that_captures_one_batch_size_is_wrapped(monkeypatch):
    model = Model()
    gat.annotate_modules(model)
    capture_one = RunnerOfBatchSizes.capture_one_batch_size

    def capture_named(self, batch_size, *arguments):
        with gat.mark_kernels({"bs": batch_size}):
            return capture_one(self, batch_size, *arguments)

    monkeypatch.setattr(RunnerOfBatchSizes, "capture_one_batch_size", capture_named)
    runner = RunnerOfBatchSizes(model, (1, 2, 4))
    assert {size: named(graph) for size, graph in runner.graphs.items()} == {
        size: [{"name": "attention", "bs": size}, {"name": "mlp", "bs": size}] for size in (1, 2, 4)
    }
