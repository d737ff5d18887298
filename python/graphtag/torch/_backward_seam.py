"""Where mark_kernels meets the autograd adaptor (graphtag.torch._backward), which may not work here: then forward work alone is named, and
one warning says so."""
from __future__ import annotations

import functools
import warnings

from .. import _ext

_asked = False
reason: str | None = None  # why backward work cannot be named, once it was asked for


def _load() -> None:
    global _asked, reason
    _asked = True
    try:
        from . import _backward
    except ImportError as error:
        reason = str(error)
    else:
        if _backward.enable() is None:
            reason = _backward.available() or "the autograd adaptor could not be loaded"
        elif (functions := _backward.entry_points()) is not None:
            _ext.set_adaptor(*functions)
        else:
            _ext.set_adaptor_calls(functools.partial(_backward.freeze, 0), _backward.thaw)
    if reason is not None:
        warnings.warn(f"graphtag names forward work only: {reason}", RuntimeWarning, stacklevel=2)


def prepare() -> None:
    """Before a capture records: what takes long (a compiler run, once a torch version) is done here, once."""
    if not _asked:
        _load()
