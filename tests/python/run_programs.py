"""`graphtag run` over programs that use a false CUDA (tests/inject/cuda_program.cpp), for tests: as a user starts it."""
import os
import socket
import subprocess
from pathlib import Path

import pytest
from recording_file import RecordingFile

BUILD = Path(os.environ.get("GRAPHTAG_BUILD", Path(__file__).resolve().parents[2] / "build/release"))
FAKE = BUILD / "fake"
HOST = socket.gethostname().split(".")[0]
PROGRAMS = [name for name in ("cuda_program", "cuda_program_nvtx") if (FAKE / name).exists()]


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GRAPHTAG_RUN") and "INJECTION64" not in key}
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        kept.pop(name, None)
    return {**kept, "LD_LIBRARY_PATH": f"{FAKE}:{kept.get('LD_LIBRARY_PATH', '')}", **more}


@pytest.fixture
def record(graphtag, tmp_path):
    """record(*words, options=(), code=0, program=None, env={}): `graphtag run` of the program; stderr and the traces by name."""

    def runner(*words, options=(), code=0, program="cuda_program", env=None, command=None, out="out"):
        command = command or [FAKE / program, *words]
        given = [graphtag, "run", "-o", tmp_path / out, *options, "--", *command]
        done = subprocess.run(list(map(str, given)), capture_output=True, text=True, timeout=60, env=environment(**(env or {})), cwd=tmp_path)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        folder = tmp_path / out
        done.traces = sorted((folder.parent if folder.suffix else folder).glob("*.pftrace"))
        return done

    return runner


def start(graphtag, tmp_path, *words, options=(), env=None):
    """The same, still running; with its first line of output read."""
    given = [graphtag, "run", "-o", tmp_path / "out", *options, "--", FAKE / "cuda_program", *words]
    process = subprocess.Popen(list(map(str, given)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**(env or {})))
    return process, process.stdout.readline().split()


def only(traces):
    assert len(traces) == 1, traces
    return RecordingFile(traces[0])


DECODE = ["cuda", "push:decode", "push:attention", "graph:3", "pop", "pop", "replay:2"]
