"""torch.cuda.graph and torch.cuda.make_graphed_callables with annotations."""
from __future__ import annotations

import contextlib
import functools
import inspect
import json
import threading
import weakref
from typing import Any, Callable, Iterator

import torch

from .._annotation import plain
from .._errors import Error
from . import _config, _kept_scopes, _lifetime, _recording, _stacks

# torch's own, whatever install() puts in their place.
torch_graph = torch.cuda.graph
torch_make_graphed_callables = torch.cuda.make_graphed_callables
_GRAPH_PARAMETERS = inspect.signature(torch_graph.__init__).parameters

# install(every_capture=True): captures that do not ask for annotations record them too.
every_capture = False


def record_every_capture(enabled: bool) -> None:
    """From now on captures record whether they ask for it or not, and name their work by all scopes around them; or only those that ask."""
    global every_capture
    every_capture = enabled
    _kept_scopes.keep(enabled)


class graph(torch_graph):
    """torch.cuda.graph, with annotations.

    As torch.cuda.graph, plus `enable_annotations` (record what mark_kernels names), `annotation_config` ("backend": "auto", "cupti" for callbacks or
    "edge_walk" for the boundary observer; "key_by": "exec", "source" or "auto"; "record_py_stacks": bool; "py_stack_filter_paths": None or folders) and
    `label`: any JSON that tells this graph apart in reports, such as {"batch_size": 8}. Raises ValueError for an unknown key or value; BusyError (a
    RuntimeError) at its beginning where "cupti" was asked for and another tool holds CUPTI's subscription. Where nothing can be recorded
    at all (see is_available) the capture goes on without names.
    """

    default_capture_stream = None

    def __init__(
        self,
        cuda_graph: torch.cuda.CUDAGraph,
        pool: Any = None,
        stream: torch.cuda.Stream | None = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        annotation_config: dict[str, Any] | None = None,
        check_input_liveness: bool = False,
        *,
        label: Any = None,
    ) -> None:
        self._graphtag_config = _config.parse(annotation_config)
        self._graphtag_label = None if label is None else json.dumps(plain(label), ensure_ascii=False)
        self._graphtag_enabled = bool(enable_annotations) or every_capture
        self._graphtag_capture: _Capture | None = None
        options: dict[str, Any] = {"pool": pool, "stream": stream}
        if "capture_error_mode" in _GRAPH_PARAMETERS:
            options["capture_error_mode"] = capture_error_mode
        if "check_input_liveness" in _GRAPH_PARAMETERS:
            options["check_input_liveness"] = check_input_liveness
        elif check_input_liveness:
            raise TypeError(f"torch {torch.__version__} has no check_input_liveness")
        super().__init__(cuda_graph, **options)

    def __enter__(self) -> None:
        recording = _recording.start(self._graphtag_config) if self._graphtag_enabled else None
        if recording is None:
            super().__enter__()
            return
        stream = self.capture_stream.cuda_stream
        with _begins(recording, stream):
            super().__enter__()
        self._graphtag_capture = _Capture.of(self.cuda_graph, recording, stream, self._graphtag_label)

    def __exit__(self, *error: object) -> None:
        capture, self._graphtag_capture = self._graphtag_capture, None
        if capture is None:
            super().__exit__(*error)
        else:
            capture.end(lambda: super(graph, self).__exit__(*error), error[0] is not None)


_thread = threading.local()  # .begins: a capture that records already is about to begin


@contextlib.contextmanager
def _begins(recording: _recording.Recording, stream: int) -> Iterator[None]:
    """Around the beginning of a capture on `stream`; what fails there ends the recording."""
    _thread.begins = True
    try:
        recording.add_stream(stream)
        yield
    except BaseException:
        recording.close()
        raise
    finally:
        _thread.begins = False


