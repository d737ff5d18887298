"""A decode-like loop: a graph of NODES kernels, launched LAUNCHES times, after a warm-up. Prints one JSON line: ns a launch, and the most memory that the
process had. With TRACE under torch.profiler, whose trace is written there.

usage: torch_loop.py NODES LAUNCHES [TRACE]
"""
import contextlib
import json
import sys
import time

import torch
from torch.cuda import nvtx

nodes, launches = int(sys.argv[1]), int(sys.argv[2])
x = torch.zeros(256, device="cuda")
graph = torch.cuda.CUDAGraph()
torch.add(x, 1, out=x)
with torch.cuda.graph(graph):
    nvtx.range_push("decode")
    for i in range(nodes):
        nvtx.range_push(f"layers.{i // 10}")
        torch.add(x, 1, out=x)
        nvtx.range_pop()
    nvtx.range_pop()


def run(times):
    for _ in range(times):
        nvtx.range_push("step")
        graph.replay()
        nvtx.range_pop()
        torch.cuda.synchronize()


profiler = None
if len(sys.argv) > 3:
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    profiler = torch.profiler.profile(activities=activities)
run(20)
with profiler or contextlib.nullcontext():
    run(20)
    begin = time.perf_counter_ns()
    run(launches)
    taken = time.perf_counter_ns() - begin
if profiler:
    profiler.export_chrome_trace(sys.argv[3])
high = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"ns_a_launch": taken / launches, "peak_kib": high, "sum": float(x[0])}))
