"""Streams that join a capture. The boundary observer reads the capture of each stream that it is told of; from Python a stream joins by waiting for an
event of one that captures already, so while such a capture records, torch.cuda.Stream's wait_event and wait_stream tell of their stream."""
from __future__ import annotations

import functools
import threading
from typing import Any, Callable

import torch

_lock = threading.Lock()
_watchers = 0
_replaced: list[tuple[type, str, Any]] = []


def watch(tell: Callable[[Any], None]) -> None:
    """Until unwatch(): tell(stream) before a torch.cuda.Stream waits. Calls may nest; the first one's `tell` is used."""
    global _watchers
    with _lock:
        _watchers += 1
        if _watchers > 1:
            return
        for name in ("wait_event", "wait_stream"):
            original = torch.cuda.Stream.__dict__.get(name)
            if original is not None:
                _replaced.append((torch.cuda.Stream, name, original))
                setattr(torch.cuda.Stream, name, _telling(original, tell))


def _telling(original: Any, tell: Callable[[Any], None]) -> Any:
    @functools.wraps(original)
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        tell(self)
        return original(self, *args, **kwargs)

    return wait


def unwatch() -> None:
    """Puts torch's own back, at the end of the last watch."""
    global _watchers
    with _lock:
        _watchers -= 1
        if _watchers == 0:
            while _replaced:
                owner, name, original = _replaced.pop()
                setattr(owner, name, original)
