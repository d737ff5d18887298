"""Exports of Nsight Systems through the command."""
import json
import sqlite3
import subprocess
import sys

import pytest

import made_exports
from perfetto_file import PerfettoFile


@pytest.fixture
def export(tmp_path):
    return made_exports.layers(tmp_path / "report.sqlite")


def rows(run, trace, *options):
    report = run("report", trace, "--format", "json", "--view", "flat", *options)
    return {row["region"]: row for row in json.loads(report.stdout)["rows"]}


def test_report_names_kernels_by_the_ranges_of_their_capture(run, export):
    found = rows(run, export)
    assert found["model.layers.0"]["sum_ns"] == 3 * 80
    assert found["model.layers.1"]["calls"] == 3


def test_check_and_show(run, export):
    check = json.loads(run("check", export, "--format", "json").stdout)
    assert check["rows"][0]["named"] == 6
    assert check["rows"][0]["unnamed"] == {"outside-scope": 3}
    run("check", export, "--min-time", "0.7", code=1)
    run("check", export, "--min-time", "0.6")
    shown = json.loads(run("show", export, "--json").stdout)
    assert shown["kernels"] == 9
    assert shown["records_with_a_name"] == 6
    assert shown["format"] == "Nsight Systems, export schema 3.20.0"


def test_where_no_range_was_open_that_is_the_reason(run, tmp_path):
    made_exports.layers(tmp_path / "report.sqlite")
    with sqlite3.connect(tmp_path / "report.sqlite") as database:
        database.execute("DELETE FROM NVTX_EVENTS")
    annotated = run("annotate", tmp_path / "report.sqlite", "-o", tmp_path / "named.json").stderr
    assert "9 outside-scope" in annotated
    for verb in ("check", "report"):
        answer = json.loads(run(verb, tmp_path / "report.sqlite", "--format", "json").stdout)
        warning, = answer["warnings"]
        assert warning["code"] == "nothing-named"
        assert "no range was open when the nodes of the graphs were created" in warning["message"]
        assert "graphtag check" not in warning["message"]
        if verb == "check":
            assert answer["rows"][0]["unnamed"] == {"outside-scope": 9}


@pytest.mark.parametrize("out", ["named.json", "named.json.gz"])
def test_annotate_to_chrome_keeps_the_names(run, export, tmp_path, out):
    done = run("annotate", export, "-o", tmp_path / out)
    assert "named 6 of 9 graphed records" in done.stderr
    assert rows(run, tmp_path / out) == rows(run, export)


def test_annotate_to_perfetto_draws_regions_and_arrows(run, export, tmp_path):
    run("annotate", export, "-o", tmp_path / "named.pftrace")
    trace = PerfettoFile(tmp_path / "named.pftrace")
    regions = [slice for slice in trace.slices if slice.category == "region"]
    assert [slice.name for slice in regions if slice.depth == 0] == ["model"] * 3
    launches = [slice for slice in trace.slices if slice.name == "cudaGraphLaunch"]
    assert [len(slice.flows) for slice in launches] == [3, 3, 3]


def test_annotations_add_to_the_names(run, export, tmp_path):
    pickle = tmp_path / "more.json"
    pickle.write_text(json.dumps({str(made_exports.EXEC | 0): [{"bs": 8}]}))
    found = rows(run, export, "-a", pickle, "--where", "bs=8")
    assert "model.layers.0" in found and "model.layers.1" not in found


def test_several_processes_need_a_choice(run, tmp_path):
    path = tmp_path / "two.sqlite"
    export = made_exports.Export(path)
    export.kernel(100, made_exports.EXEC, 1)
    export.kernel(100, made_exports.EXEC, 1, process=made_exports.PROCESS + (1 << 24))
    export.close()
    for verb in (["report"], ["check"], ["show"], ["annotate", "-o", tmp_path / "x.json"]):
        refused = run(*verb, path, code=2)
        assert "4242, 4243" in refused.stderr and "--process" in refused.stderr
        run(*verb, path, "--process", "4243")


def test_process_is_for_exports_alone(run, trace_files):
    trace, _ = trace_files("two_phases")
    assert "leave it out" in run("report", trace, "--process", "1", code=2).stderr


def test_graph_level_recordings_say_how_to_record_again(run, tmp_path):
    path = tmp_path / "graphs.sqlite"
    export = made_exports.Export(path)
    export.database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, globalPid INTEGER, graphId INTEGER)")
    export.database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2, ?, 3)", (made_exports.PROCESS,))
    export.close()
    assert "--cuda-graph-trace=node" in run("report", path, code=3).stderr


def test_memory_stays_bounded(graphtag, tmp_path):
    """Rows are streamed, and sorted in temporary files."""
    path = made_exports.layers(tmp_path / "long.sqlite", replays=100_000)
    # A process of its own, whose only child is the command.
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    command = [sys.executable, "-c", code, graphtag, "annotate", path, "-q", "-o", tmp_path / "out.json"]
    peak_kib = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert peak_kib < 64 * 1024
