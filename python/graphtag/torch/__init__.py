"""graphtag for PyTorch: all of torch.cuda.graph_annotations, on PyTorch versions that have it and versions that do not.

>>> import graphtag.torch as gat
>>> g = torch.cuda.CUDAGraph()
>>> with gat.graph(g, enable_annotations=True):
...     with gat.mark_kernels("attention"):
...         y = attention(x)
>>> with torch.profiler.profile() as prof:
...     g.replay()
...     torch.cuda.synchronize()
>>> gat.export(prof, "named.json.gz")

or, for programs that use torch's own names already, one line: `gat.install()`.
"""
from __future__ import annotations

try:
    import torch as _torch
except ImportError as error:
    raise ImportError("graphtag.torch needs PyTorch (pip install torch); graphtag itself works without") from error

from ._capture import graph, make_graphed_callables
from ._collectives import annotate_collectives
from ._export import export, profile, profiler_writes_node_ids, trace_handler
from ._install import install, uninstall
from ._marks import get_stream_for_pg, mark_kernels, mark_stream, region
from ._modules import ModuleAnnotations, annotate_modules
from ._registry import annotation_for, clear_kernel_annotations, get_kernel_annotations, is_available
from ._stacks import dump_kernel_py_stacks, get_kernel_py_stacks

__all__ = [
    "ModuleAnnotations",
    "annotate_collectives",
    "annotate_modules",
    "annotation_for",
    "clear_kernel_annotations",
    "dump_kernel_py_stacks",
    "export",
    "get_kernel_annotations",
    "get_kernel_py_stacks",
    "get_stream_for_pg",
    "graph",
    "install",
    "is_available",
    "make_graphed_callables",
    "mark_kernels",
    "mark_stream",
    "profile",
    "profiler_writes_node_ids",
    "region",
    "trace_handler",
    "uninstall",
]
