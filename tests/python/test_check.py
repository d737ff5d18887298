"""`graphtag check`: what each graph lacks and why, the gate, and its JSON contract."""
import gzip
import json
import pickle

import pytest
from made_traces import kernel, worked_example, write_trace

ROW_KEYS = "graph label replays nodes_expected nodes_seen_min nodes_seen_max short_replays records named records_frac sum_frac ambiguous unnamed".split()


@pytest.fixture
def check(run):
    """check(trace, annotations or None, *options, code=0): the JSON."""

    def checked(trace, annotations, *options, code=0):
        words = ["-a", annotations] if annotations else []
        return json.loads(run("check", trace, *words, "--format", "json", *options, code=code).stdout)

    return checked


@pytest.mark.parametrize("name", ["decode", "train_step", "lanes", "three_graphs", "two_phases", "all_reduce_rank0"])
def test_recorded_traces_are_counted_as_a_plain_count_says(check, trace_files, name):
    trace, annotations = trace_files(name)
    known = pickle.loads(annotations.read_bytes())
    work = [e for e in json.loads(gzip.open(trace).read())["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    replays = {}
    for event in work:
        if event["args"].get("graph id"):
            replays.setdefault(event["args"]["graph id"], {}).setdefault(event["args"]["correlation"], []).append(event["args"]["graph node id"])
    answer = check(trace, annotations)
    assert answer["schema"] == "graphtag.check/1"
    assert [row["graph"] for row in answer["rows"]] == sorted(replays)
    for row in answer["rows"]:
        assert list(row) == ROW_KEYS
        nodes = list(replays[row["graph"]].values())
        assert row["replays"] == len(nodes)
        assert row["nodes_seen_min"] == min(len(set(n)) for n in nodes)
        assert row["nodes_seen_max"] == row["nodes_expected"] == max(len(set(n)) for n in nodes)
        assert row["records"] == sum(map(len, nodes))
        assert row["named"] == sum(node in known for n in nodes for node in n)
        assert sum(row["unnamed"].values()) == row["records"] - row["named"]
        assert set(row["unnamed"]) <= {"outside-scope", "unknown-graph"}
    assert answer["totals"]["outside_records"] == sum(not e["args"].get("graph id") for e in work)
    assert (answer["totals"]["bad_events"], answer["totals"]["problems"]) == (0, [])


def own_file(path, **changes):
    """Graph 1: node 0 outside, 1 named, 2 captured before the start, 3 named but only approximately, 4 in an unlinked body; exec 2 of it."""
    content = {
        "schema": "graphtag.annotations/1",
        "producer": {"tool": "test"},
        "annotations": [{"object": {"name": "a"}}],
        "graphs": [
            {
                "id": 1,
                "label": {"bs": 8},
                "nodes": {"kernels": 5},
                "runs": [[0, 0], [1, 1], [2, 0, "captured-before-start"], [3, 1, "boundary-approximate"], [4, 0, "unlinked-body"], [5, 0]],
            }
        ],
        "execs": [{"id": 2, "template": 1}],
    }
    path.write_text(json.dumps({**content, **changes}))
    return path


def test_what_is_counted_is_chosen_as_in_a_report(run, check, tmp_path):
    trace, annotations = worked_example(tmp_path)
    report = lambda *options: json.loads(run("report", trace, "-a", annotations, "--format", "json", *options).stdout)["totals"]
    for options in (["--where", "stream=9"], ["--kind", "memcpy"], ["--window", "20us..75us"], ["--skip-replays", "1"], ["--where", "name=L.q", "--skip-replays", "1"]):
        answer = check(trace, annotations, *options)
        expected = report(*options)
        for key in ("sum_ns", "busy_ns", "coverage", "replays"):
            assert answer["totals"][key] == expected[key], (options, key)
        assert sum(row["records"] for row in answer["rows"]) + answer["totals"]["outside_records"] == expected["records"]
    nothing = check(trace, annotations, "--window", "1s..")
    assert [w["code"] for w in nothing["warnings"]] == ["nothing-selected"]
    assert "no such key" in run("check", trace, "-a", annotations, "--where", "no such key=1", code=2).stderr
    assert "--window" in run("check", trace, "--window", "5ms..1ms", code=2).stderr
    assert check(trace, annotations, "--window", "1s..", "--min-time", "0.5", code=4)["verdict"] == "cannot judge"


def test_every_reason_is_said(check, tmp_path):
    events = [kernel(n * 10, n * 10 + 2, node=n, graph=2) for n in range(5)]
    events += [kernel(100, 102, node=0, graph=9, launch=2), kernel(200, 230)]
    without_id = kernel(300, 302, node=0, graph=2)
    del without_id["args"]["graph node id"]
    trace = write_trace(tmp_path / "t.json", [*events, without_id])
    answer = check(trace, own_file(tmp_path / "a.json"))
    first, second = answer["rows"]
    assert (first["graph"], first["label"], first["nodes_expected"], first["nodes_seen_min"]) == (2, {"bs": 8}, 5, 5)
    assert (first["named"], first["ambiguous"], first["records"]) == (2, 1, 6)
    assert first["unnamed"] == {"outside-scope": 1, "captured-before-start": 1, "unlinked-body": 1, "no-node-id": 1}
    assert second["unnamed"] == {"unknown-graph": 1}
    assert answer["totals"]["outside_records"] == 1
    assert answer["totals"]["coverage"]["sum_frac"] == pytest.approx(4 / 44)


def test_without_annotations_the_reason_is_that(check, tmp_path):
    trace = write_trace(tmp_path / "t.json", [kernel(0, 1, node=0, graph=2)])
    answer = check(trace, None)
    assert answer["rows"][0]["unnamed"] == {"no-annotations": 1}
    assert [w["code"] for w in answer["warnings"]] == ["no-annotations"]


@pytest.mark.parametrize("verb", ["check", "report"])
def test_annotations_of_another_run(run, tmp_path, verb):
    trace = write_trace(tmp_path / "t.json", [kernel(0, 1, node=0, graph=77)])
    answer = json.loads(run(verb, trace, "-a", own_file(tmp_path / "a.json"), "--format", "json").stdout)
    warning, = answer["warnings"]
    assert warning["code"] == "nothing-named"
    assert ("see graphtag check" in warning["message"]) == (verb == "report")


def test_a_graph_level_trace_is_told(check, tmp_path):
    events = [kernel(n * 10, n * 10 + 9, node=0, graph=2, launch=n) for n in range(3)]
    for event in events:
        del event["args"]["graph node id"]
    answer = check(write_trace(tmp_path / "t.json", events), own_file(tmp_path / "a.json"))
    assert answer["rows"][0]["unnamed"] == {"graph-level-trace": 3}
    assert "graph-level-trace" in [w["code"] for w in answer["warnings"]]


def test_dropped_records_make_a_replay_short(check, tmp_path):
    events = [kernel(r * 100 + n * 10, r * 100 + n * 10 + 2, node=n, graph=2, launch=r) for r in range(3) for n in range(5) if (r, n) != (1, 3)]
    answer = check(write_trace(tmp_path / "t.json", events), own_file(tmp_path / "a.json"))
    (row,) = answer["rows"]
    assert (row["nodes_expected"], row["nodes_seen_min"], row["nodes_seen_max"], row["short_replays"]) == (5, 4, 5, 1)
    (warning,) = answer["warnings"]
    assert warning["code"] == "short-replays" and "idle_ns" in warning["affects"]


class TestTheGate:
    def whole(self, folder):
        """96.6 % of the time named in two whole replays."""
        trace, annotations = worked_example(folder)
        events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["args"]["correlation"] < 3]
        return write_trace(trace, events), annotations

    def test_passes(self, check, tmp_path):
        answer = check(*self.whole(tmp_path), "--min-time", "0.95")
        assert answer["verdict"] == "passed"
        assert answer["totals"]["coverage"]["sum_frac"] == pytest.approx(85 / 89)

    def test_fails_with_1(self, check, run, tmp_path):
        assert check(*self.whole(tmp_path), "--min-time", "0.96", code=1)["verdict"] == "failed"
        trace, annotations = self.whole(tmp_path)
        for shape in ("table", "tsv", "csv", "md"):
            done = run("check", trace, "-a", annotations, "--min-time", "0.96", "--format", shape, code=1)
            assert (done.stdout + done.stderr).count("failed") == 1
        done = run("check", trace, "-a", annotations, "--min-time", "0.96", "-o", tmp_path / "c.md", "--format", "md", code=1)
        assert "failed" in done.stderr and "failed" in (tmp_path / "c.md").read_text()

    def test_work_outside_graphs_counts(self, check, tmp_path):
        assert check(*self.whole(tmp_path), "--min-time", "1", code=1)["rows"][0]["sum_frac"] == 1

    def test_cannot_judge_is_4(self, check, run, tmp_path):
        short = worked_example(tmp_path)
        assert check(*short, "--min-time", "0.5", code=4)["verdict"] == "cannot judge"
        trace, annotations = self.whole(tmp_path)
        assert check(trace, None, "--min-time", "0", code=4)["verdict"] == "cannot judge"
        empty = write_trace(tmp_path / "empty.json", [])
        assert check(empty, annotations, "--min-time", "0", code=4)["verdict"] == "cannot judge"
        cut = tmp_path / "cut.json"
        cut.write_bytes(trace.read_bytes()[:-5])
        assert check(cut, annotations, "--min-time", "0.5", code=4)["verdict"] == "cannot judge"
        run("check", short[0], "--min-time", "1.5", code=2)

    def test_no_gate_no_verdict(self, check, tmp_path):
        answer = check(*self.whole(tmp_path))
        assert answer["verdict"] is None and answer["verdict_reason"] is None


def test_problems_of_the_trace_are_in_the_totals(check, tmp_path):
    trace, annotations = worked_example(tmp_path)
    text = trace.read_text()
    at = text.index('"k"') + 2
    bad = text[:at] + "\n" + text[at:-2] + ', 7, {"broken" 1}, {"ph": "i"}]}'
    trace.write_text(bad)
    totals = check(trace, annotations)["totals"]
    assert totals["bad_events"] == 2
    found = {p["kind"]: p for p in totals["problems"]}
    assert {kind: p["count"] for kind, p in found.items()} == {"raw-control-character": 1, "unparsable-event": 1, "not-an-object": 1}
    assert found["raw-control-character"]["first_offset"] == at
    assert found["unparsable-event"]["first_offset"] == bad.index('{"broken"')
    assert found["not-an-object"]["first_offset"] == bad.index('7, {"broken"')
    assert all(set(p) == {"kind", "count", "first_offset", "example"} for p in totals["problems"])


def test_top_and_sort_choose_graphs(run, check, tmp_path):
    events = [kernel(g * 100 + n, g * 100 + n + 1, node=n, graph=g, launch=g) for g in range(2, 50) for n in range(g)]
    trace = write_trace(tmp_path / "t.json", events)
    assert len(check(trace, None)["rows"]) == 48
    rows = check(trace, None, "--top", "2", "--sort", "records")["rows"]
    assert [row["graph"] for row in rows] == [49, 48]
    assert "others (46 graphs)" in run("check", trace, "--top", "2", "--format", "md").stdout
    assert run("check", trace, "--format", "table").stdout.count("no-annotations") >= 48
