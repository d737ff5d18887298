"""Annotation files, read back."""
from __future__ import annotations

import bisect
import json
import os
from typing import Any, Iterator, Mapping

from . import _ext
from ._paths import Path

# Bounds what a damaged file can make of a run: the ids of one graph.
_NO_END = 0xFFFFFFFF


class _Runs:
    """Runs of one graph: local id -> index into the file's annotations, 0 for none."""

    def __init__(self, runs: list[list[Any]]) -> None:
        self.firsts = [run[0] for run in runs]
        self.values = [run[1] for run in runs]

    def at(self, local_id: int) -> int:
        index = bisect.bisect_right(self.firsts, local_id) - 1
        return self.values[index] if index >= 0 else 0


class AnnotationFile(Mapping[int, dict[str, Any]]):
    """An annotation file: node id -> annotation, for any node id that a trace holds.

    `document` is the file as graphtag.annotations/1 (a dict), whatever format it had (`format`). Iterating gives the ids that the file can
    list: not the nodes behind the last boundary of a graph whose size it does not tell; looking an id up needs no list.
    """

    def __init__(self, document: dict[str, Any], file_format: str) -> None:
        self.document = document
        self.format = file_format
        self._annotations = [None, *(entry["object"] for entry in document.get("annotations", ()))]
        self._graphs = {graph["id"]: _Runs(graph.get("runs", [])) for graph in document.get("graphs", ())}
        self._execs = {entry["id"]: entry for entry in document.get("execs", ())}
        self._placements = {exec_id: _Runs(entry.get("placement", [])) for exec_id, entry in self._execs.items()}
        self._overrides = {exec_id: {run[0]: run[1] for run in entry.get("overrides", ())} for exec_id, entry in self._execs.items()}

    def _index(self, node_id: int) -> int:
        graph_id, local_id = node_id >> 32, node_id & 0xFFFFFFFF
        if graph_id not in self._execs:
            runs = self._graphs.get(graph_id)
            return runs.at(local_id) if runs else 0
        if local_id in self._overrides[graph_id]:
            return self._overrides[graph_id][local_id]
        entry = self._execs[graph_id]
        if local_id >= entry.get("template_ids", _NO_END):
            return self._placements[graph_id].at(local_id)
        runs = self._graphs.get(entry.get("template", 0))
        return runs.at(local_id) if runs else 0

    def __getitem__(self, node_id: int) -> dict[str, Any]:
        annotation = self._annotations[self._index(node_id)]
        if annotation is None:
            raise KeyError(node_id)
        return annotation

    def _ids_of(self, graph_id: int, runs: _Runs, stop: int) -> Iterator[int]:
        ends = [*runs.firsts[1:], stop if stop != _NO_END else (runs.firsts[-1] if runs.firsts else 0)]
        for first, end, value in zip(runs.firsts, ends, runs.values):
            if value:
                for local_id in range(first, min(end, stop)):
                    yield graph_id << 32 | local_id

    def __iter__(self) -> Iterator[int]:
        sizes: dict[int, int] = {}
        for entry in self._execs.values():
            if "template_ids" in entry:
                sizes[entry.get("template", 0)] = max(sizes.get(entry.get("template", 0), 0), entry["template_ids"])
        for graph_id, runs in self._graphs.items():
            yield from self._ids_of(graph_id, runs, sizes.get(graph_id, _NO_END))
        for exec_id, entry in self._execs.items():
            ids = set(self._overrides[exec_id])
            runs = self._graphs.get(entry.get("template", 0))
            if runs:
                ids.update(node_id & 0xFFFFFFFF for node_id in self._ids_of(exec_id, runs, entry.get("template_ids", _NO_END)))
            ids.update(node_id & 0xFFFFFFFF for node_id in self._ids_of(exec_id, self._placements[exec_id], _NO_END))
            yield from (node_id for node_id in (exec_id << 32 | local_id for local_id in sorted(ids)) if self._index(node_id))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def load(path: Path) -> AnnotationFile:
    """Reads an annotation file: graphtag's own, or a pickle or JSON file of torch.cuda.graph_annotations (a pickle is never run).

    Raises FileError where it cannot be read, InvalidError (a ValueError) with file and place where it is broken.
    """
    text, file_format = _ext.read_annotation_file(os.fsencode(path))
    return AnnotationFile(json.loads(text), file_format)
