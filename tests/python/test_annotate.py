"""`graphtag annotate` on made-up traces of every layout, against a plain twin of a few lines."""
import gzip
import hashlib
import json
import random
from collections import Counter

import pytest

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
GRAPHS = [3, 7, 2**31, 2**32 - 1]
PIDS = [0, 1, "GPU 2"]
VALUES = [None, True, False, 0, -1, 2**63 - 1, -(2**63), 1.5, -2.5e-9, "", "x", "é 😀 \u2028", 'a"\\\n\t\0', [], {}, [1, [2, {"k": None}]], {"a": {"b": 1}}]
RESERVED = {"device", "correlation", "graph id", "stream", "annotated_stream", "original_stream"}  # never an annotation's as they are
KEYS = ["name", "phase", "layer.idx", "device", "correlation", "graph id", "stream", "é", "", "original_stream", "annotated_stream"]


def made_annotation(draw):
    annotation = {"name": draw.choice(["a", "a.b", "model.layers.0.mlp", "é"])}
    for key in draw.sample(KEYS[1:], draw.randint(0, 5)):
        annotation[key] = draw.choice(VALUES)
    if draw.random() < 0.5:
        annotation["stream"] = draw.choice([7, 8, 60, 61, -3, "side", True, 2.0])
    if draw.random() < 0.3:
        annotation["device"] = 0
    return annotation


def made_trace(draw):
    """(events, annotations by node id). Node ids as Kineto writes them, as Cuspy does, or as strings."""
    events, annotations = [], {}
    for graph in GRAPHS:
        for local in range(6):
            if draw.random() < 0.7:
                annotations[graph << 32 | local] = made_annotation(draw)
    taken = set()
    for number in range(120):
        pid, stream = draw.choice(PIDS), draw.choice([7, 8, 60])
        graph, local = draw.choice(GRAPHS + [0, 0]), draw.randint(0, 7)
        device = PIDS.index(pid)
        tid = f"stream {stream}" if isinstance(pid, str) else stream
        args = {"device": device, "stream": stream, "correlation": number}
        if graph or draw.random() < 0.5:
            node = draw.choice([graph << 32 | local, local]) if graph else 0
            args.update({"graph id": graph, "graph node id": str(node) if draw.random() < 0.1 else node})
        if draw.random() < 0.1:
            args.pop("graph node id", None)
        if draw.random() < 0.1:
            args[draw.choice(KEYS[:4])] = draw.choice(VALUES)
        if draw.random() < 0.02:
            args["long"] = "x" * 100_000
        items = list(args.items())
        draw.shuffle(items)
        ts = draw.choice([number * 10, number * 10 + 0.001, number * 10 + 0.5])
        taken.add((pid, tid))
        event = {"ph": "X", "cat": draw.choice(sorted(WORK)), "name": f"k{number}", "pid": pid, "tid": tid, "ts": ts, "dur": 2, "args": dict(items)}
        shuffled = list(event.items())
        draw.shuffle(shuffled)
        events.append(dict(shuffled))
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 99, "tid": 1, "ts": ts, "dur": 1, "args": {"correlation": number}})
        events.append({"ph": "s", "cat": "ac2g", "id": number, "name": "ac2g", "pid": 99, "tid": 1, "ts": ts})
        events.append({"ph": "f", "cat": "ac2g", "id": number, "name": "ac2g", "pid": pid, "tid": tid, "ts": ts, "bp": "e"})
    for pid, tid in sorted(taken, key=str):
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": f"stream {tid}"}})
        events.append({"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": pid, "tid": tid, "ts": 1, "dur": 5})
    events.append({"ph": "X", "cat": "kernel", "name": "without args", "pid": 0, "tid": 7, "ts": 1, "dur": 1})
    draw.shuffle(events)
    return events, annotations


def node_of(args):
    """In a graph: (graph id, node id or None). Outside: None."""
    graph = args.get("graph id", 0)
    if graph == 0 or type(graph) is not int:
        return None
    if "graph node id" not in args:
        return graph, None
    node = int(args["graph node id"])
    return graph, node if node >> 32 == graph else graph << 32 | node


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def is_work(event):
    return event["ph"] == "X" and event.get("cat") in WORK


