"""Annotations as JSON."""
from __future__ import annotations

import functools
import inspect
import json
from typing import Any, Callable

from . import _ext


def to_json(annotation: dict[str, Any]) -> str:
    """The JSON of an annotation. Raises TypeError for what JSON has no form for, ValueError for NaN and infinities."""
    return json.dumps(annotation, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """`value` with all that JSON has no form for as text: for callers whose dicts may hold anything."""
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, (bool, int)):
        return value if not isinstance(value, int) or -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return text(str(value))


def text(value: str) -> str:
    """`value`, with a "?" for each half of a surrogate pair, as names of files may have: no encoding has them."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def to_plain_json(annotation: dict[str, Any]) -> str:
    """to_json() of plain()."""
    return to_json(plain(annotation))


def with_keys(annotation: str | dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    """`keys` laid over `annotation`, as a new dict."""
    return {**({"name": annotation} if isinstance(annotation, str) else annotation), **keys}


def decorate_with(make_scope: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with a new scope around each call. Raises TypeError for what gives control away while it runs."""
    if not callable(function):
        raise TypeError(f"a scope decorates a function, not {function!r}")
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(is_kind(function) for is_kind in kinds):
        raise TypeError("a scope is a stretch of one thread's program order, which a generator or coroutine leaves in the middle: open it inside")

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with make_scope():
            return function(*args, **kwargs)

    return scoped


def decorate(annotation: str | dict[str, Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """decorate_with() for graphtag.scope."""
    return decorate_with(lambda: _ext.scope(annotation), function)
