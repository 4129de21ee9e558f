"""Which module and which line of the program each line of a compiled graph's code comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ._functions import Functions

ASSIGNMENT = re.compile(r"\s+(\w+)(?:\s*:[^=]*)? = ")
"""The variable that a line of a graph's code sets: the node's name."""
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_ROOT = re.compile(r"^L\['\w+'\]\.?")
_MEMBER = re.compile(r"(?:\._modules)?\[['\"]?([^'\"\]]+)['\"]?\]")


def rows(graph: Any, root: str, functions: Functions, path_of: Callable[[int], str]) -> Iterator[tuple[int, str, str]]:
    """List where the lines of a graph's code come from; backward graphs know the forward operator of each node.

    Parameters
    ----------
    graph : torch.fx.GraphModule
        Of AOTAutograd.
    root : str
        Path of the compiled model.
    functions : Functions
        The functions of the library.
    path_of : callable
        Gives the path of the module at an address, "" when it has none.

    Yields
    ------
    tuple
        The line, from 1; "file:line" of the program; the module's path.
    """
    nodes = {node.name: node for node in graph.graph.nodes}
    for number, text in enumerate(graph.code.splitlines(), 1):
        assignment = ASSIGNMENT.match(text)
        node = nodes.get(assignment[1]) if assignment else None
        if node is not None:
            yield number, source_of(node, functions), module_of(node, root, path_of)


def frames_of(node: Any) -> list[tuple[str, str]]:
    """List the files and lines of the calls that a node comes from, the innermost last."""
    return _FRAME.findall(node.meta.get("stack_trace") or "")


def source_of(node: Any, functions: Functions) -> str:
    """Give the innermost line of the program that a node comes from."""
    for file, line in reversed(frames_of(node)):
        shown = functions.program_file(file)
        if shown:
            return f"{shown}:{line}"
    return ""


def module_of(node: Any, root: str, path_of: Callable[[int], str]) -> str:
    """Give the path of the innermost module that a node comes from."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    if not stack:
        return root
    key, entry = list(stack.items())[-1]
    return path_of_entry(key, str(entry[0]), root, path_of)


def path_of_entry(key: Any, name: str, root: str, path_of: Callable[[int], str]) -> str:
    """Give the path of a module of ``nn_module_stack``.

    Parameters
    ----------
    key, name
        Key and name of the entry: the module's address or a name, and the expression by which the code has the module.
    root : str
        Path of the module whose code was compiled.
    path_of : callable
        Gives the path of the module at an address, "" when it has none.
    """
    address = str(key).partition("@")[0]
    known = path_of(int(address)) if address.isdecimal() else ""
    if known:
        return known
    # "L['self'].blocks[0].norm", in the words of some releases "L['self']._modules['blocks']...".
    member = _MEMBER.sub(r".\1", _ROOT.sub("", name)).strip(".")
    return f"{root}.{member}" if root and member else member or root