def named(args, annotation, lanes):
    """The args with the annotation's keys."""
    args = dict(args)
    stream = annotation.get("stream")
    asks = type(stream) is int
    items = {k: v for k, v in annotation.items() if not (k == "stream" and asks)}
    for key in RESERVED & items.keys():
        items[f"annotation.{key}"] = items.pop(key)
    if asks and lanes == "none":
        items["annotated_stream"] = stream
    added = {}
    for key, value in items.items():
        if key not in args:
            added[key] = value
    for key, value in items.items():
        if key in args and not same(args[key], value):
            while key in args or key in added:
                key = f"annotation.{key}"
            added[key] = value
    return {**args, **added}


def twin(events, annotations, lanes):
    """Every event as it must be; lanes that lost all their work lose their gpu_user_annotation slices."""
    out, flows, before, after = [], {}, set(), set()
    for event in events:
        if is_work(event):
            before.add((event["pid"], event["tid"]))
            node = node_of(event.get("args", {}))
            old = event
            if node:
                annotation = annotations.get(node[1], {})
                event = {**event, "args": named(event["args"], annotation, lanes)}
                if lanes == "all":
                    asked = annotation.get("stream")
                    lane = asked if type(asked) is int else 7
                    if lane != event["tid"] or lane != event["args"]["stream"]:
                        event["tid"] = lane
                        if lane != event["args"]["stream"]:  # a thread id in words may stand for the very stream
                            event["args"] = {**event["args"], "stream": lane, "original_stream": old["args"]["stream"]}
                        flows[old["pid"], old["tid"], old["ts"], old["args"]["correlation"]] = lane
            after.add((event["pid"], event["tid"]))
        out.append(event)
    result = []
    for event in out:
        if event["ph"] == "f":
            lane = flows.get((event["pid"], event["tid"], event["ts"], event["id"]))
            event = event if lane is None else {**event, "tid": lane}
        lost = event.get("cat") == "gpu_user_annotation" and (event["pid"], event["tid"]) in before - after
        if not lost:
            result.append(event)
    return result


def sorted_args(event):
    return json.dumps(event, sort_keys=True)


def strict(text):
    """As json.loads, but no NaN, no Infinity and no key twice."""

    def refuse(name):
        raise ValueError(name)

    def pairs(items):
        twice = [key for key, count in Counter(key for key, _ in items).items() if count > 1]
        assert not twice, twice
        return dict(items)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=pairs)


LAYOUTS = {
    "compact": lambda d, _: json.dumps(d, separators=(",", ":")).encode(),
    "pretty": lambda d, _: json.dumps(d, indent=4).encode(),
    "crlf": lambda d, _: json.dumps(d, indent=1).replace("\n", "\r\n").encode(),
    "raw utf-8 behind a BOM": lambda d, _: b"\xef\xbb\xbf" + json.dumps(d, ensure_ascii=False, indent="\t").encode(),
    "gzip": lambda d, _: gzip.compress(json.dumps(d).encode()),
    "gzip in members": lambda d, draw: b"".join(gzip.compress(part.encode()) for part in pieces(json.dumps(d), draw)) + bytes(512),
}


def pieces(text, draw):
    cuts = sorted(draw.sample(range(len(text)), 5))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]


