"""A graph as the text of a protobuf message: that of GE, and that of TensorFlow, which viewers know.

Readers of these texts take a line apart at ": " and " {", so values have neither: the blank is written as an escape.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Graph, Node

from tensortap._torch import node_arguments

from . import _ge_names
from ._ge_names import Names

WITH_VALUES, WITHOUT_VALUES, EDGES_ONLY = 1, 2, 3

_DTYPES = {
    torch.float32: "DT_FLOAT",
    torch.float64: "DT_DOUBLE",
    torch.float16: "DT_FLOAT16",
    torch.bfloat16: "DT_BF16",
    torch.int8: "DT_INT8",
    torch.int16: "DT_INT16",
    torch.int32: "DT_INT32",
    torch.int64: "DT_INT64",
    torch.uint8: "DT_UINT8",
    torch.bool: "DT_BOOL",
    torch.complex64: "DT_COMPLEX64",
    torch.complex128: "DT_COMPLEX128",
}


class _Block:
    """Lines of nested messages."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0

    def field(self, name: str, value: str) -> None:
        self.lines.append(f"{'  ' * self._depth}{name}: {value}")

    def text(self, name: str, value: str) -> None:
        self.field(name, quoted(value))

    def open(self, name: str) -> None:
        self.lines.append(f"{'  ' * self._depth}{name} {{")
        self._depth += 1

    def close(self) -> None:
        self._depth -= 1
        self.lines.append(f"{'  ' * self._depth}}}")

    def attribute(self, key: str, value: Any) -> None:
        """Add ``attr { key: "..." value { ... } }``."""
        self.open("attr")
        self.text("key", key)
        self.open("value")
        if isinstance(value, list):
            self.open("list")
            for item in value:
                self._scalar(item)
            self.close()
        else:
            self._scalar(value)
        self.close()
        self.close()

    def _scalar(self, value: Any) -> None:
        if isinstance(value, bool):
            self.field("b", "true" if value else "false")
        elif isinstance(value, int):
            self.field("i", str(value))
        elif isinstance(value, float):
            self.field("f", repr(value))
        else:
            self.text("s", value if isinstance(value, str) else json.dumps(value))

    def whole(self) -> str:
        return "\n".join(self.lines) + "\n"


