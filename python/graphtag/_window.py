"""Windows: when nodes are observed."""
from __future__ import annotations

from types import TracebackType
from typing import Iterable

from . import _ext

# The names of gt_observer.
OBSERVERS = {"auto": 0, "callbacks": 1, "boundary": 2, "none": 3}
_NAMES = {number: name for name, number in OBSERVERS.items()}


class Window:
    """While it is open, scopes count and graph nodes are recorded. Made by window()."""

    def __init__(self, observer: str = "auto", *, streams: Iterable[int] = (), all_streams: bool = False) -> None:
        if observer not in OBSERVERS:
            raise ValueError(f"observer must be one of {', '.join(map(repr, OBSERVERS))}, not {observer!r}")
        self._asked_for = (OBSERVERS[observer], bool(all_streams), [int(stream) for stream in streams])
        self._handle: int | None = None

    def open(self) -> Window:
        """Opens it. UnavailableError where recording cannot work, BusyError where callbacks were asked for and cannot be had."""
        if self._handle is not None:
            raise RuntimeError("this window is open already")
        self._handle = _ext.window_open(*self._asked_for)
        return self

    def close(self) -> None:
        """Closes it; the last one to close ends all scopes. Closing twice does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _ext.window_close(handle)

    def add_stream(self, stream: int) -> None:
        """The boundary observer reads the capture of this CUstream (an int) as well."""
        if self._handle is None:
            raise RuntimeError("the window is not open")
        _ext.window_add_stream(self._handle, int(stream))

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    @property
    def observer(self) -> str:
        """Which observer "auto" came to: "callbacks" or "boundary"; "none" while only windows with that are open."""
        if self._handle is None:
            raise RuntimeError("the window is not open")
        return _NAMES[_ext.window_observer(self._handle)]

    __enter__ = open

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def window(observer: str = "auto", *, streams: Iterable[int] = (), all_streams: bool = False) -> Window:
    """A window, to be used in a with statement around captures and their instantiation.

    `observer` is "auto" (callbacks if CUPTI's subscription is free, else boundary), "callbacks" (exact everywhere) or "boundary" (disturbs
    nobody; reads graphs at scope boundaries, and wants the capturing CUstreams as ints in `streams`; `all_streams=True` says that they are
    all of them) or "none" (observes nothing: keeps scopes, so that a window that opens within them later sees them; works anywhere). Open it
    before the capture begins and close it before a profiler starts for the first time; one with "none" may stay open.
    """
    return Window(observer, streams=streams, all_streams=all_streams)
