"""torch.profiler's own traces, with the names in."""
from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from typing import Any, Callable, Mapping

from .. import _command, _live

_GRAPH_LANES = ("none", "all")


def export(
    prof: Any,
    path: str | os.PathLike[str],
    *,
    annotations: Mapping[int, Any] | None = None,
    graph_lanes: str = "none",
    default_stream: int = 7,
) -> None:
    """Writes the trace of a torch.profiler.profile with the names in: .json, .json.gz, .pftrace or .pftrace.gz, by the end of `path`.

    `annotations` are those of this process, or a mapping of node ids as of get_kernel_annotations(). With graph_lanes="all" graphed work moves to
    the lane its annotation asks for ("stream"), the rest of it to `default_stream`. ValueError for anything else, and for lanes with an empty
    mapping. Call it once the profiler has stopped.
    """
    if graph_lanes not in _GRAPH_LANES:
        raise ValueError(f"graph_lanes must be one of {', '.join(map(repr, _GRAPH_LANES))}, not {graph_lanes!r}")
    if graph_lanes == "all" and annotations is not None and not annotations:
        raise ValueError("graph_lanes='all' moves work by its annotations, and there are none")
    with tempfile.TemporaryDirectory(prefix="graphtag-") as folder:
        trace = os.path.join(folder, "trace.json")
        names = os.path.join(folder, "annotations.json")
        prof.export_chrome_trace(trace)
        if annotations is None:
            _live.snapshot(names)
        else:
            with open(names, "w", encoding="utf-8") as file:
                json.dump({str(node_id): value for node_id, value in annotations.items()}, file)
        _command.annotate(trace, path, names, lanes=graph_lanes, default_stream=default_stream, force=True)


def trace_handler(
    folder: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = True, graph_lanes: str = "none"
) -> Callable[[Any], None]:
    """For torch.profiler.profile(on_trace_ready=...): writes each trace, with the names in, to folder/WORKER.NS.pt.trace.json[.gz].

    WORKER is `worker_name`, or host_pid.
    """

    def write(prof: Any) -> None:
        os.makedirs(folder, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        export(prof, os.path.join(os.fspath(folder), name), graph_lanes=graph_lanes)

    return write
