"""Puts a dump node behind each captured node of a graph: a call of ``tensortap::dump`` with the node's inputs and outputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import Graph, Node

from . import node_arguments
from ._functions import Functions
from .node_arguments import Value

_WANTED, _ALLOCATES = 1, 2  # of wants_node
_FIRST, _SECOND, FAILED, _NOTES_ONLY = 1, 2, 4, 8  # of add_site
_CHANGED, _ONLY_NOTED = 1, 2  # of a slot
_OUTPUT, _INPUT = 0, 1


class Inserted:
    """The dump nodes of one graph.

    Parameters
    ----------
    graph : torch.fx.Graph
        That gets them.
    numbers : mapping
        The number of each of its nodes that is an operator.
    phase : int
        When it runs.
    root : int
        The number of the module that it runs for.
    fuses : bool
        Whether a compiler gives tensors the memory of others without an operator that shows it.
    functions : Functions
        The functions of the library.
    """

    def __init__(self, graph: Graph, numbers: Mapping[Node, int], phase: int, root: int, fuses: bool, functions: Functions) -> None:
        self._graph = graph
        self._root = root
        self._phase = phase
        self._fuses = fuses
        self.functions = functions
        self._added: list[Node] = []
        self._last: Any = None  # behind which the next is put
        self._dumped: set[Node] = set()
        self.wrote_unseen = False
        self._is_counted = False
        self._run = torch.ops.tensortap.dump.default if fuses else self._run_of_python()
        try:
            for node, number in numbers.items():
                self._insert(node, number)
        except BaseException:
            self.remove()
            raise

    def __len__(self) -> int:
        return len(self._added)

    def remove(self) -> None:
        """Leave the graph as it was."""
        for node in reversed(self._added):
            self._graph.erase_node(node)
        self._added.clear()

    def _lose(self) -> None:
        """Count the graph, once, among those that were not captured."""
        if not self._is_counted:
            self._is_counted = True
            self.functions.note_compiled(1)

    def _run_of_python(self) -> Callable[[list[Any], int], None]:
        """Give what runs a dump node in a graph that Python runs: the program's graph does not fail where torch refuses the node."""

        def dump_in_python(tensors: list[Any], site: int) -> None:
            try:
                torch.ops.tensortap.dump.default(tensors, site)
            except Exception:
                self._lose()

        return dump_in_python

    def _insert(self, node: Node, number: int) -> None:
        self._last = _behind(node)
        wanted = self.functions.wants_node(number, self._root) if number else 0
        read = node_arguments.tensors_read(node)
        if not wanted:
            self._note_written(node, number, read)
            return
        writes = any(value.written for value in read)
        slots = [self._input_slot(position, value) for position, value in enumerate(read)]
        inputs = [_Slot(value.node, _INPUT, *slot, self._flags_of_input(value.node)) for value, slot in zip(read, slots, strict=True)]
        if writes:
            self._dump(node, (number, self._phase, _FIRST), inputs, before=True)
        outputs = self._outputs(node, read)
        if not writes:
            self._dump(node, (number, self._phase, 0), inputs + outputs)
        else:
            written = [_Slot(value.node, _INPUT, 0, -1, _CHANGED | _ONLY_NOTED) for value in read if value.written]
            self._dump(node, (number, self._phase, _SECOND), written + outputs)

    def failed_site(self, node: Node, number: int) -> tuple[int, list[str]]:
        """Make a site for what a node read that raised.

        Parameters
        ----------
        node : torch.fx.Node
            That raised.
        number : int
            Its number.

        Returns
        -------
        tuple
            The site, and the names of the variables that hold its tensors.
        """
        read = node_arguments.tensors_read(node)
        rows = [(position, _INPUT, *self._input_slot(position, value), 0) for position, value in enumerate(read)]
        return self.functions.add_site((number, self._phase, FAILED), rows), [value.node.name for value in read]

    def _input_slot(self, position: int, value: Value) -> tuple[int, int]:
        """Give the slot and the element of a tensor that is the `position`th of those that a node reads."""
        return value.slot, value.element

    def _note_written(self, node: Node, number: int, read: list[Value]) -> None:
        """Report what an unwanted node wrote."""
        changed = [_Slot(value.node, _INPUT, 0, -1, _CHANGED | _ONLY_NOTED) for value in read if value.written]
        if not changed:
            return
        if not number or self._fuses:
            self.wrote_unseen = True
        else:
            self._dump(node, (number, self._phase, _NOTES_ONLY), changed)

    def _flags_of_input(self, node: Node) -> int:
        if not self._fuses or node.op in ("placeholder", "get_attr"):
            return 0
        known = node in self._dumped and not node_arguments.is_view(node) and node.target is not operator.getitem
        return 0 if known else _CHANGED

    def _outputs(self, node: Node, read: list[Value]) -> list[_Slot]:
        """List what a node makes, and then what it wrote and does not return."""
        values = _made(node)
        schema = node_arguments.schema_of(node)
        is_list = schema is not None and len(schema.returns) == 1 and isinstance(node.meta.get("val"), (list, tuple))
        flags = _CHANGED if self._fuses else 0
        outputs = []
        if _is_complete(node):
            for position, value in enumerate(values):
                if position == 0 and node_arguments.has_token(node):
                    continue
                slot, element = (0, position) if is_list else (position, -1)
                if isinstance(value, (list, tuple)):
                    parts = self._items(self._item(node, position, value), value)
                    outputs += [_Slot(part, _OUTPUT, position, k, flags) for k, part in parts]
                elif isinstance(value, torch.Tensor):
                    part = node if value is node.meta.get("val") else self._item(node, position, value)
                    outputs.append(_Slot(part, _OUTPUT, slot, element, flags))
        slot = 0 if schema is None else len(schema.returns)
        for value in read:
            if value.written and not node_arguments.returns_written(node, value):
                slot -= value.element > 0
                outputs.append(_Slot(value.node, _OUTPUT, slot, value.element, 0))
                slot += 1
        self._dumped.add(node)
        return outputs

    def _items(self, parent: Node, values: Any) -> list[tuple[int, Node]]:
        return [(k, self._item(parent, k, value)) for k, value in enumerate(values) if isinstance(value, torch.Tensor)]

    def _item(self, parent: Node, position: int, value: Any) -> Node:
        """Give what takes one tensor out of the tuple that a node gives."""
        with self._graph.inserting_after(self._last):
            item = self._graph.call_function(operator.getitem, (parent, position))
        item.meta = {**{key: kept for key, kept in parent.meta.items() if key != "tensor_meta"}, "val": value}
        self._added.append(item)
        self._last = item
        return item

    def _dump(self, node: Node, role: tuple[int, int, int], slots: list[_Slot], before: bool = False) -> None:
        tensors = list(dict.fromkeys(slot.node for slot in slots))
        if not tensors:
            return
        positions = {tensor: position for position, tensor in enumerate(tensors)}
        rows = [(positions[slot.node], slot.kind, slot.slot, slot.element, slot.flags) for slot in slots]
        site = self.functions.add_site(role, rows)
        if site < 0:
            self._lose()
            return
        with self._graph.inserting_before(node) if before else self._graph.inserting_after(self._last):
            dump = self._graph.call_function(self._run, (tensors, site))
        dump.meta["val"] = None
        self._added.append(dump)


def _behind(node: Node) -> Node:
    """Give the node behind which a dump of `node` is put: all inputs of a graph come first."""
    while node.op == "placeholder" and node.next.op == "placeholder":
        node = node.next
    return node


class _Slot:
    """A tensor of a node in its dump node."""

    def __init__(self, node: Node, kind: int, slot: int, element: int, flags: int) -> None:
        self.node, self.kind, self.slot, self.element, self.flags = node, kind, slot, element, flags


def _made(node: Node) -> tuple[Any, ...]:
    """List what a node makes."""
    value = node.meta.get("val")
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _is_complete(node: Node) -> bool:
    """Tell whether what a node makes has its values when the node has run: collectives have theirs when they were waited for."""
    name = node_arguments.names_of(node)[0]
    return not name.startswith("_c10d_functional::") or name.endswith("::wait_tensor")
