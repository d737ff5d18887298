"""install() and uninstall(): graphtag in the place of torch's own."""
from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import torch

from . import _capture, _collectives, _compat

_MISSING = object()
# (object, attribute, what was there), newest last.
_replaced: list[tuple[Any, str, Any]] = []
_modules: list[tuple[str, Any]] = []


def _replace(owner: Any, name: str, value: Any) -> None:
    _replaced.append((owner, name, owner.__dict__.get(name, _MISSING)))
    setattr(owner, name, value)


def _own_module(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def _replace_where_imported(originals: dict[str, Any], own: dict[str, Any]) -> None:
    """In every module that has one of torch's by its name already."""
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType):
            for name, original in originals.items():
                if module.__dict__.get(name) is original:
                    _replace(module, name, own[name])


def install(*, every_capture: bool = False, collectives: bool = True) -> None:
    """From here on torch.cuda.graph, torch.cuda.make_graphed_callables and torch.cuda.graph_annotations are graphtag's.

    The module (and its private twin torch.cuda._graph_annotations) is made where torch has none. With `every_capture` captures that do not say
    enable_annotations record too, such as those of torch.compile(mode="reduce-overhead") and of CUDAGraph.capture_begin, under the scopes around the
    call that makes them: for that scopes are kept all the time, each of which then costs what it does in a capture. With `collectives` captured
    collectives are named. Modules that imported one of these names before get graphtag's too. A second call changes the options alone.
    uninstall() puts all back.
    """
    _capture.record_every_capture(every_capture)
    _collectives.annotate_collectives(collectives, lanes=_collectives.have_lanes())
    if _replaced:
        return
    own = {"graph": _capture.graph, "make_graphed_callables": _capture.make_graphed_callables}
    _replace_where_imported({"graph": _capture.torch_graph, "make_graphed_callables": _capture.torch_make_graphed_callables}, own)
    for name in ("capture_begin", "capture_end"):
        _replace(torch.cuda.CUDAGraph, name, getattr(_capture, name)(getattr(torch.cuda.CUDAGraph, name)))
    for name, names in (("graph_annotations", _compat.PUBLIC), ("_graph_annotations", _compat.PRIVATE)):
        full_name = f"torch.cuda.{name}"
        original = _own_module(full_name)
        if original is not None:
            _replace_where_imported({key: value for key, value in original.__dict__.items() if key in names}, names)
        module = _compat.StandIn(full_name, names, original)
        _modules.append((full_name, sys.modules.get(full_name, _MISSING)))
        sys.modules[full_name] = module
        _replace(torch.cuda, name, module)


def uninstall() -> None:
    """Puts back what install() replaced. Without an install() it does nothing."""
    if not _replaced:
        return
    _capture.record_every_capture(False)
    _collectives.annotate_collectives(False)
    while _replaced:
        owner, name, before = _replaced.pop()
        if before is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
    while _modules:
        name, before = _modules.pop()
        if before is _MISSING:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
