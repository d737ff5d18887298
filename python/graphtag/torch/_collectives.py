"""annotate_collectives: each captured collective carries the metadata that Kineto writes for eager ones.

The process group's own methods are wrapped: whatever calls them from Python (torch.distributed, FSDP, DDP's hooks) is seen, on any torch version; so
are functional collectives (_functional). Eager ones pass through: Kineto names those itself.
"""
from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable, NamedTuple

import torch

from .. import _ext
from . import _functional
from ._marks import Mark, get_stream_for_pg

# c10's names of element types, which differ from Python's.
_DTYPES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int8": "Char", "uint8": "Byte", "int16": "Short",
    "int32": "Int", "int64": "Long", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
}  # fmt: skip


class _Call(NamedTuple):
    """What one call of a process group moves."""

    inputs: list[Any]
    outputs: list[Any]
    in_split: list[int] = []
    out_split: list[int] = []
    source: int | None = None
    destination: int | None = None


def _tensors(value: Any) -> list[Any]:
    """The tensors in an argument, which may be a tensor or lists of lists of them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, *names: str) -> Any:
    if index < len(args):
        return args[index]
    return next((kwargs[name] for name in names if name in kwargs), None)


def _root(args: tuple[Any, ...], kwargs: dict[str, Any], index: int) -> int | None:
    value = _argument(args, kwargs, index, "opts", "root")
    return value if isinstance(value, int) else getattr(value, "rootRank", None)


def _in_place(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    tensors = _tensors(_argument(args, kwargs, 0, "tensors", "tensor"))
    return _Call(tensors, tensors)


def _from_root(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return _in_place(args, kwargs)._replace(source=_root(args, kwargs, 1))


def _to_root(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return _in_place(args, kwargs)._replace(destination=_root(args, kwargs, 1))


def _out_and_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    outputs = _argument(args, kwargs, 0, "output_tensors", "output_lists", "output", "outputTensor", "outputTensors", "output_tensor")
    inputs = _argument(args, kwargs, 1, "input_tensors", "input_list", "input", "inputTensor", "inputTensors", "input_tensor")
    return _Call(_tensors(inputs), _tensors(outputs))


def _gather(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return _out_and_in(args, kwargs)._replace(destination=_root(args, kwargs, 2))


def _scatter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return _out_and_in(args, kwargs)._replace(source=_root(args, kwargs, 2))


def _all_to_all_single(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    out_split = _argument(args, kwargs, 2, "output_split_sizes") or []
    in_split = _argument(args, kwargs, 3, "input_split_sizes") or []
    return _out_and_in(args, kwargs)._replace(in_split=list(in_split), out_split=list(out_split))


def _all_to_all(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    call = _out_and_in(args, kwargs)
    return call._replace(in_split=[t.numel() for t in call.inputs], out_split=[t.numel() for t in call.outputs])


def _send(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return _in_place(args, kwargs)._replace(destination=_argument(args, kwargs, 1, "dstRank", "dst"))


def _receive(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return _in_place(args, kwargs)._replace(source=_argument(args, kwargs, 1, "srcRank", "src"))


def _nothing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return _Call([], [])


# Method of ProcessGroup -> the collective's name in traces, and how its arguments are read. Methods that a torch version lacks are passed over.
_METHODS: dict[str, tuple[str, Callable[[tuple[Any, ...], dict[str, Any]], _Call]]] = {
    "broadcast": ("broadcast", _from_root),
    "allreduce": ("allreduce", _in_place),
    "allreduce_coalesced": ("allreduce_coalesced", _in_place),
    "reduce": ("reduce", _to_root),
    "allgather": ("all_gather", _out_and_in),
    "all_gather_single": ("_allgather_base", _out_and_in),
    "_allgather_base": ("_allgather_base", _out_and_in),
    "allgather_coalesced": ("allgather_coalesced", _out_and_in),
    "all_gather_single_coalesced": ("allgather_into_tensor_coalesced", _out_and_in),
    "allgather_into_tensor_coalesced": ("allgather_into_tensor_coalesced", _out_and_in),
    "gather": ("gather", _gather),
    "gather_single": ("gather", _gather),
    "gather_into_tensor": ("gather", _gather),
    "scatter": ("scatter", _scatter),
    "reduce_scatter": ("reduce_scatter", _out_and_in),
    "reduce_scatter_single": ("_reduce_scatter_base", _out_and_in),
    "_reduce_scatter_base": ("_reduce_scatter_base", _out_and_in),
    "reduce_scatter_single_coalesced": ("reduce_scatter_tensor_coalesced", _out_and_in),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter_tensor_coalesced", _out_and_in),
    "all_to_all_single": ("all_to_allv", _all_to_all_single),
    "alltoall_base": ("all_to_allv", _all_to_all_single),
    "alltoall": ("all_to_all", _all_to_all),
    "send": ("send", _send),
    "recv": ("recv", _receive),
    "recv_anysource": ("recv", _in_place),
    "barrier": ("barrier", _nothing),
}

# NCCL's backend of PyTorch 2.15 and newer ("nccl2") calls them so, and lists each tensor's size as a split.
_NAMES_OF_NCCL2 = {
    "allreduce": "all_reduce", "allreduce_coalesced": "all_reduce", "_allgather_base": "allGatherSingleImpl",
    "_reduce_scatter_base": "reduceScatterSingleImpl", "all_to_allv": "allToAllSingleImpl", "coalesced": "batch_op_issue",
}  # fmt: skip
_NCCL2 = ("ProcessGroupNCCL2", "ProcessGroupNCCLLazy")

_local = threading.local()
_originals: dict[str, Any] = {}
_lanes = False


def _element_type(tensors: list[Any]) -> str:
    if not tensors:
        return "Byte"
    name = str(tensors[0].dtype).rpartition(".")[2]
    return _DTYPES.get(name, name)


def _sequence_number(group: Any) -> int | None:
    try:
        return int(group._get_sequence_number_for_group()) + 1
    except (AttributeError, RuntimeError):
        return None


def _text_of(group: Any, attribute: str) -> str | None:
    try:
        return getattr(group, attribute) or None
    except (AttributeError, RuntimeError):
        return None


def _ranks_of(group: Any) -> list[int]:
    try:
        return list(torch.distributed.get_process_group_ranks(group))
    except (KeyError, RuntimeError, ValueError, AttributeError):
        return list(range(group.size()))


def _is_nccl2(group: Any) -> bool:
    try:
        return type(group._get_backend(torch.device("cuda"))).__name__ in _NCCL2
    except (AttributeError, RuntimeError):
        return False


def metadata(group: Any, name: str, call: _Call, asynchronous: bool = True) -> dict[str, Any]:
    """What Kineto writes for this collective, by the same keys; what is not known is left out. "Rank" is this process's: Kineto writes the root or the
    peer there, which are "Src Rank" and "Dst Rank" here."""
    ranks = _ranks_of(group)
    if _is_nccl2(group):
        uneven = name == "all_to_allv" and call.in_split + call.out_split
        name = "all_to_all_v_single" if uneven else _NAMES_OF_NCCL2.get(name, name)
        call = call._replace(in_split=[tensor.numel() for tensor in call.inputs], out_split=[tensor.numel() for tensor in call.outputs])
    known = {
        "name": f"nccl:{name}",
        "Collective name": name,
        "In msg nelems": sum(tensor.numel() for tensor in call.inputs),
        "Out msg nelems": sum(tensor.numel() for tensor in call.outputs),
        "In split size": str(call.in_split),
        "Out split size": str(call.out_split),
        "dtype": _element_type(call.inputs or call.outputs),
        "Group size": group.size(),
        "Process Group Name": _text_of(group, "group_name"),
        "Process Group Description": _text_of(group, "group_desc"),
        "Process Group Ranks": str(ranks),
        "Rank": torch.distributed.get_rank() if torch.distributed.is_initialized() else group.rank(),
        "Seq": _sequence_number(group),
        "Src Rank": ranks[call.source] if call.source is not None and 0 <= call.source < len(ranks) else None,
        "Dst Rank": ranks[call.destination] if call.destination is not None and 0 <= call.destination < len(ranks) else None,
        "Is asynchronized op": asynchronous,
    }
    return {key: value for key, value in known.items() if value is not None}


def _scope(group: Any, annotation: dict[str, Any]) -> Mark:
    if _lanes:
        annotation = {**annotation, "stream": get_stream_for_pg(annotation.get("Process Group Name", ""))}
    return Mark(annotation, False)


def _is_captured() -> bool:
    return bool(_ext.active()) and torch.cuda.is_current_stream_capturing()


def _is_asynchronous(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    for value in (*args, *kwargs.values()):
        if hasattr(value, "asyncOp"):
            return bool(value.asyncOp)
    return True


def _pending() -> dict[int, list[tuple[str, _Call]]]:
    """Group (its address) -> what it was asked for since its coalescing began."""
    if not hasattr(_local, "pending"):
        _local.pending = {}
    return _local.pending


def _wrap(method: str, original: Any) -> Any:
    name, read = _METHODS[method]

    @functools.wraps(original)
    def collective(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_captured():
            return original(self, *args, **kwargs)
        call = read(args, kwargs)
        coalesced = _pending().get(id(self))
        if coalesced is not None:
            # What is coalesced is launched at its end; but with one rank NCCL copies at once.
            coalesced.append((name, call))
        with _scope(self, metadata(self, name, call, _is_asynchronous(args, kwargs))):
            return original(self, *args, **kwargs)

    return collective


def _group_of(value: Any) -> Any:
    """The process group that a functional collective names: itself, or its name."""
    if not isinstance(value, str):
        return value
    return torch.distributed.distributed_c10d._resolve_process_group(value)


def _functional_scope(operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The scope around a call of torch.ops._c10d_functional."""
    if not _is_captured():
        return contextlib.nullcontext()
    try:
        group = _group_of(args[-1])
        base, inputs = _functional.base_of(operator), _tensors(args[3] if operator == "batch_p2p_ops" else args[0])
        call = _Call(inputs, _functional.outputs_of(base, inputs, args))
        if base in ("broadcast", "irecv"):
            call = call._replace(source=int(args[1]))
        elif base == "isend":
            call = call._replace(destination=int(args[1]))
        elif base == "all_to_all_single":
            call = call._replace(out_split=list(map(int, args[1])), in_split=list(map(int, args[2])))
        annotation = metadata(group, _functional.collective_of(operator), call)
        if base == "batch_p2p_ops":
            annotation["Coalesced ops"] = len(args[0])
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        # What is called differently than known is left to say so itself.
        return contextlib.nullcontext()
    return _scope(group, annotation)


