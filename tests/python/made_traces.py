"""Small traces made by hand, for tests of the command."""
import json


def kernel(start_us, end_us, *, name="k", stream=7, node=None, graph=0, launch=1, device=0, category="kernel", **args):
    """One GPU record, as Kineto writes it; `node` is the local id in the exec graph `graph`."""
    ids = {"graph id": graph, "graph node id": graph << 32 | node} if graph else {}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": device,
        "tid": stream,
        "ts": start_us,
        "dur": end_us - start_us,
        "args": {"device": device, "stream": stream, "correlation": launch, **ids, **args},
    }


def write_trace(path, events, **members):
    path.write_text(json.dumps({"schemaVersion": 1, **members, "traceEvents": events}))
    return path


def worked_example(folder):
    """Example E of docs/report.md: (trace, annotations). Times in microseconds; L is the parent of q, o, mlp and ar."""
    q, o, mlp, ar, direct = range(1, 6)
    events = [
        kernel(0, 20, node=q, graph=2, launch=1),
        kernel(20, 40, node=o, graph=2, launch=1),
        kernel(30, 50, stream=8, node=mlp, graph=2, launch=1),
        kernel(45, 70, stream=9, node=ar, graph=2, launch=1, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
        kernel(70, 74, category="gpu_memcpy", name="Memcpy HtoD (Pinned -> Device)", launch=2, bytes=48000),
        kernel(80, 100, node=q, graph=2, launch=3),
        kernel(110, 120, node=direct, graph=2, launch=3),
    ]
    names = {q: "L.q", o: "L.o", mlp: "L.mlp", ar: "L.ar", direct: "L"}
    annotations = folder / "e.annotations.json"
    annotations.write_text(json.dumps({str(2 << 32 | node): [{"name": name, "kind_of": "demo"}] for node, name in names.items()}))
    return write_trace(folder / "e.json", events), annotations
