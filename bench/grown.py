#!/usr/bin/env python3
"""The trace that benchmarks read: decode_60 (41 280 kernels of an H200), grown; made once and kept in build/bench.

usage: grown.py TIMES ENDING        prints the path; ENDING is .json or .json.gz
"""
import sys
from pathlib import Path

import grow_trace

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "build/bench"
GOLDEN = ROOT / "tests/golden/h200"
ANNOTATIONS = GOLDEN / "decode_60.annotations.pkl"
KERNELS = 41_280  # of decode_60


def grown(times, ending):
    """The path of decode_60 repeated `times` times."""
    DATA.mkdir(parents=True, exist_ok=True)
    path = DATA / f"decode_60x{times}{ending}"
    if not path.exists():
        part = path.with_name("part-" + path.name)
        grow_trace.grow(str(GOLDEN / "decode_60.json.gz"), str(part), times)
        part.rename(path)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(grown(int(sys.argv[1]), sys.argv[2]))
