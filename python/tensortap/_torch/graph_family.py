"""The graphs that one function of the program is compiled to, and which op each of their nodes is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx import Graph, Node

from . import graph_lines, node_arguments
from ._functions import Functions

_PLACEHOLDER = re.compile(r"primals_(\d+)$|arg(\d+)_1$")
_UNKNOWN_SCOPE = "CompiledFunctionBackward"
FORWARD, BACKWARD, INFERENCE = 1, 2, 0


@contextmanager
def compiling(functions: Functions) -> Iterator[None]:
    """Let torch.compile work on a graph: the operators that it runs for that are not the program's."""
    functions.compile_begins()
    try:
        yield
    finally:
        functions.compile_ends()


class NodeTable:
    """The numbers of all nodes: a graph that is compiled anew, for another shape, has the ops of the first.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    path_of : callable
        Gives the path of the module at an address, "" when it has none.
    """

    def __init__(self, functions: Functions, path_of: Callable[[int], str]) -> None:
        self.functions = functions
        self.path_of = path_of
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable, row: Callable[[], tuple[Any, ...]]) -> int:
        """Give the number of a node; `row` describes it when it is new. 0 = it cannot be captured."""
        if key not in self._numbers:
            self._numbers[key] = self.functions.add_node(row())
        return self._numbers[key]


class Family:
    """A forward graph and its backward graph.

    Parameters
    ----------
    table : NodeTable
        The table of the process.
    inputs : iterable
        The inputs that the function is compiled for.
    """

    def __init__(self, table: NodeTable, inputs: Iterable[Any]) -> None:
        self.table = table
        self.root = table.functions.current_path()  # the compiled model's: its forward is being called
        self.root_number = table.functions.path_number(self.root)
        self.forward_phase = FORWARD if torch.is_grad_enabled() else INFERENCE
        self._autograd_names: dict[int, str] = {}
        self._forward: dict[int, int] = {}
        self._parameters = [_parameter_name(value, table.functions) for value in inputs]
        self._parameter_of: dict[str, str] = {}

    def numbers(self, graph: Graph, backward: bool) -> dict[Node, int]:
        """Give the numbers of the nodes of a graph that are operators."""
        if not self._autograd_names:
            lines = (line.partition(" ") for line in self.table.functions.autograd_names().splitlines())
            self._autograd_names = {int(number): name for number, _, name in lines}
        seen: Counter[Hashable] = Counter()
        numbers: dict[Node, int] = {}
        for node in graph.nodes:
            if node_arguments.is_operator(node):
                numbers[node] = self._number(node, backward and not _is_recomputed(node), seen)
            if not backward:
                self._follow_parameter(node)
        return numbers

    def _number(self, node: Node, backward: bool, seen: Counter[Hashable]) -> int:
        sequence = node.meta.get("seq_nr", -1)
        forward = self._forward.get(sequence, 0) if backward else 0
        scope = self._autograd_names.get(sequence, _UNKNOWN_SCOPE) if backward else ""
        source = graph_lines.source_of(node, self.table.functions)
        module = graph_lines.module_of(node, self.root, self.table.path_of)
        operator = node_arguments.names_of(node)
        if forward:
            # The operators of an autograd node distinguish what it does, as without compiling.
            key: Hashable = (operator, scope, forward)
        else:
            place = (operator, scope, self.root, module, source, node.meta.get("stack_trace"))
            key = (*place, seen[place])
            seen[place] += 1

        def describe() -> tuple[Any, ...]:
            attributes = node_arguments.attributes_of(node)
            return (*operator, module, source, scope, attributes, self._input_names(node), forward, self.root)

        number = self.table.number(key, describe)
        if not backward and number:
            self._forward.setdefault(sequence, number)
        return number

    def _follow_parameter(self, node: Node) -> None:
        """Note which nodes are parameters or views of them: by these names the backward graph has them."""
        found = _PLACEHOLDER.match(node.name) if node.op == "placeholder" else None
        if found:
            position = int(found[1]) - 1 if found[1] else int(found[2])
            name = self._parameters[position] if position < len(self._parameters) else ""
        elif node_arguments.is_view(node) and node.args and isinstance(node.args[0], Node):
            name = self._parameter_of.get(node.args[0].name, "")
        else:
            return
        if name:
            self._parameter_of[node.name] = name

    def _input_names(self, node: Node) -> list[str]:
        names = node_arguments.input_names(node)
        for value in node_arguments.tensors_read(node):
            source = value.node
            while source.name not in self._parameter_of and node_arguments.is_view(source) and isinstance(source.args[0], Node):
                source = source.args[0]
            if source.name in self._parameter_of and value.slot < len(names) and value.element <= 0:
                names[value.slot] = self._parameter_of[source.name]
        return names


def _is_recomputed(node: Node) -> bool:
    """Tell whether a node of a backward graph is one of the forward pass that is computed again."""
    return "nn_module_stack" in node.meta and not node.meta.get("autograd_backward")


def _parameter_name(value: Any, functions: Functions) -> str:
    from torch._subclasses import FakeTensor

    if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
        return ""
    try:
        return functions.parameter_name(value.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return ""
