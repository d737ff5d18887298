"""annotate_modules: every submodule's work under its qualified name."""
from __future__ import annotations

import re
from typing import Any

import torch

from ._marks import Region


class ModuleAnnotations:
    """What annotate_modules put in; remove() takes it out. Also a context manager, which removes at its end. `names` lists the submodules."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._hooks: list[Any] = []

    def remove(self) -> None:
        """Takes the names out; twice is no error."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def __enter__(self) -> ModuleAnnotations:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def _add(self, module: torch.nn.Module, name: str) -> None:
        mark = Region(name)

        # A compiler must not trace these: it would leave them out. It breaks the graph here instead.
        @torch.compiler.disable
        def enter(*_: Any) -> None:
            mark.__enter__()

        @torch.compiler.disable
        def leave(*_: Any) -> None:
            mark.__exit__(None, None, None)

        self.names.append(name)
        self._hooks.append(module.register_forward_pre_hook(enter, prepend=True))
        # Called too where forward raised.
        self._hooks.append(module.register_forward_hook(leave, always_call=True))


def annotate_modules(model: torch.nn.Module, prefix: str = "", pattern: str | None = None) -> ModuleAnnotations:
    """Names the work of every submodule, forward and backward, by its qualified name ("layers.0.mlp"), with `prefix` and a dot before it: captured
    work as mark_kernels does, eager work under a profiler as region does.

    `pattern` (a regular expression) keeps the modules whose full name has a match. The model itself is named `prefix`, or not at all. Containers
    whose forward is never called (ModuleList) name nothing themselves. Under torch.compile each named module breaks the graph, and its parts are
    compiled each by itself; with mode="reduce-overhead" they are captured each by itself, and named under install(every_capture=True). What
    stays unnamed `graphtag check` counts as outside-scope. Returns what undoes it: .remove().
    """
    matches = re.compile(pattern).search if pattern is not None else lambda name: True
    added = ModuleAnnotations()
    for path, module in model.named_modules():
        name = ".".join(part for part in (prefix, path) if part)
        if name and matches(name):
            added._add(module, name)
    return added
