"""The windows of captures that record now, and the streams that they read."""
from __future__ import annotations

import threading
from typing import Any

from .._window import Window

_lock = threading.Lock()
_windows: list[Window] = []


def opened(window: Window) -> None:
    """`window` is of a capture that records."""
    with _lock:
        _windows.append(window)


def closes(window: Window) -> None:
    with _lock:
        if window in _windows:
            _windows.remove(window)


def add_stream(stream: Any) -> None:
    """Work of a capture goes to this torch.cuda.Stream as well: the boundary observer must read it too."""
    with _lock:
        windows = list(_windows)
    for window in windows:
        window.add_stream(stream.cuda_stream)
