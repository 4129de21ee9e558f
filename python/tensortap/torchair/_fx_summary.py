"""A table of the operators of a graph: how often each is called, with what, and what it makes."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from . import _files
from ._paths import path_for

_HEADER = ["目标函数", "函数类型", "支持状态", "调用次数", "输入统计", "输出统计"]  # target, kind, support, calls, inputs, outputs
_SUPPORTED = "已支持"


class _Row:
    """One operator."""

    def __init__(self) -> None:
        self.inputs: Counter[str] = Counter()
        self.outputs: Counter[str] = Counter()


def write_fx_summary(graph_module: GraphModule, example_inputs: Sequence[Any], folder: str | None = None) -> str:
    """Write the table as ``summary_rank_R_pid_P_ts_TIME.csv``.

    Parameters
    ----------
    graph_module : torch.fx.GraphModule
        Of AOTAutograd, whose nodes know what they make.
    example_inputs : sequence
        What it was compiled for; what its inputs know of themselves comes first.
    folder : str, optional
        Where to write it; the current folder when it is None.

    Returns
    -------
    str
        The path.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    given = iter(example_inputs)
    known = {node: node.meta.get("val", next(given, None)) for node in graph_module.graph.nodes if node.op == "placeholder"}
    rows: dict[Any, _Row] = {}
    for node in graph_module.graph.nodes:
        if node.op != "call_function":
            continue
        row = rows.setdefault(node.target, _Row())
        words = [_described(tuple(node.args), known), *([_described(dict(node.kwargs), known)] if node.kwargs else [])]
        row.inputs[", ".join(words)] += 1
        row.outputs[_described(node.meta.get("val"), known)] += 1
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(_HEADER)
    for target, row in rows.items():
        count = str(sum(row.inputs.values()))
        writer.writerow([str(target), _kind_of(target), _SUPPORTED, count, _counted(row.inputs), _counted(row.outputs)])
    path = path_for(folder, "summary", "csv")
    _files.write_whole(path, lambda file: file.write(text.getvalue().encode("utf-8-sig")))
    return path


def _kind_of(target: Any) -> str:
    if not isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)):
        return "builtin"
    return "prims" if "prim" in str(target) else "aten"


def _counted(descriptions: Counter[str]) -> str:
    return "\n".join(f"{count}次：{description}" for description, count in descriptions.most_common())


def _described(value: Any, known: dict[Node, Any]) -> str:
    """Describe a value as Python shows it, tensors as ``float32(2, 3)``."""
    if isinstance(value, Node):
        return _described(value.meta.get("val", known.get(value)), known)
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).rpartition('.')[2]}{tuple(value.size())}"
    if isinstance(value, tuple):
        inner = ", ".join(_described(item, known) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(_described(item, known) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_described(item, known)}" for key, item in value.items()) + "}"
    return repr(value)
