"""Dump nodes in the graphs that Inductor fuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import dump_nodes, graph_family
from .compiled_graphs import BACKWARD, TELLS, CompiledGraphs
from .graph_copy import has_calls, spare_of
from .graph_family import Family, compiling
from .inductor_passes import PASS, LastPass


class DumpPass(LastPass):
    """Puts dump nodes into a graph, after its decomposition and before it is fused.

    Parameters
    ----------
    family : Family
        The family of the graphs.
    before : object
        The passes that the program set for this place: they run first.
    """

    def __init__(self, family: Family, before: Any) -> None:
        super().__init__(before)
        self._family = family
        self.enabled = True
        self.is_backward = False
        self.dumps: list[dump_nodes.Inserted] = []
        self.problem = ""

    def __call__(self, graph: Any) -> None:
        """Run the program's passes and put in the dump nodes; when that fails the graph is as it was without them."""
        super().__call__(graph)
        if not self.enabled:
            return
        try:
            numbers = self._family.numbers(graph, self.is_backward)
            phase = graph_family.BACKWARD if self.is_backward else self._family.forward_phase
            root = self._family.root_number
            self.dumps.append(dump_nodes.Inserted(graph, numbers, phase, root, True, self._family.table.functions))
        except Exception as error:
            self.problem = str(error)


def compile_with_nodes(
    model: Any, inputs: Any, patches: dict[str, Any], family: Family, graphs: CompiledGraphs, lost: Callable[[str], None]
) -> Any:
    """Compile as ``torch.compile`` does, with dump nodes.

    Parameters
    ----------
    model : torch.fx.GraphModule
        The graph that Dynamo made.
    inputs : sequence
        What it is compiled for.
    patches : dict
        The settings of Inductor that the program asked for.
    family : Family
        The family of the graphs.
    graphs : CompiledGraphs
        The compiled graphs of the process.
    lost : callable
        Called with the reason when a graph has no dump nodes.

    Returns
    -------
    callable
        The compiled function.
    """
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def inner(graph: Any, example_inputs: Any, **settings: Any) -> Any:
        with compiling(family.table.functions):  # the backward graph's turn comes when it is first needed
            return compile_one(graph, example_inputs, settings)

    def compile_one(graph: Any, example_inputs: Any, settings: dict[str, Any]) -> Any:
        own.is_backward = bool(settings.get("is_backward"))
        own.is_inference = bool(settings.get("is_inference"))
        own.dumps, own.problem = [], ""
        if not has_calls(graph):
            return compile_fx_inner(graph, example_inputs, **settings)
        spare = spare_of(graph)
        try:
            compiled = compile_fx_inner(graph, example_inputs, **settings)
        except Exception as error:
            if not any(own.dumps):
                raise
            return compile_without(f"it does not compile with dump nodes: {error}", spare, example_inputs, settings)
        graphs.look()
        if own.problem or not own.dumps:
            lost(own.problem or "its passes did not run")
        elif not graphs.runs(compiled):
            return compile_without(f"it became a {type(compiled).__name__}", spare, example_inputs, settings)
        else:
            flags = TELLS | (BACKWARD if own.is_backward else 0)
            graphs.bind(compiled, flags, family.root_number, any(inserted.wrote_unseen for inserted in own.dumps))
        return compiled

    def compile_without(reason: str, spare: Any, example_inputs: Any, settings: dict[str, Any]) -> Any:
        lost(reason)
        own.enabled = False
        return compile_fx_inner(spare, example_inputs, **settings)

    own = DumpPass(family, patches.get(PASS, getattr(config, PASS, None)))
    return compile_fx(model, inputs, inner_compile=inner, config_patches={**patches, PASS: own})
