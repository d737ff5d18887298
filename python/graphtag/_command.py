"""The command `graphtag` from Python: it runs in a process of its own, so that a huge or broken trace harms nothing here."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Iterable, Union

from ._errors import Error, FileError, InvalidError
from ._rows import Rows

_Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]
# Exit code of the command -> exception; 1 and 4 are answers of gates, which are not set here.
_ERRORS = {2: InvalidError, 3: FileError}


def command_path() -> str:
    """The path of the command: $GRAPHTAG_COMMAND, the package's own, or the one on PATH. FileNotFoundError if there is none."""
    asked_for = os.environ.get("GRAPHTAG_COMMAND")
    own = Path(__file__).parent / "bin" / "graphtag"
    found = asked_for or (str(own) if own.exists() else shutil.which("graphtag"))
    if not found:
        raise FileNotFoundError("the command graphtag is not in this package, and not on PATH: build the package with GRAPHTAG_COMMAND=ON")
    return found


def _paths(value: _Paths | None) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    return [os.fspath(path) for path in value]


def _options(options: dict[str, Any]) -> list[str]:
    """Keyword arguments as the command's options: top=5 -> --top 5, force=True -> --force; a list or tuple is joined by commas."""
    arguments = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(flag)
        elif isinstance(value, dict):
            arguments.append(f"{flag}=" + ",".join(f"{key}={item}" for key, item in value.items()))
        elif isinstance(value, (list, tuple)):
            arguments.append(f"{flag}=" + ",".join(map(str, value)))
        else:
            arguments.append(f"{flag}={value}")
    return arguments


def _run(verb: str, traces: _Paths, annotations: _Paths | None, options: dict[str, Any]) -> str:
    arguments = [command_path(), verb, "--quiet"]
    for path in _paths(annotations):
        arguments += ["-a", path]
    arguments += _options(options)
    arguments += ["--", *_paths(traces)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        message = done.stderr.strip() or f"graphtag {verb} ended with exit code {done.returncode}"
        raise _ERRORS.get(done.returncode, Error)(message)
    return done.stdout


def annotate(traces: _Paths, output: str | os.PathLike[str], annotations: _Paths | None = None, **options: Any) -> None:
    """Writes traces again with the names in, as `graphtag annotate`.

    `output` ends in .json, .json.gz, .pftrace or .pftrace.gz (a folder for several traces); `annotations` are files or folders of them. Options are
    the command's: lanes="all", default_stream=7, force=True, format="perfetto". InvalidError for options that make no sense, FileError for
    files that cannot be read or written.
    """
    _run("annotate", traces, annotations, {"out": os.fspath(output), **options})


def report(trace: str | os.PathLike[str], annotations: _Paths | None = None, **options: Any) -> Rows:
    """Where the GPU's time went, by region, as `graphtag report`: a row a region, times in ns.

    Options are the command's: view="tree", by=["bs"], where={"bs": 8}, sort="p95", top=10, skip_replays=1, min_pct=0.5.
    """
    document = json.loads(_run("report", trace, annotations, {**options, "format": "json"}))
    return Rows(document["rows"], document)


def check(trace: str | os.PathLike[str], annotations: _Paths | None = None, **options: Any) -> Rows:
    """How much of the graphed work has a name, and why the rest has none, as `graphtag check`: a row a graph."""
    document = json.loads(_run("check", trace, annotations, {**options, "format": "json"}))
    return Rows(document["rows"], document)
