"""Which Pythons take graphtag's wheel (what is in it is checked by tests/wheel)."""
import subprocess
import sys

from packaging.tags import cpython_tags

TAG = ("cp310", "abi3")


def takes(version, abi):
    """Does pip of this CPython install a wheel with our tag?"""
    return TAG in {(tag.interpreter, tag.abi) for tag in cpython_tags(version, [abi], ["linux_x86_64"])}


def test_the_tag_is_what_is_built(source_dir):
    text = (source_dir / "pyproject.toml").read_text(encoding="utf-8")
    assert 'wheel.py-api = "cp310"' in text and 'requires-python = ">=3.10"' in text


def test_one_wheel_serves_every_python_from_3_10_on():
    assert [takes((3, minor), f"cp3{minor}") for minor in range(9, 16)] == [False] + [True] * 6


def test_free_threaded_builds_do_not_take_it():
    """Scopes count on the GIL; python/CMakeLists.txt refuses to build for one, with the reason."""
    assert not any(takes((3, minor), f"cp3{minor}t") for minor in (13, 14))


def test_building_for_a_free_threaded_python_is_refused(source_dir, tmp_path):
    python = tmp_path / "python3t"
    python.write_text(f'#!/bin/sh\ncase "$*" in *Py_GIL_DISABLED*) echo 1;; *) exec {sys.executable} "$@";; esac\n', encoding="utf-8")
    python.chmod(0o755)
    project = f"cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES CXX)\nadd_subdirectory({source_dir}/python python)\n"
    (tmp_path / "CMakeLists.txt").write_text(project, encoding="utf-8")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DPython_EXECUTABLE={python}"],
                          capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
    assert done.returncode != 0 and "use a build with the GIL" in " ".join(done.stderr.split()), done.stderr
