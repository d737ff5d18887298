"""A rehearsal of the GPU programs without a GPU: every operator that PyTorch's CPU runs adds a node to the capture of the false CUDA
(tests/python/fake_cuda.py), or makes a record at once outside captures."""
import contextlib

import fake_cuda  # before torch and graphtag
import torch
import torch._dynamo  # before the false CUDA: an older one looks at torch.cuda.Stream
from torch.utils._python_dispatch import TorchDispatchMode

from records import KERNEL, Record

_facts = {}  # tag -> (name, grid)
_records = []


def _record(node_id, name, grid):
    now = len(_records)
    _records.append(Record(node_id, KERNEL, name, grid, now, now + 1, 7, 0))


def _grid(value):
    sizes = [tensor.numel() for tensor in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(tensor, torch.Tensor)]
    return (max(sizes, default=0), 1, 1)


def _name(function, arguments):
    """The operator's name, in place or not; where an argument is a number or a tensor of one, that is told apart, as by CUDA's kernels."""
    name = function.__name__.partition(".")[0].rstrip("_")
    scalar = any(not argument.dim() for argument in arguments if isinstance(argument, torch.Tensor))
    return f"{name} of a number" if scalar or any(isinstance(argument, (int, float)) for argument in arguments) else name


class _Launches(TorchDispatchMode):
    def __torch_dispatch__(self, function, kinds, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        if function.namespace == "_c10d_functional":
            return result  # launch_functional_collectives
        if not function.is_view and function.__name__.partition(".")[0] not in ("detach", "empty", "empty_like", "empty_strided", "_local_scalar_dense"):
            _launch(_name(function, arguments), _grid(result))
        return result


def _launch(name, grid):
    if fake_cuda.call("is_capturing", fake_cuda.current_stream().cuda_stream):
        _facts[fake_cuda.launch()] = name, grid
    else:
        _record(0, name, grid)


def launch_functional_collectives(gat):
    """They launch within their kernels, below the operators that the mode sees."""
    gat._functional._KEYS = ["CPU"]
    watch = gat._functional.watch

    def watch_and_launch(scope):
        @contextlib.contextmanager
        def launching(*call):
            with scope(*call):
                yield
                _launch(call[0], _grid(call[1][0]))

        watch(launching)

    gat._functional.watch = watch_and_launch


class _Graph(fake_cuda.CUDAGraph):
    def replay(self):
        for tag, node_id in super().replay().items():
            _record(node_id, *_facts[tag])


def nodes(graph):
    """{node id: (name, grid)} of an instantiated graph."""
    return {node_id: _facts[tag] for tag, node_id in graph.records().items()}


class _Patch:
    """As pytest's monkeypatch, for good."""

    @staticmethod
    def setattr(owner, name, value, raising=True):
        setattr(owner, name, value)


class Recorder:
    def start(self):
        pass

    def take(self):
        taken = list(_records)
        _records.clear()
        return taken


fake_cuda.put_into(torch, _Patch)
torch.cuda.CUDAGraph = _Graph
_Launches().__enter__()
