"""A program that starts a profiler of its own under `graphtag run`: tests/inject/profiler_plugin.cpp stands for PyTorch's."""
import json
import shutil
from pathlib import Path

import pytest
from run_programs import DECODE, FAKE, only, record  # noqa: F401 - record is a fixture

SANITIZED = [name for name in ("sanitized_program",) if (FAKE / name).exists()]


def state_of(trace):
    return next(event for event in trace.events if event.name == "graphtag.end").args["state"]


PROFILE = ["record", "graph:3", "replay:2", "report"]
PROFILED = "record 0\nprofiler: 6 kernels, {} nodes, 0 foreign buffers\n"


@pytest.mark.parametrize("how, nodes", [("subscribe", 6), ("subscribe:v2", 0)])
@pytest.mark.parametrize("first", [["plugin", "cuda"], ["cuda", "plugin"]])
def test_recording_makes_way_for_a_profiler_of_the_programs_own(record, how, nodes, first):
    done = record(*first, *DECODE[1:], "push:open", "eager:1", how, *PROFILE, "exit:5", code=5)
    assert done.stdout == "subscribe 0\n" + PROFILED.format(nodes), "it has what it would have without us"
    trace = only(done.traces)
    assert trace.regions() == {("decode.attention", True): 6, ("open", False): 1}, "all of before, nothing of after"
    assert state_of(trace) == "other-profiler" and trace.rest == 0
    assert {event.name: event.args.get("unfinished") for event in trace.of("nvtx")}["open"] is True
    assert "started a profiler of its own after 0." in done.stderr and "its own profiler went on" in done.stderr
    assert "7 kernels" in done.stderr and "not given back" not in done.stderr
    annotations = json.loads(Path(str(done.traces[0]).replace(".pftrace", ".annotations.json")).read_text())
    assert len(annotations["graphs"]) == 1


def test_one_that_takes_the_records_without_a_subscription(record):
    done = record(*DECODE, "plugin", *PROFILE)
    assert done.stdout == PROFILED.format(0)
    assert state_of(only(done.traces)) == "other-profiler" and "started a profiler of its own" in done.stderr


def test_without_the_guard_the_profiler_is_refused_and_recording_goes_on(record):
    done = record("plugin", *DECODE, "subscribe", "replay:1", "exit:5", options=["--no-guard"], code=5)
    assert done.stdout == "subscribe 39\n"
    assert only(done.traces).regions() == {("decode.attention", True): 9} and "warning" not in done.stderr


def test_a_tool_that_takes_the_records_over_unseen(record):
    done = record(*DECODE, "taken", "replay:1")
    assert "took CUPTI's records over" in done.stderr and "not given back" in done.stderr


def test_profilers_on_many_threads_at_once(record):
    done = record("plugin", *DECODE, "subscribe_on:8")
    assert done.stdout == "subscribed 1\n"
    assert only(done.traces).regions() == {("decode.attention", True): 6}


def test_a_profiler_in_a_child_that_records(record):
    done = record("plugin", "fork", *DECODE, "subscribe", *PROFILE, "exit:5", code=5)
    assert done.stdout == "subscribe 0\n" + PROFILED.format(6)
    assert only(done.traces).regions() == {("decode.attention", True): 6}


def test_a_profiler_in_a_child_of_a_process_that_records(record):
    done = record("plugin", *DECODE, "sleep:1200", "fork", "subscribe", "exit:5", code=5)
    assert done.stdout == "subscribe 39\n", "CUPTI's state is the parent's, as CUDA's is"
    trace = only(done.traces)
    assert state_of(trace) == "ended" and trace.regions() == {("decode.attention", True): 6}


def test_a_profiler_where_nothing_is_recorded(record, tmp_path):
    assert record("plugin", "subscribe", *PROFILE).stdout == "subscribe 0\n" + PROFILED.format(6), "before CUDA starts"
    assert list((tmp_path / "out").iterdir()) == []
    done = record("plugin", "cuda", "subscribe", *PROFILE, options=["--delay", "1h"])
    assert done.stdout == "subscribe 0\n" + PROFILED.format(6), "while recording waits"
    assert "recording never began" in done.stderr
    done = record("plugin", *DECODE, "sleep:1200", "subscribe", *PROFILE, options=["--duration", "300ms"])
    assert done.stdout == "subscribe 0\n" + PROFILED.format(6), "after it has ended"
    assert "--duration gives is over" in done.stderr


