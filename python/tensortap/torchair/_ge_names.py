"""The names of a compiled graph's nodes: those that TorchAir gives its own operators, so that lists of names work here, too.

Numbers run per type: the first multiplication of a graph is ``Mul``, the next ones are ``Mul_1`` and ``Mul_2``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.fx import Graph, Node

import tensortap
from tensortap._torch import graph_lines, node_arguments

from . import _ge_types
from ._messages import say

DATA = "Data"
"""The type of the graph's inputs."""
_MOST_NEAREST = 3
_MARKERS = ("air::", "npu::save_npugraph_tensor")
Modules = Callable[[Node], str]


@dataclass(frozen=True)
class NodeName:
    """What a node is called in the dump.

    Attributes
    ----------
    name
        Unique in its graph.
    type
        Type of the GE operator that the node is named by.
    parts
        Name and type of the other operators that TorchAir would make of the node.
    """

    name: str
    type: str
    parts: tuple[tuple[str, str], ...] = ()


Names = Mapping[Node, NodeName]


@dataclass(frozen=True)
class Match:
    """A node that a name means.

    Attributes
    ----------
    node
        Has a name in the dump.
    how
        Whether the name is the node's own, that of a part of it, that of another node of FX which it replaces, or the program's: a module
        path, or an op below one.
    """

    node: Node
    how: Literal["name", "part", "fx", "module"]


