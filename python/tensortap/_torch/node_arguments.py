"""What a node of a compiled graph reads, makes and gets as other arguments: by the schema of its operator."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

_MOST_ITEMS = 64
_NEVER_DECLARED = {  # operators that write their running statistics, which their schemas do not say
    "native_batch_norm",
    "cudnn_batch_norm",
    "miopen_batch_norm",
    "batch_norm_gather_stats",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_update_stats",
}
_TOKENS = {"prims::_make_token", "prims::_sink_tokens"}  # they put calls in order, and give no tensors
_WRITING_KERNELS = "triton_kernel_wrapper_mutation"


@dataclass(frozen=True)
class Value:
    """One tensor that a node reads or makes.

    Attributes
    ----------
    node
        That gives it.
    slot
        Position among the arguments or returns of the schema.
    element
        Position in a list of tensors, -1 for no list.
    written
        Whether the operator writes into it.
    """

    node: Node
    slot: int
    element: int
    written: bool


def schema_of(node: Node) -> Any:
    """Give the schema of a node's operator, None for a higher-order operator."""
    return getattr(node.target, "_schema", None)


def is_operator(node: Node) -> bool:
    """Tell whether a node runs an operator on tensors: no placeholder, no access to a tuple, no arithmetic on sizes."""
    if node.op != "call_function" or str(getattr(schema_of(node), "name", "")) in _TOKENS:
        return False
    return isinstance(node.target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator))


def is_view(node: Node) -> bool:
    """Tell whether what a node makes shares memory with what it reads."""
    schema = schema_of(node) if node.op == "call_function" else None
    returns = () if schema is None else schema.returns
    return any(value.alias_info is not None and not value.alias_info.is_write for value in returns)


def is_tensor(value: Any) -> bool:
    """Tell whether an argument of a node is a tensor."""
    return isinstance(value, Node) and isinstance(value.meta.get("val"), torch.Tensor)


def names_of(node: Node) -> tuple[str, str]:
    """Give the operator and its overload: ("aten::add", "Tensor")."""
    schema = schema_of(node)
    if schema is None:
        return f"higher_order::{getattr(node.target, '__name__', node.name)}", ""
    return str(schema.name), str(schema.overload_name)


def arguments_of(node: Node) -> Iterator[tuple[int, str, Any, Any]]:
    """List the arguments of a node.

    Parameters
    ----------
    node : torch.fx.Node
        A call of an operator.

    Yields
    ------
    tuple
        Position, name, value (the default where the node gives none), and the schema's own description of it or None.
    """
    schema = schema_of(node)
    if schema is None:
        for position, given in enumerate(node.args):
            yield position, "", given, None
        return
    for position, argument in enumerate(schema.arguments):
        if position < len(node.args) and not argument.kwarg_only:
            value: Any = node.args[position]
        else:
            value = node.kwargs.get(argument.name, argument.default_value)
        yield position, argument.name, value, argument


def has_token(node: Node) -> bool:
    """Tell whether the first thing that a node reads and makes only puts calls in order: it is no tensor when the graph runs."""
    return schema_of(node) is None and getattr(node.target, "__name__", "") == "with_effects"


def tensors_read(node: Node) -> list[Value]:
    """List the tensors that a node reads."""
    values = []
    for slot, name, value, argument in arguments_of(node):
        if slot == 0 and has_token(node):
            continue
        written = _is_written(node, name, argument)
        if is_tensor(value):
            values.append(Value(value, slot, -1, written))
        elif isinstance(value, (list, tuple)):
            values += [Value(item, slot, element, written) for element, item in enumerate(value) if is_tensor(item)]
    return values


def _is_written(node: Node, name: str, argument: Any) -> bool:
    if argument is None:
        return str(getattr(node.target, "__name__", "")) == _WRITING_KERNELS
    if argument.alias_info is not None and argument.alias_info.is_write:
        return True
    short_name = names_of(node)[0].rpartition("::")[2]
    return name in ("running_mean", "running_var") and short_name in _NEVER_DECLARED


def returns_written(node: Node, value: Value) -> bool:
    """Tell whether the schema returns an argument that the operator writes into."""
    schema = schema_of(node)
    if schema is None:
        return False
    alias = schema.arguments[value.slot].alias_info
    if alias is None:
        return False
    return any(result.alias_info is not None and result.alias_info.before_set == alias.before_set for result in schema.returns)


def input_names(node: Node) -> list[str]:
    """Give the names of a node's arguments by slot, "" for what is no tensor; those at the end are left out."""
    schema = schema_of(node)
    if schema is None:
        return []
    names = [argument.name if "Tensor" in str(argument.type) else "" for argument in schema.arguments]
    while names and not names[-1]:
        names.pop()
    return names


def attributes_of(node: Node) -> str:
    """Give the arguments that are no tensors as a JSON object, "" when there are none."""
    if schema_of(node) is None:
        return ""
    told = {name: _plain(value) for _, name, value, _ in arguments_of(node)}
    known = {name: value for name, value in told.items() if value is not None}
    return json.dumps(known, allow_nan=False) if known else ""


def _plain(value: Any) -> Any:
    """Give a value as JSON has it, None for what is not told."""
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, torch.dtype):
        return _dtype_name(value)
    if isinstance(value, torch.layout):
        return "Strided" if value == torch.strided else "other"
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (list, tuple)) and 0 < len(value) <= _MOST_ITEMS:
        items = [_plain(item) for item in value]
        return None if any(item is None for item in items) else items
    return None


def _dtype_name(dtype: torch.dtype) -> str:
    """Name a dtype as torch's C++ side does."""
    names = {
        torch.float32: "Float",
        torch.float64: "Double",
        torch.float16: "Half",
        torch.bfloat16: "BFloat16",
        torch.int64: "Long",
        torch.int32: "Int",
        torch.int16: "Short",
        torch.int8: "Char",
        torch.uint8: "Byte",
        torch.bool: "Bool",
        torch.complex64: "ComplexFloat",
        torch.complex128: "ComplexDouble",
    }
    return names.get(dtype) or str(dtype).removeprefix("torch.").capitalize()