def test_a_profiler_that_is_there_when_recording_is_to_begin(record):
    done = record("plugin", "cuda", "subscribe", "sleep:1300", options=["--delay", "0.6"])
    assert "nothing is recorded" in done.stderr and "which another tool holds" in done.stderr


def test_a_profiler_after_exec(record):
    done = record(*DECODE, "exec", "plugin", *DECODE, "subscribe", *PROFILE)
    assert done.stdout == "subscribe 0\n" + PROFILED.format(6) and len(done.traces) == 2


# --- what is preloaded for that


def preloaded(record, **options):
    command = ["sh", "-c", 'echo "$LD_PRELOAD|$ASAN_OPTIONS"']
    return record(command=command, **options).stdout.strip().split("|")


def test_what_the_program_preloads_itself_stays(record, graphtag):
    guard = str(graphtag.parent / "libgraphtag_guard.so")
    other = str(FAKE / "libother_guard.so")
    assert preloaded(record) == [guard, "verify_asan_link_order=0"]
    assert preloaded(record, env={"LD_PRELOAD": other, "ASAN_OPTIONS": "detect_leaks=0"}) == [f"{guard}:{other}", "detect_leaks=0:verify_asan_link_order=0"]
    assert preloaded(record, env={"LD_PRELOAD": other}, options=["--no-guard"]) == [other, ""]
    assert record("plugin", *DECODE, "subscribe", env={"LD_PRELOAD": other}).stdout == "subscribe 77\n", "it stands behind ours"


def test_a_run_within_a_run_preloads_one_guard(record, graphtag, tmp_path):
    guard = str(graphtag.parent / "libgraphtag_guard.so")
    inner = [graphtag, "run", "-q", "-o", tmp_path / "inner"]
    show = ["--", "sh", "-c", "echo $LD_PRELOAD"]
    assert record(command=[*inner, *show]).stdout.strip() == guard
    assert record(command=[*inner, "--no-guard", *show]).stdout.strip() == ""


def test_a_guard_that_is_not_there_or_cannot_be_preloaded(record, graphtag, tmp_path):
    for folder, names, said in ((tmp_path / "without", ["graphtag", "libgraphtag_inject.so", "libgraphtag.so.0"], "there is no libgraphtag_guard.so"),
                                (tmp_path / "a blank", ["graphtag", "libgraphtag_inject.so", "libgraphtag.so.0", "libgraphtag_guard.so"], "cannot be preloaded")):
        folder.mkdir()
        for name in names:
            shutil.copy(graphtag.parent / name, folder / name)
        done = record(command=[folder / "graphtag", "run", "-o", tmp_path / "inner", "--", FAKE / "cuda_program", "plugin", *DECODE, "subscribe"], options=["--no-guard"])
        assert said in done.stderr and "refused by CUPTI" in done.stderr
        assert done.stdout == "subscribe 39\n" and "6 kernels" in done.stderr


def test_behind_a_launcher_that_is_statically_linked(record):
    done = record(command=[FAKE / "static_program", FAKE / "cuda_program", "plugin", *DECODE, "subscribe", *PROFILE])
    assert done.stdout == "subscribe 0\n" + PROFILED.format(6), "the launcher has no loader, but what it starts has"
    assert "statically linked" in done.stderr and state_of(only(done.traces)) == "other-profiler"


def test_programs_that_know_nothing_of_it(record):
    assert record(program="static_program", code=5).stdout == "done\n"
    done = record(command=["env", "-i", FAKE / "static_program"], code=5)
    assert done.stdout == "done\n"
    for program in SANITIZED:
        done = record(program=program, code=6)
        assert done.stdout == "done\n" and "ASan" not in done.stderr
