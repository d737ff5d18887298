"""What an empty `with graphtag.scope("a")` costs beside `with contextlib.nullcontext("a")`, off and recording: the best of many short, interleaved runs."""
import contextlib
import timeit

import graphtag

ROUNDS, NUMBER = 400, 2000


def scope():
    with graphtag.scope("a"):
        pass


def null():
    with contextlib.nullcontext("a"):
        pass


def best():
    seconds = {scope: float("inf"), null: float("inf")}
    for _ in range(ROUNDS):
        for function in seconds:
            seconds[function] = min(seconds[function], timeit.timeit(function, number=NUMBER) / NUMBER)
    return seconds[scope] * 1e9, seconds[null] * 1e9


def report(state, limit):
    ours, theirs = best()
    print(f"{state:10} scope {ours:6.1f} ns   nullcontext {theirs:6.1f} ns   ratio {ours / theirs:.2f} (at most {limit})")


report("off", 0.6)
if graphtag.available() is None:
    with graphtag.window():
        report("recording", 2.0)
else:
    print(f"recording  not measured: {graphtag.available()}")
