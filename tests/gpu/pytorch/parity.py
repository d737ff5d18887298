"""Scopes, graphs' lives and failures of graphtag.torch on a GPU, against CUPTI's own records. Each scope's kernels have a size of their own.

usage: parity.py [--rehearse] [CHECK ...]
"""
import ctypes
import pickle
import sys

from harness import BACKENDS, capture, check, expect, gat, graphtag, has_subscriber, kernels, main, named, replayed, torch


def work(k, count=1):
    kernels().work(k, count)


# --- scopes


@check(backends=BACKENDS)
def only_work_inside_a_scope_is_named(backend):
    def body():
        work(0)
        with gat.mark_kernels("a"):
            work(1, 3)
        work(0)
        with gat.mark_kernels({"name": "b", "bs": 8}):
            work(2)
        with gat.mark_kernels("empty"):
            pass
        work(0)

    expect(capture(body, backend=backend), {("add 1", 0): None, ("add 1", 1): {"name": "a"}, ("add 1", 2): {"name": "b", "bs": 8}})


@check(backends=BACKENDS)
def the_first_node_may_be_in_a_scope(backend):
    def body():
        with gat.mark_kernels("a"):
            work(1)
        work(0)

    expect(capture(body, backend=backend), {("add 1", 1): {"name": "a"}, ("add 1", 0): None})


@check(backends=BACKENDS)
def inner_scopes_win_and_outer_ones_come_through_and_back(backend):
    def body():
        with gat.mark_kernels({"name": "outer", "layer": 1, "kind": "x"}):
            work(0)
            with gat.mark_kernels({"name": "inner", "kind": "y"}):
                work(1)
            work(2)
        with gat.mark_kernels("all"), gat.mark_kernels({"same": True}):
            work(3)

    outer = {"name": "outer", "layer": 1, "kind": "x"}
    expect(capture(body, backend=backend), {
        ("add 1", 0): outer, ("add 1", 1): {"name": "inner", "layer": 1, "kind": "y"}, ("add 1", 2): outer,
        ("add 1", 3): {"name": "all", "same": True},
    })  # fmt: skip


@check(backends=BACKENDS)
def branches_and_streams(backend):
    """An earlier branch is not claimed; other streams' work is, joined in the scope or after it; a scope may open before its stream captures."""
    side, late = torch.cuda.Stream(), torch.cuda.Stream()

    def body():
        main_stream = torch.cuda.current_stream()
        side.wait_stream(main_stream)
        with torch.cuda.stream(side):
            work(0)
        with gat.mark_kernels("a"):
            work(1)
            with torch.cuda.stream(side):
                work(2)
        with gat.mark_kernels("b"), torch.cuda.stream(late):
            late.wait_stream(main_stream)
            work(3)
        with torch.cuda.stream(side):
            work(4)
        main_stream.wait_stream(side)
        main_stream.wait_stream(late)
        work(5)

    expect(capture(body, backend=backend), {("add 1", 0): None, ("add 1", 1): {"name": "a"}, ("add 1", 2): {"name": "a"}, ("add 1", 3): {"name": "b"},
                   ("add 1", 4): None, ("add 1", 5): None})  # fmt: skip


@check(backends=BACKENDS)
def a_marked_stream_gets_a_lane_in_a_copy(backend):
    side, annotation = torch.cuda.Stream(), {"name": "side", "bs": 4}

    def body():
        work(0)
        side.wait_stream(torch.cuda.current_stream())
        with gat.mark_stream(side, annotation):
            work(1)
        torch.cuda.current_stream().wait_stream(side)
        with gat.mark_stream(torch.cuda.current_stream(), annotation):
            work(2)

    lane = gat._marks.lane_of_stream(side)
    expect(capture(body, backend=backend), {("add 1", 0): None, ("add 1", 1): {"name": "side", "bs": 4, "stream": lane},
                                            ("add 1", 2): {"name": "side", "bs": 4}})  # fmt: skip
    assert annotation == {"name": "side", "bs": 4} and lane >= 60


@check
def both_backends_give_the_same_ids_and_dicts():
    def body():
        x = kernels().x[3].detach().requires_grad_()
        with gat.mark_kernels({"name": "a", "layer": 3}):
            work(1)
            y = x.sin()
        work(0)
        with gat.mark_kernels("around"):
            y.backward(kernels().x[3])
        del y, x

    def view(backend):
        graph = capture(body, backend=backend)
        kernels_of_it = replayed(graph)
        return [(record.local_id, graphtag.resolve(record.node_id).annotation) for record in kernels_of_it]

    callbacks, boundary = view("cupti"), view("edge_walk")
    assert callbacks == boundary, [pair for pair in zip(callbacks, boundary) if pair[0] != pair[1]][:3]


