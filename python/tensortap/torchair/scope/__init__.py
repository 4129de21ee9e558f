"""Context managers that mark the nodes of a compiled function.

Entering and leaving one calls an operator that does nothing. Dynamo keeps the two calls, so that the nodes between them are those of the
``with`` block. Outside of a compiled function they have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.fx.node import Node

from tensortap.torchair import _markers

__all__ = ["data_dump", "limit_core_num", "npu_stream_switch", "npu_wait_tensor", "op_never_timeout", "super_kernel"]

_DUMP_KEY = "torchair_enable_data_dump"
_BREAK = "Is there a graph break inside of the with block? TORCH_LOGS=graph_breaks shows where."


_ENTER, _EXIT = _markers.ENTER, _markers.EXIT


class _Scope:
    """Marks what runs inside of the block. Dynamo can follow such a class, but not contextlib.contextmanager."""

    marks: tuple[tuple[str, str], ...]

    if torch.__version__ >= (2, 5):

        def __init__(self, *marks: tuple[str, str]) -> None:
            self.marks = marks

    else:  # whose Dynamo follows classes without __init__ only

        def __new__(cls, *marks: tuple[str, str]) -> _Scope:
            self = super().__new__(cls)
            self.marks = marks
            return self

    def __enter__(self) -> None:
        torch.ops.air.scope_enter([key for key, _ in self.marks], [value for _, value in self.marks])

    def __exit__(self, *_: object) -> None:
        torch.ops.air.scope_exit()


def data_dump() -> _Scope:
    """Dump the operators of a ``with`` block, besides those that ``dump_layer`` names."""
    return _Scope((_DUMP_KEY, "True"))


def npu_stream_switch(stream_tag: str, stream_priority: int = 0) -> _Scope:
    """Mark operators for a stream of a device; without effect here."""
    return _Scope(("_user_stream_label", stream_tag), ("_user_stream_priority", str(stream_priority)))


def super_kernel(scope: str, options: str = "") -> _Scope:
    """Mark operators that a device may join to one kernel; without effect here."""
    return _Scope(("_super_kernel_scope", scope or ""), ("_super_kernel_options", options))


def limit_core_num(op_aicore_num: int, op_vectorcore_num: int) -> _Scope:
    """Mark operators that may use only some cores of a device; without effect here."""
    return _Scope(("_op_aicore_num", str(op_aicore_num)), ("_op_vectorcore_num", str(op_vectorcore_num)))


def npu_wait_tensor(self: torch.Tensor, dependency: torch.Tensor) -> torch.Tensor:
    """Make what reads `self` wait for `dependency` on a device; here operators run one after the other.

    Parameters
    ----------
    self : torch.Tensor
        What a later operator reads.
    dependency : torch.Tensor
        What an earlier operator makes.

    Returns
    -------
    torch.Tensor
        `self`.
    """
    return self


def op_never_timeout(enable: bool = True) -> _Scope:
    """Mark operators that a device lets run as long as they take; without effect here.

    Raises
    ------
    TypeError
        When `enable` is no bool.
    """
    if not isinstance(enable, bool):
        raise TypeError(f"op_never_timeout() argument 'enable' must be bool, but got {type(enable).__name__}.")
    return _Scope(("_op_exec_never_timeout", str(enable)))


def has_dump_block(graph: torch.fx.Graph) -> bool:
    """Tell whether a `data_dump` block begins in a graph with its markers."""
    return any(node.target is _ENTER and _DUMP_KEY in _keys(node) for node in graph.nodes)


def marked_nodes(graph: torch.fx.Graph) -> set[Node]:
    """Give the nodes inside of `data_dump` blocks.

    Parameters
    ----------
    graph : torch.fx.Graph
        A graph with its markers.

    Returns
    -------
    set of Node
        Every node between the markers of at least one such block, the markers of inner blocks excepted.

    Raises
    ------
    RuntimeError
        When a block begins in the graph and does not end in it, or the other way round.
    """
    marked: set[Node] = set()
    open_blocks: list[bool] = []
    for node in graph.nodes:
        if node.target is _ENTER:
            open_blocks.append(_DUMP_KEY in _keys(node))
        elif node.target is _EXIT:
            if not open_blocks:
                raise RuntimeError(f"torchair.scope: a with block ends in this graph and began outside of it. {_BREAK}")
            open_blocks.pop()
        elif any(open_blocks):
            marked.add(node)
    if open_blocks:
        raise RuntimeError(f"torchair.scope: a with block begins in this graph and does not end in it. {_BREAK}")
    return marked


def remove_markers(graph: torch.fx.Graph) -> None:
    """Erase the markers of all blocks from a graph, and those of the order of streams."""
    for node in reversed(graph.nodes):
        if node.target in _markers.WITHOUT_EFFECT and not node.users:
            graph.erase_node(node)


def _keys(node: Node) -> Iterable[Any]:
    keys = node.args[0] if node.args else node.kwargs.get("keys")
    return keys if isinstance(keys, (list, tuple)) else ()
