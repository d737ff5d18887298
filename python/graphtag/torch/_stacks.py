"""Python launch stacks: where in the program each captured node was launched."""
from __future__ import annotations

import gzip
import json
import os
import sysconfig
import threading
from typing import Iterator, Mapping

from .. import _ext
from . import _lifetime

_lock = threading.Lock()
_recordings = 0
# Graph id -> folders whose frames are left out; None: frameworks and generated code.
_filters: dict[int, tuple[str, ...] | None] = {}
_filter_now: tuple[str, ...] | None = None


def _framework_folders() -> tuple[str, ...]:
    import torch

    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    generated = os.environ.get("TORCHINDUCTOR_CACHE_DIR", os.path.join("/tmp", f"torchinductor_{os.environ.get('USER', 'root')}"))
    folders = [os.path.dirname(os.path.abspath(torch.__file__)), here, sysconfig.get_paths()["stdlib"], generated]
    return tuple(folders)


def begin(filter_paths: tuple[str, ...] | None) -> None:
    """Stacks are recorded from here on. Relative folders are taken from here."""
    global _recordings, _filter_now
    with _lock:
        _filter_now = None if filter_paths is None else tuple(os.path.abspath(path) for path in filter_paths)
        _recordings += 1
        _ext.record_stacks(True)


def end() -> None:
    global _recordings
    with _lock:
        _recordings -= 1
        if _recordings == 0:
            _ext.record_stacks(False)


def note_graph(graph_id: int) -> None:
    """The capture into this graph leaves out the folders that begin() was given."""
    _filters[graph_id] = _filter_now


def _forget(graph_id: int) -> None:
    _filters.pop(graph_id, None)
    _ext.forget_stacks(graph_id)


_lifetime.when_forgotten(_forget)


def _is_in(filename: str, folders: tuple[str, ...]) -> bool:
    return any(filename == folder or filename.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def _text(frames: list[tuple[str, int, str]], folders: tuple[str, ...]) -> str:
    keep = [frame for frame in frames if not frame[0].startswith("<frozen") and not _is_in(os.path.abspath(frame[0]), folders)]
    return "\n".join(f"{name}:{line}:{function}" for name, line, function in keep)


class _StacksView(Mapping[int, str]):
    """Node id -> lines "file:line:function", innermost first: live, read-only."""

    def copy(self) -> dict[int, str]:
        stacks: dict[int, str] = {}
        default = _framework_folders()
        texts: dict[tuple[int, int], str] = {}
        for graph_id, folders in list(_filters.items()):
            keys = _lifetime.ids_of(graph_id)
            for local_id, stack_id in _ext.stacks_of(graph_id):
                if (graph_id, stack_id) not in texts:
                    texts[graph_id, stack_id] = _text(_ext.stack_frames(stack_id), default if folders is None else folders)
                for upper in keys:
                    stacks[upper << 32 | local_id] = texts[graph_id, stack_id]
        return stacks

    def __getitem__(self, node_id: int) -> str:
        return self.copy()[node_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self.copy())

    def __len__(self) -> int:
        return len(self.copy())

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reduce__(self) -> tuple[type[dict[int, str]], tuple[dict[int, str]]]:
        return dict, (self.copy(),)


_view = _StacksView()


def get_kernel_py_stacks() -> Mapping[int, str]:
    """Node id -> the Python frames that launched the node, as lines "file:line:function", innermost first; frames of frameworks and
    generated code are left out, or those of annotation_config["py_stack_filter_paths"]. Recorded with annotation_config
    {"record_py_stacks": True}. A live, read-only view; dict(...) of it, or a pickle, is a copy."""
    return _view


def dump_kernel_py_stacks(path: str | os.PathLike[str]) -> None:
    """Writes get_kernel_py_stacks() as gzip-compressed JSON, node ids as decimal strings."""
    with gzip.open(os.fspath(path), "wt", encoding="utf-8") as file:
        json.dump({str(node_id): stack for node_id, stack in _view.copy().items()}, file)
