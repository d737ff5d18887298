"""Runs unchanged programs under `graphtag run` on a GPU and looks at what was recorded.

usage: check.py torch|profiler|jax|raw|million|cost|kill

GRAPHTAG  the command, libgraphtag_inject.so beside it       PROGRAMS  the folder of raw_program and libminimal_client.so
PYTHON    with torch and jax (this one)                      KILLS     moments to kill at (100)        TURNS     of the cost (5)
"""
import collections
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from pftrace import Trace, compare

HERE = Path(__file__).resolve().parent
GRAPHTAG = os.environ["GRAPHTAG"]
PROGRAMS = Path(os.environ["PROGRAMS"])
PYTHON = os.environ.get("PYTHON", sys.executable)


def say(*words):
    print(*words, flush=True)


def run(folder, *command, options=(), env=None, check=True):
    """`graphtag run`: the finished process, with its `traces`."""
    given = [GRAPHTAG, "run", "-o", folder, *options, "--", *command]
    done = subprocess.run(list(map(str, given)), capture_output=True, text=True, timeout=400, env={**os.environ, **(env or {})}, check=False)
    say(done.stderr.strip())
    if check and done.returncode != 0:
        say(done.stdout[-2000:])
        raise SystemExit(f"{command} ended with {done.returncode}")
    done.traces = sorted(Path(folder).glob("*.pftrace"))
    return done


def check_program(*command, kernel_name="inject_probe"):
    with tempfile.TemporaryDirectory() as folder:
        truth_file = Path(folder) / "truth.json"
        traces = [Trace(path) for path in run(folder, *command, truth_file).traces]
        truth = json.loads(truth_file.read_text())
        # What a compiler process of the program did is in files of its own.
        trace = max(traces, key=lambda one: len(one.kernels))
        ok = compare(trace, truth, kernel_name, say)
        graphed = [kernel for kernel in trace.kernels if kernel.args.get("graph node id")]
        named = sum(kernel.region() is not None for kernel in graphed)
        unexplained = collections.Counter(kernel.args.get("graphtag.origin") for kernel in graphed if kernel.region() is None)
        say(f"all kernels in graphs: {len(graphed)}, with a name {named}; without: {dict(unexplained)}")
        counts = trace.ended()
        lost = {key: counts.get(key) for key in ("dropped_by_cupti", "records_lost", "buffers_kept", "bad_times", "ranges_dropped")}
        say("counts:", lost)
        return ok and not any(lost[key] for key in ("dropped_by_cupti", "records_lost", "buffers_kept"))


def check_torch():
    return check_program(PYTHON, HERE / "torch_program.py")


def check_profiler():
    """Recording ends where the program starts torch.profiler, which sees the GPU as if it were alone; without the guard it is refused."""
    ok = True
    for options in ([], ["--no-guard"]):
        with tempfile.TemporaryDirectory() as folder:
            truth_file = Path(folder) / "truth.json"
            done = run(folder, PYTHON, HERE / "torch_profiler_program.py", truth_file, options=options, check=not options)
            if options:
                # What PyTorch makes of a refusal is its own; ours is to go on.
                profiled = json.loads(truth_file.read_text())["profiled"] if truth_file.exists() else None
                say(f"{options}: the program ended with {done.returncode}; torch.profiler saw {profiled}")
                ok = ok and "its own profiler went on" not in done.stderr
                continue
            trace, truth = max(map(Trace, done.traces), key=lambda one: len(one.kernels)), json.loads(truth_file.read_text())
            counts = trace.ended()
            say("ended:", counts["state"], {key: counts[key] for key in ("dropped_by_cupti", "records_lost", "buffers_kept", "bad_times")})
            say("torch.profiler saw:", truth["profiled"])
            ok = compare(trace, truth["before"], "inject_probe", say) and ok
            ok = ok and counts["state"] == "other-profiler" and not any(counts[key] for key in ("dropped_by_cupti", "records_lost", "buffers_kept", "bad_times"))
            ok = ok and "its own profiler went on" in done.stderr and done.returncode == 0
            for one in truth["profiled"]:
                ok = ok and one["launched"] == one["events"] == one["exported"] and not one["events_without_time"] and not one["exported_without_time"]
    return ok


def check_raw():
    return check_program(PROGRAMS / "raw_program")


