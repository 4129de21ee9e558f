"""A graph as a readable script that would build it from GE operators."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node

from tensortap._torch import node_arguments

from . import _ge_names, _proto_text
from ._ge_names import Names


def builder_code(graph: Graph, names: Names, name: str) -> str:
    """Give the script.

    Parameters
    ----------
    graph : torch.fx.Graph
        Of AOTAutograd.
    names : mapping
        Of its nodes, see ``_ge_names.name_nodes``.
    name : str
        Name of the graph.

    Returns
    -------
    str
        Of each node the line of the program, the call of FX with types and shapes, and the calls that make its ops.
    """
    lines = ["# -*- coding: utf-8 -*-", "from torchair import ge", "", f"# {name}"]
    source = None
    for node in graph.nodes:
        if node.op == "placeholder" and node in names:
            lines += [f"# FX Code: {_described(node)}", f'{node.name}_0 = ge.Data(node_name="{node.name}")']
        elif node.op == "get_attr":
            lines.append(f'{node.name}_0 = ge.Const(node_name="{node.name}")')
        elif node.op == "call_function":
            now = _ge_names.source_of(node)
            if now and now != source:
                file, _, line = now.rpartition(":")
                lines += ["", f'# File "{_one_line(file)}", line {line}']
                source = now
            lines += [f"## FX Code: {_one_line(_call(node))}", *_made(node, names)]
        elif node.op == "output":
            lines += ["", f'ge.NetOutput({_edges(node, names)}, node_name="NetOutput")']
    return "\n".join(lines) + "\n"


def _made(node: Node, names: Names) -> list[str]:
    """Give the call that makes the op of a node; none for views."""
    if node not in names:
        return []
    named = names[node]
    results = ", ".join(f"{named.name}_{position}" for position in range(max(1, len(_proto_text.made_by(node)))))
    attributes = node_arguments.attributes_of(node)
    words = [_edges(node, names), f"attributes={attributes}" if attributes else "", f'node_name="{named.name}"']
    lines = [f"{results} = ge.{named.type}({', '.join(word for word in words if word)})"]
    if named.parts:
        lines.append(f"# parts: {', '.join(part for part, _ in named.parts)}")
    return lines


def _edges(node: Node, names: Names) -> str:
    return ", ".join(_proto_text.edge(read, names).replace(":", "_") for _, read in _proto_text.inputs_of(node))


def _call(node: Node) -> str:
    words = [_described_value(argument) for argument in node.args]
    words += [f"{key}={_described_value(value)}" for key, value in node.kwargs.items()]
    return f"{_described(node)} = {node.target}({', '.join(words)})"


def _described(node: Node) -> str:
    """Give a node with what it makes: ``add: float32[2, 3]cpu``."""
    value = node.meta.get("val")
    if isinstance(value, (list, tuple)):
        return f"{node.name}: ({', '.join(_tensor(item) for item in value)})"
    return f"{node.name}: {_tensor(value)}" if value is not None else node.name


def _described_value(value: Any) -> str:
    if isinstance(value, Node):
        return _described(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_described_value(item) for item in value)}]"
    return repr(value)


def _tensor(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return str(value)
    return f"{str(value.dtype).rpartition('.')[2]}[{', '.join(str(size) for size in value.shape)}]{value.device}"


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")
