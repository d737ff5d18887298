#!/usr/bin/env python3
"""The plain Python way to name a trace's kernels: the rival of bench/annotate.

usage: python_join.py TRACE.json[.gz] ANNOTATIONS.pkl OUT.json[.gz]

Loads the whole trace, adds the annotation of each graphed kernel, memcpy and memset to its args as strings (as PyTorch's exporter does), writes it
again, and prints how many events there were, how many in graphs, how many named.
"""
import gzip
import json
import pickle
import sys

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}


def open_text(path, mode):
    return gzip.open(path, mode) if path.endswith(".gz") else open(path, mode)


def join(trace_path, annotations_path, out_path):
    with open(annotations_path, "rb") as f:
        annotations = pickle.load(f)
    with open_text(trace_path, "rt") as f:
        trace = json.load(f)
    graphed = named = 0
    for event in trace["traceEvents"]:
        node_id = event.get("args", {}).get("graph node id", 0)
        if event.get("cat") not in WORK or not node_id:
            continue
        graphed += 1
        for annotation in annotations.get(node_id, []):
            named += 1
            event["args"].update({str(k): str(v) for k, v in annotation.items() if k != "stream"})
    with open_text(out_path, "wt") as f:
        json.dump(trace, f)
    print(f"events {len(trace['traceEvents'])} graphed {graphed} named {named}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    join(*sys.argv[1:4])
