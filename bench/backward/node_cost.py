"""What naming backward work costs a node: a chain of one-element additions, run backward on the CPU.

    python bench/backward/node_cost.py [nodes]

CPU time of the thread: the best of many passes, and what it is more than the first row. The rows are measured in turn, in one run.
"""
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))
from torch_scopes import Scope, Window, backward, torch  # noqa: E402

_ROUNDS = 40
_PASSES = 5


def chain(nodes, scopes):
    value = torch.ones(1, requires_grad=True)
    for _ in range(scopes):
        with Scope("region"):
            for _ in range(nodes // scopes):
                value = value + 1
    return value


def best_ns(value, nodes):
    times = []
    for _ in range(_PASSES):
        begin = time.thread_time_ns()  # of this thread, which runs the whole backward
        value.backward(retain_graph=True)
        times.append(time.thread_time_ns() - begin)
    return min(times) / nodes


def main():
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    assert backward.enable() == "callback"
    rows = {"nothing remembered": [], "remembered, no window open": [], "remembered, window open": []}
    bare, closed, marked = rows.values()
    for _ in range(_ROUNDS):
        before = backward.counters()["nodes_matched"]
        with Window():
            value = chain(nodes, 10)
            marked.append(best_ns(value, nodes))
        assert backward.counters()["nodes_matched"] - before == _PASSES * nodes
        closed.append(best_ns(value, nodes))
        backward.forget()
        bare.append(best_ns(value, nodes))
    print(f"{nodes} nodes in 10 regions, PyTorch {torch.__version__}; ns a node, best of {_ROUNDS * _PASSES}")
    for name, times in rows.items():
        print(f"  {name:28} {min(times):7.0f}  {min(times) - min(bare):+6.0f}")


if __name__ == "__main__":
    main()
