#!/usr/bin/env python3
"""Kineto beside graphtag, in two processes.

after:   capture under a window, close it, then torch.profiler: it must get every kernel record, each resolved.
before:  torch.profiler first, so that it holds CUPTI's subscription; then a capture: scopes are still recorded (boundary).

usage: kineto_after.py PATH/libgraphtag.so [after|before]
Ends with 0 if both hold, 1 if not, 77 (skipped) where there is no torch or no GPU.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

KERNELS = 40
REPLAYS = 5
BOUNDARY = 2  # GT_OBSERVER_BOUNDARY


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("observer", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("streams", ctypes.POINTER(ctypes.c_void_p)), ("stream_count", ctypes.c_size_t)]


class Resolution(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("annotation", ctypes.c_uint64), ("origin", ctypes.c_uint32)]


class Graphtag:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.gt_last_error.restype = ctypes.c_char_p
        self.lib.gt_status_name.restype = ctypes.c_char_p
        self.lib.gt_window_close.argtypes = [ctypes.c_uint64]
        self.lib.gt_window_observer.argtypes = [ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint32)]
        self.lib.gt_resolve.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.POINTER(Resolution)]
        self.lib.gt_exec_id.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32)]
        self.lib.gt_link_exec.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.lib.gt_scope_begin_name.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.lib.gt_annotation_json.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t,
                                                ctypes.POINTER(ctypes.c_size_t)]

    def check(self, status, what):
        if status != 0:
            sys.exit(f"{what}: {self.lib.gt_status_name(status).decode()}: {self.lib.gt_last_error().decode()}")

    def open_window(self, stream):
        streams = (ctypes.c_void_p * 1)(stream)
        options = Options(ctypes.sizeof(Options), 0, 0, streams, 1)
        window = ctypes.c_uint64()
        self.check(self.lib.gt_window_open(ctypes.byref(options), ctypes.byref(window)), "gt_window_open")
        return window.value

    def name_of(self, node_id):
        found = Resolution(ctypes.sizeof(Resolution), 0, 0)
        self.check(self.lib.gt_resolve(node_id, 2**63 - 1, ctypes.byref(found)), "gt_resolve")
        if found.annotation == 0:
            return None
        text, length = ctypes.create_string_buffer(4096), ctypes.c_size_t()
        self.check(self.lib.gt_annotation_json(found.annotation, 0, text, 4096, ctypes.byref(length)), "gt_annotation_json")
        return json.loads(text.value).get("name")


def profiled(torch, work):
    """The kernel events of a profile of `work`."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        work()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return [event for event in events if event.get("cat") == "kernel"]


def main(path, order):
    try:
        import torch
    except ImportError:
        print("kineto_after: skipped: no torch")
        return 77
    if not torch.cuda.is_available():
        print("kineto_after: skipped: no GPU")
        return 77
    x = torch.ones(1024, device="cuda")
    x.add_(1)
    if order == "before":
        profiled(torch, lambda: x.add_(1))
    gt = Graphtag(path)
    stream = torch.cuda.Stream()
    window = gt.open_window(stream.cuda_stream)
    observer = ctypes.c_uint32()
    gt.check(gt.lib.gt_window_observer(window, ctypes.byref(observer)), "gt_window_observer")
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph, stream=stream):
        for i in range(KERNELS):
            name = f"part.{i // 10}".encode()
            gt.check(gt.lib.gt_scope_begin_name(name, len(name)), "gt_scope_begin_name")
            x.add_(i)
            gt.check(gt.lib.gt_scope_end(), "gt_scope_end")
    graph.instantiate()
    if observer.value == BOUNDARY:
        gt.check(gt.lib.gt_link_exec(graph.raw_cuda_graph_exec(), graph.raw_cuda_graph()), "gt_link_exec")
    gt.check(gt.lib.gt_window_close(window), "gt_window_close")

    kernels = profiled(torch, lambda: [graph.replay() for _ in range(REPLAYS)])
    # Kineto of torch 2.11 writes no node ids, so the names are asked for by the ids that CUPTI gives: exec id << 32 | local id.
    exec_id = ctypes.c_uint32()
    gt.check(gt.lib.gt_exec_id(graph.raw_cuda_graph_exec(), ctypes.byref(exec_id)), "gt_exec_id")
    names = [gt.name_of(exec_id.value << 32 | local) for local in range(KERNELS)]
    right = sum(names[i] == f"part.{i // 10}" for i in range(KERNELS))
    in_trace = [event["args"]["graph node id"] for event in kernels if event["args"].get("graph node id")]
    wrong = sum(gt.name_of(node_id) is None for node_id in in_trace)
    print(f"{order}: observer {observer.value}, {len(kernels)} kernel records of {KERNELS * REPLAYS}, {right} of {KERNELS} nodes named right; "
          f"{len(in_trace)} records with a node id, {wrong} of them unnamed")
    if order == "before" and observer.value != BOUNDARY:
        print("before: the subscription was free although the profiler ran first")
    return 0 if len(kernels) == KERNELS * REPLAYS and right == KERNELS and wrong == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        sys.exit(main(sys.argv[1], sys.argv[2]))
    codes = [subprocess.run([sys.executable, __file__, sys.argv[1], order], check=False).returncode for order in ("after", "before")]
    sys.exit(next((code for code in codes if code not in (0, 77)), max(codes)))
