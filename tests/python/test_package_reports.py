"""Reports as rows, the command from Python, the stub, and what the package promises of its files."""
import ast
import os
import shutil
import warnings

import fake_cuda
import pandas
import polars
import pyarrow
import pytest

import graphtag

TRACE = fake_cuda.SOURCE_DIR / "examples/decode/decode.json.gz"
NAMES = fake_cuda.SOURCE_DIR / "examples/decode/decode.annotations.pkl"


@pytest.fixture(autouse=True)
def command(monkeypatch):
    monkeypatch.setenv("GRAPHTAG_COMMAND", str(fake_cuda.BUILD / "graphtag"))


def test_rows_are_taken_as_they_are():
    rows = graphtag.report(TRACE, NAMES, by=["bs"])
    assert rows.columns[:2] == ["region", "bs"] and rows.totals["replays"] == 12
    for table in (pandas.DataFrame(rows), polars.DataFrame(rows)):
        assert list(table.columns) == rows.columns and len(table) == len(rows)
        assert list(table["total_ns"]) == [row["total_ns"] for row in rows]
    assert pyarrow.Table.from_pylist(rows).column("region").to_pylist() == [row["region"] for row in rows]


def test_columns_have_one_type_whatever_the_keys_of_annotations_hold():
    cases = {"bs": [1] * 150 + [2.5], "key": [8, "8", None], "flag": [True, 5], "list": [[1, 2], "x"]}
    for column, values in cases.items():
        rows = graphtag.Rows([{"region": "a", column: value} for value in values] + [{"region": "b"}])
        for table in (pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.Table.from_pylist(rows).to_pandas()):
            assert len(table) == len(values) + 1
        assert rows[-1] == {"region": "b", column: None}
    assert graphtag.Rows([{"bs": 1}, {"bs": 2.5}])[0]["bs"] == 1
    assert [row["key"] for row in graphtag.Rows([{"key": 8}, {"key": "8"}, {"key": {"é": None}}])] == ["8", "8", '{"é": null}']
    assert graphtag.Rows([]) == [] and graphtag.Rows([{}, {}]).columns == []
    late = graphtag.Rows([{"bs": None}] * 150 + [{"bs": 5}])
    assert polars.DataFrame(late, infer_schema_length=None)["bs"][150] == 5 and pandas.DataFrame(late)["bs"][150] == 5


def test_a_report_is_the_commands():
    rows = graphtag.report(TRACE, NAMES, view="flat", top=3, sort="self_ns")
    assert len(rows) == 3 and [row["self_ns"] for row in rows] == sorted((row["self_ns"] for row in rows), reverse=True)
    assert len(str(rows).splitlines()) == 4 and "region" in str(rows)
    eight = graphtag.report(TRACE, NAMES, where={"bs": 8}, by=["bs"])
    assert {row["bs"] for row in eight if row["bs"] is not None} == {8}


def test_a_check_counts_what_is_named():
    rows = graphtag.check(TRACE, NAMES)
    assert len(rows) == 4 and rows.totals["coverage"]["records_frac"] > 0.99


def test_annotate_writes_the_file(tmp_path):
    graphtag.annotate(TRACE, tmp_path / "named.json.gz", [NAMES], lanes="none")
    assert graphtag.report(tmp_path / "named.json.gz").totals["coverage"]["records_frac"] > 0.99


def test_errors_are_exceptions_with_the_commands_words(tmp_path):
    with pytest.raises(graphtag.FileError, match="absent.json"):
        graphtag.report(tmp_path / "absent.json")
    with pytest.raises(graphtag.InvalidError, match="view"):
        graphtag.report(TRACE, NAMES, view="sideways")


