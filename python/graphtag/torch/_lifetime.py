"""What becomes of a recorded torch.cuda.CUDAGraph: deferred and repeated instantiation, reset, its end.

Windows are open during captures alone, so what happens to a graph later is watched on the object itself: a recorded graph gets its own
`instantiate`, `replay` (until it is instantiated) and `reset`. Others, and the replay of an instantiated one, are left as they are.
"""
from __future__ import annotations

import weakref
from typing import Any, Callable

from .. import _ext
from .._errors import Error, NotFoundError
from .._live import available
from .._window import Window

# Template graph's id -> what is known of its captures, while they live.
_tracked: dict[int, "Tracked"] = {}
_changes = 0
_forgetters: list[Callable[[int], None]] = []


def changes() -> int:
    """How often something was noted here: what is made of it is as new as this number."""
    return _changes


def _note_change() -> None:
    global _changes
    _changes += 1


def when_forgotten(function: Callable[[int], None]) -> None:
    """`function` is called with the id of each template graph of which nothing is to stay."""
    _forgetters.append(function)


def _forget(graph_id: int) -> None:
    for function in _forgetters:
        function(graph_id)


class Tracked:
    """One capture: the ids of its template and of its exec graphs, newest last."""

    def __init__(self, graph_id: int, key_by: str) -> None:
        self.graph_id = graph_id
        self.key_by = key_by
        self.exec_ids: list[int] = []
        self.is_deferred = False

    def gone(self) -> None:
        """The graph object was reset, or died."""
        if _tracked.pop(self.graph_id, None) is None:
            return
        _note_change()
        for graph_id in (*self.exec_ids, self.graph_id):
            _ext.destroyed(graph_id)
        _forget(self.graph_id)


def drop(graph_id: int) -> None:
    """The capture into this graph failed: nothing of it stays in the view."""
    _note_change()
    execs = {node_id >> 32 for node_id, _, template in _ext.live_nodes() if template == graph_id}
    for number in (*execs, graph_id):
        _ext.destroyed(number)
    _forget(graph_id)


def ids_of(graph_id: int) -> list[int]:
    """The ids that nodes of this template are keyed by now: its exec graph's, else its own."""
    tracked = _tracked.get(graph_id)
    if tracked is None or tracked.key_by == "source" or not tracked.exec_ids:
        return [graph_id]
    return tracked.exec_ids[-1:]


def source_keyed(graph_id: int) -> bool:
    """Does this template's capture ask for key_by="source"?"""
    tracked = _tracked.get(graph_id)
    return tracked is not None and tracked.key_by == "source"


def exec_handle(graph: Any) -> int:
    """The CUgraphExec of a torch.cuda.CUDAGraph; 0 where it has none yet, or torch is too old to tell."""
    try:
        return int(graph.raw_cuda_graph_exec())
    except (AttributeError, RuntimeError):
        return 0


def template_handle(graph: Any) -> int:
    """Its CUgraph; 0 where torch has destroyed it (keep_graph=False) or is too old to tell."""
    try:
        return int(graph.raw_cuda_graph())
    except (AttributeError, RuntimeError):
        return 0


def link(graph: Any, tracked: Tracked) -> None:
    """Notes the exec graph that `graph` has now, and tells graphtag of it where no callback did."""
    _note_change()
    handle = exec_handle(graph)
    if handle == 0:
        # An older torch does not tell: what a callback saw is all there is.
        known = {node_id >> 32 for node_id, _, template in _ext.live_nodes() if template == tracked.graph_id}
        tracked.exec_ids += sorted(known.difference(tracked.exec_ids))
        return
    exec_id = _ext.exec_id(handle)
    if exec_id in tracked.exec_ids:
        return
    template = template_handle(graph)
    try:
        if template:
            _ext.link_exec(handle, template)
        else:
            _ext.link_exec_id(handle, tracked.graph_id)
    except NotFoundError:
        return  # a capture without any scope: there is nothing to find again
    # torch keeps one exec graph: the one before is gone.
    for old in tracked.exec_ids:
        _ext.destroyed(old)
    tracked.exec_ids.append(exec_id)


def _open_window() -> Window | None:
    if available() is not None:
        return None
    try:
        return Window("auto").open()
    except Error:
        return None


def _own_methods(graph: Any, tracked: Tracked) -> None:
    reference = weakref.ref(graph)

    def instantiate() -> None:
        own = reference()
        window = _open_window()
        try:
            type(own).instantiate(own)
            link(own, tracked)
        finally:
            if window is not None:
                window.close()
        own.__dict__.pop("replay", None)

    def replay() -> Any:
        own = reference()
        # Not where it was called by somebody who kept it from before.
        if "replay" in own.__dict__:
            own.instantiate()
        return type(own).replay(own)

    def reset() -> None:
        own = reference()
        tracked.gone()
        if own is None:
            # It is dying, and its end resets it.
            return
        for name in ("instantiate", "replay", "reset"):
            own.__dict__.pop(name, None)
        type(own).reset(own)

    graph.reset = reset
    if tracked.is_deferred:
        graph.instantiate = instantiate
        if not tracked.exec_ids:
            graph.replay = replay


def track(graph: Any, graph_id: int, key_by: str) -> Tracked:
    """`graph` holds the capture into `graph_id`, which has just ended."""
    tracked = Tracked(graph_id, "exec" if key_by == "auto" else key_by)
    _tracked[graph_id] = tracked
    _note_change()
    tracked.is_deferred = template_handle(graph) != 0
    if not tracked.is_deferred or exec_handle(graph):
        link(graph, tracked)
    _own_methods(graph, tracked)
    finalizer = weakref.finalize(graph, tracked.gone)
    finalizer.atexit = False
    return tracked
