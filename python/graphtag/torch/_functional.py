"""Functional collectives (torch.ops._c10d_functional: DTensor's, and those of compiled code), which pass the process group's methods by.

While a capture records, the operators' names in that namespace lead to wrappers that open the scope; code that is running already, compiled
or not, looks its operators up there at each call.
"""
from __future__ import annotations

import threading
from typing import Any, Callable

import torch

_lock = threading.Lock()
_users = 0
_replaced: list[tuple[Any, str, Any]] = []

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
}
_ENDINGS = ("", "_", "_out")
_NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd")


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


class _Operator:
    """An operator, or one of its overloads, with a scope around each call."""

    def __init__(self, name: str, original: Any, scope: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
        self._name, self._original, self._scope = name, original, scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._scope(self._name, args, kwargs):
            return self._original(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._original, attribute)
        return _Operator(self._name, value, self._scope) if attribute == "default" else value


def watch(scope: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Until unwatch(): a call of an operator runs within scope(its name, its arguments), a context manager. Calls may nest; the first one's is
    used."""
    global _users
    with _lock:
        _users += 1
        if _users > 1:
            return
        for namespace in _NAMESPACES:
            operators = getattr(torch.ops, namespace)
            for name in (base + ending for base in _OPERATORS for ending in _ENDINGS):
                try:
                    original = getattr(operators, name)
                except AttributeError:
                    continue  # not in this PyTorch
                _replaced.append((operators, name, original))
                setattr(operators, name, _Operator(name, original, scope))


def unwatch() -> None:
    """Puts torch's own back, at the end of the last watch."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            while _replaced:
                owner, name, original = _replaced.pop()
                setattr(owner, name, original)


def base_of(operator: str) -> str:
    """The operator without its ending: a key of collective_of()."""
    for ending in ("_out", "_"):
        if operator.endswith(ending) and operator[: -len(ending)] in _OPERATORS:
            return operator[: -len(ending)]
    return operator


def collective_of(operator: str) -> str:
    """The collective's name in traces."""
    return _OPERATORS[base_of(operator)]
