"""What the GPU programs share: the device, or a rehearsal without one; captures, and the records of replays; checks, each on its own.

A program is run as `program.py [CHECK ...]` on a machine with a GPU, or as `program.py --rehearse [CHECK ...]` anywhere: on PyTorch's CPU
and a false CUDA, where every operator adds a node to the capture. It ends with one line a check and exit code 1 if one failed.
"""
import functools
import sys
import time
import traceback
from pathlib import Path

REHEARSAL = "--rehearse" in sys.argv
if REHEARSAL:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    import rehearsal  # before torch

import graphtag  # noqa: E402
import graphtag.torch as gat  # noqa: E402
import torch  # noqa: E402

DEVICE = "cpu" if REHEARSAL else "cuda"
if REHEARSAL:
    rehearsal.launch_functional_collectives(gat)
BACKENDS = ("cupti", "edge_walk")

_recorder = None


def recorder():
    """What records all that runs, from the first call on."""
    global _recorder
    if _recorder is None:
        if REHEARSAL:
            _recorder = rehearsal.Recorder()
        else:
            from records import Recorder

            _recorder = Recorder()
        _recorder.start()
    return _recorder


def capture(body, *, graph=None, keep_graph=False, backend="auto", enable=True, config=None, **options):
    """Captures body() with annotations; returns the graph."""
    if graph is None:
        graph = torch.cuda.CUDAGraph(keep_graph=True) if keep_graph else torch.cuda.CUDAGraph()
    with gat.graph(graph, enable_annotations=enable, annotation_config={"backend": backend, **(config or {})}, **options):
        body()
    return graph


def replayed(*graphs):
    """The records of one replay of each graph, in order; only of work in graphs."""
    for graph in dict.fromkeys(graphs):
        graph.replay()  # the first may instantiate it, within a window
    recorder().take()
    for graph in graphs:
        graph.replay()
        torch.cuda.synchronize()
    found = [record for record in recorder().take() if record.node_id]
    assert found, "nothing was recorded of these replays"
    return found


def called(record):
    """The annotation that a record resolves to, or None."""
    return graphtag.resolve(record.node_id).annotation


def has_subscriber():
    """Does anybody hold CUPTI's subscription?"""
    if REHEARSAL:
        return bool(rehearsal.fake_cuda.call("has_subscriber"))
    import ctypes

    from records import mapped_library

    cupti = ctypes.CDLL(mapped_library("libcupti.so"))
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
    subscriber = ctypes.c_void_p()
    if cupti.cuptiSubscribe(ctypes.byref(subscriber), callback, None) != 0:
        return True
    assert cupti.cuptiUnsubscribe(subscriber) == 0
    return False


# --- kernels that are known by what they do and by the size they do it to

SIZES = 12


class Kernels:
    """Tensors of sizes of their own. The kernel of an operator on one of them is learnt from an eager run: name and grid."""

    def __init__(self):
        self.x = [torch.ones(4096 * (k + 1), device=DEVICE) for k in range(SIZES)]
        self.known = {}  # (kernel's name, grid) -> (operator, k)
        one = torch.ones((), device=DEVICE)
        for k, x in enumerate(self.x):
            other = torch.ones_like(x)
            for operator, run in {
                "add 1": lambda x=x: x.add_(1),
                "sin": lambda x=x: x.sin(),
                "cos": lambda x=x: x.cos(),
                "mul": lambda x=x, other=other: x.mul(other),
                "mul expanded": lambda x=x: one.expand_as(x).mul(x),
                "add": lambda x=x, other=other: x.add(other),
            }.items():
                recorder().take()
                run()
                kernels = [record for record in recorder().take() if record.kind == 0]
                assert len(kernels) == 1, f"{operator} on {x.numel()} numbers is {len(kernels)} kernels: {kernels}"
                key = kernels[0].name, kernels[0].grid
                name = "mul" if operator == "mul expanded" else operator
                assert self.known.get(key, (name, k)) == (name, k), f"{name} on size {k} looks like {self.known[key]}"
                self.known[key] = name, k

    def work(self, k, count=1):
        """`count` kernels "add 1" of size k."""
        for _ in range(count):
            self.x[k].add_(1)

    def of(self, records):
        """[(operator, k, annotation)] of the records, by time; (None, None, annotation) for kernels that are not known."""
        return [(*self.known.get((record.name, record.grid), (None, None)), called(record)) for record in records]


def sine_with_a_scope_in_its_backward(mark_kernels):
    """A custom function: the sine, whose backward runs "cos" outside and "mul" inside a scope of its own, which `mark_kernels` makes."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            context.save_for_backward(value)
            return value.sin()

        @staticmethod
        def backward(context, gradient):
            (value,) = context.saved_tensors
            value.cos()
            with mark_kernels({"name": "within", "own": 1}):
                return gradient.mul(value)

    return Custom


_kernels = None


def kernels():
    global _kernels
    if _kernels is None:
        _kernels = Kernels()
    return _kernels


def named(*graphs):
    """[(operator, k, annotation)] of one replay of each graph."""
    return kernels().of(replayed(*graphs))


def expect(graph, expected):
    """Each known kernel of a replay of `graph` is called as `expected` says: {(operator, k): annotation or None}; all of these ran, and nothing else
    that is known. Returns how many records there were."""
    found = named(graph)
    known = [(operator, k, got) for operator, k, got in found if operator is not None]
    wrong = [(operator, k, got, expected.get((operator, k), "not expected")) for operator, k, got in known if got != expected.get((operator, k), "?")]
    assert not wrong, f"{len(wrong)} of {len(found)} wrong; (operator, size, got, wanted): {wrong[:4]}"
    missing = set(expected) - {(operator, k) for operator, k, _ in known}
    assert not missing, f"did not run: {sorted(missing)}"
    return len(found)


# --- checks

_checks = []


def check(function=None, *, backends=None, device_only=False):
    """Registers a check; with `backends` it is called once for each. What is `device_only` is not rehearsed."""

    def register(function):
        for backend in backends or (None,):
            if not (device_only and REHEARSAL):
                name = function.__name__ + (f"[{backend}]" if backend else "")
                _checks.append((name, functools.partial(function, backend) if backend else function))
        return function

    return register(function) if function is not None else register


def main(title, before=lambda: None):
    """Runs the checks that the command line names, or all; returns the exit code."""
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if not REHEARSAL and not torch.cuda.is_available():
        print(f"{title}: skipped: no GPU")
        return 77
    before()
    failed, begin, ran = [], time.monotonic(), 0
    for name, function in _checks:
        if wanted and not any(name == one or name.startswith(one + "[") for one in wanted):
            continue
        ran += 1
        try:
            note = function()
        except Exception as error:  # noqa: BLE001 - the next check is run all the same
            failed.append(name)
            print(f"FAIL {name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            traceback.print_exc()
        else:
            print(f"ok   {name}{f': {note}' if note else ''}", flush=True)
    verdict = f"failed: {', '.join(failed)}" if failed else "all right" if ran else "no such check"
    print(f"SUMMARY {title}: {ran - len(failed)} of {ran} checks in {time.monotonic() - begin:.0f} s; {verdict}", flush=True)
    return 1 if failed or not ran else 0