class _Capture:
    """A capture that records, from its beginning until after its end."""

    def __init__(self, cuda_graph: Any, recording: _recording.Recording, hook: Any) -> None:
        self._reference = weakref.ref(cuda_graph)
        self._recording = recording
        self._hook = hook

    @classmethod
    def of(cls, cuda_graph: Any, recording: _recording.Recording, stream: int, label: str | None) -> _Capture | None:
        """The capture that has just begun on `stream`. None where the driver does not tell of it: it is worth more than its names."""
        try:
            recording.capture_began(stream, label)
            if recording.config.record_py_stacks:
                _stacks.note_graph(recording.graph_id)
            return cls(cuda_graph, recording, _link_when_instantiated(cuda_graph) if recording.uses_boundaries else None)
        except Exception:  # also a label that is no text
            recording.close()
            return None

    def end(self, end_capture: Callable[[], Any], failed: bool) -> None:
        """Ends the capture by calling `end_capture`, which may raise. `failed`: what was to be captured raised."""
        recording = self._recording
        with contextlib.suppress(Error):
            recording.read_boundary()
        kept = False
        try:
            end_capture()
            if not failed:
                kept = True
                with contextlib.suppress(Error):
                    _lifetime.track(self._reference(), recording.graph_id, recording.config.key_by)
        finally:
            if not kept:
                _lifetime.drop(recording.graph_id)
            if self._hook is not None:
                self._hook.remove()
            recording.close()


# Captures that are made without torch.cuda.graph: graph -> what records.
_without_graph: weakref.WeakKeyDictionary[Any, tuple[_Capture, Any]] = weakref.WeakKeyDictionary()


def capture_begin(original: Callable[..., Any]) -> Callable[..., Any]:
    """CUDAGraph.capture_begin that records while every capture does."""

    @functools.wraps(original)
    def begin(self: Any, *args: Any, **kwargs: Any) -> Any:
        recording = None
        if every_capture and not getattr(_thread, "begins", False):
            recording = _recording.start(_config.parse(None))
        if recording is None:
            return original(self, *args, **kwargs)
        stream = torch.cuda.current_stream().cuda_stream
        with _begins(recording, stream):
            result = original(self, *args, **kwargs)
        capture = _Capture.of(self, recording, stream, None)
        if capture is not None:
            # One that is never ended must not keep its window open.
            _without_graph[self] = capture, weakref.finalize(self, recording.close)
        return result

    return begin


def capture_end(original: Callable[..., Any]) -> Callable[..., Any]:
    """CUDAGraph.capture_end for these."""

    @functools.wraps(original)
    def end(self: Any, *args: Any, **kwargs: Any) -> Any:
        capture, abandoned = _without_graph.pop(self, (None, None))
        if capture is None:
            return original(self, *args, **kwargs)
        abandoned.detach()
        return capture.end(lambda: original(self, *args, **kwargs), False)

    return end


def _link_when_instantiated(cuda_graph: Any) -> Any:
    """Without callbacks nested nodes are numbered from the template, which a newer torch shows while it instantiates; None in an older one."""
    register = getattr(cuda_graph, "register_post_instantiate_hook", None)
    if register is None:
        return None

    def hook(instantiated: Any) -> None:
        from .. import _ext

        handle, template = _lifetime.exec_handle(instantiated), _lifetime.template_handle(instantiated)
        if handle and template:
            with contextlib.suppress(Error):  # an exception here would fail the capture
                _ext.link_exec(handle, template)

    return register(hook)


_MAKE_PARAMETERS = inspect.signature(torch_make_graphed_callables).parameters


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
    capture_error_mode: str = "global",
    enable_annotations: bool = False,
) -> Any:
    """torch.cuda.make_graphed_callables; with `enable_annotations` the forward and backward captures record what mark_kernels names, also within
    the callables."""
    options: dict[str, Any] = {"num_warmup_iters": num_warmup_iters, "allow_unused_input": allow_unused_input, "pool": pool}
    if "capture_error_mode" in _MAKE_PARAMETERS:
        options["capture_error_mode"] = capture_error_mode
    elif capture_error_mode != "global":
        raise TypeError(f"make_graphed_callables of torch {torch.__version__} has no capture_error_mode")

    class annotated_graph(graph):
        """What torch captures with while it makes these callables."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs["enable_annotations"] = enable_annotations
            super().__init__(*args, **kwargs)

    before = torch.cuda.graph
    torch.cuda.graph = annotated_graph
    try:
        return torch_make_graphed_callables(callables, sample_args, **options)
    finally:
        torch.cuda.graph = before
