"""What annotations add to a capture: PyTorch nodes under scopes, flat and nested, against the bare capture. Best of five, interleaved."""
import time

import graphtag.torch as gat
import torch

CASES = [(2550, 16), (100_000, 1), (100_000, 16)]
LIMIT = 1.10


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


def main():
    x = torch.ones(64, device="cuda")
    for nodes, depth in CASES:
        kinds = {"bare": (False, "auto"), "callbacks": (True, "cupti"), "boundary": (True, "edge_walk")}
        seconds = dict.fromkeys(kinds, float("inf"))
        for _ in range(5):
            for kind, (annotated, backend) in kinds.items():
                seconds[kind] = min(seconds[kind], capture(nodes, depth, x, annotated, backend))
        ratios = ", ".join(f"{kind} {seconds[kind] / seconds['bare']:.3f}" for kind in kinds if kind != "bare")
        print(f"{nodes} nodes at depth {depth}: bare {seconds['bare'] * 1e3:.1f} ms; times bare (at most {LIMIT}): {ratios}", flush=True)


if __name__ == "__main__":
    main()
