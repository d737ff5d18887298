"""graphtag: names for the kernels of CUDA graphs in profiler traces.

>>> import graphtag
>>> with graphtag.window():                       # before the capture begins
...     capture_begins()
...     with graphtag.scope("decoder.attention"):  # every graph node created in here is "decoder.attention"
...         attention()
...     graph = capture_ends_and_is_instantiated()
>>> graphtag.snapshot("app.annotations.json")
>>> print(graphtag.report("trace.json.gz", annotations="app.annotations.json"))

With PyTorch use `graphtag.torch`, which opens windows by itself.
"""

from ._errors import BusyError, Error, FileError, InvalidError, NotFoundError, OutOfMemoryError, RefusedError, UnavailableError

try:
    from . import _ext
    from ._ext import scope
except ImportError as error:
    if "subinterpreter" in str(error):
        raise ImportError(
            "graphtag does not work in sub-interpreters: its scopes belong to the process's threads, and its extension has one state a "
            "process; import it in the main interpreter"
        ) from error
    raise

from ._command import annotate, check, command_path, report
from ._live import Resolution, annotations, available, doctor, forget, resolve, snapshot
from ._load import AnnotationFile, load
from ._record import Recording, record
from ._rows import Rows
from ._warnings import TraceWarning
from ._window import Window, window

__version__ = _ext.version()

__all__ = [
    "AnnotationFile",
    "BusyError",
    "Error",
    "FileError",
    "InvalidError",
    "NotFoundError",
    "OutOfMemoryError",
    "Recording",
    "RefusedError",
    "Resolution",
    "Rows",
    "TraceWarning",
    "UnavailableError",
    "Window",
    "annotate",
    "annotations",
    "available",
    "check",
    "command_path",
    "doctor",
    "forget",
    "load",
    "record",
    "report",
    "resolve",
    "scope",
    "snapshot",
    "window",
]
