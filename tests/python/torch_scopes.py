"""Scopes for the tests of backward work: graphtag's library over a fake CUDA, and a mode that says what is open as each operator runs.

The fakes are loaded before torch, which maps the real libcupti: graphtag binds to the first one that is mapped. With $GRAPHTAG_LIBRARY, the path
of a libgraphtag.so, that one is loaded, and no fake.
"""
import ctypes
import importlib
import json
import os
import sys
import types
from pathlib import Path

SOURCE_DIR = Path(__file__).resolve().parents[2]
BUILD_DIR = SOURCE_DIR / "build/release"


def load():
    """libgraphtag, bound to the fake CUDA and CUPTI unless another was asked for."""
    asked_for = os.environ.get("GRAPHTAG_LIBRARY")
    if asked_for:
        return ctypes.CDLL(asked_for)
    if "torch" in sys.modules:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        assert "libcupti.so.fake" in mapped, "torch was imported before the fake CUPTI: run these tests in a process of their own"
    for name in ("fake/libcuda.so.1", "fake/libcupti.so.fake"):
        ctypes.CDLL(str(BUILD_DIR / name))
    return ctypes.CDLL(str(BUILD_DIR / "libgraphtag.so.0"))


gt = load()
gt.gt_last_error.restype = ctypes.c_char_p
gt.gt_scope_close.argtypes = [ctypes.c_uint64]
gt.gt_window_close.argtypes = [ctypes.c_uint64]


def module(name):
    """graphtag.torch.NAME under a name of its own, without the package around it, which needs its extension."""
    package = types.ModuleType("backward_under_test")
    package.__path__ = [str(SOURCE_DIR / "python/graphtag/torch")]
    sys.modules.setdefault(package.__name__, package)
    return importlib.import_module(f"{package.__name__}.{name}")


backward = module("_backward")
backward_build = module("_backward_build")
backward_hooks = module("_backward_hooks")

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402


def check(status):
    assert status == 0, f"status {status}: {gt.gt_last_error().decode()}"


class Window:
    """An observation window; without callbacks from CUPTI unless they are asked for."""

    class _Options(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("observer", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                    ("streams", ctypes.c_void_p), ("stream_count", ctypes.c_size_t)]  # fmt: skip

    def __init__(self, callbacks=False):
        self.observer = 1 if callbacks else 2  # GT_OBSERVER_CALLBACKS, GT_OBSERVER_BOUNDARY

    def __enter__(self):
        options = self._Options(ctypes.sizeof(self._Options), self.observer, 0, None, 0)
        self.handle = ctypes.c_uint64()
        check(gt.gt_window_open(ctypes.byref(options), ctypes.byref(self.handle)))
        return self

    def __exit__(self, *error):
        check(gt.gt_window_close(self.handle.value))


def annotation(keys):
    text = json.dumps({"name": keys} if isinstance(keys, str) else keys).encode()
    handle = ctypes.c_uint64()
    check(gt.gt_annotation_from_json(text, ctypes.c_size_t(len(text)), ctypes.byref(handle)))
    return handle.value


def current():
    """What a node made now on this thread would get from it: a dict, or None."""
    handle = ctypes.c_uint64()
    check(gt.gt_scope_current(ctypes.byref(handle)))
    return keys_of(handle.value)


def current_path():
    """The names of the scopes open on this thread, outermost first."""
    handle = ctypes.c_uint64()
    check(gt.gt_scope_current(ctypes.byref(handle)))
    return (keys_of(handle.value, flags=1) or {}).get("graphtag.path", [])  # GT_JSON_PATH


def keys_of(handle, flags=0):
    """The annotation with this handle as a dict; None for 0."""
    if not handle:
        return None
    handle, length = ctypes.c_uint64(handle), ctypes.c_size_t()
    check(gt.gt_annotation_json(handle, flags, None, ctypes.c_size_t(0), ctypes.byref(length)))
    buffer = ctypes.create_string_buffer(length.value + 1)
    check(gt.gt_annotation_json(handle, flags, buffer, ctypes.c_size_t(len(buffer)), ctypes.byref(length)))
    return json.loads(buffer.value)


class _Resolution(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("annotation", ctypes.c_uint64), ("origin", ctypes.c_uint32)]


def resolve(node_id):
    """What a record with this node id is to be called: a dict, or None."""
    found = _Resolution(ctypes.sizeof(_Resolution), 0, 0)
    check(gt.gt_resolve(ctypes.c_uint64(node_id), ctypes.c_int64(2**63 - 1), ctypes.byref(found)))
    return keys_of(found.annotation)


class Scope:
    """As mark_kernels does it."""

    def __init__(self, keys, backward=True):
        self.keys, self.backward = keys, backward

    def __enter__(self):
        self.handle = ctypes.c_uint64()
        check(gt.gt_scope_open(ctypes.c_uint64(annotation(self.keys)), ctypes.byref(self.handle)))
        self.token = backward.freeze(0) if self.backward else None
        return self

    def __exit__(self, *error):
        assert backward.thaw(self.token)
        check(gt.gt_scope_close(self.handle.value))


class Operators(TorchDispatchMode):
    """Within it `rows` gets (operator, shape of its first result, what is open) for each operator that runs."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def __torch_dispatch__(self, function, kinds, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        first = result[0] if isinstance(result, (tuple, list)) else result
        shape = tuple(first.shape) if isinstance(first, torch.Tensor) else None
        self.rows.append((function.__name__.partition(".")[0], shape, current()))
        return result

    def of(self, name, shape=None):
        """What was open for each run of the operator `name` (with this shape)."""
        return [opened for operator, its, opened in self.rows if operator == name and shape in (None, its)]


class Probe(torch.autograd.Function):
    """The identity; its backward notes what is open, under `key`."""

    @staticmethod
    def forward(context, value, key, seen):
        context.key, context.seen = key, seen
        return value.view_as(value)

    @staticmethod
    def backward(context, gradient):
        context.seen.append((context.key, current()))
        return gradient, None, None


def in_backward(keys):
    """`keys` as they are expected on backward work."""
    return {**({"name": keys} if isinstance(keys, str) else keys), "autograd_phase": "backward"}
