"""The library for backward work is compiled once a PyTorch version, and what is done where it cannot be."""
import concurrent.futures
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs PyTorch", allow_module_level=True)

from torch_scopes import backward_build, torch

FOLDER = Path(__file__).parent


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a compiler that is no more than a script of the test's: what it writes, and how often it was called."""
    monkeypatch.setenv("GRAPHTAG_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fake_compiler(tmp_path, monkeypatch, body):
    script = tmp_path / "fake-c++"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && out="$2"; shift; done\n{body}\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", f"{script} -pipe")
    return tmp_path / "calls"


def test_it_is_compiled_once(cache, tmp_path, monkeypatch):
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$out"')
    path = backward_build.build()
    assert path.parent == cache and path.read_text() == "made\n"
    assert backward_build.build() == path
    words = calls.read_text().splitlines()
    assert len(words) == 1
    assert words[0].startswith("-pipe ") and "-std=c++20" in words[0] and "libgraphtag.so" in words[0]
    assert backward_build.build(force=True) == path
    assert len(calls.read_text().splitlines()) == 2
    assert [file.name for file in cache.iterdir() if file.suffix != ".lock"] == [path.name]
    assert cache.stat().st_mode & 0o077 == 0


def test_another_torch_or_another_header_is_another_library(cache, monkeypatch):
    before = backward_build.library_path()
    monkeypatch.setattr(torch.version, "git_version", "another")
    assert backward_build.library_path() != before


def test_an_older_standard_is_tried_second(cache, tmp_path, monkeypatch):
    calls = fake_compiler(tmp_path, monkeypatch, f'grep -q c++17 {tmp_path}/calls || {{ echo "x.h:1: error: too new" >&2; exit 1; }}; echo made > "$out"')
    backward_build.build()
    assert ["-std=c++20" in line for line in calls.read_text().splitlines()] == [True, False]


def test_a_compiler_that_fails_says_why(cache, tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, 'echo "noise\nx.h:1: error: no such thing" >&2; exit 1')
    with pytest.raises(backward_build.BuildError, match="could not compile _backward.cpp for PyTorch .*: x.h:1: error: no such thing"):
        backward_build.build()
    assert not backward_build.library_path().exists()


def test_no_compiler(cache, tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(backward_build.BuildError, match="no C\\+\\+ compiler: none of g\\+\\+, c\\+\\+, clang\\+\\+ is on PATH"):
        backward_build.build()


def test_a_cache_that_cannot_be_written_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRAPHTAG_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(backward_build.BuildError, match="set GRAPHTAG_CACHE_DIR"):
        backward_build.build()


def test_a_library_that_others_could_have_written_is_not_loaded(cache, tmp_path, monkeypatch):
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$out"')
    path = backward_build.build()
    path.chmod(0o777)
    assert not backward_build.is_ours(path)
    backward_build.build()
    assert backward_build.is_ours(path) and len(calls.read_text().splitlines()) == 2


def test_several_at_once_compile_once(cache, tmp_path, monkeypatch):
    calls = fake_compiler(tmp_path, monkeypatch, 'sleep 0.3; echo made > "$out"')
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        paths = {future.result() for future in [pool.submit(backward_build.build) for _ in range(3)]}
    assert paths == {backward_build.library_path()}
    assert len(calls.read_text().splitlines()) == 1


def run_without_compiler(tmp_path, code, expect=0):
    """Runs `code` in a process that finds no compiler and an empty cache; returns what it prints, as JSON."""
    environment = {**os.environ, "PATH": str(tmp_path), "GRAPHTAG_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("CXX", None)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_command_builds(cache, tmp_path, monkeypatch, capsys):
    fake_compiler(tmp_path, monkeypatch, 'echo made > "$out"')
    assert backward_build.main([]) == 0
    assert capsys.readouterr().out.strip() == str(backward_build.library_path())
    assert backward_build.main(["--fast"]) == 2
    assert "usage" in capsys.readouterr().err


def test_without_compiler_and_hooks_forward_alone_is_named(tmp_path):
    code = """
import json
from torch_scopes import *
vars(torch.autograd.graph).pop("node_creation_hook", None)
with Window():
    before = backward.available()
    enabled = backward.enable()
    with Scope("a"):
        forward = current()
        y = torch.ones(3, requires_grad=True).sigmoid().sum()
    with Operators() as ops:
        y.backward()
print(json.dumps([before, enabled, backward.mode(), backward.available(), forward, ops.of("sigmoid_backward")]))
"""
    before, enabled, mode, after, forward, opened = run_without_compiler(tmp_path, code)
    assert "no C++ compiler was found" in before and "node_creation_hook" in before
    assert enabled is None and mode is None and "no C++ compiler" in after
    assert forward == {"name": "a"}
    assert opened == [None]


@pytest.mark.skipif(not hasattr(torch.autograd.graph, "node_creation_hook"), reason="this PyTorch has no node_creation_hook")
def test_hooks_where_there_is_no_compiler(tmp_path):
    code = """
import json, threading
from torch_scopes import *
from torch.utils.checkpoint import checkpoint
assert backward.available() is None and backward.enable() == "hooks" and backward.mode() == "hooks"

class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return value.view_as(value)
    @staticmethod
    def backward(context, gradient):
        raise ArithmeticError

seen = []
with Window(), Operators() as ops:
    x, bias = torch.ones(4, 5, requires_grad=True), torch.ones(6, requires_grad=True)
    with Scope({"name": "outer", "a": 1}):
        y = Probe.apply(x, "outer", seen)
        with Scope("inner"):
            y = Probe.apply(y, "inner", seen)
            z = torch.addmm(bias, y, torch.ones(5, 6))
        with Scope("forward only", backward=False):
            pass
    w = Probe.apply(z, "none", seen)
    with Scope({"name": "around", "b": 2}):
        w.sum().backward()
    bias_sum = ops.of("sum", (1, 6))
    with Scope("fails"):
        bad = Fails.apply(x).sum()
    try:
        bad.backward()
    except ArithmeticError:
        pass
    with Scope("later"):
        later = current()
        v = Probe.apply(x, "later", seen)
    after_scope = current()
    v.sum().backward()
    with Scope("second"):
        u = x.sigmoid()
    (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    ops.rows.clear()
    first.sum().backward()
    second = ops.of("mul", (4, 5))
    end = current()
print(json.dumps([seen, bias_sum, later, after_scope, second, end]))
"""
    seen, bias_sum, later, after_scope, second, end = run_without_compiler(tmp_path, code)
    inner = {"name": "inner", "a": 1, "b": 2, "autograd_phase": "backward"}
    assert dict(map(tuple, seen)) == {
        "none": {"name": "around", "b": 2},
        "inner": inner,
        "outer": {**inner, "name": "outer"},
        "later": {"name": "later", "autograd_phase": "backward"},
    }
    assert bias_sum == [inner]
    assert (later, after_scope, end) == ({"name": "later"}, None, None)
    assert second and all(opened == {"name": "second", "autograd_phase": "backward"} for opened in second)
