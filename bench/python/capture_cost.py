"""What annotations add to a capture: PyTorch nodes under scopes, flat and nested, against the bare capture. Best of three, interleaved.

A scope (of `depth` nested ones) goes around each 50 kernels, and each of them is marked anew. The boundary observer counts the graph's nodes where a
scope begins or ends (13.5 ns a node that is there), so its cost grows with nodes times boundaries: it is measured on smaller graphs.
"""
import time

import graphtag.torch as gat
import torch

CALLBACKS = [(2550, 16), (100_000, 1), (100_000, 16)]
BOUNDARY = [(2550, 16), (10_000, 1), (10_000, 16)]
LIMIT = 1.10
ROUNDS = 3


def body(nodes, depth, x):
    """`nodes` kernels; a scope of `depth` levels around each 50."""
    for _ in range(nodes // 50):
        marks = [gat.mark_kernels(f"level{level}", backward=False) for level in range(depth)]
        for mark in marks:
            mark.__enter__()
        for _ in range(50):
            x.add_(1)
        for mark in reversed(marks):
            mark.__exit__(None, None, None)


def capture(nodes, depth, x, annotated, backend="auto"):
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    with gat.graph(graph, enable_annotations=annotated, annotation_config={"backend": backend}):
        body(nodes, depth, x)
    return time.perf_counter() - begin


def compare(kind, backend, cases, x):
    for nodes, depth in cases:
        bare = annotated = float("inf")
        for _ in range(ROUNDS):
            bare = min(bare, capture(nodes, depth, x, False))
            annotated = min(annotated, capture(nodes, depth, x, True, backend))
        print(f"{kind:9} {nodes:6} nodes at depth {depth:2}: bare {bare * 1e3:6.1f} ms, annotated {annotated * 1e3:6.1f} ms, times bare "
              f"{annotated / bare:.3f} (at most {LIMIT}), {(annotated - bare) / nodes * 1e9:+.0f} ns a node", flush=True)  # fmt: skip


def main():
    x = torch.ones(64, device="cuda")
    capture(100, 1, x, True)  # the autograd adaptor is compiled at the first one
    compare("callbacks", "cupti", CALLBACKS, x)
    compare("boundary", "edge_walk", BOUNDARY, x)


if __name__ == "__main__":
    main()
