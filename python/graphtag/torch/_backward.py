"""Backward work is called what the forward scope was called that made its autograd nodes.

Three ways, the best that this machine offers:
- "callback": a small C++ library over graphtag/torch.hpp, compiled once a PyTorch version (_backward_build). Exact, no hook on any node.
- "hooks": PyTorch's own node_creation_hook, where there is no compiler and PyTorch has it (_backward_hooks). Slower: two Python hooks a node.
- None: forward work alone is named, and available() says why.

    _backward.enable()
    token = _backward.freeze(0)    # right after a scope was opened
    ...                            # forward: the nodes made here belong to the scopes open now
    _backward.thaw(token)          # right before the scope is closed
"""
from __future__ import annotations

import ctypes
from typing import Any

import torch

from . import _backward_build, _backward_checkpoint, _backward_hooks

_library: ctypes.PyDLL | None = None
_hooks: _backward_hooks.Hooks | None = None
_reason: str | None = None  # why the library cannot be had, once that is known


class _Counters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "intervals_opened", "intervals_dropped", "nodes_seen", "nodes_matched", "failures", "intervals_now", "callback_registered",
    )]  # fmt: skip


def available() -> str | None:
    """None if backward work can be named here, else why not and what to do. Compiles nothing."""
    if _library is not None or _hooks is not None or _backward_hooks.available():
        return None
    if _reason is not None:
        return _reason
    try:
        if _backward_build.is_ours(_backward_build.library_path()) or _backward_build.compiler() is not None:
            return None
    except (OSError, _backward_build.BuildError) as error:
        return str(error)
    return f"no C++ compiler was found (install one or set CXX), and PyTorch {torch.__version__} has no torch.autograd.graph.node_creation_hook"


def enable() -> str | None:
    """Makes ready what freeze() needs: at the first call in a process the library is loaded, and compiled if this PyTorch is new here. Returns
    mode()."""
    global _library, _hooks, _reason
    if _library is not None:
        _backward_checkpoint.patch(_library)
    elif _hooks is None and _reason is None:
        try:
            _library = _load()
            _backward_checkpoint.patch(_library)
        except (OSError, _backward_build.BuildError) as error:
            _reason = str(error)
            if _backward_hooks.available():
                _hooks = _backward_hooks.Hooks()
    return mode()


def mode() -> str | None:
    """"callback", "hooks", or None: backward work is not named (yet: enable() was not called)."""
    if _library is not None:
        return "callback"
    return "hooks" if _hooks is not None else None


def _load() -> ctypes.PyDLL:
    # PyDLL: the calls are short, so the GIL is kept.
    library = ctypes.PyDLL(str(_backward_build.build()))
    library.gt_backward_open_interval.argtypes = [ctypes.c_uint64]
    library.gt_backward_open_interval.restype = ctypes.c_uint64
    library.gt_backward_close_interval.argtypes = [ctypes.c_uint64]
    library.gt_backward_current.argtypes = [ctypes.POINTER(ctypes.c_uint64)]
    library.gt_backward_begin_recomputation.argtypes = [ctypes.c_uint64]
    library.gt_backward_begin_recomputation.restype = ctypes.c_void_p
    library.gt_backward_end_recomputation.argtypes = [ctypes.c_void_p]
    library.gt_backward_end_recomputation.restype = None
    library.gt_backward_forget.restype = None
    library.gt_backward_counters.argtypes = [ctypes.POINTER(_Counters)]
    library.gt_backward_counters.restype = None
    return library


def disable() -> None:
    """Forgets all, and puts back what enable() changed in PyTorch (torch.utils.checkpoint). What is open may still be thawed."""
    forget()
    _backward_checkpoint.unpatch()


def entry_points() -> tuple[int, int] | None:
    """Addresses of `uint64_t open_interval(uint64_t annotation)` and `int close_interval(uint64_t token)`, for callers in C; None without the
    library."""
    if _library is None:
        return None
    functions = (_library.gt_backward_open_interval, _library.gt_backward_close_interval)
    return tuple(ctypes.cast(function, ctypes.c_void_p).value for function in functions)  # type: ignore[return-value]


def freeze(annotation: int = 0) -> Any:
    """The autograd nodes that this thread makes from here on belong to `annotation` (a handle; 0: the scopes that are open on this thread), with
    "autograd_phase": "backward" added. Returns what thaw() takes; None where nothing is recorded."""
    if _library is not None:
        return _library.gt_backward_open_interval(annotation) or None
    return None if _hooks is None else _hooks.open(annotation)


def thaw(token: Any) -> bool:
    """... up to here. On the same thread, in any order. False if it is not open on this thread."""
    if token is None:
        return True
    if _library is not None:
        return _library.gt_backward_close_interval(token) != 0
    return _hooks is not None and _hooks.close(token)


def forget() -> None:
    """Drops what was remembered of nodes made so far; intervals that are open go on. In "hooks" mode hooks stay on their nodes."""
    if _library is not None:
        _library.gt_backward_forget()


def counters() -> dict[str, int]:
    """Counts since the process began: intervals opened and dropped (a thread keeps its newest 1 048 576), autograd nodes seen and matched while
    intervals were remembered, failures; and now: intervals remembered, whether the callback is registered. Without the library: zeros."""
    counted = _Counters()
    if _library is not None:
        _library.gt_backward_counters(ctypes.byref(counted))
    return {name: getattr(counted, name) for name, _ in _Counters._fields_}
