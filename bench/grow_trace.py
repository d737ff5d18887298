#!/usr/bin/env python3
"""Make a trace of any size out of a recorded one, by repeating its events with later times and new correlation ids.

usage: grow_trace.py TRACE.json.gz OUT.json[.gz] TIMES

Streams its output, so that the memory it needs does not grow with TIMES. decode_60 has 41 280 kernels; 12 times that is about half a million
kernels and 600 MB of JSON.
"""
import gzip
import json
import sys

TIMED = ("X", "s", "f", "i")


def shifted(event, n, span_us, ids):
    """The n-th copy of `event`: later by n spans, with correlation ids of its own."""
    event = {**event, "ts": round(event["ts"] + n * span_us, 3)}
    if "id" in event:
        event["id"] += n * ids
    if "correlation" in event.get("args", {}):
        event["args"] = {**event["args"], "correlation": event["args"]["correlation"] + n * ids}
    return event


def grow(source, target, times):
    with gzip.open(source, "rt") as f:
        trace = json.load(f)
    events = trace.pop("traceEvents")
    timed = [e for e in events if e.get("ph") in TIMED]
    first_us = min(e["ts"] for e in timed)
    span_us = max(e["ts"] + e.get("dur", 0) for e in timed) - first_us + 100.0
    ids = max((e.get("args", {}).get("correlation", 0) or 0) for e in timed) + 1
    # Level 1: the time to make it counts too.
    with gzip.open(target, "wt", compresslevel=1) if target.endswith(".gz") else open(target, "w") as f:
        f.write("{" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in trace.items() if key != "traceName"))
        f.write(',\n"traceEvents": [\n')
        f.write(",\n".join(json.dumps(e, indent=2) for e in events if e.get("ph") not in TIMED))
        for n in range(times):
            for event in timed:
                f.write(",\n" + json.dumps(shifted(event, n, span_us, ids), indent=2))
        f.write("\n]}\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    grow(sys.argv[1], sys.argv[2], int(sys.argv[3]))
