"""graphtag doctor on this machine, and with a model of CUDA in the place of its libraries."""
import json
import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def doctor(graphtag):
    """doctor(environment, *options): (exit code, standard output)."""

    def run(environment, *options):
        done = subprocess.run([graphtag, "doctor", *options], capture_output=True, text=True, env=environment, check=False, timeout=120)
        assert done.stderr == ""
        return done.returncode, done.stdout

    return run


@pytest.fixture
def bare(tmp_path):
    """An environment in which nothing is found."""
    return {"PATH": str(tmp_path)}


@pytest.fixture
def model_folder(source_dir):
    """Where the model's libcuda and libcupti lie."""
    folder = Path(os.environ.get("GRAPHTAG_BUILD", source_dir / "build/release")) / "fake"
    assert (folder / "libcuda.so.1").exists(), f"{folder} has no libcuda.so.1; build the target graphtag_fake_libcuda"
    return folder


@pytest.fixture
def model(model_folder):
    """An environment in which they are found first."""
    return {**os.environ, "LD_LIBRARY_PATH": str(model_folder)}


def test_exit_code_and_advice(doctor, bare):
    code, text = doctor(bare, "--json")
    report = json.loads(text)
    assert report["schema"] == "graphtag.doctor/1"
    assert code == (0 if report["works"] else 1)
    assert report["python"]["path"] is None
    assert "libgraphtag.so" in report["libraries"]["capture"]
    assert all(finding["what"] and finding["do"] for finding in report["findings"])
    if not Path("/proc/driver/nvidia/version").exists():
        assert code == 1
        assert report["findings"][0] == {"level": "error", "what": "the kernel has no NVIDIA driver", "do": report["findings"][0]["do"]}


def test_the_library_is_asked(doctor, model, model_folder):
    capture = json.loads(doctor(model, "--json")[1])["capture"]
    assert capture["works"] is True
    assert capture["subscription"]["state"] == "free"
    assert Path(capture["cupti"]["path"]).parent == model_folder
    assert capture["devices"]


def test_the_text_says_the_same(doctor, model):
    code, text = doctor(model)
    report = json.loads(doctor(model, "--json")[1])
    assert ("Capture can work here." in text) == report["works"] == (code == 0)
    for finding in report["findings"]:
        assert finding["what"] in text and finding["do"] in text
