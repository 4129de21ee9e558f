"""Runs of compiled graphs that have dump nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from . import dump_nodes, graph_lines
from .graph_copy import copy_of
from .graph_family import BACKWARD, Family


class GraphRuns:
    """Runs a graph with dump nodes where the step is captured, and without them where it is not.

    Instances of a class may share a graph but capture different nodes: each has separate dump nodes.

    Parameters
    ----------
    graph : torch.fx.GraphModule
        A graph of AOTAutograd.
    family : Family
        The family of the graph.
    backward : bool
        Whether it is the backward graph.
    lost : callable
        Called with the reason why a graph has no dump nodes.

    Raises
    ------
    Exception
        When there can be no dump nodes.
    """

    def __init__(self, graph: GraphModule, family: Family, backward: bool, lost: Callable[[str], None]) -> None:
        self._graph = graph
        self._family = family
        self._backward = backward
        self._lost = lost
        self._numbers = family.numbers(graph.graph, backward)
        self._tapped: dict[int, Callable[..., Any]] = {}
        self._tap(family.root_number)

    def __call__(self, *values: Any) -> Any:
        """Run the graph."""
        functions = self._family.table.functions
        root = functions.graph_begins(self._family.root_number, self._backward)
        if root < 0:
            return self._graph.forward(*values)
        try:
            return (self._tapped.get(root) or self._tap_late(root))(*values)
        finally:
            functions.graph_ends()

    def _tap_late(self, root: int) -> Callable[..., Any]:
        try:
            return self._tap(root)
        except Exception as error:
            self._lost(str(error))
            return self._tapped.setdefault(root, self._graph.forward)

    def _tap(self, root: int) -> Callable[..., Any]:
        """Make the graph with the dump nodes that are wanted when it runs for a module."""
        new, copied = copy_of(self._graph)
        numbers = {copied[node]: number for node, number in self._numbers.items()}
        phase = BACKWARD if self._backward else self._family.forward_phase
        functions = self._family.table.functions
        dumps = dump_nodes.Inserted(new, numbers, phase, root, False, functions)
        tapped = GraphModule(self._graph, new)
        run = reporting(tapped, numbers, dumps, functions.wrote_unseen if dumps.wrote_unseen else None)
        self._tapped[root] = run
        return run


def reporting(
    tapped: GraphModule, numbers: Mapping[Node, int], dumps: dump_nodes.Inserted, after: Callable[[], None] | None = None
) -> Callable[..., Any]:
    """Give what runs a graph with dump nodes, and reports which node raised, and with what it read.

    Parameters
    ----------
    tapped : torch.fx.GraphModule
        With dump nodes.
    numbers : mapping
        The number of each of its nodes that is an operator.
    dumps : Inserted
        Its dump nodes.
    after : callable, optional
        Called after every run.

    Returns
    -------
    callable
        To be called as the graph is; the exception of a node goes on to the caller as it is.
    """
    within = tapped.forward

    def run(*values: Any) -> Any:
        try:
            return within(*values)
        except BaseException as error:
            with contextlib.suppress(Exception):
                report(error)
            raise
        finally:
            if after:
                after()

    def report(error: BaseException) -> None:
        traceback = error.__traceback__
        code = within.__func__.__code__
        while traceback is not None and traceback.tb_frame.f_code is not code:
            traceback = traceback.tb_next
        if traceback is None:
            return
        assignment = graph_lines.ASSIGNMENT.match(tapped.code.splitlines()[traceback.tb_lineno - 1])
        for node, number in numbers.items():
            if assignment and node.name == assignment[1] and number:
                site, names = dumps.failed_site(node, number)
                torch.ops.tensortap.dump.default([traceback.tb_frame.f_locals[name] for name in names], site)

    return run
