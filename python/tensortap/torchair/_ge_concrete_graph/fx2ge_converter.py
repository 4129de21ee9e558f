"""The registration of converters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensortap.torchair.ge import Tensor, TensorSpec

__all__ = ["Tensor", "TensorSpec", "declare_supported", "register_fx_node_ge_converter"]


def register_fx_node_ge_converter(aten_op: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Accept a converter of an operator. It is not called: the graph of torch runs as it is, with every operator that torch has.

    Parameters
    ----------
    aten_op : torch._ops.OpOverload
        The operator.

    Returns
    -------
    callable
        A decorator that gives its function.
    """
    return lambda converter: converter


def declare_supported(*_: object) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Accept what a converter supports; gives a decorator that gives its function."""
    return lambda converter: converter
