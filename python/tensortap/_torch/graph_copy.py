"""Copies of compiled graphs, and what a graph has in it."""

from __future__ import annotations

import copy

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


def spare_of(module: GraphModule) -> GraphModule:
    """Copy a module and the graphs that its nodes have inside, so that nothing that is done to it shows in the copy.

    Parameters
    ----------
    module : torch.fx.GraphModule
        To be compiled; the copy has its tensors.

    Returns
    -------
    torch.fx.GraphModule
        The copy.
    """
    # The class of a graph module belongs to that one module: calling it makes no other one.
    spare = GraphModule(module, copy.deepcopy(module.graph))
    spare.meta = dict(getattr(module, "meta", {}))
    for name in {str(node.target) for node in module.graph.nodes if node.op in ("get_attr", "call_module")}:
        inside = getattr(module, name, None)
        if isinstance(inside, GraphModule):
            setattr(spare, name, spare_of(inside))
    return spare


def has_calls(module: GraphModule) -> bool:
    """Tell whether a graph computes something: Inductor makes no code of one that only returns what it is given.

    Parameters
    ----------
    module : torch.fx.GraphModule
        To be compiled.
    """
    return any("call" in node.op for node in module.graph.nodes)