def quoted(text: str) -> str:
    """Give a text as a string of protobuf's text form.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        In quotes, in ASCII, without ": " and " {".
    """
    escaped = []
    for byte in text.encode(errors="surrogateescape"):
        if byte in b'"\\':
            escaped.append(f"\\{chr(byte)}")
        else:
            escaped.append(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(escaped).replace(": ", ":\\040").replace(" {", "\\040{") + '"'


def ge_text(graph: Graph, names: Names, name: str, level: int) -> str:
    """Give a graph in the form of GE's message; see ``_graph_text.ge_graph_text``."""
    block = _Block()
    block.text("name", name)
    _add_ops(block, graph, names, level)
    return block.whole()


def ge_model_text(graph: Graph, names: Names, name: str, level: int) -> str:
    """Give a graph in the form of GE's model message: ``graph { ... }``, with the inputs of the graph; see ``ge_graph_text``."""
    block = _Block()
    block.open("graph")
    block.text("name", name)
    for node in graph.nodes:
        if node.op == "placeholder" and node in names:
            block.text("input", edge(node, names))
    _add_ops(block, graph, names, level)
    block.close()
    return block.whole()


def _add_ops(block: _Block, graph: Graph, names: Names, level: int) -> None:
    for node in graph.nodes:
        if node in names or node.op in ("get_attr", "output"):
            block.open("op")
            _add_op(block, node, names, level)
            block.close()


def tensorflow_text(graph: Graph, names: Names) -> str:
    """Give a graph in the form of TensorFlow's GraphDef.

    Parameters
    ----------
    graph : torch.fx.Graph
        Of AOTAutograd.
    names : mapping
        Of its nodes.

    Returns
    -------
    str
        One block ``node { ... }`` for each op.
    """
    block = _Block()
    for node in graph.nodes:
        if node not in names and node.op not in ("get_attr", "output"):
            continue
        own_name, own_type = name_and_type(node, names)
        block.open("node")
        block.text("name", own_name)
        block.text("op", own_type)
        for _, read in inputs_of(node):
            block.text("input", edge(read, names))
        for key, value in _origin(node, names):
            block.attribute(key, value)
        for position, made in enumerate(made_by(node)):
            block.attribute(f"output_{position}", f"{dtype_name(made)}[{', '.join(shape_of(made))}]")
        block.close()
    return block.whole()


def name_and_type(node: Node, names: Names) -> tuple[str, str]:
    """Give the name and type of an op, of a constant, or of the end of a graph."""
    if node in names:
        return names[node].name, names[node].type
    return (node.name, "Const") if node.op == "get_attr" else ("NetOutput", "NetOutput")


def inputs_of(node: Node) -> list[tuple[str, Node]]:
    """List the tensors that a node reads, with the names of the arguments."""
    if node.op == "output":
        return [(f"x{position}", read) for position, read in enumerate(node.all_input_nodes)]
    return _ge_names.schema_names(node) if node.op == "call_function" else []


def edge(read: Node, names: Names) -> str:
    """Give where a tensor comes from: ``Add:0``."""
    maker, slot = _ge_names.maker_of(read, names)
    return f"{(names[maker].name if maker is not None else read.name)}:{slot}"


def made_by(node: Node) -> list[torch.Tensor | None]:
    """List the outputs of a node, None for each that is no tensor."""
    value = node.meta.get("val")
    if node.op == "output":
        return []
    if node.op == "get_attr" and not isinstance(value, torch.Tensor):
        value = _constant(node)
    values = value if isinstance(value, (list, tuple)) else [value]
    return [item if isinstance(item, torch.Tensor) else None for item in values]


def dtype_name(tensor: torch.Tensor | None) -> str:
    """Give GE's name of a tensor's type."""
    if tensor is None:
        return "DT_UNDEFINED"
    return _DTYPES.get(tensor.dtype) or f"DT_{str(tensor.dtype).rpartition('.')[2].upper()}"


def shape_of(tensor: torch.Tensor | None) -> list[str]:
    """Give a tensor's dimensions as text, symbols by their names."""
    return [] if tensor is None else [str(size) for size in tensor.shape]


def _add_op(block: _Block, node: Node, names: Names, level: int) -> None:
    own_name, own_type = name_and_type(node, names)
    block.text("name", own_name)
    block.text("type", own_type)
    inputs = inputs_of(node)
    for _, read in inputs:
        block.text("input", edge(read, names))
    if level >= EDGES_ONLY:
        return
    for key, value in _arguments(node, level):
        block.attribute(key, value)
    for key, value in _origin(node, names):
        block.attribute(key, value)
    for argument, read in inputs:
        block.open("input_desc")
        block.text("name", argument)
        _add_description(block, read.meta.get("val"))
        block.attribute("tensortap_fx", read.name)
        block.close()
    for position, made in enumerate(made_by(node)):
        block.open("output_desc")
        _add_description(block, made)
        target = f"-{node.target}" if node.op == "call_function" else ""
        block.attribute("_fx_tensor_name", f"{node.name}{target}.OUTPUT.{position}")
        block.close()


def _add_description(block: _Block, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        return
    block.field("dtype", dtype_name(tensor))
    block.open("shape")
    for size in shape_of(tensor):
        block.field("dim", size if size.lstrip("-").isdecimal() else "-1")
    block.close()
    block.attribute("_meta", f"{str(tensor.dtype).rpartition('.')[2]}[{', '.join(shape_of(tensor))}]")


def _origin(node: Node, names: Names) -> Iterator[tuple[str, str]]:
    """List where an op comes from, and the names of its parts."""
    yield "tensortap_fx", node.name
    if node.op != "call_function":
        return
    yield "tensortap_source", _ge_names.source_of(node)
    yield "tensortap_module", _ge_names.module_of(node)
    if node in names and names[node].parts:
        yield "tensortap_parts", " ".join(name for name, _ in names[node].parts)


def _arguments(node: Node, level: int) -> Iterator[tuple[str, Any]]:
    """List the arguments of an operator that are no tensors, and the values of a constant."""
    if node.op == "call_function":
        yield from json.loads(node_arguments.attributes_of(node) or "{}").items()
    elif node.op == "get_attr" and level == WITH_VALUES:
        value = _constant(node)
        if isinstance(value, torch.Tensor):
            yield "value", value.detach().cpu().flatten().tolist()


def _constant(node: Node) -> Any:
    """Give the attribute of the graph's module that a node reads."""
    value: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value
