"""Recordings: what the GPUs do, named, without a profiler."""
from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Mapping

from . import _ext
from ._errors import Error, from_status
from ._paths import Path

_STATES = ("running", "ended", "other-profiler", "failed")


def _named(stats: dict[str, Any]) -> dict[str, Any]:
    state = stats["state"]
    return {**stats, "state": _STATES[state] if state < len(_STATES) else str(state)}


class Recording:
    """One recording. Made by record()."""

    def __init__(self, path: Path, options: dict[str, Any]) -> None:
        self.path = os.fsdecode(path)
        self._options = options
        self._handle: int | None = None
        self._ended: dict[str, Any] | None = None

    def begin(self) -> Recording:
        """Begins it. UnavailableError where CUPTI gives no records, BusyError where another tool or recording has them, FileError where the file
        cannot be made."""
        if self._handle is not None or self._ended is not None:
            raise RuntimeError("a recording begins once")
        self._handle = _ext.record_begin(os.fsencode(self.path), **self._options)
        return self

    def flush(self, timeout_s: float = 10.0) -> None:
        """Writes at once what there is of finished work: synchronise with the GPU before. BusyError after `timeout_s` (it is written nonetheless)."""
        if self._handle is None:
            raise RuntimeError("the recording is not running")
        _ext.record_flush(self._handle, max(0, int(timeout_s * 1000)))

    def end(self) -> None:
        """Ends it, and closes the file; ending twice does nothing. FileError if something could not be written."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        status, message, stats = _ext.record_end(handle)
        self._ended = _named(stats)
        if status != 0:
            raise from_status(status, message)

    @property
    def stats(self) -> dict[str, Any]:
        """Counts since it began: "kernels", "memcpys", "memsets", of them "graph_operations" and "graph_named"; what was lost ("dropped_by_cupti",
        "records_lost", ...), and "state": "running", "ended", "other-profiler" or "failed". Those at its end, once it has ended."""
        if self._ended is not None:
            return dict(self._ended)
        if self._handle is None:
            raise RuntimeError("the recording has not begun")
        return _named(_ext.record_stats(self._handle))

    __enter__ = begin

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.end()
        except Error:
            if kind is None:  # else the program's own error is the one to tell of
                raise


def record(
    path: Path,
    *,
    api: bool = True,
    annotations: bool = False,
    metadata: Mapping[str, Any] | None = None,
    max_bytes: int = 0,
    flush_ms: int = 0,
    buffer_count: int = 0,
    buffer_bytes: int = 0,
) -> Recording:
    """A recording of every kernel, copy and set on the GPUs into a Perfetto trace (`path`, .pftrace), to be used in a with statement.

    Work of graphs carries the annotations of its nodes, other work the scopes that are open where it is launched: `graphtag.report(path)` needs no
    annotation file. While it goes on no profiler can: it holds CUPTI. Synchronise with the GPU before it ends.

    `api`: CUDA calls of the host too (names outside graphs need them). `annotations`: at the end an annotation file beside it,
    .annotations.json for .pftrace. `metadata`: a JSON object for the trace. `max_bytes`: 0, or a ring of segments that keeps the newest; `flush_ms`:
    how often it writes (0: 1000); `buffer_count` and `buffer_bytes`: what CUPTI fills (0: 64 of 512 KiB).
    """
    options = {
        "api": bool(api), "annotations": bool(annotations), "buffer_count": int(buffer_count), "buffer_bytes": int(buffer_bytes),
        "flush_ms": int(flush_ms), "max_bytes": int(max_bytes), "metadata": "" if metadata is None else json.dumps(dict(metadata)),
    }  # fmt: skip
    return Recording(path, options)
