"""graphtag's exceptions: one class for each kind of status of the C ABI (graphtag.h), each with the C message."""
from __future__ import annotations


class Error(RuntimeError):
    """Something that graphtag was asked for went wrong. `status` is the gt_status (int), str() says what to do."""

    status = 0


class UnavailableError(Error):
    """It cannot work on this machine or in this process; the text says why."""


class BusyError(UnavailableError):
    """Callbacks were asked for, and another tool holds CUPTI's subscription."""


class InvalidError(Error, ValueError):
    """An argument makes no sense: a made-up handle, a text that is not JSON, an unknown flag."""


class NotFoundError(Error, LookupError):
    """Nothing is known under this id."""


class RefusedError(Error):
    """CUDA does not know the graph, exec graph or node."""


class FileError(Error, OSError):
    """The operating system refused a file."""

    # OSError prints errno pairs; this has none.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OutOfMemoryError(Error, MemoryError):
    """There was no memory for it."""


# gt_status -> class; the numbers never change.
_BY_STATUS: dict[int, type[Error]] = {
    1: InvalidError,
    2: InvalidError,
    3: InvalidError,
    4: UnavailableError,
    5: BusyError,
    6: NotFoundError,
    10: InvalidError,
    11: InvalidError,
    12: FileError,
    13: OutOfMemoryError,
    15: RefusedError,
}


def from_status(status: int, message: str) -> Error:
    """The exception for a gt_status."""
    error = _BY_STATUS.get(status, Error)(message)
    error.status = status
    return error
