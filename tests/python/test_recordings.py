"""Recordings of graphtag's own through the command: the recorder's file over the model of CUDA."""
import json
from collections import Counter

import pytest

from perfetto_file import PerfettoFile
from recording_file import RecordingFile
from run_programs import record  # noqa: F401 - a fixture


@pytest.fixture
def recording(source_dir):
    return source_dir / "tests/golden/recordings/sample.pftrace"


def rows(run, trace):
    return {row["region"]: row for row in json.loads(run("report", trace, "--format", "json", "--view", "flat").stdout)["rows"]}


def test_names_are_in_already(run, recording):
    found = rows(run, recording)
    assert found["model"]["calls"] == 5
    assert {f"model.layer{i}" for i in range(4)} <= found.keys()
    check = json.loads(run("check", recording, "--format", "json").stdout)
    assert check["rows"][0]["named"] == check["rows"][0]["records"] == 100
    assert json.loads(run("show", recording, "--json").stdout)["records_with_a_name"] == 100


@pytest.mark.parametrize("out", ["named.json", "named.json.gz"])
def test_annotate_keeps_the_names(run, recording, tmp_path, out):
    run("annotate", recording, "-o", tmp_path / out)
    assert rows(run, tmp_path / out) == rows(run, recording)


def test_annotate_draws_the_regions_that_a_recording_has_in_its_args(run, recording, tmp_path):
    assert not RecordingFile(recording).of("region")
    run("annotate", recording, "-o", tmp_path / "drawn.pftrace")
    drawn = PerfettoFile(tmp_path / "drawn.pftrace")
    regions = Counter(slice.name for slice in drawn.slices if slice.category == "region")
    assert regions == {"model": 5, **{f"model.layer{i}": 5 for i in range(4)}}


def test_a_killed_recording_is_read_as_far_as_it_goes(run, recording, tmp_path):
    cut = tmp_path / "cut.pftrace"
    cut.write_bytes(recording.read_bytes()[:12000])
    shown = json.loads(run("show", cut, "--json").stdout)
    assert 0 < shown["kernels"] < 100
    run("check", cut, "--min-time", "0.5", code=4)  # the end is missing


def test_what_annotate_drew_is_not_read_again_and_says_what_to_take(run, recording, source_dir, tmp_path):
    """Also where there is nothing in it."""
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    for trace in (recording, source_dir / "examples/decode/decode.json.gz", tmp_path / "empty.json"):
        for out in ("drawn.pftrace", "drawn.pftrace.gz"):
            run("annotate", trace, "-o", tmp_path / out, "--force")
            said = run("report", tmp_path / out, code=3).stderr
            assert "no recording of graphtag" in said and "the trace that it was drawn from" in said, trace


def test_joined_recordings_of_several_processes_need_a_choice(record, run, tmp_path):
    """Ids of their graphs are the same."""
    first = record("cuda", "push:a", "graph:3", "pop", "replay:2", out="a.pftrace").traces[0]
    second = record("cuda", "push:b", "graph:5", "pop", "replay:2", out="b.pftrace").traces[-1]
    pids = [next(event for event in RecordingFile(file).events if event.name == "graphtag.begin").args["pid"] for file in (first, second)]
    joined = tmp_path / "joined.pftrace"
    joined.write_bytes(first.read_bytes() + second.read_bytes())
    for verb in (["report"], ["check"], ["show"], ["annotate", "-o", tmp_path / "named.json"]):
        refused = run(*verb, joined, code=2)
        assert f"{pids[0]}, {pids[1]}" in refused.stderr and "--process" in refused.stderr and "by itself" in refused.stderr
        run(*verb, joined, "--process", pids[1])
    for pid, trace in zip(pids, (first, second)):
        alone, chosen = (run("check", *given, "--format", "json").stdout for given in ([trace], [joined, "--process", pid]))
        assert json.loads(chosen)["rows"] == json.loads(alone)["rows"]
    assert "no recording of process 1;" in run("report", joined, "--process", 1, code=2).stderr


def test_joined_recordings_of_an_image_and_the_one_it_executed_are_told_apart(record, run, tmp_path):
    done = record("cuda", "push:a", "graph:3", "pop", "replay:2", "sleep:1500", "exec", "cuda", "push:b", "graph:5", "pop", "replay:2")
    joined = tmp_path / "joined.pftrace"
    joined.write_bytes(b"".join(trace.read_bytes() for trace in done.traces))
    said = run("report", joined, code=2).stderr
    pid = said.split("processes: ")[1].split(",")[0]
    assert f"{pid}, {pid};" in said
    assert "give each file by itself" in run("report", joined, "--process", pid, code=2).stderr
