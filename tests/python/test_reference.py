"""Annotated traces against what PyTorch's own exporter makes of the same records (the *.reference*.json.gz files)."""
import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
TRACES = ["two_phases", "train_step", "lanes", "three_graphs", "decode"]
TRACES_WITH_LANES = ["train_step", "lanes", "three_graphs"]


def load(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as f:
        return json.load(f, object_pairs_hook=without_doubles)


def without_doubles(pairs):
    keys = Counter(key for key, _ in pairs)
    assert max(keys.values(), default=1) == 1, f"a key comes twice: {keys.most_common(1)}"
    return dict(pairs)


def work(trace):
    """The GPU operations of a trace by what identifies a record, whatever its lane. None shares all of it with another."""
    found = {}
    for event in trace["traceEvents"]:
        if event.get("cat") in WORK and event["ph"] == "X":
            args = event["args"]
            key = (event["cat"], event["name"], event["pid"], event["ts"], args["correlation"], args.get("graph node id"))
            assert key not in found
            found[key] = event
    return found


def added(event, original):
    """The args that an exporter added, every value as PyTorch writes it."""
    return {key: str(value) for key, value in event["args"].items() if key not in original["args"]}


def flow_lanes(trace):
    """(launch, process, time) -> lanes of the arrow's ends."""
    ends = defaultdict(Counter)
    for event in trace["traceEvents"]:
        if event["ph"] == "f" and event.get("cat") == "ac2g":
            ends[event["id"], event["pid"], event["ts"]][event["tid"]] += 1
    return ends


def lane_names(trace):
    """(process, thread) -> name, of the lanes that have graphed work."""
    used = {(e["pid"], e["tid"]) for e in work(trace).values()}
    return {
        (e["pid"], e["tid"]): e["args"]["name"].strip()
        for e in trace["traceEvents"]
        if e["ph"] == "M" and e["name"] == "thread_name" and (e["pid"], e["tid"]) in used
    }


@pytest.fixture(scope="module")
def annotated(run, trace_files, tmp_path_factory):
    """annotated(name, *options): the trace as it was, and as `graphtag annotate` wrote it."""
    done = {}

    def annotate(name, *options):
        if (name, options) not in done:
            trace, annotations = trace_files(name)
            out = tmp_path_factory.mktemp(name) / "out.json"
            run("annotate", trace, "-a", annotations, "-o", out, *options)
            done[name, options] = load(trace), load(out)
        return done[name, options]

    return annotate


def reference(source_dir, name):
    return load(Path(source_dir) / f"tests/golden/h200/{name}.json.gz")


@pytest.mark.parametrize("name", TRACES)
def test_every_event_gets_the_args_of_the_reference(annotated, source_dir, name):
    original, ours = map(work, annotated(name))
    theirs = work(reference(source_dir, f"{name}.reference"))
    assert ours.keys() == original.keys() == theirs.keys()
    named = 0
    for key, event in ours.items():
        expected = added(theirs[key], original[key])
        assert added(event, original[key]) == expected, key
        named += bool(expected)
        kept = {k: v for k, v in event["args"].items() if k in original[key]["args"]}
        assert kept == original[key]["args"]
        assert event["tid"] == original[key]["tid"]
    assert named > 0


@pytest.mark.parametrize("name", TRACES_WITH_LANES)
def test_every_event_is_on_the_lane_of_the_reference(annotated, source_dir, name):
    original, ours = annotated(name, "--lanes", "all")
    theirs = reference(source_dir, f"{name}.reference_lanes")
    assert flow_lanes(ours) == flow_lanes(theirs)
    assert lane_names(ours) == lane_names(theirs)
    before, after, expected = work(original), work(ours), work(theirs)
    assert after.keys() == expected.keys()
    moved = 0
    for key, event in after.items():
        assert added(event, before[key]) == added(expected[key], before[key]), key
        assert event["tid"] == expected[key]["tid"] == event["args"]["stream"] == expected[key]["args"]["stream"]
        moved += "original_stream" in event["args"]
    assert (moved > 0) == (name != "three_graphs")


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("options", [(), ("--lanes", "all")])
def test_everything_else_stays(annotated, name, options):
    original, ours = annotated(name, *options)
    kept = [e for e in ours["traceEvents"] if e.get("cat") not in WORK | {"ac2g"}]
    assert kept[: len(kept)] == [e for e in original["traceEvents"] if e.get("cat") not in WORK | {"ac2g"}] + kept[
        sum(e.get("cat") not in WORK | {"ac2g"} for e in original["traceEvents"]) :
    ]
    assert all(e["ph"] == "M" for e in ours["traceEvents"][len(original["traceEvents"]) :])
    own = {"cudaGraphInlineAnnotated", "graphtag", "graphtagCoverage"}
    assert {k: v for k, v in ours.items() if k not in own | {"traceEvents"}} == {k: v for k, v in original.items() if k != "traceEvents"}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("options", [(), ("--lanes", "all")])
def test_annotating_again_gives_the_same_file(run, trace_files, tmp_path, name, options):
    trace, annotations = trace_files(name)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    run("annotate", trace, "-a", annotations, "-o", first, *options)
    run("annotate", first, "-a", annotations, "-o", second, *options)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("options", [(), ("--lanes", "all")])
def test_other_lanes_and_back_give_the_same_events(run, trace_files, tmp_path, options):
    trace, annotations = trace_files("lanes")
    other = ("--lanes", "none") if options else ("--lanes", "all")
    run("annotate", trace, "-a", annotations, "-o", tmp_path / "first.json", *options)
    run("annotate", tmp_path / "first.json", "-a", annotations, "-o", tmp_path / "other.json", *other, code=2)
    run("annotate", tmp_path / "first.json", "-a", annotations, "-o", tmp_path / "other.json", *other, "--force")
    run("annotate", tmp_path / "other.json", "-a", annotations, "-o", tmp_path / "back.json", *options, "--force")
    first, back = load(tmp_path / "first.json"), load(tmp_path / "back.json")
    assert work(first) == work(back)
    assert flow_lanes(first) == flow_lanes(back)


def test_a_trace_that_has_its_annotations_stays_as_it_is(annotated):
    """Cuspy writes the annotations itself, without a mark: the same values again change no event."""
    original, ours = annotated("train_step_cuspy")
    assert ours["traceEvents"] == original["traceEvents"]


def test_graphs_captured_outside_scopes_get_nothing(run, trace_files, tmp_path):
    trace, _ = trace_files("decode")
    annotations = tmp_path / "other.json"
    annotations.write_text(json.dumps({str(12345 << 32): [{"name": "elsewhere"}]}))
    done = run("annotate", trace, "-a", annotations, "-o", tmp_path / "out.json")
    assert load(tmp_path / "out.json")["traceEvents"] == load(trace)["traceEvents"]
    assert "record" in done.stderr
