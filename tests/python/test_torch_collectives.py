"""Captured collectives carry what Kineto writes for eager ones: gloo on PyPI's torch, over a false CUDA."""
import json

import fake_cuda
import pytest
from torch_captures import false_cuda  # noqa: F401 - a fixture

import graphtag
import graphtag.torch as gat
import torch
import torch.distributed._functional_collectives as functional


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    store = torch.distributed.FileStore(str(tmp_path_factory.mktemp("store") / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield torch.distributed.group.WORLD
    torch.distributed.destroy_process_group()


def annotations_open_in(call, *arguments, method):
    """What is open on this thread while the process group's own `method` runs."""
    seen = []
    original = getattr(torch.distributed.ProcessGroup, method)

    def spy(self, *args, **kwargs):
        handle = graphtag._ext.scope_current()
        seen.append(json.loads(graphtag._ext.annotation_json(handle)) if handle else None)
        return original(self, *args, **kwargs)

    setattr(torch.distributed.ProcessGroup, method, spy)
    try:
        gat.annotate_collectives()
        stream = fake_cuda.Stream()
        with graphtag.window(), torch.cuda.stream(stream):
            assert fake_cuda.call("begin_capture", stream.cuda_stream)
            call(*arguments)
            fake_cuda.call("end_capture", stream.cuda_stream)
        call(*arguments)
    finally:
        gat.annotate_collectives(False)
        setattr(torch.distributed.ProcessGroup, method, original)
    assert seen.pop() is None, "an eager collective is left alone"
    return seen


def test_captured_collectives_carry_their_metadata(group):
    tensor = torch.ones(12, dtype=torch.bfloat16)
    [seen] = annotations_open_in(torch.distributed.all_reduce, tensor, method="allreduce")
    expected = {"Collective name": "allreduce", "In msg nelems": 12, "Out msg nelems": 12, "dtype": "BFloat16", "Group size": 1, "Rank": 0}
    assert {key: seen[key] for key in expected} == expected
    assert {"In split size", "Out split size", "Process Group Name", "Process Group Ranks", "Is asynchronized op"} <= set(seen)


def test_roots_are_global_ranks(group):
    [seen] = annotations_open_in(torch.distributed.broadcast, torch.ones(3), 0, method="broadcast")
    assert (seen["Collective name"], seen["Src Rank"]) == ("broadcast", 0)
    [seen] = annotations_open_in(torch.distributed.reduce, torch.ones(3), 0, method="reduce")
    assert (seen["Collective name"], seen["Dst Rank"]) == ("reduce", 0)


def said(call):
    """What graphtag says of the collectives that call() makes in a recorded capture."""
    annotations = []
    original = gat._collectives._scope
    gat._collectives._scope = lambda group, annotation: annotations.append(annotation) or original(group, annotation)
    try:
        gat.annotate_collectives()
        with gat.graph(torch.cuda.CUDAGraph(), stream=fake_cuda.Stream(), enable_annotations=True):
            call()
        call()
    finally:
        gat.annotate_collectives(False)
        gat._collectives._scope = original
    return [{key: value for key, value in annotation.items() if key not in ("Seq", "Is asynchronized op")} for annotation in annotations]


@pytest.mark.parametrize("operator", ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"])
def test_functional_collectives_say_the_same(group, operator):
    plain = torch.distributed
    x, wide = torch.ones(6), torch.ones(6)
    ways = {
        "all_reduce": (lambda: functional.all_reduce(x, "sum", group), lambda: plain.all_reduce(x)),
        "all_gather": (lambda: functional.all_gather_tensor(x, 0, group), lambda: plain.all_gather_into_tensor(wide, x)),
        "reduce_scatter": (lambda: functional.reduce_scatter_tensor(x, "sum", 0, group), lambda: plain.reduce_scatter_tensor(wide, x)),
        "broadcast": (lambda: functional.broadcast(x, 0, group), lambda: plain.broadcast(x, 0)),
        "all_to_all": (lambda: functional.all_to_all_single(x, [6], [6], group), lambda: plain.all_to_all_single(wide, x, [6], [6])),
    }
    ours, theirs = (said(way) for way in ways[operator])
    assert len(ours) == 1 and ours == theirs


def test_functional_operators_are_torchs_own_outside_captures(group):
    before = torch.ops._c10d_functional.all_reduce
    assert said(lambda: torch.ops._c10d_functional.all_reduce.default(torch.ones(2), "sum", group.group_name))
    assert torch.ops._c10d_functional.all_reduce is before


def test_a_functional_collective_with_wrong_arguments_says_so_itself(group):
    gat.annotate_collectives()
    try:
        with pytest.raises((RuntimeError, TypeError)):
            with gat.graph(torch.cuda.CUDAGraph(), stream=fake_cuda.Stream(), enable_annotations=True):
                torch.ops._c10d_functional.all_reduce(torch.ones(2))
    finally:
        gat.annotate_collectives(False)


@pytest.mark.parametrize("newest", [False, True])
def test_names_are_those_of_the_backend(group, monkeypatch, newest):
    monkeypatch.setattr(gat._collectives, "_is_nccl2", lambda group: newest)
    [annotation] = said(lambda: torch.distributed.all_reduce(torch.ones(5)))
    # As a trace of PyTorch 2.15 has it (tests/golden/h200/all_reduce_rank0), and one of 2.11.
    expected = ("all_reduce", "[5]") if newest else ("allreduce", "[]")
    assert (annotation["Collective name"], annotation["In split size"]) == expected
