"""`GRAPHTAG=1 python -m graphtag.auto script.py ARGUMENTS`: runs a program with every capture recorded, and writes the annotation file at exit.

GRAPHTAG is 1, or options joined by commas: "out=PATH" (what to write; %p becomes the process's id, %r its rank; default
graphtag.%p.annotations.json), "collectives=0". 0 or empty: the program runs as it is. From within a program: graphtag.auto.start().
"""
from __future__ import annotations

import atexit
import os
import runpy
import sys

_OPTIONS = ("out", "collectives")
_DEFAULT_OUT = "graphtag.%p.annotations.json"


def parse_options(text: str) -> dict[str, str] | None:
    """The options in GRAPHTAG; None where it is off. ValueError, with the list of the known ones, for others."""
    if text in ("", "0"):
        return None
    options: dict[str, str] = {}
    for part in text.split(","):
        if part == "1":
            continue
        key, equals, value = part.partition("=")
        if not equals or key not in _OPTIONS:
            raise ValueError(f"GRAPHTAG has an unknown option {part!r}; it is 1, 0, or of {', '.join(f'{name}=...' for name in _OPTIONS)}")
        if key == "collectives" and value not in ("0", "1"):
            raise ValueError(f"GRAPHTAG's option collectives is 0 or 1, not {value!r}")
        options[key] = value
    return options


def _write(path: str) -> None:
    from . import snapshot

    path = path.replace("%p", str(os.getpid())).replace("%r", os.environ.get("RANK", "0"))
    try:
        snapshot(path)
    except RuntimeError as error:
        print(f"graphtag: {error}", file=sys.stderr)
    else:
        print(f"graphtag: wrote {path}", file=sys.stderr)


def start(options: str = "1") -> None:
    """install() with every capture recorded, and the annotation file at exit. `options` as in GRAPHTAG."""
    parsed = parse_options(options)
    if parsed is None:
        return
    from . import torch as graphtag_torch

    graphtag_torch.install(every_capture=True, collectives=parsed.get("collectives", "1") == "1")
    atexit.register(_write, parsed.get("out", _DEFAULT_OUT))


def main() -> None:
    """Runs the script named on the command line as __main__."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("usage: GRAPHTAG=1 python -m graphtag.auto script.py ARGUMENTS", file=sys.stderr)
        raise SystemExit(2)
    try:
        start(os.environ.get("GRAPHTAG", "1"))
    except ValueError as error:
        print(f"graphtag: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    script = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
