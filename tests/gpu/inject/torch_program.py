"""A PyTorch program with NVTX ranges that knows nothing of graphtag: several captures, replays, eager work between, backward in a capture. Each kernel of
its own has a grid that nothing else has; TRUTH (a path) becomes what each was launched as.

usage: torch_program.py TRUTH
"""
import json
import sys
import threading
from collections import defaultdict

import torch
from torch.cuda import nvtx

SOURCE = 'extern "C" __global__ void inject_probe(float* x) { if (threadIdx.x == 0 && blockIdx.x == 0) x[0] += 1.0f; }'
PROBE = torch.cuda._compile_kernel(SOURCE, "inject_probe")
X = torch.zeros(8, device="cuda")
TRUTH = {}
LOCK = threading.Lock()
LOCAL = threading.local()


class Range:
    """A range, and what the test knows of it: the regions of the thread."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        nvtx.range_push(self.name)
        stack().append(self.name)

    def __exit__(self, *_):
        nvtx.range_pop()
        stack().pop()


def stack():
    if not hasattr(LOCAL, "stack"):
        LOCAL.stack = []
    return LOCAL.stack


def probe(graph=None, region=...):
    """One kernel with a grid of its own; `graph`: the list that collects the grids of a capture. The region is that of the thread, if not said."""
    with LOCK:
        grid = len(TRUTH) + 1000
        known = (".".join(stack()) or None) if region is ... else region
        TRUTH[grid] = {"region": known, "graph": graph is not None, "launches": 0 if graph is not None else 1}
    PROBE(grid=(grid, 1, 1), block=(32, 1, 1), args=(X,))
    if graph is not None:
        graph.append(grid)


class Probed(torch.autograd.Function):
    """Its backward runs on autograd's thread: in a capture within the range around backward() on the thread that captures, else within its own."""

    @staticmethod
    def forward(ctx, x, grids, around):
        ctx.grids, ctx.around = grids, around
        probe(grids)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        probe(ctx.grids, region=".".join(ctx.around) or None)
        nvtx.range_push("inner backward")
        probe(ctx.grids, region=".".join([*ctx.around, "inner backward"]))
        nvtx.range_pop()
        return gradient * 2, None, None


def layer(grids, weight, x):
    with Range("attention"):
        probe(grids)
        x = x @ weight
        with Range("softmax"):
            probe(grids)
            x = torch.softmax(x, dim=-1)
    with Range("mlp"):
        x = torch.relu(x @ weight)
        probe(grids)
    return x


def capture_decode(batch, weight):
    grids, graph = [], torch.cuda.CUDAGraph()
    x = torch.randn(batch, 64, device="cuda")
    with torch.cuda.graph(graph):
        with Range(f"decode {batch}"):
            for i in range(4):
                with Range(f"layers.{i}"):
                    x = layer(grids, weight, x)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            overlapping = nvtx.range_start("started")
            with torch.cuda.stream(side):
                with Range("side"):
                    around = stack()[:-1] + ["started"] + stack()[-1:]
                    probe(grids, region=".".join(around))
            nvtx.range_end(overlapping)
            torch.cuda.current_stream().wait_stream(side)
        probe(grids)  # within the capture, outside every range
    return graph, grids


def capture_training():
    grids, graph = [], torch.cuda.CUDAGraph()
    weight = torch.randn(64, 64, device="cuda", requires_grad=True)
    x = torch.randn(8, 64, device="cuda")

    def step(into, around):
        with Range("forward"):
            loss = Probed.apply(x @ weight, into, around).sum()
        with Range("backward"):
            loss.backward()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), Range("warm-up"):
        step(None, [])
    torch.cuda.current_stream().wait_stream(stream)
    weight.grad = None
    with torch.cuda.graph(graph):
        with Range("train"):
            step(grids, ["train", "backward"])
    return graph, grids


def main():
    weight = torch.randn(64, 64, device="cuda")
    torch.softmax(torch.relu(weight @ weight), dim=-1)  # libraries are set up outside of captures
    with Range("eager before"):
        probe()
    graphs = [capture_decode(batch, weight) for batch in (1, 2, 4, 8)] + [capture_training()]
    times = defaultdict(int)
    for turn in range(20):
        for number, (graph, _) in enumerate(graphs):
            with Range(f"replay {number}"):
                graph.replay()
            times[number] += 1
            with Range("sampling"):
                probe()
                with Range("argmax"):
                    probe()
        probe()

    def worker(name):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), Range(name):
            for _ in range(10):
                with Range("step"):
                    probe()
        stream.synchronize()

    threads = [threading.Thread(target=worker, args=(f"worker {i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = capture_decode(16, weight)
    for _ in range(5):
        late[0].replay()
    torch.cuda.synchronize()
    for number, (_, grids) in enumerate(graphs):
        for grid in grids:
            TRUTH[grid]["launches"] = times[number]
    for grid in late[1]:
        TRUTH[grid]["launches"] = 5
    with open(sys.argv[1], "w") as file:
        json.dump(TRUTH, file)


main()