@pytest.fixture
def cut_off(tmp_path):
    """The trace, as it is after a full disk."""
    path = tmp_path / "cut.json.gz"
    path.write_bytes(TRACE.read_bytes()[: TRACE.stat().st_size // 2])
    return path


def test_what_the_command_warns_of_are_warnings(tmp_path, cut_off):
    named = tmp_path / "named.json"
    cases = [
        ("no annotations for this trace", TRACE, lambda: graphtag.annotate(TRACE, named)),
        ("x truncated", cut_off, lambda: graphtag.annotate([cut_off], named, NAMES)),
        ("no annotations: give", TRACE, lambda: graphtag.report(TRACE)),
        ("the trace is cut off", cut_off, lambda: graphtag.report(cut_off, NAMES)),
        ("gzip stream is damaged", cut_off, lambda: graphtag.check(cut_off, NAMES)),
        ("none passes --where", TRACE, lambda: graphtag.check(TRACE, NAMES, where={"bs": "no such"})),
    ]
    for text, trace, call in cases:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert any(text in str(warning.message) for warning in caught), text
        for warning in caught:
            assert warning.category is graphtag.TraceWarning and str(warning.message).startswith(f"{trace}: "), warning
            assert warning.filename == __file__, "a warning points at the caller's line"


def test_where_nothing_is_wrong_nothing_is_warned_of(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graphtag.annotate(TRACE, tmp_path / "named.json.gz", NAMES)
        assert graphtag.report(TRACE, NAMES) and graphtag.check(TRACE, NAMES, min_time=0.5)


def test_a_check_with_a_bound_gives_its_verdict(cut_off):
    verdicts = {0.5: "passed", 0.999: "failed"}
    for bound, verdict in verdicts.items():
        rows = graphtag.check(TRACE, NAMES, min_time=bound)
        assert len(rows) == 4 and rows.verdict == verdict and str(bound * 100) in rows.verdict_reason
    with pytest.warns(graphtag.TraceWarning):
        rows = graphtag.check(cut_off, NAMES, min_time=0.5)
    assert rows and rows.verdict == "cannot judge" and rows.verdict_reason
    rows = graphtag.check(TRACE, NAMES)
    assert rows.verdict is None and rows.verdict_reason is None


def test_a_command_that_ends_without_an_answer_is_an_error(monkeypatch):
    monkeypatch.setenv("GRAPHTAG_COMMAND", "/bin/false")
    with pytest.raises(graphtag.Error, match="check ended with exit code 1"):
        graphtag.check(TRACE, NAMES, min_time=0.5)


def test_no_rows_say_why():
    with pytest.warns(graphtag.TraceWarning):
        rows = graphtag.report(TRACE)
    assert rows == [] and str(rows).startswith("no rows: no annotations")
    assert str(graphtag.Rows([])) == "no rows"


def test_options_that_would_take_the_answer_away_are_refused(tmp_path):
    out = tmp_path / "out"
    for answer in (graphtag.report, graphtag.check):
        for option in ({"out": out}, {"format": "tsv"}, {"help": True}):
            with pytest.raises(graphtag.InvalidError, match=f"{answer.__name__} takes no option '{[*option][0]}': .*`graphtag {answer.__name__} --"):
                answer(TRACE, NAMES, **option)
    for option in ({"out": out}, {"help": True}):
        with pytest.raises(graphtag.InvalidError, match=f"annotate takes no option '{[*option][0]}': "):
            graphtag.annotate(TRACE, tmp_path / "named.json", NAMES, **option)
    assert list(tmp_path.iterdir()) == []
    graphtag.annotate(TRACE, tmp_path / "named", NAMES, format="chrome")
    assert (tmp_path / "named").read_bytes()[:1] == b"{"


def test_a_file_name_is_never_an_option(tmp_path):
    with pytest.raises(graphtag.FileError, match="--help"):
        graphtag.report("--help")


@pytest.mark.parametrize("as_given", [os.fsdecode, os.fsencode])
def test_a_file_name_need_not_be_utf8(tmp_path, as_given):
    def path(name):
        return as_given(os.fsencode(tmp_path) + b"/" + name)

    shutil.copy(TRACE, path(b"trace\xff.json.gz"))
    shutil.copy(NAMES, path(b"names\xff.pkl"))
    graphtag.annotate(path(b"trace\xff.json.gz"), path(b"named\xff.json"), [path(b"names\xff.pkl")])
    assert graphtag.report(path(b"named\xff.json")) == graphtag.report(TRACE, NAMES)
    assert graphtag.check(path(b"trace\xff.json.gz"), path(b"names\xff.pkl")) == graphtag.check(TRACE, NAMES)
    with pytest.warns(graphtag.TraceWarning, match="trace\N{REPLACEMENT CHARACTER}.json.gz: "):
        graphtag.report(path(b"trace\xff.json.gz"))
    assert dict(graphtag.load(path(b"names\xff.pkl"))) == dict(graphtag.load(NAMES))
    graphtag.snapshot(path(b"own\xff.json"))
    assert graphtag.load(path(b"own\xff.json")).format == "graphtag.annotations/1"
    with graphtag.record(path(b"run\xff.pftrace"), annotations=True) as recording:
        pass
    assert recording.path == os.fsdecode(path(b"run\xff.pftrace")) and os.path.getsize(recording.path) == recording.stats["bytes_written"]
    assert len(graphtag.load(path(b"run\xff.annotations.json"))) == 0

    no_trace, no_folder = path(b"no\xff.json"), path(b"no\xff/x.pftrace")
    for call in (
        lambda: graphtag.report(no_trace),
        lambda: graphtag.check(no_trace),
        lambda: graphtag.annotate(no_trace, path(b"out\xff.json")),
        lambda: graphtag.annotate(TRACE, path(b"no\xff/x.json"), NAMES),
        lambda: graphtag.load(no_trace),
        lambda: graphtag.snapshot(no_folder),
        lambda: graphtag.record(no_folder).begin(),
    ):
        with pytest.raises(graphtag.FileError, match="no\N{REPLACEMENT CHARACTER}"):
            call()


def test_rows_with_different_keys_have_the_same_columns():
    rows = graphtag.Rows([{"a": 1}, {"b": 2.5}])
    assert rows == [{"a": 1, "b": None}, {"a": None, "b": 2.5}] and rows.columns == ["a", "b"]
    assert str(rows).splitlines()[2].split() == ["-", "2.500"]


def test_the_stub_names_what_the_extension_has():
    stub = ast.parse((fake_cuda.SOURCE_DIR / "python/graphtag/_ext.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert declared == {name for name in dir(graphtag._ext) if not name.startswith("_")}


def test_every_public_name_is_documented():
    for name in graphtag.__all__:
        assert getattr(graphtag, name).__doc__, name
