"""torch.cuda.graph_annotations (the reference, PyTorch 2.15) beside graphtag.torch: each program is captured once with either's scopes. What the
reference names graphtag must name the same, node by node; what graphtag names beyond it is printed, and the cost of both.

usage: reference.py [--rehearse] [CHECK ...]
"""
import contextlib
import functools
import importlib.util
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

from harness import BACKENDS, DEVICE, REHEARSAL, check, gat, main, sine_with_a_scope_in_its_backward, torch
from torch.utils.checkpoint import checkpoint

if importlib.util.find_spec("torch.cuda.graph_annotations") is None:
    print(f"reference: skipped: PyTorch {torch.__version__} has no torch.cuda.graph_annotations")
    sys.exit(77)
if not REHEARSAL and not (torch.cuda.is_available() and torch.cuda._utils._HAS_CUDA_BINDINGS):
    print("reference: skipped: no GPU, or no cuda.bindings, without which the reference is off")
    sys.exit(77)

import reference_driver  # noqa: E402
from torch.cuda import _graph_annotations as theirs  # noqa: E402 - mark_stream is not in the public one

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench/python"))
from capture_cost import body as nodes_under_scopes  # noqa: E402

# The reference's callbacks need cupti-python.
THEIR_BACKENDS = BACKENDS if REHEARSAL or importlib.util.find_spec("cupti") else ("edge_walk",)


class Side(NamedTuple):
    """One of the two, with one backend."""

    graph: Callable[..., Any]
    mark_kernels: Callable[..., Any]
    mark_stream: Callable[..., Any]
    annotations: Callable[[], Any]
    backend: str
    multithreading: bool

    def capture(self, body, *, graph=None, keep_graph=True, **options):
        """Captures and instantiates; returns the graph."""
        graph = torch.cuda.CUDAGraph(keep_graph=keep_graph) if graph is None else graph
        with torch.autograd.set_multithreading_enabled(self.multithreading), self.graph(
            graph, enable_annotations=True, annotation_config={"backend": self.backend}, **options
        ):
            body()
        if keep_graph:
            graph.instantiate()
        return graph


def reference(backend):
    """The reference's callbacks refuse autograd's own threads."""
    return Side(torch.cuda.graph, theirs.mark_kernels, theirs.mark_stream, theirs.get_kernel_annotations, backend, backend != "cupti")


def graphtag(backend):
    return Side(gat.graph, gat.mark_kernels, gat.mark_stream, gat.get_kernel_annotations, backend, True)


def named(graph, side):
    """{local id: annotation} of the graph's nodes in this side's registry."""
    number = reference_driver.exec_id(graph)
    return {node_id & 0xFFFFFFFF: entry[0] for node_id, entry in dict(side.annotations()).items() if node_id >> 32 == number}


def compared(program):
    """Registers program(side) -> graphs as a check, once for each backend."""

    @functools.wraps(program)
    def run(backend):
        sides = reference(backend), graphtag(backend)
        captured = [program(side) for side in sides]
        count, same, beyond = 0, 0, []
        for graphs in zip(*captured, strict=True):
            nodes = [reference_driver.nodes(graph) for graph in graphs]
            names = [named(graph, side) for graph, side in zip(graphs, sides)]
            # A node's place among its graph's nodes, by local id, is the same in both captures.
            places = [[found[local_id] for local_id in sorted(found)] for found in nodes]
            different = [pair for pair in zip(*places) if pair[0] != pair[1]]
            assert not different and len(nodes[0]) == len(nodes[1]), f"the captures have {len(nodes[0])} and {len(nodes[1])} nodes: {different[:3]}"
            strangers = [sorted(names[i].keys() - nodes[i].keys()) for i in range(2)]
            assert strangers == [[], []], f"names of nodes that are not in the graphs: {strangers}"
            count += len(nodes[0])
            for place, local_ids in enumerate(zip(sorted(nodes[0]), sorted(nodes[1]))):
                expected, got = (names[i].get(local_ids[i]) for i in range(2))
                if expected is not None:
                    assert got == expected, f"node {place} {places[0][place]}: the reference calls it {expected}, graphtag {got}"
                    same += 1
                elif got is not None:
                    beyond.append(str(got.get("name", got)))
        assert same, "the reference named nothing"
        return f"{count} nodes, {same} named the same" + (f", {len(beyond)} by graphtag alone: {sorted(set(beyond))}" if beyond else "")

    check(backends=THEIR_BACKENDS)(run)
    return program


