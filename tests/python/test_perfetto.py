"""Perfetto output, decoded with the official schema and held against Chrome output and a slow twin of the regions."""
import gzip
import json
from collections import Counter, defaultdict
from decimal import Decimal

import perfetto_file
import pytest

TRACES = ["two_phases", "train_step", "lanes", "three_graphs", "decode", "all_reduce_rank0", "all_reduce_rank1", "train_step_cuspy"]
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
LAUNCHES = {"cuda_runtime", "cuda_driver"}


class Outputs:
    def __init__(self, run, trace_files, folder, name, *options):
        trace, annotations = trace_files(name)
        self.perfetto, self.chrome = folder / f"{name}.pftrace", folder / f"{name}.json"
        for out in (self.perfetto, self.chrome):
            run("annotate", trace, "-a", annotations, "-o", out, *options)
        self.file = perfetto_file.PerfettoFile(self.perfetto)
        text = self.chrome.read_text()
        self.events = json.loads(text)["traceEvents"]
        exact = json.loads(text, parse_float=Decimal)
        self.base = exact.get("baseTimeNanoseconds", 0)
        for event, numbers in zip(self.events, exact["traceEvents"]):
            if event.get("ph") == "X":
                event["start"] = round(numbers["ts"] * 1000) + self.base
                event["end"] = event["start"] + round(numbers["dur"] * 1000)
        self.slices = [e for e in self.events if e.get("ph") == "X"]


@pytest.fixture(scope="module", params=[(name, "none") for name in TRACES] + [("lanes", "all"), ("train_step", "all")], ids="-".join)
def outputs(request, run, trace_files, tmp_path_factory):
    name, lanes = request.param
    return Outputs(run, trace_files, tmp_path_factory.mktemp(name), name, "--lanes", lanes)


def frozen(value):
    return json.dumps(value, sort_keys=True)


def test_slices_nest(outputs):
    outputs.file.check_nesting()


def test_chrome_and_perfetto_agree_slice_for_slice(outputs):
    """Names, categories, times and every arg with its type."""
    chrome = Counter((e["name"], e.get("cat"), e["start"], e["end"], frozen(e.get("args", {}))) for e in outputs.slices)
    perfetto = Counter((s.name, s.category, s.start, s.end, frozen(s.args)) for s in outputs.file.slices if s.category != "region")
    assert perfetto == chrome


def names_of_threads(events):
    return {(e["pid"], e["tid"]): e["args"]["name"].strip() for e in events if e.get("ph") == "M" and e["name"] == "thread_name"}


def test_operations_lie_on_their_stream_under_their_gpu(outputs):
    threads = names_of_threads(outputs.events)
    expected = Counter((f"GPU {e['args']['device']} NVIDIA H200", threads[e["pid"], e["tid"]], e["name"], e["start"])
                       for e in outputs.slices if e["cat"] in GPU)
    file = outputs.file
    found = Counter((file.name(file.root(s.track)), file.name(s.track), s.name, s.start) for s in file.slices if s.category in GPU)
    assert found == expected
    for item in file.slices:
        if item.category in GPU:
            gpu = file.tracks[file.root(item.track)]
            assert gpu.HasField("process") and file.tracks[item.track].parent_uuid == gpu.uuid


def test_tracks_of_one_stream_share_one_merge_key(outputs):
    keys = defaultdict(set)
    for item in outputs.file.slices:
        if item.category in GPU:
            track = outputs.file.tracks[item.track]
            assert track.sibling_merge_behavior == track.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
            keys[track.parent_uuid, track.name].add(track.sibling_merge_key)
    assert keys and all(len(values) == 1 for values in keys.values())
    assert len({(parent, *values) for (parent, _), values in keys.items()}) == len(keys)


def region_names(args):
    """Full names of the regions around an operation, outermost first."""
    path = args.get("graphtag.path") or [args.get("annotation.name", args.get("name"))]
    components = []
    for entry in path:
        name = ".".join(components)
        if components and (entry + ".").startswith(name + "."):
            entry = entry[len(name) + 1:]
        components += [part for part in (entry or "").split(".") if part]
    return [".".join(components[:i + 1]) for i in range(len(components))]


