"""Collectives in captured graphs, with compute on another stream: each carries what Kineto writes for eager ones. Any number of ranks on one host.

usage: collectives.py [--rehearse] [--ranks N]      (1 rank if not given; each rank its own process and GPU; gloo in a rehearsal)

The metadata is compared with what torch.profiler writes (record_param_comms) for the same calls, eager, in the same process.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANK, RANKS = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))

# Written by Kineto and by graphtag, and the same in both.
KEYS = ("Collective name", "In msg nelems", "Out msg nelems", "In split size", "Out split size", "dtype", "Group size", "Process Group Name",
        "Process Group Description", "Process Group Ranks", "Rank", "Seq", "Src Rank", "Dst Rank", "Is asynchronized op")  # fmt: skip


def spawn(ranks):
    """Runs this program once a rank; returns the worst exit code."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WORLD_SIZE": str(ranks), "GRAPHTAG_TEST_STORE": str(Path(folder, "store"))}
        children = [subprocess.Popen([sys.executable, *sys.argv], env={**environment, "RANK": str(rank)}) for rank in range(ranks)]
        return max(child.wait() for child in children)


def calls(dist, torch, device):
    """{title: a function that calls one collective}. The tensors live as long as the functions."""
    x, y = torch.ones(1024, device=device, dtype=torch.bfloat16), torch.ones(1024, device=device, dtype=torch.bfloat16)
    wide, parts = torch.ones(1024 * RANKS, device=device), [torch.ones(1024, device=device) for _ in range(RANKS)]
    one, other = torch.ones(1024, device=device), torch.ones(1024, device=device)
    peer = (RANK + 1) % RANKS if RANKS > 1 else 0
    back = (RANK - 1) % RANKS
    group = dist.new_group(list(range(RANKS)), group_desc="data parallel")
    found = {
        "all_reduce": lambda: dist.all_reduce(x),
        "all_reduce of a named group": lambda: dist.all_reduce(y, group=group),
        "broadcast": lambda: dist.broadcast(x, 0),
        "reduce": lambda: dist.reduce(one, 0),
        "all_gather": lambda: dist.all_gather(parts, one),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(wide, one),
        "all_to_all_single": lambda: dist.all_to_all_single(wide, wide.clone()),
    }
    functional = torch.distributed._functional_collectives

    def functional_calls():
        functional.wait_tensor(functional.all_reduce(one, "sum", group))
        functional.wait_tensor(functional.all_gather_tensor(one, 0, group))

    found["functional collectives"] = functional_calls

    leaf, gradient = torch.ones(1024 * RANKS, device=device, requires_grad=True), torch.ones(1024 * RANKS, device=device)
    leaf.grad = torch.zeros_like(leaf)
    halves = [1024] * RANKS

    def functional_backward():
        moved = functional.all_to_all_single_autograd(leaf, halves, halves, group)
        functional.wait_tensor(moved).backward(gradient)

    found["functional collectives with their backward"] = functional_backward
    if device != "cpu":  # gloo has none of these
        found["reduce_scatter_tensor"] = lambda: dist.reduce_scatter_tensor(one, wide)
        found["reduce_scatter"] = lambda: dist.reduce_scatter(one, parts)

        def coalesced():
            with dist._coalescing_manager(device=torch.device(device)):
                dist.all_reduce(one)
                dist.all_reduce(other)

        def gathered():
            second = torch.ones(1024 * RANKS, device=device)
            with dist._coalescing_manager(device=torch.device(device)):
                dist.all_gather_into_tensor(wide, one)
                dist.all_gather_into_tensor(second, other)

        found["coalesced all_reduce"] = coalesced
        found["coalesced all_gather_into_tensor"] = gathered
    if RANKS > 1:

        def exchange():
            operations = [dist.P2POp(dist.isend, one, peer), dist.P2POp(dist.irecv, other, back)]
            for work in dist.batch_isend_irecv(operations):
                work.wait()

        found["send and recv in a batch"] = exchange
        if RANK == 0:
            found["send or recv"] = lambda: dist.send(one, 1)
        elif RANK == 1:
            found["send or recv"] = lambda: dist.recv(one, 0)
    return found, peer


