"""Backward work in captured CUDA graphs on a GPU: every kernel's region, against what the test knows from shapes.

Each region works on sizes that no other region has, so the shapes of an operator's tensors say which region it is of. A dispatch mode
notes which nodes each operator adds to the graph while it is captured, forward and backward, on whatever thread; CUPTI's records say
which kernels ran, by node id; graphtag says what they are called.

usage: models.py [--rehearse] [CHECK ...]
"""
import ctypes
import sys
import threading
import time
from collections import Counter

from harness import BACKENDS, DEVICE, capture as record_capture, check, gat, graphtag, main, recorder, replayed, torch
from graphtag.torch import _backward as backward
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from torch.utils.checkpoint import checkpoint

LAYERS = 12
BATCH, TOKENS = 2, 32
HEADS = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
HEAD_SIZES = (43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
INPUT, OUTPUT = 36, 701


class Graph:
    """The graph that the current stream captures into: how many nodes it has."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def node_count(self):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status, capture, graph, dependencies, count = (
            ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        )  # fmt: skip
        result = self.cuda.cuStreamGetCaptureInfo_v2(stream, ctypes.byref(status), ctypes.byref(capture), ctypes.byref(graph),
                                                     ctypes.byref(dependencies), ctypes.byref(count))  # fmt: skip
        assert result == 0, f"cuStreamGetCaptureInfo_v2: {result}"
        if status.value != 1:
            return 0
        nodes = ctypes.c_size_t()
        assert self.cuda.cuGraphGetNodes(graph, None, ctypes.byref(nodes)) == 0
        return nodes.value


def facts_of(function, arguments, keywords, result):
    """An operator's name, and the sizes of its tensors. An addition of two tensors is "add tensors": of a number it is a formula's."""
    tensors = [item for item in tree_flatten((arguments, keywords, result))[0] if isinstance(item, torch.Tensor)]
    name = function.__name__.partition(".")[0]
    if name in ("add", "add_") and sum(isinstance(argument, torch.Tensor) for argument in arguments) == 2:
        name = "add tensors"
    return name, {size for tensor in tensors for size in tensor.shape}


class Nodes(TorchDispatchMode):
    """Notes for each operator: the local ids of the nodes that it adds, its name, the sizes of its tensors, phase and thread."""

    def __init__(self):
        super().__init__()
        self.graph, self.rows, self.phase = Graph(), [], "forward"

    def __torch_dispatch__(self, function, kinds, arguments=(), keywords=None):
        first = self.graph.node_count()
        result = function(*arguments, **(keywords or {}))
        end = self.graph.node_count()
        if end > first:
            self.rows.append((range(first, end), *facts_of(function, arguments, keywords, result), self.phase, threading.get_native_id()))
        return result


class Layer(torch.nn.Module):
    """A transformer's layer: its input is projected to a width of its own, then attention, then an MLP to another width of its own."""

    def __init__(self, index, inputs):
        super().__init__()
        self.heads, self.head_size = HEADS[index], HEAD_SIZES[index]
        width, self.hidden, self.outputs = self.heads * self.head_size, 401 + 2 * index, 501 + 2 * index
        self.names = f"layers.{index}.attention", f"layers.{index}.mlp"
        self.sizes = ({width, self.heads, self.head_size, BATCH * self.heads}, {self.hidden, self.outputs})
        self.project, self.norm = torch.nn.Linear(inputs, width), torch.nn.LayerNorm(width)
        self.query, self.key, self.value = (torch.nn.Linear(width, width) for _ in range(3))
        self.up, self.down = torch.nn.Linear(width, self.hidden), torch.nn.Linear(self.hidden, self.outputs)

    def split(self, x):
        return x.view(BATCH, TOKENS, self.heads, self.head_size).transpose(1, 2)

    def forward(self, x):
        with gat.mark_kernels(self.names[0]):
            x = self.project(x)
            h = self.norm(x)
            q, k, v = self.split(self.query(h)), self.split(self.key(h)), self.split(self.value(h))
            weights = torch.softmax(q @ k.transpose(-1, -2) * self.head_size**-0.5, -1)
            # No addition in the forward: those that run are then the engine's, where gradients meet.
            x = torch.lerp(x, (weights @ v).transpose(1, 2).reshape(x.shape), 0.5)
        with gat.mark_kernels(self.names[1]):
            return self.down(functional.gelu(self.up(x)))


class Model(torch.nn.Module):
    def __init__(self, wrap):
        super().__init__()
        self.wrap = wrap
        self.layers = torch.nn.ModuleList(Layer(i, INPUT if i == 0 else 499 + 2 * i) for i in range(LAYERS))
        self.head = torch.nn.Linear(self.layers[-1].outputs, OUTPUT)
        # In the order of the forward: an operator on sizes of two regions is of the later one, whose input the earlier's output is.
        self.regions = [(name, sizes) for layer in self.layers for name, sizes in zip(layer.names, layer.sizes)] + [("head", {OUTPUT})]
        every = [size for _, sizes in self.regions for size in sizes] + [INPUT, BATCH, TOKENS, BATCH * TOKENS]
        assert len(every) == len(set(every)), "a size belongs to two regions"

    def region(self, sizes):
        """The name of the region that works on these sizes; None if none does."""
        return next((name for name, own in reversed(self.regions) if own & sizes), None)

    def forward(self, x):
        with gat.mark_kernels({"name": "model", "step": 7}):
            for layer in self.layers:
                x = self.wrap(layer, x)
            with gat.mark_kernels("head"):
                return self.head(x).pow(2).mean()


def expected_in_model(model, reentrant):
    """What a node of this operator is to be called."""

    def expected(operator, sizes, phase):
        name = model.region(sizes)
        if operator == "add tensors":  # gradients that meet, or go into .grad
            # Within a checkpoint's own backward, which is a node of the model's.
            within = reentrant and phase == "backward" and name not in (None, "head")
            return in_backward({"name": "model", "step": 7}) if within else None
        if name is None:
            return None
        keys = {"name": name, "step": 7}
        return in_backward(keys) if phase == "backward" else keys

    return expected


def in_backward(keys):
    """`keys` as they are expected on backward work."""
    return {**({"name": keys} if isinstance(keys, str) else keys), "autograd_phase": "backward"}


def capture(work, backend):
    """Runs `work(nodes)` three times to warm up, then captures it; returns the graph and the rows."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work(Nodes())
    torch.cuda.current_stream().wait_stream(side)
    nodes = Nodes()

    def body():
        with nodes:
            work(nodes)

    return record_capture(body, backend=backend), nodes.rows


def transformer(backend, wrap, reentrant=False):
    torch.manual_seed(0)
    model = Model(wrap).to(DEVICE)
    x = torch.randn(BATCH, TOKENS, INPUT, device=DEVICE, requires_grad=True)
    for parameter in [*model.parameters(), x]:
        parameter.grad = torch.zeros_like(parameter)

    def work(nodes):
        nodes.phase = "forward"
        loss = model(x)
        nodes.phase = "backward"
        loss.backward()

    return *capture(work, backend), expected_in_model(model, reentrant), model


def second_order(backend):
    widths = (36, 101, 103, 107)
    torch.manual_seed(0)
    linears = [torch.nn.Linear(a, b).to(DEVICE) for a, b in zip(widths, widths[1:])]
    x = torch.randn(8, widths[0], device=DEVICE, requires_grad=True)
    for parameter in [p for linear in linears for p in linear.parameters()] + [x]:
        parameter.grad = torch.zeros_like(parameter)

    def work(nodes):
        nodes.phase = "forward"
        y = x
        for linear in linears:
            with gat.mark_kernels(f"l{linear.out_features}"):
                y = torch.sigmoid(linear(y))
        total = y.sum()
        nodes.phase = "backward"
        (first,) = torch.autograd.grad(total, x, create_graph=True)
        first.sum().backward()

    def expected(operator, sizes, phase):
        width = max(sizes & set(widths), default=None)
        # Outside: the sum of the last layer's output, and what makes it back into that shape.
        if operator in ("add tensors", "fill_", "ones_like") or (operator == "sum" and phase == "forward"):
            return None
        if width in (None, widths[0]):
            return None
        keys = {"name": f"l{width}"}
        return in_backward(keys) if phase == "backward" else keys

    return *capture(work, backend), expected, linears


def penalty(backend):
    """The forward has no scope. The nodes that the first backward makes, on the engine's thread, are of the scope around its call."""
    x = torch.randn(8, 36, device=DEVICE, requires_grad=True)
    x.grad = torch.zeros_like(x)

    def work(nodes):
        nodes.phase = "forward"
        y = torch.sigmoid(x).sum()
        nodes.phase = "around"
        with gat.mark_kernels("penalty"):
            (first,) = torch.autograd.grad(y, x, create_graph=True)
        nodes.phase = "after"
        total = first.sum()
        nodes.phase = "backward"
        total.backward()

    def expected(operator, sizes, phase):
        if phase == "around":
            return {"name": "penalty"}
        return in_backward("penalty") if phase == "backward" and operator in ("mul", "add") else None

    return *capture(work, backend), expected, x


def judge(graph, rows, expected, keep):
    """Raises unless every kernel of a replay is called right; returns a line on how many there were. `keep` is what must live until then."""
    operators = {local: row for row in rows for local in row[0]}
    right, wrong, named = 0, Counter(), Counter()
    records = replayed(graph)
    for record in records:
        row = operators.get(record.local_id)
        if row is None:
            wrong["made outside every operator"] += 1
            continue
        _, operator, sizes, phase, _ = row
        want, got = expected(operator, sizes, phase), graphtag.resolve(record.node_id).annotation
        named[None if got is None else got["name"]] += 1
        if want == got:
            right += 1
        else:
            wrong[f"{operator} {sorted(sizes)} ({phase}): {got}, not {want}"] += 1
    del keep
    assert not wrong, f"{sum(wrong.values())} of {len(records)} wrong; {wrong.most_common(6)}"
    threads = {row[4] for row in rows if row[3] == "backward"}
    own = threading.get_native_id()
    engine = "the engine's thread" if own not in threads else "both threads" if len(threads) > 1 else "the caller's thread"
    return f"{right} of {len(records)} right, {len(named)} names, {named[None]} without; backward on {engine}"


@check(backends=BACKENDS)
def twelve_layers(backend):
    return judge(*transformer(backend, lambda layer, x: layer(x)))


@check(backends=BACKENDS)
def twelve_layers_with_a_checkpoint_each(backend):
    return judge(*transformer(backend, lambda layer, x: checkpoint(layer, x, use_reentrant=False)))


@check(backends=BACKENDS)
def twelve_layers_with_a_reentrant_checkpoint_each(backend):
    return judge(*transformer(backend, lambda layer, x: checkpoint(layer, x, use_reentrant=True), True))


@check(backends=BACKENDS)
def gradients_of_gradients(backend):
    return judge(*second_order(backend))


@check(backends=BACKENDS)
def a_gradient_penalty(backend):
    return judge(*penalty(backend))


@check
def what_the_callback_costs():
    """A chain of one-element additions run backward: with its regions remembered, against nothing remembered; the best of many, in turn. While a
    machine is slow (it may be by three quarters, for seconds) everything is, so that more rounds are made."""
    limit, nodes, with_regions, without = 1000, 2000, [], []
    while len(without) < 30 or (min(with_regions) - min(without) > limit and len(without) < 300):
        value = start = torch.ones(1, device=DEVICE, requires_grad=True)
        with graphtag.window():
            for _ in range(10):
                with gat.mark_kernels("region"):
                    for _ in range(nodes // 10):
                        value = value + 1
            with_regions += [backward_ns(value, start, nodes) for _ in range(3)]
        backward.forget()
        without += [backward_ns(value, start, nodes) for _ in range(3)]
    more = min(with_regions) - min(without)
    assert more <= limit, f"{more:.0f} ns a node"
    return f"{min(without):.0f} ns a node without, {more:+.0f} with"


def backward_ns(value, start, nodes):
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    torch.autograd.grad(value, start, retain_graph=True)
    return (time.perf_counter_ns() - begin) / nodes


@check
def nothing_failed_on_the_way():
    counted = backward.counters()
    assert counted["failures"] == 0, counted
    return str(counted)


def prepare():
    recorder()
    mode = backward.enable()
    assert mode == "callback", f"backward by {mode}: {backward.available()}"


if __name__ == "__main__":
    sys.exit(main("backward of models", prepare))
