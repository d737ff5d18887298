"""One recorded capture: its window, its streams, its graph."""
from __future__ import annotations

from typing import Any

from .. import _ext
from .._errors import Error, UnavailableError
from .._live import available
from .._window import Window
from . import _backward_seam, _collectives, _stacks, _streams
from ._config import Config


class Recording:
    """From before a capture begins until after it is instantiated."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.window = Window(config.observer)
        self.graph_handle = 0  # the CUgraph that is captured into; 0 until known
        self.graph_id = 0
        self._collectives = False  # functional ones are watched
        self._stacks = False  # launch stacks are taken

    def open(self) -> None:
        """Raises BusyError (a RuntimeError) where callbacks were asked for and somebody else has them."""
        _backward_seam.prepare()
        self.window.open()
        _streams.opened(self.window)
        self._collectives = _collectives.capture_begins()
        if self.config.record_py_stacks:
            _stacks.begin(self.config.py_stack_filter_paths)
            self._stacks = True

    def close(self) -> None:
        _streams.closes(self.window)
        if self._collectives:
            self._collectives = False
            _collectives.capture_ends()
        if self._stacks:
            self._stacks = False
            _stacks.end()
        self.window.close()

    def add_stream(self, stream: int) -> None:
        self.window.add_stream(stream)

    def capture_began(self, stream: int, label: Any) -> None:
        """The stream captures now: learn the graph, and give it its label."""
        self.graph_handle = _ext.capture_graph(stream)
        self.graph_id = _ext.graph_id(self.graph_handle)
        if label is not None:
            _ext.label_graph(self.graph_handle, label)
        self.read_boundary()

    def read_boundary(self) -> None:
        """Boundaries are read where scopes open and close. One is needed at the beginning and at the end of a capture: without, a graph
        without scopes stays unknown, and nodes behind the last scope are not told from those of bodies."""
        if self.uses_boundaries:
            _ext.scope_close(_ext.scope_open(_ext.annotation("graphtag")))

    @property
    def uses_boundaries(self) -> bool:
        return self.window.observer == "boundary"


def start(config: Config) -> Recording | None:
    """A recording that is open, or None where recording cannot work at all (is_available() says so)."""
    if available() is not None:
        return None
    recording = Recording(config)
    try:
        recording.open()
    except UnavailableError:
        recording.close()
        if config.observer == "callbacks":
            raise
        return None
    return recording
