"""Runs of compiled graphs that have dump nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from . import dump_nodes, graph_lines
from ._functions import Functions


def run_nodes(plain: GraphModule, tapped: GraphModule, dumps: dump_nodes.Inserted, report: Callable[[BaseException], None]) -> Any:
    """Give a function that runs the graph with its dump nodes where the step is captured, and without them where it is not.

    Parameters
    ----------
    plain : torch.fx.GraphModule
        The graph as it was.
    tapped : torch.fx.GraphModule
        The same with dump nodes.
    dumps : Inserted
        Those.
    report : callable
        Told of an exception that leaves the graph.

    Returns
    -------
    callable
        Takes the arguments of the graph.
    """
    functions, wrote_unseen = dumps.functions, dumps.wrote_unseen
    begin, end, without, within = functions.graph_begins, functions.graph_ends, plain.forward, tapped.forward

    def run(*values: Any) -> Any:
        if not begin():
            return without(*values)
        try:
            return within(*values)
        except BaseException as error:
            report(error)
            raise
        finally:
            end()
            if wrote_unseen:
                functions.wrote_unseen()

    return run


def failure_report(tapped: GraphModule, numbers: Mapping[Node, int], phase: int, functions: Functions) -> Callable[[BaseException], None]:
    """Give a function that reports which node of a graph raised, and with what it read.

    Parameters
    ----------
    tapped : torch.fx.GraphModule
        The graph, as it runs.
    numbers : mapping
        The numbers of its nodes.
    phase : int
        When it runs.
    functions : Functions
        Of the library.

    Returns
    -------
    callable
        Takes the exception.
    """

    def report(error: BaseException) -> None:
        try:
            _report(error)
        except Exception:
            return

    def _report(error: BaseException) -> None:
        traceback = error.__traceback__
        code = tapped.forward.__func__.__code__
        while traceback is not None and traceback.tb_frame.f_code is not code:
            traceback = traceback.tb_next
        if traceback is None:
            return
        assignment = graph_lines.ASSIGNMENT.match(tapped.code.splitlines()[traceback.tb_lineno - 1])
        for node, number in numbers.items():
            if assignment and node.name == assignment[1] and number:
                site, names = dump_nodes.failed_site(functions, node, number, phase)
                torch.ops.tensortap.dump.default([traceback.tb_frame.f_locals[name] for name in names], site)

    return report