@check
def nothing_is_recorded_unless_asked():
    before = dict(gat.get_kernel_annotations())
    with gat.mark_kernels("outside"):
        work(0)
    expect(capture(lambda: gat.mark_kernels("off")(work)(1), enable=False), {("add 1", 1): None})
    assert dict(gat.get_kernel_annotations()) == before


@check(backends=BACKENDS)
def a_recorded_capture_without_scopes(backend):
    graph = capture(lambda: work(1), backend=backend)
    expect(graph, {("add 1", 1): None})
    origins = {graphtag.resolve(record.node_id).origin for record in replayed(graph)}
    assert origins == {"outside-scope"}, origins

    def body():
        work(0)
        gat.mark_kernels("a")(work)(1)
        work(2)

    origins = [graphtag.resolve(record.node_id).origin for record in replayed(capture(body, backend=backend))]
    named_how = {"callback"} if backend == "cupti" else {"boundary", "boundary-approximate"}
    assert origins[0] == origins[2] == "outside-scope" and origins[1] in named_how, origins


@check
def enabling_again_keeps_what_was_recorded():
    first = capture(lambda: gat.mark_kernels("first")(work)(1))
    second = capture(lambda: gat.mark_kernels("second")(work)(2))
    expect(first, {("add 1", 1): {"name": "first"}})
    expect(second, {("add 1", 2): {"name": "second"}})


# --- nodes of every kind, child graphs, bodies (by CUDA's own functions)


class Cuda:
    """Functions of libcuda that PyTorch has no Python for; each raises what CUDA refuses."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        def call(*arguments):
            status = getattr(self.library, name)(*arguments)
            assert status == 0, f"{name}: CUresult {status}"

        return call

    @staticmethod
    def stream():
        return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def capture_info(self):
        """(graph, dependencies, their count) of the capture on the current stream."""
        status, number, graph, dependencies, count = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        self.cuStreamGetCaptureInfo_v2(self.stream(), ctypes.byref(status), ctypes.byref(number), ctypes.byref(graph), ctypes.byref(dependencies),
                                       ctypes.byref(count))  # fmt: skip
        return graph, dependencies, count

    def continue_after(self, node):
        """The current stream's next node depends on this one."""
        self.cuStreamUpdateCaptureDependencies(self.stream(), ctypes.byref(node), ctypes.c_size_t(1), ctypes.c_uint(1))


@check(backends=BACKENDS, device_only=True)
def every_kind_of_node(backend):
    cuda, cupti = Cuda(), ctypes.CDLL(__import__("records").mapped_library("libcupti.so"))
    source, target = torch.ones(5000, device="cuda"), torch.empty(5000, device="cuda")
    event, other = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuEventCreate(ctypes.byref(event), 2)
    cuda.cuEventCreate(ctypes.byref(other), 2)
    host = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    refused = []

    def body():
        with gat.mark_kernels("all"):
            work(1)
            target.copy_(source)
            pointer = ctypes.c_uint64(target.data_ptr())
            for name, arguments in {
                "cuMemsetD8Async": (pointer, ctypes.c_ubyte(1), ctypes.c_size_t(64), cuda.stream()),
                "cuLaunchHostFunc": (cuda.stream(), host, None),
                "cuEventRecordWithFlags": (event, cuda.stream(), 1),
                "cuStreamWaitEvent": (cuda.stream(), other, 1),
                "cuStreamWriteValue32_v2": (cuda.stream(), pointer, 7, 0),
            }.items():
                try:
                    getattr(cuda, name)(*arguments)
                except AssertionError as error:
                    refused.append(str(error))
        work(0)

    graph = capture(body, backend=backend, keep_graph=True)
    template, count = ctypes.c_void_p(graph.raw_cuda_graph()), ctypes.c_size_t()
    cuda.cuGraphGetNodes(template, None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    cuda.cuGraphGetNodes(template, nodes, ctypes.byref(count))
    kinds = {}
    for node in nodes:
        kind, node_id = ctypes.c_int(), ctypes.c_uint64()
        cuda.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind))
        assert cupti.cuptiGetGraphNodeId(ctypes.c_void_p(node), ctypes.byref(node_id)) == 0
        kinds.setdefault(kind.value, []).append((graphtag.resolve(node_id.value).annotation or {}).get("name"))
    assert sorted(kinds.pop(0), key=str) == [None, "all"] or refused, kinds
    assert all(name == "all" for names in kinds.values() for name in names), kinds
    wanted = {1, 2, 3, 6, 7} if not refused else set()  # memcpy, memset, host, wait, record; 12: batch memory operations
    assert wanted <= set(kinds), kinds
    return f"node types {sorted(kinds)}" + (f"; refused by CUDA: {refused}" if refused else "")