def name_nodes(graph: Graph) -> dict[Node, NodeName]:
    """Name the nodes of a graph that are ops of a dump.

    Parameters
    ----------
    graph : torch.fx.Graph
        Of AOTAutograd, without scope markers.

    Returns
    -------
    dict
        The inputs that are tensors, under their own names, and the operators; views and what is no operator have no name. In the order of
        the graph.
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}

    def numbered(ge_type: str) -> str:
        while True:
            count = counts.get(ge_type, 0)
            counts[ge_type] = count + 1
            name = f"{ge_type}_{count}" if count else ge_type
            if name not in taken:
                taken.add(name)
                return name

    names = {}
    for node in graph.nodes:
        if node.op == "placeholder" and isinstance(node.meta.get("val"), (torch.Tensor, type(None))):
            taken.add(node.name)
            names[node] = NodeName(node.name, DATA)
        elif is_op(node) and (types := _ge_types.types_of(node)):
            own, *parts = ((numbered(ge_type), ge_type) for ge_type in types)
            names[node] = NodeName(*own, tuple(parts))
    return names


def is_op(node: Node) -> bool:
    """Tell whether a node runs an operator, those of `_markers` excepted."""
    return node_arguments.is_operator(node) and not node_arguments.names_of(node)[0].startswith(_MARKERS)


def maker_of(node: Node, names: Names) -> tuple[Node | None, int]:
    """Find the op of the dump that makes what a node gives: behind views and parts of tuples.

    Parameters
    ----------
    node : torch.fx.Node
        Gives a tensor.
    names : mapping
        Of `name_nodes`.

    Returns
    -------
    tuple
        The node with a name, and which of its outputs it is; None when no op makes it.
    """
    slot = 0
    while node not in names:
        if node.op != "call_function" or not node.args:
            return None, 0
        if getattr(node.target, "__name__", "") == "getitem" and isinstance(node.args[1], int):
            slot = node.args[1]
        elif not is_view(node):
            return None, 0
        before = node.args[0]
        if not isinstance(before, Node):
            return None, 0
        node = before
    return node, slot


def is_view(node: Node) -> bool:
    """Tell whether TorchAir leaves a node out, since its readers can read what it views."""
    return is_op(node) and not _ge_types.types_of(node)


def find(names: Names, text: str, modules: Modules | None = None) -> list[Match]:
    """Find the nodes that a name means.

    Parameters
    ----------
    names : mapping
        Of `name_nodes`.
    text : str
        The name of a node, of a part of one, of a node of FX, of an op of the program (``Net.a/addmm``), or a module path; the first of
        these that exists counts.
    modules : callable, optional
        Gives the path of the module that a node belongs to.

    Returns
    -------
    list of Match
        One node, or all of a module, in the order of the graph; empty when the name is unknown.
    """
    for node, named in names.items():
        if named.name == text:
            return [Match(node, "name")]
    for node, named in names.items():
        if any(name == text for name, _ in named.parts):
            return [Match(node, "part")]
    graph = next(iter(names)).graph if names else Graph()
    for node in graph.nodes:
        maker, _ = maker_of(node, names) if node.name == text else (None, 0)
        if maker is not None:
            return [Match(maker, "fx")]
    path_of = modules or module_of
    return [Match(node, "module") for node in names if node.op == "call_function" and _is_in(node, path_of(node), text)]


def module_of(node: Node) -> str:
    """Give the path of the module that a node belongs to, without the name of the root."""
    return graph_lines.module_of(node, "", lambda _: "")


def _is_in(node: Node, path: str, text: str) -> bool:
    """Tell whether a module's path, or the op of the program below one, means a node; the root's name may be left out."""
    module, slash, op = text.rpartition("/") if "/" in text else (text, "", "")
    operator = node_arguments.names_of(node)[0].rpartition("::")[2]
    if slash and op not in (node.name, operator):
        return False
    asked = {module, module.partition(".")[2]} - {""}
    if slash:
        return path in asked or (not path and "." not in module)
    return bool(path) and any(path == one or path.startswith(f"{one}.") for one in asked)


def nearest(names: Names, text: str) -> list[str]:
    """Give the names of a graph that are most like an unknown one, at most three."""
    parts = [name for named in names.values() for name, _ in named.parts]
    known = [named.name for named in names.values()] + parts + [node.name for node in names]
    return difflib.get_close_matches(text, list(dict.fromkeys(known)), _MOST_NEAREST, 0.0)


def matched(names: Names, text: str, graph_name: str, modules: Modules | None = None) -> list[Node]:
    """Find the nodes that a name of ``dump_layer`` means, as `find`; a line on standard error says where a part stands for its node.

    Parameters
    ----------
    names : mapping
        Of `name_nodes`.
    text : str
        The name.
    graph_name : str
        Such as ``graph_1``, for the line.
    modules : callable, optional
        As for `find`.

    Returns
    -------
    list of torch.fx.Node
        Empty when the name is unknown.
    """
    found = find(names, text, modules)
    for match in found:
        if match.how == "part":
            named, where = names[match.node], source_of(match.node)
            node = f"{match.node.name}{', ' if where else ''}{where}"
            say(f"{text} of {graph_name} is a part of {named.name} ({node}), which is dumped")
    return [match.node for match in found]


def unknown_message(names: Names, texts: Iterable[str], where: str) -> str:
    """Say which names of ``dump_layer`` a graph does not have.

    Parameters
    ----------
    names : mapping
        Of `name_nodes`.
    texts : iterable of str
        The unknown names.
    where : str
        The graph, and the file that lists its names.

    Returns
    -------
    str
        One sentence for each name, with the nearest names.
    """
    return "; ".join(f"dump_layer: {text} is unknown in {where}, nearest: {', '.join(nearest(names, text))}" for text in texts)


def source_of(node: Node) -> str:
    """Give the file and line of the program that a node comes from, "" when they are unknown."""
    frames = [frame for frame in graph_lines.frames_of(node) if not _is_foreign(frame[0])]
    return f"{frames[-1][0]}:{frames[-1][1]}" if frames else ""


_FILES = [str(module.__file__) for module in (torch, tensortap)]
_STARTS = ("<", *(f"{os.path.dirname(file)}/" for file in [*_FILES, *map(os.path.realpath, _FILES)]))


def _is_foreign(file: str) -> bool:
    """Tell whether code is that of torch or tensortap, or has no file."""
    return file.startswith(_STARTS)


def schema_names(node: Node) -> list[tuple[str, Any]]:
    """List the tensors that a node reads, in the order in which the dump numbers them.

    Parameters
    ----------
    node : torch.fx.Node
        An operator.

    Returns
    -------
    list of tuple
        The name of the argument (``tensors_0`` for an element of a list), and the node that gives the tensor.
    """
    arguments = {position: name for position, name, _, _ in node_arguments.arguments_of(node)}
    named = []
    for value in node_arguments.tensors_read(node):
        name = arguments.get(value.slot) or f"arg{value.slot}"
        named.append((name if value.element < 0 else f"{name}_{value.element}", value.node))
    return named
