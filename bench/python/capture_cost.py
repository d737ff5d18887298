"""What annotations add to a capture: PyTorch nodes under scopes, flat and nested, against the bare capture. Rounds of one bare and one annotated
capture each, either first in turn; the medians are compared, as a machine's speed may change by a quarter from one second to the next.

A scope (of `depth` nested ones) goes around each 50 kernels, and each of them is marked anew. The boundary observer counts the graph's nodes where a
scope begins or ends (13.5 ns a node that is there), so its cost grows with nodes times boundaries: it is measured on smaller graphs.
"""
import statistics
import time

import graphtag.torch as gat
import torch

CALLBACKS = [(2550, 16), (100_000, 1), (100_000, 16)]
BOUNDARY = [(2550, 16), (10_000, 1), (10_000, 16)]
LIMIT = 1.10
SECONDS = 8  # a case
FEWEST_ROUNDS, MOST_ROUNDS = 5, 101


def body(nodes, depth, x, mark=gat.mark_kernels):
    """`nodes` kernels; a scope of `depth` levels around each 50, made by `mark`."""
    for _ in range(nodes // 50):
        scopes = [mark(f"level{level}", backward=False) for level in range(depth)]
        for scope in scopes:
            scope.__enter__()
        for _ in range(50):
            x.add_(1)
        for scope in reversed(scopes):
            scope.__exit__(None, None, None)


def capture(nodes, depth, x, annotated, backend="auto"):
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    with gat.graph(graph, enable_annotations=annotated, annotation_config={"backend": backend}):
        body(nodes, depth, x)
    return time.perf_counter() - begin


def compare(kind, backend, cases, x):
    for nodes, depth in cases:
        ways = {False: [], True: []}
        end = time.perf_counter() + SECONDS
        while len(ways[True]) < FEWEST_ROUNDS or (time.perf_counter() < end and len(ways[True]) < MOST_ROUNDS):
            first = len(ways[True]) % 2 == 1
            for annotated in (first, not first):
                ways[annotated].append(capture(nodes, depth, x, annotated, backend))
        bare, annotated = (statistics.median(ways[way]) for way in (False, True))
        ratios = statistics.quantiles((b / a for a, b in zip(ways[False], ways[True])), n=4)
        print(f"{kind:9} {nodes:6} nodes at depth {depth:2}: bare {bare * 1e3:6.1f} ms, annotated {annotated * 1e3:6.1f} ms, times bare "
              f"{annotated / bare:.3f} (at most {LIMIT}; a round's {ratios[0]:.3f} to {ratios[2]:.3f}), {(annotated - bare) / nodes * 1e9:+.0f} ns a node, "
              f"{len(ways[True])} rounds", flush=True)  # fmt: skip


def main():
    x = torch.ones(64, device="cuda")
    capture(100, 1, x, True)  # the autograd adaptor is compiled at the first one
    compare("callbacks", "cupti", CALLBACKS, x)
    compare("boundary", "edge_walk", BOUNDARY, x)


if __name__ == "__main__":
    main()
