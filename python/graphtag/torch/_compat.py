"""What programs import from torch.cuda.graph_annotations and torch.cuda._graph_annotations, also of older versions."""
from __future__ import annotations

import types
from typing import Any

from . import _capture, _marks, _registry, _stacks
from ._registry import is_available


def enable_annotations(enabled: bool = True) -> None:
    """Every capture records from here on, whether it asks for it or not."""
    _capture.record_every_capture(bool(enabled))


def _is_tools_id_unavailable() -> bool:
    """not is_available()"""
    return not is_available()


def resolve_pending_annotations() -> None:
    """Nothing is ever pending: nodes get their names as they are created."""


def remap_to_exec_graph(torch_cuda_graph: Any) -> None:
    """Nothing to do: the view's ids are the exec graph's from its instantiation on."""


def resolve_and_remap(torch_cuda_graph: Any) -> None:
    """Nothing to do: see resolve_pending_annotations and remap_to_exec_graph."""


PUBLIC: dict[str, Any] = {
    "mark_kernels": _marks.mark_kernels,
    "mark_stream": _marks.mark_stream,
    "get_stream_for_pg": _marks.get_stream_for_pg,
    "get_kernel_annotations": _registry.get_kernel_annotations,
    "get_kernel_py_stacks": _stacks.get_kernel_py_stacks,
    "dump_kernel_py_stacks": _stacks.dump_kernel_py_stacks,
    "clear_kernel_annotations": _registry.clear_kernel_annotations,
    "is_available": is_available,
}
PRIVATE: dict[str, Any] = {
    **PUBLIC,
    "annotation_for": _registry.annotation_for,
    "enable_annotations": enable_annotations,
    "resolve_pending_annotations": resolve_pending_annotations,
    "remap_to_exec_graph": remap_to_exec_graph,
    "resolve_and_remap": resolve_and_remap,
    "_is_tools_id_unavailable": _is_tools_id_unavailable,
    "_reset_kernel_annotations": _registry.reset_kernel_annotations,
}


class StandIn(types.ModuleType):
    """A module with graphtag's names; all others are torch's own, where it has them."""

    def __init__(self, name: str, names: dict[str, Any], original: types.ModuleType | None) -> None:
        super().__init__(name, "graphtag in the place of this module.")
        self.__dict__.update(names)
        self.__all__ = sorted(name for name in names if not name.startswith("_"))
        self.__dict__["_original"] = original

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__.get("_original")
        if original is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(original, name)
