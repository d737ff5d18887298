"""The programs of tests/gpu/pytorch, rehearsed: PyTorch's CPU over a false CUDA, where every operator adds a node to the capture."""
import importlib.util
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


def test_rehearsal_beside_the_reference():
    """PyTorch's own annotations, its real code, over the same false CUDA; an older PyTorch has none."""
    torch_dir = Path(importlib.util.find_spec("torch").origin).parent
    has_reference = (torch_dir / "cuda/graph_annotations.py").exists()
    done = subprocess.run([sys.executable, PROGRAMS / "reference.py", "--rehearse"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == (0 if has_reference else 77), done.stdout[-3000:] + done.stderr[-2000:]
    assert ("all right" if has_reference else "has no torch.cuda.graph_annotations") in done.stdout
