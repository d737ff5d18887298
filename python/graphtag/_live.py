"""Answers about what this process has recorded."""

# Not `from __future__ import annotations`: type checkers would take the function of that name for it.
import functools
import json
import os
from typing import Any, NamedTuple

from . import _ext
from ._errors import Error
from ._paths import Path
from ._window import OBSERVERS


class Resolution(NamedTuple):
    """What a record is to be called: its annotation (None if it has none) and how that is known, or why there is none.

    `path` holds the names of the scopes that were open, outermost first; `origin` is "callback", "boundary", "boundary-approximate",
    "modelled" or "updated" where there is an annotation, else "outside-scope", "outside-scope-approximate",
    "captured-before-start", "unlinked-body", "stale-id" or "unknown-graph".
    """

    annotation: dict[str, Any] | None
    path: tuple[str, ...]
    origin: str


@functools.lru_cache(maxsize=65536)
def _parsed(handle: int) -> tuple[dict[str, Any], tuple[str, ...]]:
    value = json.loads(_ext.annotation_json(handle, True))
    return value, tuple(value.pop("graphtag.path", ()))


def annotation_of(handle: int) -> dict[str, Any]:
    """A handle's object, as a dict of the caller's own (its nested values are shared)."""
    return dict(_parsed(handle)[0])


def available(observer: str = "auto") -> str | None:
    """None if recording with this observer can work here, else the reason why not."""
    if observer not in OBSERVERS:
        raise ValueError(f"observer must be one of {', '.join(map(repr, OBSERVERS))}, not {observer!r}")
    try:
        _ext.check_available(OBSERVERS[observer])
    except Error as error:
        return str(error)
    return None


def annotations() -> dict[int, dict[str, Any]]:
    """Node id -> annotation of every node that has one, in graphs and exec graphs that live now: a copy.

    Node ids are those of profilers: graph or exec id << 32 | local id. Nested scopes are merged, the inner one's keys winning.
    """
    return {node_id: annotation_of(handle) for node_id, handle, _ in _ext.live_nodes()}


def resolve(node_id: int, time_ns: int | None = None) -> Resolution:
    """What a record with this node id is to be called. `time_ns` is the record's start in Unix time (ns): ids of exec graphs that were
    destroyed before are found out as stale. Destroyed graphs resolve too, until a byte limit."""
    handle, origin = _ext.resolve(node_id) if time_ns is None else _ext.resolve(node_id, time_ns)
    name = _ext.origin_name(origin)
    if handle == 0:
        return Resolution(None, (), name)
    annotation, path = _parsed(handle)
    return Resolution(dict(annotation), path, name)


def snapshot(path: Path) -> None:
    """Writes everything recorded so far, destroyed graphs included, as an annotation file (graphtag.annotations/1): what
    `graphtag annotate -a` and report() read. The file appears whole or not at all. FileError where the system refuses it."""
    _ext.snapshot_file(os.fsencode(path))


def forget() -> None:
    """Drops everything recorded so far. Captures that are under way go on."""
    _ext.forget()


def doctor(*, init_cuda: bool = False, try_subscribe: bool = False) -> dict[str, Any]:
    """What works here, what does not, and what to do about it, as a dict; "findings" lists the advice.

    With `init_cuda` CUDA may be initialised (to list devices), with `try_subscribe` CUPTI's subscription may be taken for a moment (to say
    who holds it); without, nothing in the process changes.
    """
    return json.loads(_ext.doctor((1 if init_cuda else 0) | (2 if try_subscribe else 0)))
