"""Naming backward work with PyTorch's node_creation_hook: for machines without a C++ compiler.

A hook that runs as a node is made puts two hooks on it, which open and close the scope around its backward work.
"""
from __future__ import annotations

import ctypes
import threading
from typing import Any

import torch

_PHASE = b'{"autograd_phase":"backward"}'
_MARK = object()  # key of node.metadata: the node has its hooks
_ACCUMULATE_GRAD = "AccumulateGrad"


def available() -> bool:
    """Whether this PyTorch has node creation hooks."""
    return hasattr(torch.autograd.graph, "node_creation_hook")


class _ThisThread(threading.local):
    def __init__(self) -> None:
        # Of the nodes that run on this thread, innermost last. A node that raises leaves its own behind.
        self.opened: list[tuple[object, int]] = []


class Hooks:
    """Intervals of program order, kept by hooks on each node made in them."""

    def __init__(self) -> None:
        self._gt = ctypes.CDLL("libgraphtag.so.0")
        self._gt.gt_scope_open.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
        self._gt.gt_scope_close.argtypes = [ctypes.c_uint64]
        self._gt.gt_annotation_merge.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]
        self._gt.gt_annotation_from_json.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
        self._active = ctypes.c_uint32.in_dll(self._gt, "gt_active_windows")
        self._phase = self._ask(self._gt.gt_annotation_from_json, _PHASE, len(_PHASE))
        self._thread = _ThisThread()

    @staticmethod
    def _ask(function: Any, *arguments: Any) -> int:
        """The handle that a function of graphtag.h gives; 0 if it fails."""
        handle = ctypes.c_uint64(0)
        return handle.value if function(*arguments, ctypes.byref(handle)) == 0 else 0

    def open(self, annotation: int) -> Any:
        if not self._active.value:
            return None
        if torch._C._current_graph_task_id() == -1:
            self._close_down_to(0)
        merged = self._ask(self._gt.gt_annotation_merge, annotation or self._ask(self._gt.gt_scope_current), self._phase)
        if not merged:
            return None
        hook = torch.autograd.graph.node_creation_hook(lambda node: self._watch(node, merged))
        hook.__enter__()
        return hook

    def close(self, token: Any) -> bool:
        token.__exit__(None, None, None)
        return True

    def _watch(self, node: Any, annotation: int) -> None:
        metadata = node.metadata  # the hooks hold this, not the node, which would keep itself alive
        is_new = _MARK not in metadata
        # Of nested intervals the innermost is told of the node last, and wins.
        metadata[_MARK] = annotation
        if not is_new or _ACCUMULATE_GRAD in node.name():
            return
        key = object()

        def before(_gradients: Any) -> None:
            mine = metadata[_MARK]
            # Nodes that it makes while it runs.
            torch._C._autograd._push_node_creation_hook(lambda made: self._watch(made, mine))
            self._thread.opened.append((key, self._ask(self._gt.gt_scope_open, mine)))

        def after(_inputs: Any, _gradients: Any) -> None:
            torch._C._autograd._pop_node_creation_hook()
            depth = max((i for i, entry in enumerate(self._thread.opened) if entry[0] is key), default=len(self._thread.opened))
            self._close_down_to(depth)

        node.register_prehook(before)
        node.register_hook(after)

    def _close_down_to(self, depth: int) -> None:
        opened = self._thread.opened
        while len(opened) > depth:
            self._gt.gt_scope_close(opened.pop()[1])