@pytest.mark.parametrize("lanes", ["none", "all"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(6))
def test_any_trace_in_any_layout_is_as_the_twin_says(run, tmp_path, seed, layout, lanes):
    draw = random.Random(f"{seed} {layout}")
    events, annotations = made_trace(draw)
    bare = seed == 5
    document = events if bare else {"schemaVersion": 1, "traceEvents": events, "traceName": "t", "baseTimeNanoseconds": 123}
    if seed == 1:
        document = {"traceName": "t", "displayTimeUnit": "ms", "other": {"deep": [1, {"traceEvents": []}]}, "traceEvents": events}
    trace, out = tmp_path / "t.json", tmp_path / "out.json"
    trace.write_bytes(LAYOUTS[layout](document, draw))
    (tmp_path / "a.json").write_text(json.dumps({str(k): [v] for k, v in annotations.items()}))
    done = run("annotate", trace, "-a", tmp_path / "a.json", "-o", out, "--lanes", lanes)
    assert ("warning" in done.stderr) == ("BOM" in layout)
    written = strict(out.read_text(encoding="utf-8"))
    ours = written["traceEvents"]
    expected = twin(events, annotations, lanes)
    extra = ours[len(expected) :]
    assert list(map(sorted_args, ours[: len(expected)])) == list(map(sorted_args, expected))
    assert all(e["ph"] == "M" and e["name"] in ("thread_name", "thread_sort_index") for e in extra)
    lanes_with_names = {(e["pid"], e["tid"]) for e in ours if e["ph"] == "M" and e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in ours if is_work(e)} <= lanes_with_names
    assert (extra != []) == (lanes == "all")
    before = {} if bare else {k: v for k, v in document.items() if k != "traceEvents"}
    assert {k: v for k, v in written.items() if k not in ("traceEvents", "graphtag", "graphtagCoverage", "cudaGraphInlineAnnotated")} == before
    keys = list(written)
    assert keys.index("cudaGraphInlineAnnotated") < keys.index("traceEvents") and keys.index("graphtag") < keys.index("traceEvents")
    assert keys.index("graphtagCoverage") > keys.index("traceEvents")
    # The same again is the same file; a trace without annotations keeps its graphed events too.
    run("annotate", out, "-a", tmp_path / "a.json", "-o", tmp_path / "again.json", "--lanes", lanes)
    assert (tmp_path / "again.json").read_bytes() == out.read_bytes()


NODE = 7 << 32 | 3


def one_kernel(**members):
    args = {"device": 0, "stream": 9, "correlation": 5, "graph id": 7, "graph node id": NODE}
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 9, "ts": 1, "dur": 1, "args": args}
    return {"schemaVersion": 1, "traceEvents": [kernel], **members}


@pytest.fixture
def files(tmp_path):
    """files(name=content, ..): the paths, in order."""

    def write(**contents):
        paths = []
        for name, content in contents.items():
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(json.dumps(content))
        return paths

    return write


@pytest.fixture
def args_of(run, tmp_path):
    """args_of(*words): the args of the only kernel of what `graphtag annotate *words` writes."""

    def annotated(*words):
        run("annotate", *words, "-o", tmp_path / "out.json")
        return strict((tmp_path / "out.json").read_text())["traceEvents"][0]["args"]

    return annotated


def test_the_later_file_wins_a_node(args_of, files, tmp_path):
    trace, a, b = files(t=one_kernel(), a={str(NODE): {"name": "a", "x": 1}}, b={str(NODE): {"name": "b"}})
    assert args_of(trace, "-a", a, "-a", b)["name"] == "b"
    found = args_of(trace, "-a", b, "-a", a)
    assert (found["name"], found["x"]) == ("a", 1)
    inputs = strict((tmp_path / "out.json").read_text())["graphtag"]["inputs"]
    assert [i["name"] for i in inputs] == ["b.json", "a.json"]
    assert [i["sha256"] for i in inputs] == [hashlib.sha256(p.read_bytes()).hexdigest() for p in (b, a)]


def test_default_stream_is_where_work_without_a_wish_goes(args_of, files):
    trace, a = files(t=one_kernel(), a={str(NODE): {"name": "a"}})
    assert args_of(trace, "-a", a, "--lanes", "all")["stream"] == 7
    found = args_of(trace, "-a", a, "--lanes", "all", "--default-stream", "20")
    assert (found["stream"], found["original_stream"]) == (20, 9)
    assert "original_stream" not in args_of(trace, "-a", a, "--lanes", "all", "--default-stream", "9")


@pytest.mark.parametrize("where", ["before", "behind"])
def test_pytorchs_mark_alone_needs_force(run, args_of, files, tmp_path, where):
    marked = one_kernel(cudaGraphInlineAnnotated=True)
    if where == "before":
        marked = {"cudaGraphInlineAnnotated": True, **one_kernel()}
    marked["traceEvents"][0]["args"].update({"name": "a", "x": "1"})
    trace, a = files(t=marked, a={str(NODE): {"name": "a", "x": 1}})
    done = run("annotate", trace, "-a", a, "-o", tmp_path / "out.json", code=2)
    assert "--force" in done.stderr and "t.json" in done.stderr
    assert not (tmp_path / "out.json").exists()
    found = args_of(trace, "-a", a, "--force")
    assert (found["name"], found["x"], found["annotation.x"]) == ("a", "1", 1)


