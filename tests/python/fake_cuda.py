"""A false CUDA for this process: libcuda and CUPTI of tests/fake, which graphtag finds as it would the real ones, and torch.cuda's graph
classes on top of it. Import it before torch and before graphtag."""
import contextlib
import ctypes
import itertools
import os
import shutil
import sys
from pathlib import Path

SOURCE_DIR = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GRAPHTAG_BUILD", SOURCE_DIR / "build/release"))
PACKAGE_DIR = BUILD / "python"


def _put_package_on_path():
    """The sources beside the built module, as in a wheel."""
    assert list(PACKAGE_DIR.glob("graphtag/_ext*.so")), f"no graphtag._ext in {PACKAGE_DIR}: build with -DGRAPHTAG_PYTHON=ON, or run ./dev test"
    shutil.copytree(SOURCE_DIR / "python/graphtag", PACKAGE_DIR / "graphtag", dirs_exist_ok=True)
    shutil.copytree(SOURCE_DIR / "include", PACKAGE_DIR / "graphtag/include", dirs_exist_ok=True)
    sys.path.insert(0, str(PACKAGE_DIR))


_put_package_on_path()


class Record(ctypes.Structure):
    _fields_ = [("node_id", ctypes.c_uint64), ("tag", ctypes.c_uint64), ("type", ctypes.c_int32)]


def _load():
    for name in ("fake/libcuda.so.1", "fake/libcupti.so.fake"):
        ctypes.CDLL(str(BUILD / name))
    library = ctypes.CDLL(str(BUILD / "libgraphtag_fake_python.so"))
    pointer, number = ctypes.c_void_p, ctypes.c_int
    signatures = {
        "stream_create": (pointer, []),
        "begin_capture": (number, [pointer]),
        "begin_capture_to_graph": (number, [pointer, pointer]),
        "end_capture": (pointer, [pointer]),
        "is_capturing": (number, [pointer]),
        "launch": (pointer, [pointer, number, ctypes.c_uint64]),
        "launch_child": (pointer, [pointer, pointer]),
        "launch_conditional": (pointer, [pointer]),
        "join": (number, [pointer, pointer]),
        "graph_create": (pointer, []),
        "destroy_graph": (number, [pointer]),
        "instantiate": (pointer, [pointer]),
        "destroy_exec": (number, [pointer]),
        "replay": (ctypes.c_size_t, [pointer, ctypes.POINTER(Record), ctypes.c_size_t]),
        "take_subscription": (number, []),
        "release_subscription": (number, []),
        "has_subscriber": (number, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"gtfake_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()
KERNEL, MEMCPY, MEMSET, HOST, CHILD, EMPTY, EVENT_WAIT, EVENT_RECORD = range(8)
BATCH_MEMORY = 12


def call(name, *arguments):
    """gtfake_NAME(*arguments)"""
    return getattr(_library, f"gtfake_{name}")(*arguments)


class Stream:
    """Stands in for torch.cuda.Stream."""

    def __init__(self, *_, device=0, handle=None, **__):
        self.device = ("cuda", device)  # torch.device as far as anybody asks
        self.cuda_stream = call("stream_create") if handle is None else handle

    def wait_stream(self, other):
        assert call("join", other.cuda_stream, self.cuda_stream)


_current = [Stream()]
_tags = itertools.count(1)


def current_stream(*_):
    return _current[-1]


@contextlib.contextmanager
def stream(other):
    """torch.cuda.stream: None changes nothing."""
    _current.append(other if other is not None else _current[-1])
    try:
        yield
    finally:
        _current.pop()


def launch(kind=KERNEL, on=None):
    """A node on the current stream; returns its tag, by which replay() tells it."""
    tag = next(_tags)
    assert call("launch", (on or current_stream()).cuda_stream, kind, tag), "the launch was refused"
    return tag


class CUDAGraph:
    """Stands in for torch.cuda.CUDAGraph (2.11): captures, instantiates and replays on the false CUDA."""

    def __init__(self, keep_graph=False):
        self._keep = keep_graph
        self._template = self._exec = None

    def capture_begin(self, pool=None, capture_error_mode="global", **_):
        self._stream = current_stream()
        if not call("begin_capture", self._stream.cuda_stream):
            raise RuntimeError("operation not permitted when stream is capturing")

    def capture_end(self):
        self._template = call("end_capture", self._stream.cuda_stream)
        if not self._template:
            raise RuntimeError("CUDA error: capture was invalidated")
        if not self._keep:
            self._instantiate()
            call("destroy_graph", self._template)
            self._template = None

    def _instantiate(self):
        if self._exec:
            call("destroy_exec", self._exec)
        self._exec = call("instantiate", self._template)
        assert self._exec

    def instantiate(self):
        self._instantiate()

    def replay(self):
        if not self._exec:
            self._instantiate()
        return self.records()

    def records(self):
        """{tag: node id} of one replay."""
        count = call("replay", self._exec, None, 0)
        records = (Record * count)()
        call("replay", self._exec, records, count)
        return {record.tag: record.node_id for record in records}

    def reset(self):
        if self._exec:
            call("destroy_exec", self._exec)
        if self._template:
            call("destroy_graph", self._template)
        self._template = self._exec = None

    def __del__(self):
        CUDAGraph.reset(self)

    def pool(self):
        return (0, 1)

    def raw_cuda_graph(self):
        if not self._keep or not self._template:
            raise RuntimeError("the graph was not kept")
        return self._template

    def raw_cuda_graph_exec(self):
        if not self._exec:
            raise RuntimeError("not instantiated")
        return self._exec


def put_into(torch, patch):
    """Lets torch.cuda's Python work on the false CUDA; `patch` is pytest's monkeypatch."""
    patch.setattr(torch.cuda, "CUDAGraph", CUDAGraph)
    patch.setattr(torch.cuda, "Stream", Stream)
    patch.setattr(torch.cuda, "stream", stream)
    patch.setattr(torch.cuda, "current_stream", current_stream)
    patch.setattr(torch.cuda, "synchronize", lambda *_: None)
    patch.setattr(torch.cuda, "empty_cache", lambda: None)
    patch.setattr(torch.cuda, "is_current_stream_capturing", lambda: bool(call("is_capturing", current_stream().cuda_stream)))
    patch.setattr(torch._C, "_host_emptyCache", lambda: None, raising=False)
