"""What the command warns of, as warnings of Python."""
from __future__ import annotations

import sys
import warnings


class TraceWarning(UserWarning):
    """A trace, or what was given with it, makes an answer say less than it seems to: nothing has a name, records are missing, the file is damaged."""


def warn(text: str) -> None:
    """Warns at the line, outside this package, that called into it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, TraceWarning, stacklevel=level)
