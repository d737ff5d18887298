"""install(every_capture=True): captures that do not ask for annotations record, and scopes that began before them name their work."""
import gc
import os

import fake_cuda
import pytest

import graphtag
import graphtag.torch as gat
import torch
import torch._dynamo  # noqa: F401 - before the false CUDA: an older one looks at torch.cuda.Stream


@pytest.fixture(autouse=True)
def false_cuda(monkeypatch):
    fake_cuda.put_into(torch, monkeypatch)
    monkeypatch.setattr(gat._capture.graph, "default_capture_stream", None)
    gat.install(every_capture=True)
    yield
    gat.uninstall()
    assert not graphtag._ext.active(), "a window stayed open"
    graphtag.forget()


class Compiled:
    """A function as torch.compile(mode="reduce-overhead") makes it: eager at its first call, captured at its second, and replayed from then on."""

    def __init__(self, work):
        self.work, self.calls, self.graph = work, 0, None

    def __call__(self, *_):
        self.calls += 1
        if self.calls == 2:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=fake_cuda.Stream(), capture_error_mode="thread_local"):
                self.work()
            assert not fake_cuda.call("has_subscriber"), "a profiler may come now"
        return self.names() if self.graph else None

    def names(self):
        view = gat.get_kernel_annotations()
        return [view[node_id][0] if node_id in view else None for node_id in sorted(self.graph.replay().values())]


@pytest.mark.parametrize("held", [False, True])
def test_scopes_around_the_call_that_captures_name_it(held):
    """With callbacks, and where a profiler holds CUPTI's subscription."""

    def work():
        fake_cuda.launch()
        with gat.mark_kernels("own"):
            fake_cuda.launch()
        fake_cuda.launch()

    assert not held or fake_cuda.call("take_subscription")
    try:
        compiled, outside = Compiled(work), Compiled(fake_cuda.launch)
        for _ in range(3):
            with gat.mark_kernels({"name": "around", "step": 1}), graphtag.scope("inner"):
                named = compiled()
            unnamed = outside()
    finally:
        assert not held or fake_cuda.call("release_subscription")
    assert named == [{"name": "inner", "step": 1}, {"name": "own", "step": 1}, {"name": "inner", "step": 1}]
    assert unnamed == [None]
    assert graphtag.resolve(min(compiled.graph.replay().values())).path == ("around", "inner")


def test_modules_name_the_graphs_of_compiled_code_within_them():
    net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())
    compiled = [Compiled(fake_cuda.launch) for _ in net]
    for module, function in zip(net, compiled):
        module.forward = lambda x, function=function: (function(), x)[1]
    with gat.annotate_modules(net, prefix="m"):
        for _ in range(2):
            net(torch.ones(1))
    assert [function.names() for function in compiled] == [[{"name": "m.0"}], [{"name": "m.1"}]]


def test_backward_that_is_captured_later_is_its_forwards():
    """The forward ran eagerly within the scope; the backward is captured by the call outside of it."""

    class Node(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            compiled()
            compiled()
            return gradient

    compiled = Compiled(fake_cuda.launch)
    x = torch.ones(1, requires_grad=True)
    with gat.mark_kernels("forward"):
        y = Node.apply(x)
    y.backward()
    assert compiled.names() == [{"name": "forward", "autograd_phase": "backward"}]


def test_regions_name_captured_and_eager_work_of_one_call():
    compiled = Compiled(fake_cuda.launch)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(2):
            with gat.region("both"):
                named = compiled()
    assert named == [{"name": "both"}]
    assert [event.name for event in profiler.events() if not event.name.startswith("aten::")] == ["both", "both"]
    # In a capture the scope alone names: there is no eager work.
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=fake_cuda.Stream()), gat.region("captured"):
            fake_cuda.launch()
    assert "captured" not in [event.name for event in profiler.events()]


def test_the_view_is_read_anew_only_when_something_has_changed(monkeypatch):
    compiled = Compiled(fake_cuda.launch)
    with gat.mark_kernels("a"):
        compiled()
        compiled()
    readings = []
    read = gat._registry._read
    monkeypatch.setattr(gat._registry, "_read", lambda: readings.append(1) or read())
    assert len(gat.get_kernel_annotations()) == len(gat.get_kernel_annotations()) == 1
    assert len(readings) <= 1