X = [torch.ones(4096 * (k + 1), device=DEVICE) for k in range(8)]
SIDE_STREAM, LATE_STREAM = torch.cuda.Stream(), torch.cuda.Stream()


def work(k, count=1):
    for _ in range(count):
        X[k].add_(1)


def leaf(k):
    x = X[k].detach().requires_grad_()
    x.grad = torch.zeros_like(x)
    return x


@compared
def flat_scopes(side):
    def body():
        work(0)
        with side.mark_kernels("a"):
            work(1, 3)
        work(0)
        with side.mark_kernels("empty"):
            pass
        with side.mark_kernels("b"):
            work(2)
        work(0)

    return [side.capture(body)]


@compared
def the_first_node_in_a_scope(side):
    def body():
        with side.mark_kernels("a"):
            work(1)
        work(0)

    return [side.capture(body)]


@compared
def nested_scopes(side):
    def body():
        with side.mark_kernels("outer"):
            work(0)
            with side.mark_kernels("middle"):
                work(1)
                with side.mark_kernels("inner"):
                    work(2, 2)
                work(3)
            work(4)
        with side.mark_kernels("all"), side.mark_kernels("same"):
            work(5)

    return [side.capture(body)]


@compared
def dicts(side):
    def body():
        with side.mark_kernels({"name": "outer", "layer": 1, "kind": "x", "sizes": [1, 2], "of": {"rank": 0}}):
            work(0)
            with side.mark_kernels({"name": "inner", "kind": "y", "ratio": 0.5, "none": None, "flag": True}):
                work(1)
            with side.mark_kernels({"step": 3}):
                work(2)
            work(3)

    return [side.capture(body)]


@compared
def copies_and_sets(side):
    target = torch.empty_like(X[7])

    def body():
        with side.mark_kernels("copies"):
            target.copy_(X[7])
            target.zero_()
        target.copy_(X[7])

    return [side.capture(body)]


@compared
def several_streams(side):
    """An earlier branch is nobody's; a stream forked within a scope is the scope's; a scope may begin on a stream that does not capture yet."""

    def body():
        first = torch.cuda.current_stream()
        SIDE_STREAM.wait_stream(first)
        with torch.cuda.stream(SIDE_STREAM):
            work(0)
        first.wait_stream(SIDE_STREAM)
        with side.mark_kernels("a"):
            work(1)
            SIDE_STREAM.wait_stream(first)
            with torch.cuda.stream(SIDE_STREAM):
                work(2)
                with side.mark_kernels("on the side"):
                    work(3)
            work(4)
            first.wait_stream(SIDE_STREAM)
        with torch.cuda.stream(LATE_STREAM), side.mark_kernels("before it captures"):
            LATE_STREAM.wait_stream(first)
            work(5)
        first.wait_stream(LATE_STREAM)
        work(6)

    return [side.capture(body)]


@compared
def marked_streams(side):
    annotation = {"name": "side", "bs": 4}

    def body():
        first = torch.cuda.current_stream()
        work(0)
        SIDE_STREAM.wait_stream(first)
        with side.mark_stream(SIDE_STREAM, annotation):
            work(1)
        with side.mark_kernels("around"), side.mark_stream(first, annotation):
            work(2)
        LATE_STREAM.wait_stream(first)
        with side.mark_stream(LATE_STREAM, "late"):
            work(3)
        first.wait_stream(SIDE_STREAM)
        first.wait_stream(LATE_STREAM)

    return [side.capture(body)]


@compared
def backward_in_the_same_capture(side):
    x, y, z = leaf(1), leaf(2), leaf(3)

    def body():
        with side.mark_kernels({"name": "region", "layer": 4}):
            a = x.sin()
            with side.mark_kernels("inner"):
                b = y.sin()
        with side.mark_kernels("forward alone", backward=False):
            c = z.sin()
            with side.mark_kernels({"step": 9}):
                c = c.cos()
        with side.mark_kernels("around"):
            torch.autograd.backward([a, b, c], [X[1], X[2], X[3]])

    return [side.capture(body)]


