"""Functional collectives (torch.ops._c10d_functional: DTensor's, those of compiled code, and their backward), which pass the process group's
methods by.

While a capture records, each operator has a kernel of ours before torch's own, in torch's dispatcher: so calls are seen from wherever they come,
Python or C++. Not those that reach no dispatcher: of torch.compile's cpp_wrapper its all_reduce.
"""
from __future__ import annotations

import threading
from typing import Any, Callable, ContextManager

import torch

# Around a call: (operator's name, its arguments, its keyword arguments) -> a context manager.
Scope = Callable[[str, "tuple[Any, ...]", "dict[str, Any]"], ContextManager[Any]]

_lock = threading.Lock()
_users = 0
_library: Any = None  # holds our kernels; they go with it

_NAMESPACE = "_c10d_functional"
# Work in graphs is of CUDA tensors.
_KEYS = ["CUDA"]
# torch's kernels are the same for all backends: those of one that is not here lead past ours to them.
_TORCHS_OWN = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse3)

# Operator (an ending "_" or "_out" aside) -> the collective's name in traces.
_OPERATORS = {
    "all_reduce": "allreduce",
    "all_reduce_coalesced": "allreduce_coalesced",
    "all_gather_into_tensor": "_allgather_base",
    "all_gather_into_tensor_coalesced": "allgather_into_tensor_coalesced",
    "reduce_scatter_tensor": "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor_coalesced",
    "all_to_all_single": "all_to_allv",
    "broadcast": "broadcast",
    "isend": "send",
    "irecv": "recv",
    "batch_p2p_ops": "coalesced",
}
_ENDINGS = ("", "_", "_out")


class Sized:
    """Stands for a tensor that is not there yet."""

    def __init__(self, like: torch.Tensor, numel: int) -> None:
        self.dtype = like.dtype
        self._numel = numel

    def numel(self) -> int:
        return self._numel


def outputs_of(operator: str, inputs: list[Any], args: tuple[Any, ...]) -> list[Any]:
    """What the operator makes of its inputs."""
    if operator.startswith("all_gather"):
        return [Sized(tensor, tensor.numel() * int(args[1])) for tensor in inputs]
    if operator.startswith("reduce_scatter"):
        return [Sized(tensor, tensor.numel() // max(1, int(args[2]))) for tensor in inputs]
    if operator == "all_to_all_single" and args[1]:
        rows = max(1, inputs[0].shape[0] if inputs[0].dim() else 1)
        return [Sized(inputs[0], sum(map(int, args[1])) * (inputs[0].numel() // rows))]
    return inputs


def _kernel(name: str, scope: Scope) -> Callable[..., Any]:
    operator = getattr(getattr(torch.ops, _NAMESPACE), name).default

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with scope(name, args, kwargs):
            return operator.redispatch(_TORCHS_OWN, *args, **kwargs)

    return kernel


def watch(scope: Scope) -> None:
    """Until unwatch(): a call of an operator runs within scope(its name, its arguments), on whatever thread. Calls may nest; the first one's scope is
    used."""
    global _library, _users
    with _lock:
        _users += 1
        if _users > 1:
            return
        _library = torch.library.Library(_NAMESPACE, "IMPL")
        for name in (base + ending for base in _OPERATORS for ending in _ENDINGS):
            qualified = f"{_NAMESPACE}::{name}"
            if not hasattr(getattr(torch.ops, _NAMESPACE), name):
                continue  # not in this PyTorch
            for key in _KEYS:
                # One that has a kernel of its own for these tensors keeps it.
                if not torch._C._dispatch_has_kernel_for_dispatch_key(qualified, key):
                    _library.impl(name, _kernel(name, scope), key)


def unwatch() -> None:
    """Leaves torch's own kernels alone, at the end of the last watch."""
    global _library, _users
    with _lock:
        _users -= 1
        if _users == 0:
            _library._destroy()
            _library = None


def base_of(operator: str) -> str:
    """The operator without its ending: a key of collective_of()."""
    for ending in ("_out", "_"):
        if operator.endswith(ending) and operator[: -len(ending)] in _OPERATORS:
            return operator[: -len(ending)]
    return operator


def collective_of(operator: str) -> str:
    """The collective's name in traces."""
    return _OPERATORS[base_of(operator)]
