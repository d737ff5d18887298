"""`graphtag report` on the worked example of docs/report.md, and its options, formats and contract."""
import csv
import hashlib
import io
import json

import made_exports
import pytest
from made_traces import kernel, worked_example, write_trace

ROW_KEYS = (
    "region calls kernels_per_call total_ns sum_ns self_ns share_ns busy_frac wall_frac mean_ns p50_ns p95_ns min_ns max_ns".split()
)


@pytest.fixture
def example(tmp_path):
    return worked_example(tmp_path)


@pytest.fixture
def report(run):
    """report(trace, annotations or None, *options): the JSON."""

    def reported(trace, annotations, *options):
        words = ["-a", annotations] if annotations else []
        return json.loads(run("report", trace, *words, "--format", "json", *options).stdout)

    return reported


def by_region(answer):
    assert len({row["region"] for row in answer["rows"]}) == len(answer["rows"])
    return {row["region"]: row for row in answer["rows"]}


def test_inputs_are_told_as_they_were_given(run, example, tmp_path):
    trace, annotations = example
    for folder in ("a1", "a2\n"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.json").write_bytes(annotations.read_bytes())
    digest = hashlib.sha256(annotations.read_bytes()).hexdigest()
    given = [tmp_path / "a1" / "x.json", tmp_path / "a2\n"]  # a file, and a folder with one in it
    for verb in ("report", "check"):
        answer = json.loads(run(verb, trace, "-a", given[0], "-a", given[1], "--format", "json").stdout)
        assert answer["inputs"] == [
            {"path": str(trace), "sha256": None},
            {"path": str(given[0]), "sha256": digest},
            {"path": str(given[1] / "x.json"), "sha256": digest},
        ]


@pytest.mark.parametrize("verb", ["report", "check"])
def test_an_unknown_key_is_told_those_that_there_are(run, example, source_dir, tmp_path, verb):
    trace, annotations = example
    named, exported = tmp_path / "named.json", made_exports.layers(tmp_path / "report.sqlite")
    run("annotate", trace, "-a", annotations, "-o", named)
    records = ["graph", "stream", "device", "phase", "kind"]
    options = ["--where", "foo=1"] if verb == "check" else ["--by", "foo"]
    for words, names in (
        ([trace, "-a", annotations], ["name", "kind_of"]),
        ([named], ["name", "kind_of"]),
        ([exported], ["name"]),
        ([source_dir / "tests/golden/recordings/sample.pftrace"], ["name"]),
        ([trace], []),
    ):
        said = run(verb, *words, *options, code=2).stderr.strip()
        listed = said.split("choose of ")[1].split(", ")
        assert [key for key in listed if key not in ("rank", *records)] == names, said
        assert [key for key in listed if key in records] == records


def test_of_very_many_keys_some_are_told(run, tmp_path):
    keys = {f"key{n}": n for n in range(1000)}
    trace = write_trace(tmp_path / "t.json", [kernel(0, 1, node=0, graph=2)])
    (tmp_path / "a.json").write_text(json.dumps({str(2 << 32): [{"name": "a", **keys}]}))
    said = run("report", trace, "-a", tmp_path / "a.json", "--by", "foo", code=2).stderr
    assert "981 more keys of annotations, graph" in said


@pytest.mark.parametrize("options", [["--by", "rank"], ["--where", "rank=0"]])
def test_a_rank_that_the_trace_does_not_say(run, report, tmp_path, options):
    events = [kernel(0, 1, node=0, graph=2, name="k")]
    trace = write_trace(tmp_path / "t.json", events)
    (tmp_path / "a.json").write_text(json.dumps({str(2 << 32): [{"name": "a", "rank": 0}]}))
    said = run("report", trace, "-a", tmp_path / "a.json", *options, code=2).stderr
    assert "the trace does not say its rank; choose of name, graph, stream, device, phase, kind\n" in said
    ranked = write_trace(tmp_path / "r.json", events, distributedInfo={"rank": 0})
    assert report(ranked, tmp_path / "a.json", *options)["rows"]


@pytest.mark.parametrize("view", ["pattern", "tree", "flat"])
def test_the_worked_example(report, example, view):
    answer = report(*example, "--view", view)
    totals = answer["totals"]
    assert answer["schema"] == "graphtag.report/1"
    assert totals["window_ns"] == 120_000
    assert totals["sum_ns"] == 119_000
    assert totals["busy_ns"] == 104_000
    assert totals["idle_ns"] == 16_000
    assert (totals["compute_ns"], totals["exposed_comm_ns"], totals["exposed_copy_ns"]) == (80_000, 20_000, 4_000)
    assert totals["coverage"] == pytest.approx({"records_frac": 6 / 7, "sum_frac": 115 / 119, "busy_frac": 100 / 104})
    assert (totals["replays"], totals["bad_events"], totals["problems"]) == (2, 0, [])
    rows = by_region(answer)
    assert {region: row["share_ns"] for region, row in rows.items()} == {"L": 10_000, "L.q": 40_000, "L.o": 15_000, "L.mlp": 12_500, "L.ar": 22_500}
    assert all(list(row) == ROW_KEYS for row in rows.values())
    assert rows["L"] == {
        "region": "L",
        "calls": 2,
        "kernels_per_call": 3,
        "total_ns": 100_000,
        "sum_ns": 115_000,
        "self_ns": 10_000,
        "share_ns": 10_000,
        "busy_frac": pytest.approx(10 / 104),
        "wall_frac": pytest.approx(10 / 120),
        "mean_ns": 50_000,
        "p50_ns": 50_000,
        "p95_ns": 70_000,
        "min_ns": 30_000,
        "max_ns": 70_000,
    }
    assert answer["copies"] == [{"direction": "HtoD", "count": 1, "bytes": 48_000, "sum_ns": 4_000, "gb_per_s": 12}]
    assert answer["comm_names"] == ["ncclDevKernel_AllReduce_Sum_bf16_RING_LL"]
    order = [row["region"] for row in answer["rows"]]
    assert order == (["L", "L.q", "L.ar", "L.o", "L.mlp"] if view == "tree" else ["L.q", "L.ar", "L.o", "L.mlp", "L"])


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
@pytest.mark.parametrize("lanes", ["none", "all"])
@pytest.mark.parametrize("name", ["decode", "train_step", "lanes", "three_graphs", "two_phases", "all_reduce_rank0"])
def test_an_annotated_trace_needs_no_annotations(run, report, trace_files, tmp_path, name, lanes, ending):
    trace, annotations = trace_files(name)
    out = tmp_path / f"named{ending}"
    run("annotate", trace, "-a", annotations, "-o", out, "--lanes", lanes)
    for options in (["--view", "tree"], ["--by", "bs,stream"] if name == "decode" else ["--view", "flat"]):
        expected, found = report(trace, annotations, *options), report(out, None, *options)
        assert found["rows"] == expected["rows"]
        assert found["totals"] == expected["totals"]
        assert found["copies"] == expected["copies"]


def test_copies_pool_their_bytes_and_times(report, tmp_path):
    copy = {"category": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)"}
    trace = write_trace(tmp_path / "t.json", [kernel(70, 74, bytes=48_000, **copy), kernel(80, 81, bytes=1_000, **copy)])
    (row,) = report(trace, None)["copies"]
    assert row["gb_per_s"] == pytest.approx(9.8)


def test_where_selects_records(report, example):
    assert set(by_region(report(*example, "--where", "name=L.q"))) == {"L", "L.q"}
    assert report(*example, "--where", "name=L.q")["totals"]["sum_ns"] == 40_000
    assert report(*example, "--where", "stream=8,graph=2")["totals"]["sum_ns"] == 20_000
    assert report(*example, "--where", "stream=8", "--where", "kind=memcpy")["totals"]["sum_ns"] == 0
    assert report(*example, "--where", "phase=fwd", "--kind", "memcpy")["totals"]["sum_ns"] == 4_000
    assert report(*example, "--where", "kind_of=demo")["totals"]["sum_ns"] == 115_000


def test_a_key_that_nothing_has_is_an_error(run, example):
    trace, annotations = example
    for option in (["--where", "layer=1"], ["--by", "layer"]):
        assert "layer" in run("report", trace, "-a", annotations, *option, code=2).stderr


@pytest.mark.parametrize(
    "words",
    [["--where", "x"], ["--window", "5"], ["--window", "5ms..1ms"], ["--window", "a..b"], ["--depth", "0"], ["--include", "("], ["--comm", "["],
     ["--sort", "nothing"], ["--columns", "region,nothing"], ["--top", "-1"], ["--min-pct", "101"], ["--skip-replays", "-1"], ["--format", "xml"]],
)  # fmt: skip
def test_a_wrong_value_is_a_usage_error_that_names_it(run, example, words):
    trace, annotations = example
    done = run("report", trace, "-a", annotations, *words, code=2)
    assert done.stdout == "" and words[0] in done.stderr and done.stderr.startswith("graphtag: ")


def test_window_clips(report, example):
    answer = report(*example, "--window", "10us..45us")
    assert answer["totals"]["window_ns"] == 35_000
    assert answer["totals"]["sum_ns"] == 10_000 + 20_000 + 15_000
    assert answer["totals"]["idle_ns"] == 0
    assert by_region(answer)["L"]["calls"] == 1
    assert report(*example, "--window", "0.1ms..")["totals"]["window_ns"] == 20_000
    assert report(*example, "--window", "..20000ns")["totals"]["busy_ns"] == 20_000


def test_skip_replays_leaves_out_the_first_of_each_graph(report, example):
    answer = report(*example, "--skip-replays", "1")
    assert answer["totals"]["replays"] == 1
    assert {region: row["sum_ns"] for region, row in by_region(answer).items()} == {"L": 30_000, "L.q": 20_000}
    nothing = report(*example, "--skip-replays", "2", "--kind", "kernel")
    assert nothing["rows"] == [] and [w["code"] for w in nothing["warnings"]][:1] == ["nothing-selected"]


def test_include_and_exclude_choose_rows_and_change_no_measurement(report, example):
    assert {r["region"] for r in report(*example, "--include", "q$")["rows"]} == {"L.q"}
    answer = report(*example, "--exclude", "q$")
    assert "L.q" not in by_region(answer) and answer["totals"]["busy_ns"] == 104_000


def test_depth_counts_inner_work_for_its_ancestor(report, example):
    (row,) = report(*example, "--depth", "1")["rows"]
    assert (row["region"], row["share_ns"], row["self_ns"], row["total_ns"]) == ("L", 100_000, 115_000, 100_000)


def layered(folder):
    """Two layers, two batch sizes, two devices; forward and backward."""
    events, annotations = [], {}
    for graph, bs in ((4, 1), (6, 8)):
        for layer in range(12):
            annotations[str(graph << 32 | layer)] = {"name": f"model.layers.{layer}.mlp2", "bs": bs, "cfg": {"a": [1]}} | (
                {"autograd_phase": "backward"} if layer % 2 else {}
            )
            for device in (0, 1):
                start = graph * 1000 + layer * 10
                events.append(kernel(start, start + bs, node=layer, graph=graph, launch=graph, device=device))
    (folder / "a.json").write_text(json.dumps(annotations))
    return write_trace(folder / "t.json", events), folder / "a.json"


def test_layers_fold_by_default(report, tmp_path):
    answer = report(*layered(tmp_path))
    rows = by_region(answer)
    assert set(rows) == {"model", "model.layers", "model.layers.*", "model.layers.*.mlp2"}
    row = rows["model.layers.*.mlp2"]
    # A replay on two devices is a call on each; a pattern row pools the calls of its regions.
    assert (row["calls"], row["sum_ns"], row["min_ns"], row["max_ns"]) == (48, 2 * 12 * 9_000, 1_000, 8_000)
    assert rows["model"]["calls"] == 4
    first, last = 4_000_000, 6_110_000 + 8_000
    assert answer["totals"]["window_ns"] == 2 * (last - first)


def test_by_splits_rows_and_keeps_types(report, tmp_path):
    trace, annotations = layered(tmp_path)
    rows = [r for r in report(trace, annotations, "--by", "bs,phase")["rows"] if r["region"].endswith("mlp2")]
    assert {(r["bs"], r["phase"], r["sum_ns"]) for r in rows} == {(bs, phase, 2 * 6 * bs * 1_000) for bs in (1, 8) for phase in ("fwd", "bwd")}
    assert list(rows[0])[:3] == ["region", "bs", "phase"]
    assert all(r["cfg"] == {"a": [1]} for r in report(trace, annotations, "--by", "cfg")["rows"])
    assert {r["device"] for r in report(trace, annotations, "--by", "device", "--by", "graph")["rows"]} == {0, 1}
    assert report(trace, annotations, "--where", 'cfg={"a":[1]}')["totals"]["sum_ns"] == 2 * 12 * 9_000


def test_footer_rows_make_the_wall_add_up(run, example):
    trace, annotations = example
    text = run("report", trace, "-a", annotations, "--format", "md", "--top", "2", "--columns", "region,wall").stdout
    cells = [line.strip("| ").split(" | ") for line in text.split("\n\n")[1].splitlines()[2:]]
    assert [c[0].strip("`") for c in cells] == ["L.q", "L.ar", "others (3 rows)", "unattributed", "idle"]
    assert sum(float(c[1]) for c in cells) == pytest.approx(100, abs=0.25)


def test_a_pipe_gets_all_rows_whole_names_and_whole_nanoseconds(run, tmp_path):
    nodes = range(50)
    names = {node: f"region{node}" + "." + "x" * 300 for node in nodes}
    names[7] = "tab\there"
    (tmp_path / "a.json").write_text(json.dumps({str(2 << 32 | node): {"name": name} for node, name in names.items()}))
    trace = write_trace(tmp_path / "t.json", [kernel(n * 10, n * 10 + 1.5, node=n, graph=2) for n in nodes])
    done = run("report", trace, "-a", tmp_path / "a.json", "--view", "flat")
    header, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert header == ROW_KEYS
    own = [row for row in rows if row[ROW_KEYS.index("self_ns")] == "1500"]
    assert {row[0] for row in own} == {name.replace("\t", "\\t") for name in names.values()}
    assert "warning" not in done.stdout and "window: " in done.stderr
    assert all(len(row) == len(header) for row in rows)


def test_csv_reads_back(run, example):
    trace, annotations = example
    rows = list(csv.DictReader(io.StringIO(run("report", trace, "-a", annotations, "--format", "csv").stdout)))
    assert list(rows[0]) == ROW_KEYS
    assert {row["region"]: int(row["share_ns"]) for row in rows} == {"L": 10_000, "L.q": 40_000, "L.o": 15_000, "L.mlp": 12_500, "L.ar": 22_500}


def test_sort_top_min_pct_and_columns(run, example):
    trace, annotations = example

    def regions(*options):
        done = run("report", trace, "-a", annotations, "--format", "csv", *options)
        return [row["region"] for row in csv.DictReader(io.StringIO(done.stdout))]

    assert regions("--sort", "region") == ["L", "L.ar", "L.mlp", "L.o", "L.q"]
    assert regions("--sort", "total") == regions("--sort", "total_ns") == ["L", "L.q", "L.ar", "L.mlp", "L.o"]
    assert regions("--sort", "share:asc")[0] == "L"
    assert regions("--top", "2") == ["L.q", "L.ar"]
    assert len(regions("--top", "all")) == 5
    assert regions("--min-pct", "13") == ["L.q", "L.ar", "L.o"]
    done = run("report", trace, "-a", annotations, "--format", "csv", "--columns", "p95,region")
    assert done.stdout.splitlines()[0] == "p95_ns,region"


def test_unit_and_out(run, example, tmp_path):
    trace, annotations = example
    done = run("report", trace, "-a", annotations, "--format", "table", "--unit", "ns", "-o", tmp_path / "r.txt", "--wide")
    assert done.stdout == ""
    text = (tmp_path / "r.txt").read_text()
    assert "total ns" in text and "min ns" in text and "\x1b" not in text


def test_color_words(run, example):
    trace, annotations = example
    words = ["report", trace, "-a", annotations, "--format", "table", "--where", "kind=kernel"]
    assert "\x1b[" not in run(*words).stdout
    assert "\x1b[" in run(*words, "--color", "always").stdout


def test_comm_chooses_what_is_communication(report, example):
    answer = report(*example, "--comm", "^k$")
    assert answer["comm_names"] == ["k"]
    assert answer["totals"]["exposed_comm_ns"] == 45_000 + 20_000 + 10_000
    assert answer["totals"]["compute_ns"] == 25_000


def test_an_empty_trace_has_an_answer(report, run, tmp_path):
    trace = write_trace(tmp_path / "t.json", [])
    answer = report(trace, None)
    assert answer["rows"] == [] and answer["totals"]["window_ns"] == 0
    assert answer["totals"]["coverage"] == {"records_frac": None, "sum_frac": None, "busy_frac": None}
    assert [w["code"] for w in answer["warnings"]] == ["no-gpu-records"]
    for shape in ("table", "md", "tsv", "csv"):
        run("report", trace, "--format", shape)


def test_files_passed_over_are_said_once(report, example, tmp_path):
    trace, annotations = example
    folder = tmp_path / "annotations"
    folder.mkdir()
    annotations.rename(folder / "fits.json")
    other = {"schema": "graphtag.annotations/1", "producer": {"tool": "t", "rank": 3}, "annotations": [], "graphs": [], "execs": []}
    (folder / "other.json").write_text(json.dumps(other))
    (folder / "trace.json").write_text('{"traceEvents": []}')
    write_trace(trace, json.loads(trace.read_text())["traceEvents"], distributedInfo={"rank": 0})
    answer = report(trace, folder)
    assert answer["totals"]["coverage"]["records_frac"] == pytest.approx(6 / 7)
    passed_over = [w["message"] for w in answer["warnings"] if "passed" in w["code"]]
    assert len(passed_over) == 2
    assert "other.json" in passed_over[0] and "rank 3" in passed_over[0] and "trace.json" in passed_over[1]