@compared
def a_scope_within_a_backward(side):
    Custom = sine_with_a_scope_in_its_backward(side.mark_kernels)
    x, y = leaf(1), leaf(2)

    def body():
        with side.mark_kernels({"name": "region", "layer": 4}):
            a = Custom.apply(x)
        b = y.sin()
        with side.mark_kernels({"name": "around", "step": 9}):
            torch.autograd.backward([a, b], [X[1], X[2]])

    return [side.capture(body)]


@compared
def backward_in_a_later_capture(side):
    x, made = leaf(1), {}

    def forward():
        with side.mark_kernels("a"):
            made["y"] = x.sin()

    def backward():
        made["y"].backward(X[1], retain_graph=True)

    first = side.capture(forward)
    return [first, side.capture(backward, pool=first.pool())]


@compared
def gradients_of_gradients_and_recomputation(side):
    x, y = leaf(1), leaf(2)

    def body():
        with side.mark_kernels({"name": "a", "layer": 1}):
            a = x.sin()
        (first,) = torch.autograd.grad(a, x, X[1], create_graph=True)
        torch.autograd.grad(first, x, X[1])
        with side.mark_kernels("kept"):
            b = checkpoint(lambda value: value.sin().cos(), y, use_reentrant=False, preserve_rng_state=False)
        b.backward(X[2])

    return [side.capture(body)]


@compared
def a_graph_captured_again_and_instantiated_again(side):
    def body(name, k):
        with side.mark_kernels(name):
            work(k)
        work(0)

    graph = side.capture(lambda: body("before", 1))
    kept = side.capture(lambda: body("kept", 2))
    graph.reset()
    side.capture(lambda: body("again", 3), graph=graph)
    kept.instantiate()
    return [graph, kept]


def _seconds(capture):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    capture()
    return time.perf_counter() - begin


@check(device_only=True)
def cost():
    """Median ns a node over the bare capture, in rounds of one capture each way."""
    x = torch.ones(64, device=DEVICE)
    ways = {"bare": None}
    for backend in BACKENDS:
        ways[f"graphtag {backend}"] = graphtag(backend)
        if backend in THEIR_BACKENDS:
            ways[f"reference {backend}"] = reference(backend)

    def bare(nodes, depth):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            nodes_under_scopes(nodes, depth, x, mark=lambda *_, **__: contextlib.nullcontext())

    for nodes, depth in ((2550, 16), (20_000, 1)):

        def capture(side, nodes=nodes, depth=depth):
            if side is None:
                bare(nodes, depth)
            else:
                side.capture(lambda: nodes_under_scopes(nodes, depth, x, mark=side.mark_kernels), keep_graph=False)

        for way in list(ways):
            try:
                capture(ways[way])
            except RuntimeError as error:  # the checks above fail too
                print(f"     {way} is not measured: {error}", flush=True)
                del ways[way]
        seconds = {way: [] for way in ways}
        end = time.monotonic() + 12
        while len(seconds["bare"]) < 5 or (time.monotonic() < end and len(seconds["bare"]) < 51):
            order = list(ways) if len(seconds["bare"]) % 2 else list(reversed(ways))
            for way in order:
                seconds[way].append(_seconds(lambda side=ways[way]: capture(side)))
        medians = {way: statistics.median(values) for way, values in seconds.items()}
        print(f"     {nodes} nodes at depth {depth}, {len(seconds['bare'])} rounds: bare {medians['bare'] * 1e3:.1f} ms; over it, ns a node: "
              + ", ".join(f"{way} {(medians[way] - medians['bare']) / nodes * 1e9:.0f}" for way in ways if way != "bare"), flush=True)  # fmt: skip


def warm_up():
    """The autograd adaptor is compiled, and every operator has run before it is captured."""
    ids_of = reference_driver.driver.ids_of
    print(f"     PyTorch {torch.__version__}, ids of {ids_of}, the reference's backends: {', '.join(THEIR_BACKENDS)}", flush=True)
    x = leaf(1)
    y = x.sin().cos()
    y.backward(X[1])
    work(0)


if __name__ == "__main__":
    sys.exit(main("beside torch.cuda.graph_annotations", warm_up))
