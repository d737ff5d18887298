"""What the Python tests share: where the sources are, and the command under test."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

# What `nohup` or a shell's `&` has us ignore, the programs under test would inherit as ignored.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

SOURCE_DIR = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def source_dir():
    """The repository's root."""
    return SOURCE_DIR


@pytest.fixture(scope="session")
def graphtag():
    """Path of the built command: $GRAPHTAG_COMMAND, or the release build's."""
    path = Path(os.environ.get("GRAPHTAG_COMMAND", SOURCE_DIR / "build/release/graphtag"))
    assert path.exists(), f"{path} is not built; run ./dev build, or set GRAPHTAG_COMMAND"
    return path


@pytest.fixture(scope="session")
def run(graphtag):
    """run(*arguments, code=0, **subprocess_options): runs the command, checks its exit code, returns the finished process (text)."""

    def runner(*arguments, code=0, **options):
        options = {"capture_output": True, "text": True, "timeout": 120, **options}
        done = subprocess.run([graphtag, *map(str, arguments)], check=False, **options)
        assert done.returncode == code, f"exit code {done.returncode}, not {code}\nstdout: {done.stdout}\nstderr: {done.stderr}"
        return done

    return runner


@pytest.fixture(scope="session")
def trace_files():
    """trace_files(name): (trace, annotations) of a recorded H200 trace."""

    def find(name):
        folder = SOURCE_DIR / ("examples/decode" if name == "decode" else "tests/golden/h200")
        return folder / f"{name}.json.gz", folder / f"{name}.annotations.pkl"

    return find
