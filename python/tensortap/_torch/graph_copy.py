"""Copies of compiled graphs, for nodes of one's own between theirs."""

from __future__ import annotations

from torch.fx import Graph, GraphModule, Node


def copy_of(module: GraphModule) -> tuple[Graph, dict[Node, Node]]:
    """Copy the graph of a module, with what its nodes know and the code that it is written as.

    Parameters
    ----------
    module : torch.fx.GraphModule
        Of AOTAutograd; it stays as it is.

    Returns
    -------
    tuple
        The copy, and the copied node of each node of the graph except its output.
    """
    copied: dict[Node, Node] = {}
    new = Graph()
    output = new.graph_copy(module.graph, copied)
    old_output = next(node for node in reversed(module.graph.nodes) if node.op == "output")
    new.output(output).meta = dict(old_output.meta)
    new.set_codegen(module.graph._codegen)
    return new, copied