@check(device_only=True)
def a_scope_around_a_child_graph():
    cuda = Cuda()

    def inner():
        with gat.mark_kernels({"name": "inside", "step": 1}):
            work(1)
        work(2)

    child = capture(inner, keep_graph=True, backend="cupti")

    def body():
        work(0)
        with gat.mark_kernels("around"):
            graph, dependencies, count = cuda.capture_info()
            node = ctypes.c_void_p()
            cuda.cuGraphAddChildGraphNode(ctypes.byref(node), graph, dependencies, count, ctypes.c_void_p(child.raw_cuda_graph()))
            cuda.continue_after(node)
        work(3)

    expect(capture(body, backend="cupti"), {("add 1", 0): None, ("add 1", 1): {"name": "inside", "step": 1}, ("add 1", 2): {"name": "around"},
                                            ("add 1", 3): None})  # fmt: skip


class _Conditional(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_uint64), ("kind", ctypes.c_int), ("size", ctypes.c_uint), ("bodies", ctypes.POINTER(ctypes.c_void_p)),
                ("context", ctypes.c_void_p)]  # fmt: skip


class _NodeParams(ctypes.Structure):
    class _Union(ctypes.Union):
        _fields_ = [("conditional", _Conditional), ("bytes", ctypes.c_char * 232)]

    _fields_ = [("type", ctypes.c_int), ("reserved", ctypes.c_int * 3), ("of", _Union), ("reserved2", ctypes.c_longlong)]


@check(device_only=True)
def a_scope_inside_a_conditional_body():
    cuda = Cuda()
    assert ctypes.sizeof(_NodeParams) == 256
    inside = torch.cuda.Stream()

    def body():
        work(0)
        with gat.mark_kernels({"name": "if", "layer": 2}):
            graph, dependencies, count = cuda.capture_info()
            context, handle = ctypes.c_void_p(), ctypes.c_uint64()
            cuda.cuCtxGetCurrent(ctypes.byref(context))
            cuda.cuGraphConditionalHandleCreate(ctypes.byref(handle), graph, context, ctypes.c_uint(1), ctypes.c_uint(1))
            parameters, node = _NodeParams(type=13), ctypes.c_void_p()
            parameters.of.conditional = _Conditional(handle.value, 0, 1, None, context)
            cuda.cuGraphAddNode(ctypes.byref(node), graph, dependencies, count, ctypes.byref(parameters))
            inner = ctypes.c_void_p(parameters.of.conditional.bodies[0])
            with torch.cuda.stream(inside):
                cuda.cuStreamBeginCaptureToGraph(cuda.stream(), inner, None, None, ctypes.c_size_t(0), 2)
                with gat.mark_kernels("body"):
                    work(1)
                work(2)
                cuda.cuStreamEndCapture(cuda.stream(), ctypes.byref(inner))
            cuda.continue_after(node)
        work(3)

    expect(capture(body, backend="cupti"), {("add 1", 0): None, ("add 1", 1): {"name": "body", "layer": 2}, ("add 1", 2): {"name": "if", "layer": 2},
                                            ("add 1", 3): None})  # fmt: skip


# --- graphs' lives


@check(backends=BACKENDS)
def deferred_and_repeated_instantiation(backend):
    """Records of the first instantiation stay named after the second."""
    graph = capture(lambda: gat.mark_kernels("a")(work)(1), keep_graph=True, backend=backend)
    template = {node_id >> 32 for node_id in gat.get_kernel_annotations()}
    expect(graph, {("add 1", 1): {"name": "a"}})
    first = replayed(graph)
    graph.instantiate()
    expect(graph, {("add 1", 1): {"name": "a"}})
    second = replayed(graph)
    assert first[0].exec_id != second[0].exec_id and first[0].exec_id not in template
    assert graphtag.resolve(first[0].node_id).annotation == {"name": "a"}
    view = {node_id >> 32 for node_id in gat.get_kernel_annotations()}
    assert second[0].exec_id in view and first[0].exec_id not in view, "the view has the instantiation that lives alone"


@check
def graphs_interleave_without_mixing():
    graphs = [capture(lambda k=k: gat.mark_kernels(f"g{k}")(work)(k)) for k in range(4)]
    found = named(graphs[0], graphs[1], graphs[0], graphs[3], graphs[2], graphs[0])
    assert [(k, got["name"]) for _, k, got in found] == [(k, f"g{k}") for k in (0, 1, 0, 3, 2, 0)], found


@check
def graphs_in_one_pool():
    first = capture(lambda: gat.mark_kernels("a")(work)(1))
    second = capture(lambda: gat.mark_kernels("b")(work)(2), pool=first.pool())
    expect(first, {("add 1", 1): {"name": "a"}})
    expect(second, {("add 1", 2): {"name": "b"}})


