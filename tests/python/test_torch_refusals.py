"""graphtag.torch on PyPI's torch and a false CUDA: what somebody else's texts, errors and order of calls must not break."""
import os

import fake_cuda
import pytest
from torch_captures import BACKENDS, capture, false_cuda, names  # noqa: F401 - false_cuda is a fixture

import graphtag.torch as gat
import torch
from graphtag.torch import _backward_build, _collectives, _marks, _stacks

HALF = "\udcff"  # as in names of files that are not UTF-8


@BACKENDS
def test_any_text_names_a_scope(backend):
    tags = []

    def body():
        for annotation in ("", HALF, {"name": HALF, HALF: [HALF]}, {"name": ""}):
            with gat.mark_kernels(annotation):
                tags.append(fake_cuda.launch())

    graph = capture(body, backend)
    assert names(graph) == dict(zip(tags, [{"name": ""}, {"name": "?"}, {"name": "?", "?": ["?"]}, {"name": ""}]))


def test_a_label_that_is_no_text_costs_the_names_alone():
    graph = torch.cuda.CUDAGraph()
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True, label=HALF):
        tag = fake_cuda.launch()
    assert tag in graph.replay()


def test_a_refused_window_leaves_stacks_as_they_were(monkeypatch):
    before = _stacks._recordings
    config = {"record_py_stacks": True, "backend": "cupti"}
    assert fake_cuda.call("take_subscription")
    try:
        with pytest.raises(RuntimeError), gat.graph(torch.cuda.CUDAGraph(), stream=fake_cuda.Stream(), enable_annotations=True, annotation_config=config):
            fake_cuda.launch()
    finally:
        fake_cuda.call("release_subscription")
    assert _stacks._recordings == before


def test_default_streams_of_two_devices_are_two():
    first, second = fake_cuda.Stream(device=0, handle=0), fake_cuda.Stream(device=1, handle=0)
    assert _marks.lane_of_stream(first) != _marks.lane_of_stream(second)
    assert _marks.lane_of_stream(first) == _marks.lane_of_stream(fake_cuda.Stream(device=0, handle=0))


def test_uninstall_without_an_install_leaves_collectives_and_their_lanes():
    gat.annotate_collectives(lanes=True)
    try:
        gat.uninstall()
        assert _collectives._originals
        gat.install()
        assert _collectives.have_lanes()
        gat.uninstall()
        assert not _collectives._originals
    finally:
        gat.annotate_collectives(False)


def test_without_a_home_folder_the_cache_says_what_to_set(monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "GRAPHTAG_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # no entry in the list of users
    with pytest.raises(_backward_build.BuildError, match="GRAPHTAG_CACHE_DIR"):
        _backward_build.library_path()


def test_a_compiler_that_is_no_command_line_is_told(monkeypatch):
    monkeypatch.setenv("CXX", "g++ 'open")
    with pytest.raises(_backward_build.BuildError, match="CXX"):
        _backward_build.compiler()


def test_what_the_body_raises_comes_out_of_profile_and_profiling_ends(monkeypatch, tmp_path):
    def fail():
        raise RuntimeError("the GPU is lost")

    monkeypatch.setattr(torch.cuda, "synchronize", fail)
    for _ in range(2):  # the second begins anew
        with pytest.raises(ValueError, match="mine"), gat.profile(tmp_path / "t.json"):
            raise ValueError("mine")
        assert not torch.autograd.profiler._is_profiler_enabled
    with pytest.raises(RuntimeError, match="the GPU is lost"), gat.profile(tmp_path / "t.json"):
        pass
    assert not torch.autograd.profiler._is_profiler_enabled


def test_a_replay_that_was_kept_instantiates_once():
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with gat.graph(graph, stream=fake_cuda.Stream(), enable_annotations=True), gat.mark_kernels("a"):
        fake_cuda.launch()
    run, made = graph.replay, []
    monitored = type(graph).instantiate

    def instantiate(self):
        made.append(self)
        return monitored(self)

    type(graph).instantiate = instantiate
    try:
        for _ in range(3):
            run()
    finally:
        type(graph).instantiate = monitored
    assert len(made) == 1
