"""A PyTorch program that knows nothing of graphtag: it captures a graph, replays it, and runs torch.profiler around more replays, twice. Each kernel of its
own has a grid that nothing else has. TRUTH (a path) becomes

    {"before": grid -> {"region", "graph", "launches"} until the profiler starts, "profiled": [{"launched", "events", "events_without_time", "exported",
    "exported_without_time"} a profile]}

usage: torch_profiler_program.py TRUTH
"""
import json
import os
import sys
import tempfile

import torch
from torch.cuda import nvtx

NAME, KERNELS, BEFORE, PROFILED = "inject_probe", 40, 50, 20
SOURCE = f'extern "C" __global__ void {NAME}(float* x) {{ if (threadIdx.x == 0 && blockIdx.x == 0) x[0] += 1.0f; }}'
PROBE = torch.cuda._compile_kernel(SOURCE, NAME)
X = torch.zeros(8, device="cuda")


def probe(grid):
    PROBE(grid=(grid, 1, 1), block=(32, 1, 1), args=(X,))


def capture(first_grid):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        nvtx.range_push("decode")
        for i in range(KERNELS):
            nvtx.range_push(f"layers.{i}")
            probe(first_grid + i)
            nvtx.range_pop()
        nvtx.range_pop()
    return graph


def profile(graph):
    """Replays and eager kernels under torch.profiler, and what it saw of them."""
    from torch.profiler import ProfilerActivity

    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(PROFILED):
            graph.replay()
            probe(10)
        torch.cuda.synchronize()
    events = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA and NAME in event.name]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path) as file:
            exported = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "kernel" and NAME in event["name"]]
    return {"launched": PROFILED * (KERNELS + 1), "events": len(events), "events_without_time": sum(event.device_time <= 0 for event in events),
            "exported": len(exported), "exported_without_time": sum(event["dur"] <= 0 for event in exported)}


def main():
    probe(1)
    graph = capture(1000)
    nvtx.range_push("serve")  # open while the profiler starts, too
    for _ in range(BEFORE):
        graph.replay()
    torch.cuda.synchronize()
    before = {1000 + i: {"region": f"decode.layers.{i}", "graph": True, "launches": BEFORE} for i in range(KERNELS)}
    before[1] = {"region": None, "graph": False, "launches": 1}
    profiled = [profile(graph)]
    nvtx.range_pop()
    # The program goes on as if nothing had been.
    later = capture(2000)
    later.replay()
    torch.cuda.synchronize()
    profiled.append(profile(later))
    with open(sys.argv[1], "w") as file:
        json.dump({"before": before, "profiled": profiled}, file)


main()
