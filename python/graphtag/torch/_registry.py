"""The live view of what was recorded, as torch.cuda.graph_annotations has it."""
from __future__ import annotations

import warnings
from typing import Any, Iterator, Mapping

from .. import _ext
from .._live import annotation_of, available, resolve
from . import _kept_scopes, _lifetime


# Of counters(): none of them stays the same when what is recorded changes.
_COUNTS = ("windows_opened", "scopes_begun", "nodes_seen", "boundaries_read", "graphs_live", "execs_live", "graphs_retired", "annotations")


def _read() -> dict[int, int]:
    nodes = _ext.live_nodes()
    instantiated = {template for _, _, template in nodes if template}
    handles: dict[int, int] = {}
    for node_id, handle, template in nodes:
        graph_id = node_id >> 32
        if template and _lifetime.source_keyed(template):
            node_id = template << 32 | node_id & 0xFFFFFFFF
        elif not template and graph_id in instantiated and not _lifetime.source_keyed(graph_id):
            continue
        handles[node_id] = handle
    return handles


class _AnnotationsView(Mapping[int, "list[dict[str, Any]]"]):
    """Node id -> [annotation]: live, read-only. A copy() or a pickle is a plain dict."""

    def __init__(self) -> None:
        self._state: Any = None
        self._handles: dict[int, int] = {}

    def _now(self) -> dict[int, int]:
        """Node id -> annotation's handle. Read again where something has changed: while a capture records that is always."""
        counted = _ext.counters()
        state = (_lifetime.changes(), *(counted[name] for name in _COUNTS))
        if _kept_scopes.is_recording() or state != self._state:
            self._handles, self._state = _read(), state
        return self._handles

    def copy(self) -> dict[int, list[dict[str, Any]]]:
        return {node_id: [annotation_of(handle)] for node_id, handle in self._now().items()}

    def __getitem__(self, node_id: int) -> list[dict[str, Any]]:
        return [annotation_of(self._now()[node_id])]

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._now()

    def __iter__(self) -> Iterator[int]:
        return iter(dict(self._now()))

    def __len__(self) -> int:
        return len(self._now())

    def items(self) -> Any:
        return self.copy().items()

    def values(self) -> Any:
        return self.copy().values()

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reduce__(self) -> tuple[type[dict[int, Any]], tuple[dict[int, Any]]]:
        return dict, (self.copy(),)


_view = _AnnotationsView()


def get_kernel_annotations() -> Mapping[int, list[dict[str, Any]]]:
    """Node id -> [the merged annotation] of every named node in graphs that live: a live, read-only view; dict(...) of it, or a pickle, is a
    copy. Ids are those of profilers: exec graph's id << 32 | local id, the template's before the first instantiation. A look-up takes some
    microseconds, and reads the whole registry where something has changed since the last one."""
    return _view


def annotation_for(node_id: int) -> dict[str, Any] | None:
    """The annotation of one node, also in a graph that was destroyed; None if it has none."""
    return resolve(node_id).annotation


def is_available() -> bool:
    """Can recording work here? By probing libcuda and CUPTI, which are loaded if they are not yet; a True is cached."""
    return available() is None


def reset_kernel_annotations() -> None:
    """Drops all that was recorded."""
    _ext.forget()


def clear_kernel_annotations() -> None:
    """Drops all that was recorded, also of graphs that live. FutureWarning, as in torch: nothing needs it, since what was recorded of a
    graph leaves the view with the graph."""
    warnings.warn(
        "clear_kernel_annotations is deprecated: entries leave the view with their graph, and a wipe takes those of live graphs too",
        FutureWarning,
        stacklevel=2,
    )
    reset_kernel_annotations()