def test_scopes_are_kept_until_it_is_over():
    with gat.mark_kernels("a"):
        gat.install(every_capture=True)
        assert graphtag._ext.scope_current(), "a second install() ends no scope"
        gat.install()
        assert not graphtag._ext.active()
    gat.install(every_capture=True)
    assert graphtag._ext.active()


def test_where_nothing_can_be_recorded_no_scopes_are_kept(monkeypatch):
    gat.uninstall()
    monkeypatch.setattr(gat._kept_scopes, "available", lambda: "unavailable: no libcuda")
    gat.install(every_capture=True)
    assert not graphtag._ext.active()


def test_a_child_of_fork_keeps_scopes_of_its_own():
    def in_child():
        compiled = Compiled(fake_cuda.launch)
        with gat.mark_kernels("child"):
            compiled()
            return compiled() == [{"name": "child"}]

    with gat.mark_kernels("of the parent"):
        pid = os.fork()
        if pid == 0:
            code = 2
            try:
                code = 0 if in_child() else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    gat.uninstall()
    pid = os.fork()
    if pid == 0:
        os._exit(1 if graphtag._ext.active() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "nothing is kept where nothing was"


# --- captures without torch.cuda.graph


def begin_and_end(graph, work):
    with torch.cuda.stream(fake_cuda.Stream()):
        graph.capture_begin()
        work()
        graph.capture_end()


def test_captures_by_hand_are_recorded_too():
    graph = torch.cuda.CUDAGraph()
    with gat.mark_kernels("by hand"):
        begin_and_end(graph, fake_cuda.launch)
    assert not fake_cuda.call("has_subscriber")
    view = gat.get_kernel_annotations()
    assert [view[node_id] for node_id in graph.replay().values()] == [[{"name": "by hand"}]]
    graph.reset()
    assert not gat.get_kernel_annotations()


def test_a_graph_class_that_was_imported_before_is_recorded_too():
    graph = torch.cuda.CUDAGraph()
    with gat._capture.torch_graph(graph, stream=fake_cuda.Stream()), gat.mark_kernels("a"):
        fake_cuda.launch()
    assert list(gat.get_kernel_annotations().values()) == [[{"name": "a"}]]


def test_each_capture_is_recorded_once():
    opened = graphtag._ext.counters()["windows_opened"]
    with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=fake_cuda.Stream()):
        fake_cuda.launch()
    begin_and_end(torch.cuda.CUDAGraph(), fake_cuda.launch)
    assert graphtag._ext.counters()["windows_opened"] == opened + 2


def test_a_capture_by_hand_that_fails_leaves_nothing():
    graph, side = torch.cuda.CUDAGraph(), fake_cuda.Stream()

    def fork():
        side.wait_stream(torch.cuda.current_stream())
        with gat.mark_kernels("lost"):
            fake_cuda.launch(on=side)

    with pytest.raises(RuntimeError, match="invalidated"):
        begin_and_end(graph, fork)
    assert not gat.get_kernel_annotations() and not fake_cuda.call("has_subscriber")
    stream = fake_cuda.Stream()
    assert fake_cuda.call("begin_capture", stream.cuda_stream)
    with pytest.raises(RuntimeError, match="capturing"), torch.cuda.stream(stream):
        torch.cuda.CUDAGraph().capture_begin()
    assert not fake_cuda.call("has_subscriber")
    fake_cuda.call("end_capture", stream.cuda_stream)


def test_a_capture_that_is_never_ended_keeps_no_window_open():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(fake_cuda.Stream()) as _:
        graph.capture_begin()
        assert fake_cuda.call("has_subscriber")
        fake_cuda.call("end_capture", torch.cuda.current_stream().cuda_stream)
        del graph
        gc.collect()
    assert not fake_cuda.call("has_subscriber")


def test_without_every_capture_captures_by_hand_are_left_alone():
    gat.install()
    with gat.mark_kernels("a"):
        begin_and_end(torch.cuda.CUDAGraph(), fake_cuda.launch)
    assert not gat.get_kernel_annotations()
    gat.uninstall()
    assert "capture_begin" in fake_cuda.CUDAGraph.__dict__ and not hasattr(fake_cuda.CUDAGraph.capture_begin, "__wrapped__")
