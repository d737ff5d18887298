"""The programs of tests/gpu/pytorch, rehearsed: PyTorch's CPU over a false CUDA, where every operator adds a node to the capture."""
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parents[1] / "gpu/pytorch"


@pytest.mark.parametrize(
    "arguments",
    [
        ("parity.py",),
        ("backward.py",),
        ("compiled.py",),
        ("models.py", "gradients_of_gradients", "a_gradient_penalty", "nothing_failed_on_the_way"),
        ("collectives.py", "--ranks", "1"),
        ("collectives.py", "--ranks", "2"),
    ],
    ids=" ".join,
)
def test_rehearsal(arguments):
    done = subprocess.run([sys.executable, PROGRAMS / arguments[0], "--rehearse", *arguments[1:]], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "SUMMARY" in done.stdout and "FAIL" not in done.stdout