@check
def captures_on_a_side_stream():
    graph = capture(lambda: gat.mark_kernels("side")(work)(1), stream=torch.cuda.Stream())
    expect(graph, {("add 1", 1): {"name": "side"}})


@check
def reset_and_death_drop_their_own_entries_alone():
    kept, gone, dying = (capture(lambda name=name: gat.mark_kernels(name)(work)(1)) for name in ("kept", "gone", "dying"))
    late = replayed(gone)

    def alive():
        return {value[0]["name"] for value in gat.get_kernel_annotations().values()} & {"kept", "gone", "dying"}

    assert alive() == {"kept", "gone", "dying"}
    gone.reset()
    assert alive() == {"kept", "dying"}
    del dying
    assert alive() == {"kept"}
    assert graphtag.resolve(late[0].node_id).annotation == {"name": "gone"}, "a record may come late"
    with gat.graph(gone, enable_annotations=True):
        gat.mark_kernels("again")(work)(2)
    expect(gone, {("add 1", 2): {"name": "again"}})
    expect(kept, {("add 1", 1): {"name": "kept"}})
    assert graphtag.resolve(0xFFFFFFF0 << 32).annotation is None


@check
def the_view_is_what_profilers_write():
    graph = capture(lambda: gat.mark_kernels({"name": "a", "n": [1, 2]})(work)(1, 3))
    view = gat.get_kernel_annotations()
    ids = {record.node_id for record in replayed(graph)}
    assert ids <= set(view) and all(view[node_id] == [{"name": "a", "n": [1, 2]}] for node_id in ids)
    assert pickle.loads(pickle.dumps(view)) == dict(view)
    by_source = capture(lambda: gat.mark_kernels("s")(work)(1), config={"key_by": "source"})
    [record] = replayed(by_source)
    assert record.node_id not in view and [{"name": "s"}] in view.values()
    del graph, by_source


@check
def launch_stacks_name_the_program():
    def launches_here():
        work(1)

    graph = capture(launches_here, config={"record_py_stacks": True})
    stacks = gat.get_kernel_py_stacks()
    [record] = replayed(graph)
    lines = stacks[record.node_id].splitlines()
    assert any(line.endswith(":launches_here") for line in lines), lines
    assert not any("site-packages/torch/" in line for line in lines), lines


# --- failures


def clean():
    assert not graphtag._ext.active(), "a window stayed open"
    assert not has_subscriber(), "a subscription stayed"
    expect(capture(lambda: gat.mark_kernels("after")(work)(1)), {("add 1", 1): {"name": "after"}})


@check(backends=BACKENDS)
def captures_that_fail_leave_nothing(backend):
    before = dict(gat.get_kernel_annotations())

    def unjoined():
        side = torch.cuda.Stream()
        with gat.mark_kernels("lost"):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                work(1)

    def raises():
        with gat.mark_kernels("lost"):
            work(1)
            raise KeyError("the program's own")

    def forbidden():
        with gat.mark_kernels("lost"):
            work(1)
            torch.cuda.synchronize()
            raise RuntimeError("as in the rehearsal, where nothing is forbidden")

    for body, error in ((unjoined, RuntimeError), (raises, KeyError), (forbidden, RuntimeError)):
        graph = torch.cuda.CUDAGraph()
        try:
            capture(body, graph=graph, backend=backend)
        except error:
            pass
        else:
            raise AssertionError(f"{body.__name__} did not fail")
        assert dict(gat.get_kernel_annotations()) == before, body.__name__
        clean()


@check
def a_backward_that_raises_leaks_nothing():
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value.sin()

        @staticmethod
        def backward(context, gradient):
            with gat.mark_kernels("within"):
                gradient.cos()
                raise KeyError("in backward")

    def body():
        x = kernels().x[1].detach().requires_grad_()
        with gat.mark_kernels("a"):
            y = Raises.apply(x)
        y.backward(kernels().x[1])

    for _ in range(2):
        try:
            capture(body)
        except KeyError:
            pass
        else:
            raise AssertionError("it did not raise")
        clean()


@check
def outside_captures_the_subscription_is_free():
    graph = capture(lambda: gat.mark_kernels("a")(work)(1), backend="cupti")
    assert not has_subscriber()
    graph.replay()
    assert not has_subscriber()


@check
def options_that_do_not_exist_are_refused():
    for config, words in (({"backend": "magic"}, "edge_walk"), ({"key_of": "exec"}, "key_by"), ({"key_by": 3}, "source")):
        try:
            gat.graph(torch.cuda.CUDAGraph(), enable_annotations=True, annotation_config=config)
        except ValueError as error:
            assert words in str(error)
        else:
            raise AssertionError(config)
    assert gat.is_available() and graphtag.available() is None


if __name__ == "__main__":
    sys.exit(main("scopes and lives", kernels))
