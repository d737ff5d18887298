"""graphtag.torch on PyPI's torch and a false CUDA: traces of torch.profiler, and of graphtag's own recorder, written with the names in."""
import gzip
import json
import shutil
import warnings

import fake_cuda
import pytest
from torch_captures import false_programs  # noqa: F401 - a fixture

import graphtag
import graphtag.torch as gat
import torch
import torch._dynamo  # noqa: F401 - before the false CUDA: an older one looks at torch.cuda.Stream


class Profiler:
    """A torch.profiler.profile that has run on an H200."""

    def export_chrome_trace(self, path):
        with gzip.open(fake_cuda.SOURCE_DIR / "examples/decode/decode.json.gz") as trace, open(path, "wb") as file:
            file.write(trace.read())


def decode_annotations():
    file = graphtag.load(fake_cuda.SOURCE_DIR / "examples/decode/decode.annotations.pkl")
    return {node_id: [annotation] for node_id, annotation in file.items()}


def test_export_names_a_profilers_trace(tmp_path):
    gat.export(Profiler(), tmp_path / "named.json.gz", annotations=decode_annotations())
    with gzip.open(tmp_path / "named.json.gz", "rt") as file:
        trace = json.load(file)
    assert trace["cudaGraphInlineAnnotated"] is True
    assert graphtag.report(tmp_path / "named.json.gz").totals["coverage"]["records_frac"] > 0.99
    gat.export(Profiler(), tmp_path / "plain.json")
    assert graphtag.report(tmp_path / "plain.json").totals["coverage"]["records_frac"] == 0


def test_export_refuses_what_makes_no_sense(tmp_path):
    with pytest.raises(ValueError, match="'none', 'all'"):
        gat.export(Profiler(), tmp_path / "x.json", graph_lanes="some")
    with pytest.raises(ValueError, match="there are none"):
        gat.export(Profiler(), tmp_path / "x.json", annotations={}, graph_lanes="all")
    with pytest.raises(graphtag.InvalidError):
        gat.export(Profiler(), tmp_path / "x.unknown", annotations=decode_annotations())


@pytest.mark.parametrize(("version", "writes"), [("2.4.0", False), ("2.11.0+cu130", False), ("2.12.0a0+git12", True), ("2.15.0+cu132", True), ("3.0", True)])
def test_export_says_where_the_profiler_writes_no_node_ids(tmp_path, monkeypatch, version, writes):
    monkeypatch.setattr(torch, "__version__", version)
    assert gat.profiler_writes_node_ids() == writes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gat.export(Profiler(), tmp_path / "x.json", annotations=decode_annotations())
    assert [version in str(warning.message) and "graphtag.record" in str(warning.message) for warning in caught] == [True] * (not writes)


def test_exports_warnings_call_the_trace_by_the_name_that_it_gets(tmp_path):
    with pytest.warns(graphtag.TraceWarning, match="no node id of the trace") as caught:
        gat.export(Profiler(), tmp_path / "x.json")
    texts = [str(warning.message) for warning in caught if warning.category is graphtag.TraceWarning]
    assert [text.startswith(f"{tmp_path / 'x.json'}: ") for text in texts] == [True] and caught[-1].filename == __file__


class RunningProfiler(Profiler):
    """As torch.profiler.profile(activities=...) is used."""

    def __init__(self, **options):
        self.options, self.left = options, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.left = error


def test_profile_runs_torchs_profiler_where_its_traces_can_be_named(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.12.0")
    monkeypatch.setattr(torch.profiler, "profile", RunningProfiler)
    with gat.profile(tmp_path / "a.json.gz", record_shapes=True) as profiled:
        assert isinstance(profiled.profiler, RunningProfiler) and profiled.profiler.options["record_shapes"]
    assert profiled.profiler.left == (None, None, None) and list(tmp_path.iterdir()) == [tmp_path / "a.json.gz"]
    with pytest.raises(ZeroDivisionError), gat.profile(tmp_path / "b.json"):
        raise ZeroDivisionError
    assert not (tmp_path / "b.json").exists()


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.pftrace", "a.pftrace.gz"])
def test_profile_records_by_itself_where_they_cannot(tmp_path, monkeypatch, name):
    """The false CUDA records nothing, but the file is there, and can be read."""
    monkeypatch.setattr(torch, "__version__", "2.11.0+cu130")
    with gat.profile(tmp_path / name) as profiled:
        assert profiled.profiler is None and graphtag._ext.active()
    assert not graphtag._ext.active() and not fake_cuda.call("has_subscriber")
    assert list(graphtag.check(tmp_path / name)) == [] and [path.name for path in tmp_path.iterdir()] == [name]
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    with pytest.raises(ZeroDivisionError), gat.profile(tmp_path / "b.json"):
        raise ZeroDivisionError
    assert not (tmp_path / "b.json").exists() and not graphtag._ext.active()
    with pytest.raises(ValueError, match="none"):
        gat.profile(tmp_path / "c.json", graph_lanes="some")


SAMPLE = fake_cuda.SOURCE_DIR / "tests/golden/recordings/sample.pftrace"


class RecordingWithWork:
    """As graphtag.record: 101 records of a graph."""

    def __init__(self, path):
        self.path = path

    def begin(self):
        return self

    def end(self):
        shutil.copyfile(SAMPLE, self.path)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.pftrace", "a.pftrace.gz"])
def test_what_profile_recorded_is_read_whatever_it_is_written_as(tmp_path, monkeypatch, name):
    monkeypatch.setattr(torch, "__version__", "2.11.0+cu130")
    monkeypatch.setattr(gat._export, "record", RecordingWithWork)
    with gat.profile(tmp_path / name):
        pass
    found, wanted = graphtag.report(tmp_path / name), graphtag.report(SAMPLE)
    assert len(wanted) > 4 and list(found) == list(wanted)


def test_the_trace_handler_writes_one_file_a_cycle(tmp_path):
    handler = gat.trace_handler(tmp_path / "traces", worker_name="w")
    handler(Profiler())
    handler(Profiler())
    names = sorted(path.name for path in (tmp_path / "traces").iterdir())
    assert len(names) == 2 and all(name.startswith("w.") and name.endswith(".pt.trace.json.gz") for name in names)