def run():
    """Does not return: the process ends."""
    from harness import DEVICE, REHEARSAL, capture, gat, graphtag, recorder, replayed, torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives
    from models import Graph

    device = DEVICE if REHEARSAL else f"cuda:{RANK}"
    if not REHEARSAL:
        torch.cuda.set_device(RANK)
    store = dist.FileStore(os.environ["GRAPHTAG_TEST_STORE"], RANKS)
    dist.init_process_group("gloo" if REHEARSAL else "nccl", store=store, rank=RANK, world_size=RANKS)
    made, _ = calls(dist, torch, device)
    for function in made.values():  # communicators are made at the first call
        function()
    torch.cuda.synchronize()
    recorder()

    x = torch.ones(4096, device=device)
    graph, rows, side = Graph(), {}, torch.cuda.Stream()
    gat.annotate_collectives(lanes=True)

    def body():
        here = torch.cuda.current_stream()
        side.wait_stream(here)
        with torch.cuda.stream(side), gat.mark_kernels("compute"):
            for _ in range(5):
                x.add_(1)
        for title, function in made.items():
            first = graph.node_count()
            with gat.mark_kernels({"step": 3}):
                function()
            rows[title] = range(first, graph.node_count())
            x2 = x if REHEARSAL else x.detach()
            with torch.cuda.stream(side), gat.mark_kernels("compute"):
                x2.add_(1)
        here.wait_stream(side)

    failed = []
    for backend in ("cupti", "edge_walk"):
        rows.clear()
        captured = capture(body, backend=backend)
        records = replayed(captured)
        annotations = {record.local_id: graphtag.resolve(record.node_id).annotation for record in records}
        unnamed = [record for record in records if "nccl" in record.name.lower() and "Collective name" not in (annotations[record.local_id] or {})]
        if unnamed:
            failed.append(f"{backend}: {len(unnamed)} kernels of NCCL are not called collectives: {unnamed[0].name[:60]}")
        for title, ids in rows.items():
            got = [annotations[local] for local in ids if local in annotations]
            comm = [one for one in got if one is not None and "Collective name" in one]
            bare = [one for one in got if one is None]
            wrong = [one for one in comm if one.get("step") != 3 or one.get("Rank") != RANK or one.get("Group size") != RANKS or one.get("stream", 0) < 60]
            ok = not bare and not wrong and (comm or not got)
            if not ok:
                failed.append(title)
            if RANK == 0 or not ok:
                what = comm[0] if comm else {}
                print(f"{'ok  ' if ok else 'FAIL'} {backend} {title}: {len(got)} records of {len(ids)} nodes: {what.get('Collective name')}, "
                      f"In {what.get('In msg nelems')}, lane {what.get('stream')}" + ("" if ok else f"; {got[:2]}"), flush=True)  # fmt: skip
        computed = [one for one in annotations.values() if one == {"name": "compute"}]
        if len(computed) != 5 + len(made):
            failed.append(f"compute: {len(computed)}")

    if not REHEARSAL:  # gloo writes nothing
        failed += against_kineto(made, gat, torch)
    print(f"SUMMARY collectives, rank {RANK} of {RANKS}: {len(made)} calls; {'failed: ' + ', '.join(failed) if failed else 'all right'}", flush=True)
    store.add("done", 1)
    while store.add("done", 0) < RANKS:
        time.sleep(0.05)
    # Without the end of the process group, which waits for graphs that hold its communicators.
    os._exit(1 if failed else 0)


def against_kineto(made, gat, torch):
    """The same calls, eager under the profiler, with what graphtag would have said of each; returns the titles of those that differ."""
    said = {}
    now = [None]
    gat._collectives._is_captured = lambda: True
    scope = gat._collectives._scope

    def spy(group, annotation):
        said.setdefault(now[0], []).append(annotation)
        return scope(group, annotation)

    gat._collectives._scope = spy
    activities = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    with torch.profiler.profile(activities=activities) as profiler:
        for title, function in made.items():
            now[0] = title
            with torch.profiler.record_function(f"title {title}"):
                function()
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        events = json.loads(Path(path).read_text(encoding="utf-8"))["traceEvents"]
    titles = [event for event in events if str(event.get("name", "")).startswith("title ") and event.get("cat") == "user_annotation"]
    failed = []
    for title in titles:
        name, begin, end = title["name"][6:], title["ts"], title["ts"] + title["dur"]
        inside = [event for event in events if begin <= event.get("ts", -1) <= end and event.get("name") == "record_param_comms"]
        theirs = [event["args"] for event in inside if event["args"].get("Collective name") not in (None, "wait", "init")]
        wrong = []
        names = {one.get("Collective name") for one in theirs}
        for ours in said.get(name, []):
            if ours["Collective name"] in ("coalesced", "batch_op_issue") and names == {"send", "recv"}:
                continue  # one kernel, of which Kineto writes the parts
            match = next((one for one in theirs if one.get("Collective name") == ours["Collective name"]), None)
            if match is None:
                wrong.append(f"Collective name: {ours['Collective name']!r}, not among {[one.get('Collective name') for one in theirs]}")
                continue
            same = [key for key in KEYS if key in match and key in ours and not differs(key, ours, match)]
            wrong += [f"{key}: {ours[key]!r}, not {match[key]!r}" for key in same if plain(ours[key]) != plain(match[key])]
            wrong += [f"{key} is missing" for key in KEYS if key in match and key not in ours and key not in ("Src Rank", "Dst Rank")]
        if theirs or wrong:
            print(f"{'FAIL' if wrong else 'ok  '} as Kineto, {name}: {'; '.join(wrong) or theirs[0].get('Collective name')}", flush=True)
        else:
            print(f"     nothing was written of {name}", flush=True)
        if wrong:
            failed.append(f"as Kineto: {name}")
    return failed


def differs(key, ours, theirs):
    """Where Kineto writes something else: the root's or the peer's number as "Rank"; no ranks where NCCL was told of none, as in a named group of one."""
    return (key == "Rank" and ours.keys() & {"Src Rank", "Dst Rank"}) or (key == "Process Group Ranks" and plain(theirs[key]) == "[]")


def plain(value):
    return str(value).lower().replace(" ", "").replace('"', "")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--ranks", type=int, default=1)
    arguments.add_argument("--rehearse", action="store_true")
    asked_for = arguments.parse_args()
    if "GRAPHTAG_TEST_STORE" not in os.environ:
        return spawn(asked_for.ranks)
    run()
    return 2


if __name__ == "__main__":
    sys.exit(main())
