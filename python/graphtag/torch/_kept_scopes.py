"""While every capture records, scopes are kept all the time: such captures are made anywhere within them, by torch.compile for one, so that their
windows open late."""
from __future__ import annotations

import os

from .. import _ext
from .._live import available
from .._window import Window
from . import _backward_seam

_window: Window | None = None
_watches_forks = False


def keep(wanted: bool) -> None:
    """Keeps scopes from now on, or no more: then those that are open end, unless a capture records. Where nothing can be recorded, none are kept."""
    global _window, _watches_forks
    if not wanted:
        window, _window = _window, None
        if window is not None:
            window.close()
    elif _window is None and available() is None:
        _backward_seam.prepare()
        _window = Window("none").open()
        if not _watches_forks:
            os.register_at_fork(after_in_child=_begin_anew)
            _watches_forks = True


def _begin_anew() -> None:
    """In a child of fork(), where no window is open."""
    global _window
    if _window is not None:
        _window = Window("none").open()


def is_recording() -> bool:
    """Is anything recorded now? Scopes that are kept alone do not count."""
    return _ext.active() and (_window is None or _window.observer != "none")
