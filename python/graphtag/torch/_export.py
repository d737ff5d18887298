"""torch.profiler's own traces, with the names in."""
from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import tempfile
import time
import warnings
from types import TracebackType
from typing import Any, Callable, Mapping

import torch

from .. import _command, _live
from .._paths import Path
from .._record import record
from .._warnings import warn

_GRAPH_LANES = ("none", "all")
# The first PyTorch whose profiler (Kineto) writes which node of a graph a kernel is of.
_FIRST_WITH_NODE_IDS = (2, 12)
_NO_NODE_IDS = (
    "the profiler of PyTorch {version} does not write which node of a graph a kernel is of, so graphed work stays unnamed in its traces: use "
    "graphtag.record or graphtag.torch.profile instead, or PyTorch 2.12 or newer"
)


def profiler_writes_node_ids() -> bool:
    """Does torch.profiler write which node of a graph a kernel is of? Without, its traces cannot be named: record() makes ones that are."""
    version = torch.__version__.split("+")[0].split(".")
    return tuple(int(part) for part in version[:2]) >= _FIRST_WITH_NODE_IDS


def _annotate(trace: str, path: Path, annotations: str | None, **options: Any) -> None:
    """Warnings call the trace, which nobody gets to see, by what is made of it."""
    for text in _command.write_named(trace, path, annotations, {"force": True, **options}):
        warn(text.replace(trace, os.fsdecode(path), 1))


def export(
    prof: Any,
    path: Path,
    *,
    annotations: Mapping[int, Any] | None = None,
    graph_lanes: str = "none",
    default_stream: int = 7,
) -> None:
    """Writes the trace of a torch.profiler.profile with the names in: .json, .json.gz, .pftrace or .pftrace.gz, by the end of `path`.

    `annotations` are those of this process, or a mapping of node ids as of get_kernel_annotations(). With graph_lanes="all" graphed work moves to
    the lane its annotation asks for ("stream"), the rest of it to `default_stream`. ValueError for anything else, and for lanes with an empty
    mapping. Call it once the profiler has stopped. RuntimeWarning where profiler_writes_node_ids() is False: then work in graphs stays unnamed;
    TraceWarning as of graphtag.annotate().
    """
    if graph_lanes not in _GRAPH_LANES:
        raise ValueError(f"graph_lanes must be one of {', '.join(map(repr, _GRAPH_LANES))}, not {graph_lanes!r}")
    if graph_lanes == "all" and annotations is not None and not annotations:
        raise ValueError("graph_lanes='all' moves work by its annotations, and there are none")
    if not profiler_writes_node_ids():
        warnings.warn(_NO_NODE_IDS.format(version=torch.__version__), RuntimeWarning, stacklevel=2)
    with tempfile.TemporaryDirectory(prefix="graphtag-") as folder:
        trace = os.path.join(folder, "trace.json")
        names = os.path.join(folder, "annotations.json")
        prof.export_chrome_trace(trace)
        if annotations is None:
            _live.snapshot(names)
        else:
            with open(names, "w", encoding="utf-8") as file:
                json.dump({str(node_id): value for node_id, value in annotations.items()}, file)
        _annotate(trace, path, names, lanes=graph_lanes, default_stream=default_stream)


def trace_handler(
    folder: Path, worker_name: str | None = None, use_gzip: bool = True, graph_lanes: str = "none"
) -> Callable[[Any], None]:
    """For torch.profiler.profile(on_trace_ready=...): writes each trace, with the names in, to folder/WORKER.NS.pt.trace.json[.gz].

    WORKER is `worker_name`, or host_pid.
    """

    def write(prof: Any) -> None:
        os.makedirs(folder, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        export(prof, os.path.join(os.fsdecode(folder), name), graph_lanes=graph_lanes)

    return write


def _keep(recording: str, path: str) -> None:
    """The recorder's own file, which has the names in, at `path`, packed if that ends in .gz."""
    if not path.endswith(".gz"):
        shutil.move(recording, path)
        return
    with open(recording, "rb") as plain, gzip.open(path, "wb", compresslevel=4) as packed:
        shutil.copyfileobj(plain, packed)


class profile:
    """Profiles what runs within it (a with statement), and writes the trace to `path` with the names in: .json, .json.gz, .pftrace or .pftrace.gz.

    By torch.profiler.profile(**options) where profiler_writes_node_ids(), as export() does; else by graphtag.record, which leaves `options` aside and
    knows no operators of the host. `graph_lanes` as in export(). Synchronises with the GPU at its end. report() reads what it wrote, but for a
    .pftrace of torch's profiler or with lanes, which are drawn to be looked at.
    """

    def __init__(self, path: Path, graph_lanes: str = "none", **options: Any) -> None:
        if graph_lanes not in _GRAPH_LANES:
            raise ValueError(f"graph_lanes must be one of {', '.join(map(repr, _GRAPH_LANES))}, not {graph_lanes!r}")
        self.path = os.fsdecode(path)
        self.profiler: Any = None  # the torch.profiler.profile, if it is that which runs
        self._lanes = graph_lanes
        self._options = options
        self._recording: Any = None
        self._folder: Any = None

    def __enter__(self) -> profile:
        if profiler_writes_node_ids():
            activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
            self.profiler = torch.profiler.profile(**{"activities": activities, **self._options})
            self.profiler.__enter__()
            return self
        self._folder = tempfile.TemporaryDirectory(prefix="graphtag-")
        self._recording = record(os.path.join(self._folder.name, "trace.pftrace"))
        self._recording.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Whatever the GPU says, profiling ends; and what was raised in the body is what is raised.
        failure: Exception | None = None
        try:
            torch.cuda.synchronize()
        except Exception as met:
            failure = None if kind is not None else met
        self._end(kind if failure is None else type(failure), error, trace)
        if failure is not None:
            raise failure

    def _end(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.profiler is not None:
            self.profiler.__exit__(kind, error, trace)
            if kind is None:
                export(self.profiler, self.path, graph_lanes=self._lanes)
            return
        try:
            self._recording.end()
            if kind is None and self._lanes == "none" and self.path.endswith((".pftrace", ".pftrace.gz")):
                _keep(self._recording.path, self.path)
            elif kind is None:
                _annotate(self._recording.path, self.path, None, lanes=self._lanes)
        finally:
            self._folder.cleanup()