def capture_begins() -> bool:
    """A recorded capture begins: are functional collectives watched from here on? Then capture_ends() is due."""
    if not _originals or not torch.distributed.is_initialized():
        return False
    _functional.watch(_functional_scope)
    return True


def capture_ends() -> None:
    """The end of a capture whose begin said True."""
    _functional.unwatch()


def _start_coalescing(original: Any) -> Any:
    @functools.wraps(original)
    def start(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_captured():
            _pending()[id(self)] = []
        return original(self, *args, **kwargs)

    return start


def _end_coalescing(original: Any) -> Any:
    @functools.wraps(original)
    def end(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls = _pending().pop(id(self), None)
        if not calls:
            return original(self, *args, **kwargs)
        names = {name for name, _ in calls}
        whole = _Call([t for _, call in calls for t in call.inputs], [t for _, call in calls for t in call.outputs])
        if len(calls) == 1:
            whole = calls[0][1]
        annotation = metadata(self, names.pop() if len(names) == 1 else "coalesced", whole)
        with _scope(self, {**annotation, "Coalesced ops": len(calls)}):
            return original(self, *args, **kwargs)

    return end


def have_lanes() -> bool:
    """Whether annotate_collectives(lanes=True) was asked for last."""
    return _lanes


def annotate_collectives(enabled: bool = True, *, lanes: bool = False) -> None:
    """Names each captured collective of torch.distributed (point-to-point and coalesced ones too), with the keys of Kineto's eager ones.

    With `lanes` each process group gets a display lane of its own (get_stream_for_pg). False takes it all out again. Collectives outside a recorded
    capture are left alone, and so are what C++ calls by itself: an all_reduce of torch.compile's cpp_wrapper, and what DistributedDataParallel reduces
    and broadcasts.
    """
    global _lanes
    _lanes = lanes
    if not torch.distributed.is_available():
        return
    from torch.distributed import ProcessGroup

    if not enabled:
        for method, original in _originals.items():
            setattr(ProcessGroup, method, original)
        _originals.clear()
        return
    if _originals:
        return
    wrappers = {method: functools.partial(_wrap, method) for method in _METHODS}
    wrappers["_start_coalescing"] = _start_coalescing
    wrappers["_end_coalescing"] = _end_coalescing
    for method, wrap in wrappers.items():
        original = getattr(ProcessGroup, method, None)
        if original is not None and method in ProcessGroup.__dict__:
            # As it lies in the class: what getattr gives would no longer bind to its group.
            _originals[method] = ProcessGroup.__dict__[method]
            setattr(ProcessGroup, method, wrap(original))
