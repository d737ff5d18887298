"""Where mark_kernels meets the autograd adaptor (graphtag.torch._backward), which may not work here: then forward work alone is named, and
one warning says so."""
from __future__ import annotations

import warnings
from typing import Any

_backend: Any = None
_asked = False
reason: str | None = None  # why backward work cannot be named, once it was asked for


def _load() -> None:
    global _backend, _asked, reason
    _asked = True
    try:
        from . import _backward
    except ImportError as error:
        reason = str(error)
    else:
        if _backward.enable() is None:
            reason = _backward.available() or "the autograd adaptor could not be loaded"
        else:
            _backend = _backward
    if reason is not None:
        warnings.warn(f"graphtag names forward work only: {reason}", RuntimeWarning, stacklevel=2)


def prepare() -> None:
    """Before a capture records: what takes long (a compiler run, once a torch version) is done here, once."""
    if not _asked:
        _load()


def freeze() -> Any:
    """The autograd nodes made from here on, on this thread, get the scopes open now. None where that cannot be had."""
    return None if _backend is None else _backend.freeze(0)


def thaw(token: Any) -> None:
    """... up to here."""
    _backend.thaw(token)
