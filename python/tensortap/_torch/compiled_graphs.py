"""Follows the runs of graphs that Inductor compiled: their fused kernels are not operators, so the capture does not see what they write."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

from ._functions import Functions
from .dynamo_frames import undisturbed
from .generated_code import buffers_to_write

_RUNS_GRAPHS = (
    ("torch._inductor.output_code", "CompiledFxGraph"),
    ("torch._inductor.output_code", "CompiledAOTI"),
    ("torch._inductor.codecache", "CompiledFxGraph"),  # up to torch 2.5
    ("torch.export.pt2_archive._package", "AOTICompiledModel"),
    ("torch._inductor.package.package", "AOTICompiledModel"),  # up to torch 2.7
)
"""The classes whose objects run compiled code, and where releases of torch have them."""
_WRITES, TELLS, BACKWARD, REPORTS = 2, 4, 8, 16  # of bind_graph


class CompiledGraphs:
    """The compiled graphs that run, whoever had them compiled: in this process, or in another one that left them in a file.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    is_used : callable
        Called when a graph is compiled, and when one is met that the program has from elsewhere.
    """

    def __init__(self, functions: Functions, is_used: Callable[[], None]) -> None:
        self._functions = functions
        self._is_used = is_used
        self._to_come = set(_RUNS_GRAPHS)
        self._kinds: list[type] = []
        self._known: dict[int, weakref.ref[Any]] = {}

    def look(self) -> None:
        """Follow the graphs of the classes that the program has imported since: Inductor is not imported for our sake."""
        for place, name in [one for one in self._to_come if one[0] in sys.modules]:
            kind = getattr(sys.modules[place], name, None)
            if kind is None and getattr(sys.modules[place].__spec__, "_initializing", False):
                continue
            self._to_come.discard((place, name))
            if isinstance(kind, type) and "__call__" in vars(kind):
                self._kinds.append(kind)
                self._functions.follow_graphs(vars(kind)["__call__"], undisturbed(self._met))

    def compiled(self) -> None:
        """Note that a graph was handed to Inductor."""
        self._is_used()
        self.look()

    def runs(self, compiled: Any) -> bool:
        """Tell whether it will be seen when something runs.

        Parameters
        ----------
        compiled : object
            What Inductor made of a graph.
        """
        return type(compiled) in self._kinds

    def bind(self, compiled: Any, flags: int, root: int, writes: bool) -> None:
        """Register what is known of a graph.

        Parameters
        ----------
        compiled : object
            One that ``runs``.
        flags : int
            TELLS when dump nodes report what it does, and BACKWARD.
        root : int
            The number of the module that it was compiled for.
        writes : bool
            Whether it writes into its arguments, which the capture does not see.
        """
        address = id(compiled)

        def gone(_: Any) -> None:
            self._functions.unbind_graph(address)
            self._known.pop(address, None)

        self._known[address] = weakref.ref(compiled, self._functions.untraced(gone))
        self._functions.bind_graph(compiled, flags | (_WRITES if writes else 0), root)

    def count_unseen(self) -> None:
        """Count the graphs that may have run before anybody looked."""
        before = len(self._kinds)
        self.look()
        if len(self._kinds) > before:
            loaded = [one for one in gc.get_objects() if self.runs(one) and getattr(one, "current_callable", True) is not None]
            self._functions.note_compiled(sum(id(one) not in self._known for one in loaded))

    def _met(self, graph: Any) -> None:
        self._is_used()
        if not (getattr(graph, "fx_kwargs", None) or {}).get("is_backward"):
            self._functions.note_compiled(1)
        for argument in buffers_to_write(getattr(graph, "source_code", "")):
            self._functions.note_output_argument(*argument)
        self.bind(graph, 0, 0, bool(getattr(graph, "mutated_input_idxs", True)))