def test_other_annotations_need_force_and_take_the_place_of_the_first(run, args_of, files, tmp_path):
    trace, a, b = files(t=one_kernel(), a={str(NODE): {"name": "a", "x": 1, "device": 3}}, b={str(NODE): {"name": "b"}})
    run("annotate", trace, "-a", a, "-o", tmp_path / "first.json")
    done = run("annotate", tmp_path / "first.json", "-a", b, "-o", tmp_path / "out.json", code=2)
    assert "--force" in done.stderr
    plain = args_of(trace, "-a", b)
    assert args_of(tmp_path / "first.json", "-a", b, "--force") == plain


def test_an_annotated_trace_needs_its_files_again_to_be_converted(run, files, tmp_path):
    trace, a = files(t=one_kernel(), a={str(NODE): {"name": "a"}})
    run("annotate", trace, "-a", a, "-o", tmp_path / "first.json")
    said = run("annotate", tmp_path / "first.json", "-o", tmp_path / "out.pftrace", code=2).stderr
    assert "no annotation file is given; give those" in said and "--force annotates this one anew, without the names" in said
    assert "named 1 of 1" in run("annotate", tmp_path / "first.json", "-a", a, "-o", tmp_path / "out.pftrace").stderr
    assert "named 0 of 1" in run("annotate", tmp_path / "first.json", "--force", "-o", tmp_path / "out.pftrace").stderr


def test_the_same_file_under_another_name_is_the_same(run, files, tmp_path):
    content = {str(NODE): {"name": "a"}}
    trace, a, b = files(t=one_kernel(), a=content, b=content)
    run("annotate", trace, "-a", a, "-o", tmp_path / "first.json")
    run("annotate", tmp_path / "first.json", "-a", b, "-o", tmp_path / "second.json")


def test_a_folder_in_which_nothing_fits_names_nothing_and_lists_all(run, files, tmp_path):
    folder = tmp_path / "annotations"
    folder.mkdir()
    for rank in (1, 2):
        content = {"schema": "graphtag.annotations/1", "producer": {"tool": "t", "rank": rank}, "annotations": [], "graphs": [], "execs": []}
        (folder / f"r{rank}.json").write_text(json.dumps(content))
    (trace,) = files(t={"distributedInfo": {"rank": 0}, **one_kernel()})
    done = run("annotate", trace, "-a", folder, "-o", tmp_path / "out.json")
    assert done.stderr.count("passed over") == 2 and "rank 1" in done.stderr and "rank 2" in done.stderr
    assert "-a" in done.stderr and "record" in done.stderr
    done = run("annotate", trace, "-a", folder / "r1.json", "-o", tmp_path / "out.json", code=2)
    assert "r1.json" in done.stderr and "rank 1" in done.stderr and "--force" in done.stderr


