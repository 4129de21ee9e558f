"""Passes of ours over the graphs that Inductor compiles, behind those of the program."""

from __future__ import annotations

from typing import Any

try:
    from torch._inductor.custom_graph_pass import CustomGraphPass
except ImportError:  # before torch 2.6

    class CustomGraphPass:  # type: ignore[no-redef]
        """Replace the class that this release does not have yet."""


PASS = "post_grad_custom_post_pass"
"""The setting of Inductor that has the program's passes for this place, after the decomposition of a graph and before it is fused."""


class LastPass(CustomGraphPass):  # type: ignore[misc]
    """Runs the passes that the program set for this place.

    Parameters
    ----------
    before : object
        These passes.
    """

    def __init__(self, before: Any) -> None:
        self._before = before
        self.is_inference = False

    def __call__(self, graph: Any) -> None:
        """Run the program's passes."""
        for earlier in self._before if isinstance(self._before, (list, tuple)) else [self._before]:
            if earlier is not None:
                self._run(earlier, graph)

    def _run(self, earlier: Any, graph: Any) -> None:
        # Such passes receive whether the graph is for inference.
        if any(kind.__name__ == "CustomInferenceAwareGraphPass" for kind in type(earlier).__mro__):
            earlier(graph, is_inference=self.is_inference)
        else:
            earlier(graph)

    def uuid(self) -> None:
        """Keep these graphs out of Inductor's caches: what is noted of them belongs to this process."""
        return


class LookPass(LastPass):
    """Notes the nodes of a graph, and leaves it as it is."""

    def begin(self, is_inference: bool, nodes: dict[str, Any]) -> None:
        """Begin with a graph, whose nodes go into `nodes` by their names."""
        self.is_inference = is_inference
        self._nodes = nodes

    def __call__(self, graph: Any) -> None:
        """Run the program's passes, and note the nodes."""
        super().__call__(graph)
        self._nodes.update((node.name, node) for node in graph.nodes)