def test_regions_are_the_maximal_runs(outputs):
    """Twin: on each track, group consecutive operations level by level."""
    rows = defaultdict(list)
    for item in outputs.file.slices:
        if item.category in GPU:
            rows[item.track].append(item)
    expected = Counter()
    for track, items in rows.items():
        items.sort(key=lambda s: (s.start, s.end))
        paths = [region_names(s.args) if s.args.get("graph id") else [] for s in items]
        for level in range(max(map(len, paths))):
            keys = [(s.args["graph id"], s.args["correlation"], path[level]) if len(path) > level else None for s, path in zip(items, paths)]
            first = 0
            for i in range(1, len(items) + 1):
                if i == len(items) or keys[i] != keys[first]:
                    if keys[first]:
                        expected[track, keys[first][2], level, items[first].start, items[i - 1].end] += 1
                    first = i
    found = Counter((s.track, s.name, s.depth, s.start, s.end) for s in outputs.file.slices if s.category == "region")
    assert found == expected


def test_operations_lie_in_their_innermost_region(outputs):
    for item in outputs.file.slices:
        if item.category in GPU:
            names = region_names(item.args) if item.args.get("graph id") else []
            around, parent = [], item.parent
            while parent:
                around.append(parent.name)
                parent = parent.parent
            assert around[::-1] == names


def test_each_launch_has_an_arrow_to_each_of_its_operations(outputs):
    starts, ends, launches = {}, {}, set()
    for item in outputs.file.slices:
        for flow in item.flows:
            assert flow not in starts and item.category in LAUNCHES
            starts[flow] = item
        for flow in item.ending_flows:
            assert flow not in ends and item.category in GPU
            ends[flow] = item
        if item.category in LAUNCHES:
            launches.add(item.args.get("correlation"))
    assert starts.keys() == ends.keys()
    for flow, launch in starts.items():
        assert launch.args["correlation"] == ends[flow].args["correlation"]
    expected = sum(s.category in GPU and s.args.get("correlation") in launches for s in outputs.file.slices)
    assert expected and len(starts) == expected


def test_times_are_unix_times(outputs):
    assert outputs.file.clocks[1] == outputs.file.clocks[6] == min(
        [s.start for s in outputs.file.slices] + [point[3] for point in outputs.file.points])


def test_nothing_is_left_out_unsaid(outputs):
    """Instants are carried over, and the summary counts what is not."""
    summary = outputs.file.points[-1]
    assert summary[2] == "graphtag"
    instants = Counter(e["name"] for e in outputs.events if e["ph"] == "i")
    assert Counter(point[2] for point in outputs.file.points[:-1]) == instants
    left_out = summary[4].get("left_out", {})
    assert not [key for key in left_out if not key.startswith("arrows of category")], left_out
    document = json.loads(outputs.chrome.read_text())
    for key in ("graphtag", "graphtagCoverage"):
        assert summary[4][key] == document[key]
    members = {k: v for k, v in document.items() if k not in ("traceEvents", "graphtag", "graphtagCoverage", "cudaGraphInlineAnnotated")}
    assert summary[4]["trace"] == members


def test_gzip_holds_the_same(run, trace_files, tmp_path):
    trace, annotations = trace_files("two_phases")
    plain, packed = tmp_path / "a.pftrace", tmp_path / "a.pftrace.gz"
    for out in (plain, packed):
        run("annotate", trace, "-a", annotations, "-o", out)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_kernels_and_regions_are_those_of_torchs_own_perfetto_file(run, trace_files, source_dir, tmp_path):
    """torch's Cuspy profiler wrote another run of the same program as Perfetto: as many slices of each kernel in each region."""
    ours = Outputs(run, trace_files, tmp_path, "train_step_cuspy").file
    theirs = perfetto_file.schema.Trace.FromString(
        gzip.decompress((source_dir / "tests/golden/h200/train_step_cuspy.pftrace.gz").read_bytes()))
    names = {entry.iid: entry.name for packet in theirs.packet for entry in packet.interned_data.event_names}
    stages = [packet.gpu_render_stage_event for packet in theirs.packet if packet.HasField("gpu_render_stage_event")]
    region = {id(stage): next((extra.value for extra in stage.extra_data if extra.name == "name"), None) for stage in stages}
    expected = Counter((names[stage.name_iid], region[id(stage)]) for stage in stages if stage.kernel_iid)
    found = Counter((s.name, s.parent.name if s.parent else None) for s in ours.slices if s.category == "kernel")
    assert found == expected