def of_rank(folder, rank, name):
    """graphtag's own annotations of one rank, which name the node of one_kernel()."""
    content = {
        "schema": "graphtag.annotations/1",
        "producer": {"tool": "t", "rank": rank},
        "annotations": [{"object": {"name": name}}],
        "graphs": [{"id": NODE >> 32, "runs": [[0, 1]]}],
        "execs": [],
    }
    path = folder / f"r{rank}.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_rank_behind_the_events_chooses_the_file_too(run, tmp_path, packed):
    folder = tmp_path / "annotations"
    folder.mkdir()
    for rank in (0, 1, 2):
        of_rank(folder, rank, f"of rank {rank}")
    text = json.dumps({**one_kernel(), "distributedInfo": {"rank": 1}}).encode()
    trace = tmp_path / "t.json.gz" if packed else tmp_path / "t.json"
    trace.write_bytes(gzip.compress(text) if packed else text)
    done = run("annotate", trace, "-a", folder, "-o", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["traceEvents"][0]["args"]["name"] == "of rank 1"
    assert done.stderr.count("passed over") == 2
    rows = json.loads(run("report", trace, "-a", folder, "--format", "json").stdout)["rows"]
    assert [row["region"] for row in rows] == ["of rank 1"]
    # One file alone is worth no second pass: what does not fit is said at the end, and nothing is written.
    done = run("annotate", trace, "-a", folder / "r0.json", "-o", tmp_path / "other.json", code=2)
    assert "rank 0, the trace has rank 1" in done.stderr and "--force" in done.stderr
    assert not (tmp_path / "other.json").exists()
    done = run("report", trace, "-a", folder / "r0.json", code=2)
    assert "rank 0, the trace has rank 1" in done.stderr
    run("report", trace, "-a", folder / "r0.json", "--force")


def test_one_file_of_a_folder_is_passed_over_by_a_rank_behind_the_events_too(run, tmp_path):
    folder = tmp_path / "annotations"
    folder.mkdir()
    of_rank(folder, 1, "of rank 1")
    trace = tmp_path / "t.json"
    trace.write_text(json.dumps({**one_kernel(), "distributedInfo": {"rank": 0}}))
    done = run("annotate", trace, "-a", folder, "-o", tmp_path / "out.json")
    assert "passed over r1.json: rank 1, the trace has rank 0" in done.stderr
    assert "passed over: r1.json" in run("report", trace, "-a", folder).stderr


def test_files_of_a_folder_that_do_not_say_whose_they_are_are_warned_of(run, tmp_path):
    """As torch writes them, one a rank: all of them fit every trace."""
    folder = tmp_path / "annotations"
    folder.mkdir()
    traces = []
    for rank in (0, 1):
        (folder / f"rank{rank}.json").write_text(json.dumps({str(NODE): [{"name": f"stage{rank}"}]}))
        traces.append(tmp_path / f"t{rank}.json")
        traces[-1].write_text(json.dumps({**one_kernel(), "distributedInfo": {"rank": rank}}))
    done = run("annotate", *traces, "-a", folder, "-o", tmp_path / "out")
    assert done.stderr.count("rank0.json and rank1.json do not say whose they are") == 2
    for verb in ("report", "check"):
        document = json.loads(run(verb, traces[0], "-a", folder, "--format", "json").stdout)
        assert "annotations-ambiguous" in [warning["code"] for warning in document["warnings"]]
    assert "whose" not in run("annotate", traces[0], "-a", folder / "rank0.json", "-o", tmp_path / "0.json").stderr
    (folder / "rank1.json").write_text((folder / "rank0.json").read_text())
    assert "whose" not in run("annotate", traces[0], "-a", folder, "-o", tmp_path / "1.json").stderr


def test_numbers_that_json_lacks_become_null(args_of, files, tmp_path):
    (trace,) = files(t=one_kernel())
    (tmp_path / "a.json").write_text(json.dumps({str(NODE): {"name": "a", "x": float("nan"), "y": [float("-inf")]}}))
    found = args_of(trace, "-a", tmp_path / "a.json")
    assert (found["x"], found["y"]) == (None, [None])


def test_messages_say_file_offset_what_and_what_to_do(run, files, tmp_path):
    (trace,) = files(t=one_kernel())
    (tmp_path / "a.json").write_text('{"1": ["a"], oops}')
    done = run("annotate", trace, "-a", tmp_path / "a.json", "-o", tmp_path / "out.json", code=3)
    assert done.stderr.startswith(f"graphtag: {tmp_path}/a.json: offset 13: ")
    assert done.stderr.strip().endswith("write the file anew")


def test_what_is_read_is_written_over_only_where_it_is_named(run, files, tmp_path):
    (trace,) = files(t=one_kernel())
    names = tmp_path / "names.json"
    names.write_text(json.dumps({str(NODE): {"name": "a"}}))
    run("annotate", trace, "-a", names, "-o", tmp_path / "named.pftrace")
    before = {path: path.read_bytes() for path in (trace, names)}
    for verb, out in (("annotate", names), ("annotate", f"{tmp_path}/"), ("report", trace), ("report", names), ("check", trace)):
        done = run(verb, trace, "-a", names, "-o", out, code=2)
        assert "would be overwritten; give another name with -o" in done.stderr
    done = run("annotate", trace, "-a", tmp_path, "-o", names, code=2)
    assert "would be overwritten" in done.stderr
    assert {path: path.read_bytes() for path in before} == before
    # What an earlier run wrote is.
    run("annotate", trace, "-a", names, "-o", tmp_path / "named.pftrace")
