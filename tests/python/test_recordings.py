"""Recordings of graphtag's own through the command: the recorder's file over the model of CUDA."""
import json
from collections import Counter

import pytest

from perfetto_file import PerfettoFile
from recording_file import RecordingFile


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
