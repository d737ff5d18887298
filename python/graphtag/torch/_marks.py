"""Scopes of PyTorch programs: mark_kernels, mark_stream, region, and display lanes."""
from __future__ import annotations

import itertools
import json
import re
import threading
from typing import Any, Callable, Iterator

import torch

from .. import _ext
from .._annotation import decorate_with, plain, text
from . import _kept_scopes, _streams

# Lanes begin above the ids that streams without graphs were seen to have.
_FIRST_LANE = 60
_lane_lock = threading.Lock()
_lane_numbers: Iterator[int] = itertools.count(_FIRST_LANE)
_lanes: dict[Any, int] = {}


def _lane(key: Any) -> int:
    with _lane_lock:
        if key not in _lanes:
            _lanes[key] = next(_lane_numbers)
        return _lanes[key]


def get_stream_for_pg(pg_key: str) -> int:
    """The display lane of a process group: 60 and up, one a key, the same at each call."""
    return _lane(("group", pg_key))


def lane_of_stream(stream: Any) -> int:
    """The display lane of a torch.cuda.Stream."""
    return _lane(("stream", _identity(stream)))


def _identity(stream: Any) -> tuple[Any, int]:
    # Default streams have the same handle, 0, on every device.
    return stream.device, stream.cuda_stream


def checked(annotation: str | dict[str, Any]) -> str | dict[str, Any]:
    """What a scope takes: the caller's dict is copied, and what JSON has no form for is kept as text."""
    if isinstance(annotation, str):
        return _as_scope(annotation)
    if isinstance(annotation, dict):
        return plain(annotation)
    raise TypeError(f"an annotation is a name (str) or a dict, not {annotation!r}")


class Mark(_ext.mark):
    """mark_kernels(...): a context manager and decorator that can be entered again, also within itself and from several threads."""

    __slots__ = ()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return decorate_with(lambda: Mark(self.annotation, self.backward), function)


def _as_scope(annotation: str | dict[str, Any]) -> str | dict[str, Any]:
    # torch takes any text, also none: the name of a whole model in named_modules().
    if not isinstance(annotation, str):
        return annotation
    return text(annotation) or {"name": ""}


def mark_kernels(annotation: str | dict[str, Any], *, backward: bool = True) -> Mark:
    """Names the work captured while it is open: kernels, copies, memsets and all other nodes, on any stream.

    `annotation` is a name (for {"name": name}) or a dict; an inner scope's keys win, the outer's come through. With `backward` the autograd nodes
    made in it name their backward work too, in this capture or a later one, with "autograd_phase": "backward" added. A context manager, or
    a decorator. Does nothing where no capture records. The dict is read when it is first entered while one does, and never changed; values that
    JSON has no form for become text. TypeError for anything but a name or a dict.
    """
    return Mark(_as_scope(annotation), backward)


class MarkStream:
    """mark_stream(...)."""

    def __init__(self, stream: Any, annotation: str | dict[str, Any]) -> None:
        self._stream = stream
        self._annotation = annotation
        self._open: list[tuple[Mark | None, Any]] = []

    def __enter__(self) -> None:
        if not _ext.active():
            switch = torch.cuda.stream(self._stream)
            switch.__enter__()
            self._open.append((None, switch))
            return
        annotation = checked(self._annotation)
        switch = None
        if _identity(self._stream) != _identity(torch.cuda.current_stream()):
            annotation = {"name": annotation} if isinstance(annotation, str) else annotation
            annotation = {**annotation, "stream": lane_of_stream(self._stream)}
            _streams.add_stream(self._stream)
            switch = torch.cuda.stream(self._stream)
        mark = Mark(annotation, True)
        mark.__enter__()
        try:
            if switch is not None:
                switch.__enter__()
        except BaseException:
            mark.__exit__(None, None, None)
            raise
        self._open.append((mark, switch))

    def __exit__(self, *error: object) -> None:
        mark, switch = self._open.pop()
        try:
            if switch is not None:
                switch.__exit__(*error)
        finally:
            if mark is not None:
                mark.__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return decorate_with(lambda: MarkStream(self._stream, self._annotation), function)


def mark_stream(stream: torch.cuda.Stream, annotation: str | dict[str, Any]) -> MarkStream:
    """mark_kernels, with `stream` made current and its display lane added to a copy of the annotation (as "stream").

    Where `stream` is current already, neither happens. Where nothing is recorded, only the stream is switched.
    """
    return MarkStream(stream, annotation)


# Kineto writes quotes as they are (older versions) or as single ones, turns backslashes, and calls what is not ASCII "unknown": none may be in a
# range's name.
_ESCAPED = re.compile("[^ !#$&(-\\[\\]-~]")


def _percents(value: Any) -> Any:
    """`value` with %XX, byte by byte of UTF-8, for what a range's name cannot hold."""
    if isinstance(value, str):
        return _ESCAPED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), value)
    if isinstance(value, dict):
        return {_percents(key): _percents(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_percents(item) for item in value]
    return value


def _range_name(annotation: str | dict[str, Any]) -> str:
    """A name alone, or the object as JSON in single quotes: traces keep nothing but the name of a range, and `graphtag report` reads this one back."""
    annotation = {"name": annotation} if isinstance(annotation, str) else annotation
    name = annotation.get("name")
    if annotation.keys() == {"name"} and isinstance(name, str) and _ESCAPED.search(name.replace("%", "")) is None:
        return name
    return json.dumps(_percents(annotation)).replace('"', "'")


class Region:
    """region(...)."""

    def __init__(self, annotation: str | dict[str, Any]) -> None:
        self._annotation = checked(annotation)
        self._range_name = _range_name(self._annotation)
        self._local = threading.local()

    def __enter__(self) -> None:
        # Where scopes are kept for captures to come, what is within may be eager, captured or both.
        inner: list[Any] = []
        if _ext.active():
            inner.append(Mark(self._annotation, True))
        if torch.autograd.profiler._is_profiler_enabled and not _kept_scopes.is_recording():
            inner.append(torch.profiler.record_function(self._range_name))
        for one in inner:
            one.__enter__()
        if not hasattr(self._local, "open"):
            self._local.open = []
        self._local.open.append(inner)

    def __exit__(self, *error: object) -> None:
        for one in reversed(self._local.open.pop()):
            one.__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return decorate_with(lambda: Region(self._annotation), function)


def region(annotation: str | dict[str, Any]) -> Region:
    """One marker for captured and eager work: while a capture records it is mark_kernels(annotation); elsewhere, while a profiler runs, a
    torch.profiler.record_function range of that name (of the whole object, where there are more keys), by which `graphtag report` names the work that
    is launched within it and its backward; else nothing."""
    return Region(annotation)