def check_jax():
    with tempfile.TemporaryDirectory() as folder:
        truth_file = Path(folder) / "truth.json"
        done = run(folder, PYTHON, HERE / "jax_program.py", truth_file, env={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
        trace = max(map(Trace, done.traces), key=lambda one: len(one.kernels))
        graphed = [kernel for kernel in trace.kernels if kernel.args.get("graph node id")]
        named = sum(kernel.region() is not None for kernel in graphed)
        launches = collections.Counter((kernel.args["graph id"], kernel.args["correlation"]) for kernel in graphed)
        sizes = collections.defaultdict(set)
        for (graph, _), count in launches.items():
            sizes[graph].add(count)
        say(f"{len(trace.kernels)} kernels, {len(graphed)} in {len(sizes)} graphs launched {len(launches)} times; named {named}")
        say("kernels a launch, by graph:", {graph: sorted(found) for graph, found in sizes.items()})
        say("regions:", collections.Counter(kernel.region() for kernel in graphed).most_common(5))
        say("NVTX ranges drawn:", sum(one.category == "nvtx" for one in trace.slices))
        counts = trace.ended()
        say("dropped:", counts["dropped_by_cupti"], "lost:", counts["records_lost"])
        # Each launch of a graph has all of its kernels.
        return len(graphed) > 0 and all(len(found) == 1 for found in sizes.values()) and not counts["dropped_by_cupti"]


def check_million():
    """As many kernel records as were launched, a million in the first; with tiny buffers each is there or counted."""
    ok = True
    for seconds, options in (("1.7", []), ("0.2", ["--no-api"]), ("0.2", ["--buffers", "2x64K"])):
        with tempfile.TemporaryDirectory() as folder:
            done = run(folder, PROGRAMS / "raw_program", "--loop", "700", seconds, options=options)
            launched = json.loads(done.stdout)["launches"] * 700
            trace = Trace(done.traces[0], light=True)
            recorded, counts = trace.counts["kernel"], trace.ended()
            dropped, named = counts["dropped_by_cupti"], counts["graph_named"]
            say(f"{options}: launched {launched}, recorded {recorded}, dropped {dropped}, named {named}, file {done.traces[0].stat().st_size >> 20} MiB")
            ok = ok and counts["kernels"] == recorded and (recorded == launched if not dropped else recorded < launched <= recorded + dropped)
    return ok


def cost_of(way, folder):
    loop = [PYTHON, HERE / "torch_loop.py", 700, 600]
    env = dict(os.environ)
    if way == "graphtag run":
        loop = [GRAPHTAG, "run", "-q", "-o", folder, "--", *loop]
    elif way == "torch.profiler":
        loop.append(Path(folder) / "trace.json")
    elif way == "minimal client":
        env["CUDA_INJECTION64_PATH"] = str(PROGRAMS / "libminimal_client.so")
    begin = time.monotonic()
    done = subprocess.run(list(map(str, loop)), capture_output=True, text=True, timeout=300, env=env, check=True)
    return {**json.loads(done.stdout.splitlines()[-1]), "whole_s": time.monotonic() - begin}


def check_cost():
    """Each way in processes of its own, in turns. Under CUPTI a whole process may run a third slower than the next, with a client that does nothing as
    well, so the best of each way are compared; the medians are shown beside. The whole program ends when its trace is there: one profiler pays for it in the
    loop, another behind it."""
    ways = ["bare", "graphtag run", "minimal client", "torch.profiler"]
    found = collections.defaultdict(list)
    for turn in range(int(os.environ.get("TURNS", "5"))):
        for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
            with tempfile.TemporaryDirectory() as folder:
                found[way].append(cost_of(way, folder))
    times = {way: [one["ns_a_launch"] / 1000 for one in found[way]] for way in ways}
    best = {way: min(times[way]) for way in ways}
    peak = {way: statistics.median(one["peak_kib"] for one in found[way]) / 1024 for way in ways}
    whole = {way: min(one["whole_s"] for one in found[way]) for way in ways}
    for way in ways:
        say(f"{way:22} {best[way]:9.1f} us a launch of 700 nodes at best, {statistics.median(times[way]):9.1f} in the middle, {best[way] / best['bare']:5.2f} x bare, "
            f"{best[way] / best['minimal client']:5.2f} x the minimal client, memory {peak[way] - peak['bare']:+7.1f} MiB; "
            f"{whole[way]:6.2f} s the whole program, {whole[way] - whole['bare']:+6.2f} s")
    say({way: [round(one) for one in sorted(times[way])] for way in ways})
    is_below_profiler = best["graphtag run"] < best["torch.profiler"] and whole["graphtag run"] < whole["torch.profiler"]
    return is_below_profiler and best["graphtag run"] <= 1.1 * best["minimal client"] and peak["graphtag run"] - peak["bare"] <= 64


def kill_once(number):
    """(problem or None, ns between the last launch that was finished and the last record)."""
    nodes, moment = 50, random.Random(number).uniform(0.2, 3.5)
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "progress"
        command = [GRAPHTAG, "run", "-o", folder, "--", PROGRAMS / "raw_program", "--loop", nodes, "60", "2000", progress]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not progress.exists() or not progress.read_text().strip():
            if process.poll() is not None:
                return f"it ended by itself: {process.stderr.read()[-500:]}", 0
            time.sleep(0.01)
        time.sleep(moment)
        _, finished_ns, pid = map(int, progress.read_text().split())
        os.kill(pid, signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
        if process.returncode != 137:
            return f"exit code {process.returncode}", 0
        traces = list(Path(folder).glob("*.pftrace"))
        if len(traces) != 1:
            return f"traces {traces}", 0
        trace = Trace(traces[0])
        if not trace.kernels:
            return (None if moment < 1.3 else f"nothing after {moment:.2f} s: {stderr[-300:]}"), 0
        launches = collections.Counter(kernel.args["correlation"] for kernel in trace.kernels)
        partial = sum(count != nodes for count in launches.values())
        behind = finished_ns - max(kernel.end for kernel in trace.kernels)
        # Records are written in the order in which they were finished, so at most one launch is there in part.
        if partial > 1 or any(kernel.region() is None for kernel in trace.kernels):
            return f"{partial} launches in part, {len(launches)} in all", behind
        # The period of writing, and what the machine takes to get to it.
        return (f"the last {behind / 1e9:.2f} s are missing" if behind > 1_250_000_000 else None), behind


def check_kill():
    count = int(os.environ.get("KILLS", "100"))
    with ProcessPoolExecutor(14) as pool:
        results = list(pool.map(kill_once, range(count)))
    problems = [problem for problem, _ in results if problem]
    behind = sorted(ns for _, ns in results)
    say(f"{count} kills: {len(problems)} with a problem; missing at the end: median {behind[count // 2] / 1e9:.2f} s, most {behind[-1] / 1e9:.2f} s")
    for problem in problems[:10]:
        say("  " + problem)
    return not problems


def main():
    name = sys.argv[1]
    ok = globals()[f"check_{name}"]()
    say(f"inject {name}: {'right' if ok else 'WRONG'}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
