"""Checkpoints without reentrance: what is computed again is of the scopes that were open where the checkpoint was called.

Such a checkpoint runs its function again within whichever node of that function first asks for a tensor. Without this the function's scopes
would be taken to be within that node's region: block.mlp.block.attention instead of block.attention. (A reentrant checkpoint is a node of
its own, with the right region.) PyTorch has no public place for it, so the function that gets what is to be computed again is wrapped.
"""
from __future__ import annotations

import ctypes
from typing import Any, Callable

import torch.utils.checkpoint

# The newer name first; the function to compute again is the first argument of both.
_NAMES = ("_checkpoint_without_reentrant_generator_impl", "_checkpoint_without_reentrant_generator")

_patched: tuple[str, Callable[..., Any]] | None = None


def patch(library: ctypes.PyDLL) -> None:
    """From now on, checkpoints that are called while something is recorded remember where. Does nothing where PyTorch has no such function."""
    global _patched
    name = next((name for name in _NAMES if hasattr(torch.utils.checkpoint, name)), None)
    if _patched is not None or name is None:
        return
    original = getattr(torch.utils.checkpoint, name)

    def generator(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        annotation = ctypes.c_uint64(0)
        if library.gt_backward_current(ctypes.byref(annotation)):
            function = _within(library, annotation.value, function)
        return original(function, *arguments, **keywords)

    setattr(torch.utils.checkpoint, name, generator)
    _patched = (name, original)


def unpatch() -> None:
    global _patched
    if _patched is not None:
        setattr(torch.utils.checkpoint, *_patched)
        _patched = None


def _within(library: ctypes.PyDLL, annotation: int, function: Callable[..., Any]) -> Callable[..., Any]:
    def compute_again(*arguments: Any, **keywords: Any) -> Any:
        recomputation = library.gt_backward_begin_recomputation(annotation)
        try:
            return function(*arguments, **keywords)
        finally:
            # Also where PyTorch stops it by an exception, as it has all that it needs.
            library.gt_backward_end_recomputation(recomputation)

    return compute_again
