"""The modules that a compiled graph was made of, told as operations while it runs: no call of them is left to be seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from torch.fx import GraphModule, Node

from . import graph_lines
from ._functions import Functions
from .graph_copy import copy_of
from .module_events import ModuleEvents

_Places = tuple[tuple[str, str], ...]
"""The modules around a node, the innermost last: path and class."""


class CompiledModules:
    """Begins and ends operations between the nodes of compiled graphs.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    events : ModuleEvents
        The events of the process.
    path_of : callable
        Gives the path of the module at an address, "" when it has none.
    """

    def __init__(self, functions: Functions, events: ModuleEvents, path_of: Callable[[int], str]) -> None:
        self._functions = functions
        self._events = events
        self._path_of = path_of
        self._threads = threading.local()

    def telling(self, graph: GraphModule, root: str) -> tuple[GraphModule, Callable[..., Any]]:
        """Give a graph that tells which modules its nodes belong to.

        Parameters
        ----------
        graph : torch.fx.GraphModule
            A forward graph of AOTAutograd; it stays as it is.
        root : str
            Path of the module whose code was compiled.

        Returns
        -------
        tuple
            The graph, and what runs it.
        """

        def tensortap_module(places: _Places) -> None:
            self._move_to(places)

        new, copied = copy_of(graph)
        before: _Places = ()
        for node in graph.graph.nodes:
            if node.op == "call_function":
                places = self._places_of(node, root)
                if places != before:
                    with new.inserting_before(copied[node]):
                        new.call_function(tensortap_module, (places,))
                    before = places
        told = GraphModule(graph, new)
        forward = told.forward

        def run(*values: Any) -> Any:
            try:
                return forward(*values)
            finally:
                self._move_to(())

        return told, run

    def _places_of(self, node: Node, root: str) -> _Places:
        """Name the modules around a node, without the one whose code was compiled: that is called as any other."""
        places: list[tuple[str, str]] = []
        for key, (name, kind) in (node.meta.get("nn_module_stack") or {}).items():
            path = graph_lines.path_of_entry(key, name, root, self._path_of)
            if path and path != root:
                places.append((path, kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__))
        return tuple(places)

    def _move_to(self, places: _Places) -> None:
        """End the operations that a node is not in, and begin those that it is in."""
        running: list[tuple[tuple[str, str], int]] = self._threads.__dict__.setdefault("running", [])
        common = 0
        while common < min(len(running), len(places)) and running[common][0] == places[common]:
            common += 1
        if common < len(running):
            self._functions.operation_ends(running[common][1])
            del running[common:]
        for place in places[common:]:
            number = self._events.operation_at(*place, self._path_of)
            running.append((place, self._functions.operation_begins(number, True)))
