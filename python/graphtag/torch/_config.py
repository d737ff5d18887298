"""annotation_config of torch.cuda.graph."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

# What a user may ask for -> the observer of a window.
_BACKENDS = {"auto": "auto", "cupti": "callbacks", "edge_walk": "boundary"}
_KEY_BY = ("exec", "source", "auto")
_KEYS = ("backend", "key_by", "record_py_stacks", "py_stack_filter_paths")


@dataclass(frozen=True)
class Config:
    """A checked annotation_config."""

    observer: str = "auto"
    key_by: str = "exec"
    record_py_stacks: bool = False
    py_stack_filter_paths: tuple[str, ...] | None = None


def _one_of(key: str, value: Any, allowed: Any) -> None:
    if value not in allowed:
        raise ValueError(f"annotation_config[{key!r}] must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def parse(config: Mapping[str, Any] | None) -> Config:
    """Raises ValueError, with what is allowed, for a key or value that is not known."""
    if config is None:
        return Config()
    if not isinstance(config, Mapping):
        raise ValueError(f"annotation_config must be a dict with keys of {', '.join(map(repr, _KEYS))}, not {config!r}")
    for key in config:
        if key not in _KEYS:
            raise ValueError(f"annotation_config has an unknown key {key!r}; the keys are {', '.join(map(repr, _KEYS))}")
    backend = config.get("backend", "auto")
    _one_of("backend", backend, _BACKENDS)
    key_by = config.get("key_by", "exec")
    _one_of("key_by", key_by, _KEY_BY)
    stacks = config.get("record_py_stacks", False)
    if not isinstance(stacks, bool):
        raise ValueError(f"annotation_config['record_py_stacks'] must be True or False, not {stacks!r}")
    filters = config.get("py_stack_filter_paths")
    if filters is not None:
        if not isinstance(filters, (list, tuple)) or not all(isinstance(path, str) and path for path in filters):
            raise ValueError(f"annotation_config['py_stack_filter_paths'] must be None or a list or tuple of non-empty strings, not {filters!r}")
        filters = tuple(filters)
    observer = _BACKENDS[backend]
    if stacks:
        if observer == "boundary":
            raise ValueError("annotation_config['record_py_stacks'] needs callbacks: backend 'auto' or 'cupti', not 'edge_walk'")
        observer = "callbacks"
    return Config(observer, key_by, stacks, filters)
