"""What ran on the GPU, by CUPTI's own records: a small library (records.cpp), compiled here, through ctypes. For tests: it is no part of graphtag."""
import ctypes
import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

KERNEL, MEMCPY, MEMSET = range(3)


class Record(NamedTuple):
    """A kernel, copy or set that ran; node_id is 0 outside graphs."""

    node_id: int
    kind: int
    name: str
    grid: tuple
    start_ns: int
    end_ns: int
    stream: int
    bytes: int

    @property
    def exec_id(self):
        return self.node_id >> 32

    @property
    def local_id(self):
        return self.node_id & 0xFFFFFFFF


class _Row(ctypes.Structure):
    _fields_ = [("node_id", ctypes.c_uint64), ("start_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
                ("kind", ctypes.c_uint32), ("correlation", ctypes.c_uint32), ("stream", ctypes.c_uint32), ("grid", ctypes.c_uint32 * 3),
                ("name", ctypes.c_char * 400)]  # fmt: skip


def mapped_library(part):
    """The path of the first library mapped into this process whose file name begins with `part`."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        path = line.partition("/")[2]
        if Path(path).name.startswith(part):
            return "/" + path
    raise FileNotFoundError(f"no {part} is mapped into this process")


def _include_dirs(cupti):
    """Where cupti.h may be: beside the libcupti in use, and in the toolkit."""
    cuda = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    candidates = [Path(cupti).parents[1] / "include", cuda / "include", cuda / "extras/CUPTI/include"]
    return [f"-I{folder}" for folder in candidates if folder.is_dir()]


def build(folder):
    """Compiles records.cpp against the headers of this process's libcupti; returns the library's path."""
    library = Path(folder) / "librecords.so"
    compiler = os.environ.get("CXX", "g++")
    subprocess.run([compiler, "-std=c++17", "-O1", "-fPIC", "-shared", *_include_dirs(mapped_library("libcupti.so")),
                    str(Path(__file__).with_name("records.cpp")), "-o", str(library)], check=True)  # fmt: skip
    return library


class Recorder:
    """Records everything from start() on."""

    def __init__(self):
        import torch

        torch.cuda.init()
        self._synchronize = torch.cuda.synchronize
        # Its symbols for the library: the copy that is there already.
        self._cupti = ctypes.CDLL(mapped_library("libcupti.so"), mode=ctypes.RTLD_GLOBAL)
        with tempfile.TemporaryDirectory() as folder:
            self._library = ctypes.CDLL(str(build(folder)))
        self._library.records_take.restype = ctypes.c_size_t
        self._library.records_take.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._library.records_dropped.restype = ctypes.c_uint64

    def _call(self, name):
        status = getattr(self._library, name)()
        assert status == 0, f"{name}: CUptiResult {status}"

    def start(self):
        self._call("records_start")

    def stop(self):
        self._call("records_stop")

    def take(self):
        """What has run since the last call, by time. Recording begins anew: with CUPTI 13.3 the end of another client's subscription, such as a
        window's, has ended it for who has none."""
        self._synchronize()
        self._call("records_flush")
        count = self._library.records_take(None, 0)
        rows = (_Row * count)()
        self._library.records_take(rows, count)
        assert self._library.records_dropped() == 0, "CUPTI dropped records"
        self.stop()
        self.start()
        found = [Record(row.node_id, row.kind, row.name.decode(errors="replace"), tuple(row.grid), row.start_ns, row.end_ns, row.stream, row.bytes)
                 for row in rows]  # fmt: skip
        return sorted(found, key=lambda record: record.start_ns)
