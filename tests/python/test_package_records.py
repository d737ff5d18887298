"""graphtag.record over the false CUDA, whose CUPTI gives records but has nothing to tell (what is in a recording is tested in C++)."""
import json
import os
import subprocess
import sys

import fake_cuda
import pytest

import graphtag


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    assert not graphtag._ext.active() and not fake_cuda.call("has_subscriber")
    graphtag.forget()


def test_a_recording_is_a_file_and_counts(tmp_path):
    path = tmp_path / "run.pftrace"
    recording = graphtag.record(path, annotations=True, metadata={"command": "test"}, max_bytes=0)
    with pytest.raises(RuntimeError, match="not begun"):
        recording.stats
    with recording as entered:
        assert entered is recording and recording.stats["state"] == "running"
        assert graphtag._ext.active(), "a recording is a window: scopes count"
        recording.flush()
    assert recording.path == str(path) and path.stat().st_size == recording.stats["bytes_written"] > 0
    assert recording.stats["state"] == "ended" and recording.stats["kernels"] == 0
    assert b"command" in path.read_bytes()
    assert graphtag.load(tmp_path / "run.annotations.json").format == "graphtag.annotations/1"
    recording.end()
    with pytest.raises(RuntimeError, match="begins once"):
        recording.begin()
    with pytest.raises(RuntimeError, match="not running"):
        recording.flush()


def test_one_recording_at_a_time(tmp_path):
    with graphtag.record(tmp_path / "a.pftrace"):
        with pytest.raises(graphtag.BusyError):
            graphtag.record(tmp_path / "b.pftrace").begin()
    with graphtag.record(tmp_path / "b.pftrace"):
        pass


def test_captures_in_a_recording_are_named(tmp_path):
    stream = fake_cuda.Stream()
    with graphtag.record(tmp_path / "a.pftrace"):
        with graphtag.window(), graphtag.scope("outer"):
            assert fake_cuda.call("begin_capture", stream.cuda_stream)
            fake_cuda.launch(on=stream)
            graph = fake_cuda.call("end_capture", stream.cuda_stream)
    assert list(graphtag.annotations().values()) == [{"name": "outer"}]
    fake_cuda.call("destroy_graph", graph)


@pytest.mark.parametrize("options", [{"buffer_count": 1}, {"flush_ms": 1}, {"max_bytes": 5}, {"buffer_bytes": 4097}], ids=str)
def test_options_that_make_no_sense(tmp_path, options):
    with pytest.raises(graphtag.InvalidError, match=next(iter(options))):
        graphtag.record(tmp_path / "a.pftrace", **options).begin()


def test_a_file_that_cannot_be_made(tmp_path):
    with pytest.raises(graphtag.FileError):
        graphtag.record(tmp_path / "no folder" / "a.pftrace").begin()
    with pytest.raises(TypeError):
        graphtag.record(tmp_path / "a.pftrace", metadata={"x": object()})


def test_the_programs_own_error_is_the_one_that_is_raised(tmp_path):
    recording = graphtag.record(tmp_path / "a.pftrace")
    with pytest.raises(ZeroDivisionError), recording:
        raise ZeroDivisionError
    assert recording.stats["state"] == "ended"


def test_where_there_is_no_cuda(tmp_path):
    program = "import sys, graphtag\ntry:\n  graphtag.record(sys.argv[1]).begin()\nexcept graphtag.UnavailableError as error:\n  print('refused:', error)\n"
    environment = {**os.environ, "PYTHONPATH": str(fake_cuda.PACKAGE_DIR)}
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.pftrace")], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.startswith("refused: "), done
    assert not (tmp_path / "a.pftrace").exists()


def test_the_stats_are_json(tmp_path):
    with graphtag.record(tmp_path / "a.pftrace", api=False) as recording:
        assert json.loads(json.dumps(recording.stats))["segments_deleted"] == 0
