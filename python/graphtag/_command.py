"""The command `graphtag` from Python: it runs in a process of its own, so that a huge or broken trace harms nothing here."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Iterable, Union

from ._errors import Error, FileError, InvalidError
from ._paths import Path
from ._rows import Rows
from ._warnings import warn

_Paths = Union[Path, Iterable[Path]]
# Exit code of the command -> exception.
_ERRORS = {2: InvalidError, 3: FileError}
# Exit codes of check that are answers: its bound was missed, and cannot be judged.
_VERDICTS = (1, 4)
_WARNING = "graphtag: warning: "
# Options of the command that would take its answer away from here -> what to do instead.
_NO_HELP = "help(graphtag.{verb}) says how it is called, and `graphtag {verb} --help` the options"
_ANNOTATE_TAKES_NO = {"out": "the file to write is the argument `output`", "help": _NO_HELP}
_TABLES_TAKE_NO = {
    "out": "it returns its rows; for a file write str(rows) or json.dumps(rows.document), or run `graphtag {verb} --out`",
    "format": "it returns its rows: str(rows) is a table, rows.document the JSON; for others run `graphtag {verb} --format`",
    "help": _NO_HELP,
}


def command_path() -> str:
    """The path of the command: $GRAPHTAG_COMMAND, the package's own, or the one on PATH. FileNotFoundError if there is none."""
    asked_for = os.environ.get("GRAPHTAG_COMMAND")
    own = os.path.join(os.path.dirname(__file__), "bin", "graphtag")
    found = asked_for or (own if os.path.exists(own) else shutil.which("graphtag"))
    if not found:
        raise FileNotFoundError("the command graphtag is not in this package, and not on PATH: build the package with GRAPHTAG_COMMAND=ON")
    return found


def _paths(value: _Paths | None) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (str, bytes, os.PathLike)):
        return [os.fsdecode(value)]
    return [os.fsdecode(path) for path in value]


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


def _refuse(verb: str, options: dict[str, Any], refused: dict[str, str]) -> None:
    for name in options:
        if name in refused:
            raise InvalidError(f"graphtag.{verb} takes no option {name!r}: {refused[name].format(verb=verb)}")


def _run(verb: str, traces: _Paths, annotations: _Paths | None, options: dict[str, Any], answers: tuple[int, ...] = ()) -> tuple[str, list[str]]:
    """What the command wrote, and its warnings. `answers` are exit codes, beside 0, that are no errors."""
    arguments = [command_path(), verb, "--quiet"]
    for path in _paths(annotations):
        arguments += ["-a", path]
    arguments += _options(options)
    arguments += ["--", *_paths(traces)]
    # File names, which messages repeat, need not be UTF-8.
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8", errors="replace", check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0 and not (done.returncode in answers and done.stdout):
        message = done.stderr.strip() or f"graphtag {verb} ended with exit code {done.returncode}"
        raise _ERRORS.get(done.returncode, Error)(message)
    return done.stdout, [line[len(_WARNING) :] for line in done.stderr.split("\n") if line.startswith(_WARNING)]


def _table(verb: str, trace: Path, annotations: _Paths | None, options: dict[str, Any], answers: tuple[int, ...] = ()) -> Rows:
    _refuse(verb, options, _TABLES_TAKE_NO)
    written, warnings = _run(verb, trace, annotations, {**options, "format": "json"}, answers)
    document = json.loads(written)
    for text in [*warnings, *(warning["message"] for warning in document["warnings"])]:
        warn(f"{document['inputs'][0]['path']}: {text}")
    return Rows(document["rows"], document)


def write_named(traces: _Paths, output: Path, annotations: _Paths | None, options: dict[str, Any]) -> list[str]:
    """annotate() without its warnings, which it returns."""
    _refuse("annotate", options, _ANNOTATE_TAKES_NO)
    return _run("annotate", traces, annotations, {"out": os.fsdecode(output), **options})[1]


def annotate(traces: _Paths, output: Path, annotations: _Paths | None = None, **options: Any) -> None:
    """Writes traces again with the names in, as `graphtag annotate`.

    `output` ends in .json, .json.gz, .pftrace or .pftrace.gz (a folder for several traces); `annotations` are files or folders of them. Options are
    the command's: lanes="all", default_stream=7, force=True, format="perfetto". InvalidError for options that make no sense, FileError for
    files that cannot be read or written. TraceWarning says what is wrong with what was read: nothing in it has a name, it is damaged.
    """
    for text in write_named(traces, output, annotations, options):
        warn(text)


def report(trace: Path, annotations: _Paths | None = None, **options: Any) -> Rows:
    """Where the GPU's time went, by region, as `graphtag report`: a row a region, times in ns.

    Options are the command's: view="tree", by=["bs"], where={"bs": 8}, sort="p95", top=10, skip_replays=1, min_pct=0.5; not `out` and
    `format`. InvalidError and FileError as of annotate(). What makes the rows unreliable, or empty, is in rows.document["warnings"], and a
    TraceWarning each.
    """
    return _table("report", trace, annotations, options)


def check(trace: Path, annotations: _Paths | None = None, **options: Any) -> Rows:
    """How much of the graphed work has a name, and why the rest has none, as `graphtag check`: a row a graph.

    Options are the command's, as of report(). With a bound, min_time=0.95, rows.verdict is "passed", "failed" or "cannot judge", and
    rows.verdict_reason says why: nothing is raised for it. Errors and warnings as of report().
    """
    return _table("check", trace, annotations, options, _VERDICTS)
