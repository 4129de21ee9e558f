"""A compiled graph whose nodes are dumped: it has a separate session, and runs with and without dump nodes."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch.fx import GraphModule, Node

from tensortap._torch import dump_nodes, graph_lines, graph_runs, node_arguments
from tensortap._torch.graph_copy import copy_of
from tensortap._torch.node_arguments import Value

from . import _environment, _files, _ge_names, _library
from ._environment import world
from ._ge_names import NodeName
from ._messages import say

_GRAPH_INPUT = "Input"
_started: list[str] = []
_paused = threading.local()


@contextlib.contextmanager
def no_dump() -> Iterator[None]:
    """Run compiled graphs on this thread without a dump and without counting a step: for warm-up and dummy runs."""
    before = getattr(_paused, "depth", 0)
    _paused.depth = before + 1
    try:
        yield
    finally:
        _paused.depth = before


class DumpedGraph:
    """Runs a graph with dump nodes in the steps that are wanted, and as it is in the others. A call is a step.

    Parameters
    ----------
    graph : torch.fx.GraphModule
        The graph to run.
    name : str
        Name of the graph, such as ``graph_1``.
    names : mapping
        The name of each node that is an op of the dump.
    phase : int
        Of its nodes: INFERENCE, FORWARD or BACKWARD of `tensortap._torch.graph_family`.
    config : callable
        Gives the text of the config that says what is dumped, and its name; called once, by the first call of the graph.

    Raises
    ------
    RuntimeError
        When no adapter can be had.
    """

    def __init__(
        self,
        graph: GraphModule,
        name: str,
        names: Mapping[Node, NodeName],
        phase: int,
        config: Callable[[], tuple[str, str]],
    ) -> None:
        self._graph = graph
        self._name = name
        self._names = names
        self._phase = phase
        self._config = config
        self._functions = _library.prepare()
        self._steps = itertools.count()
        self._lock = threading.Lock()
        self._opened = False
        self._number = 0
        self._tapped: Callable[..., Any] | None = None

    def __call__(self, *values: Any) -> Any:
        """Run the graph."""
        if getattr(_paused, "depth", 0):
            return self._graph.forward(*values)
        if not self._opened:
            with self._lock:
                if not self._opened:
                    self._open()
        step = next(self._steps)
        tapped = self._tapped
        if tapped is None or not self._functions.model_step_begins(self._number, step):
            return self._graph.forward(*values)
        try:
            return tapped(*values)
        finally:
            self._functions.model_step_ends(self._number, step)

    def _open(self) -> None:
        """Open the session; a failure is said, and the graph runs without a dump."""
        try:
            self._open_session()
        except Exception as error:
            say(f"{self._name} is not dumped: {error}")
        finally:
            self._opened = True

    def _open_session(self) -> None:
        if not _started:
            _started.append(time.strftime("%Y%m%d%H%M%S"))
        text, config_name = self._config()
        program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
        opened = self._functions.open_model((text, config_name, self._name, program, _started[0]), _device_of(self._graph))
        if isinstance(opened, str):
            raise RuntimeError(opened)
        self._number = opened
        weakref.finalize(self, self._functions.close_model, opened)
        self._tapped = self._with_dump_nodes()

    def _with_dump_nodes(self) -> Callable[..., Any]:
        """Make the graph with the dump nodes that are wanted."""
        new, copied = copy_of(self._graph)
        numbers = {copied[node]: number for node, number in self._registered().items()}
        problem = self._functions.bind_model(self._number)
        if problem:
            raise RuntimeError(problem)
        dumps = _Inserted(new, numbers, self._phase, 0, False, self._functions)
        tapped = GraphModule(self._graph, new)
        return graph_runs.reporting(tapped, numbers, dumps)

    def _registered(self) -> dict[Node, int]:
        """Register the ops of the session: first the inputs of the graph, then its nodes in their order."""
        path_of = _path_of()
        numbers: dict[Node, int] = {}
        for node, named in self._names.items():
            made_by = [_ge_names.maker_of(value.node, self._names) for value in node_arguments.tensors_read(node)]
            is_operator = node_arguments.is_operator(node)
            operator, overload = node_arguments.names_of(node) if is_operator else ("", "")
            row = (
                named.name,
                named.type if is_operator else _GRAPH_INPUT,
                operator,
                overload,
                graph_lines.module_of(node, "", path_of),
                graph_lines.source_of(node, self._functions),
                node_arguments.attributes_of(node) if is_operator else "",
                node.name,
            )
            names = ["" if maker is None else self._names[maker].name for maker, _ in made_by]
            producers = [0 if maker is None else numbers[maker] for maker, _ in made_by]
            numbers[node] = self._functions.add_model_op(self._number, row, names, producers, [slot for _, slot in made_by])
        return numbers


class _Inserted(dump_nodes.Inserted):
    """Dump nodes whose inputs are numbered in the order of the arguments that are tensors."""

    def _input_slot(self, position: int, _value: Value) -> tuple[int, int]:
        return position, -1


def _path_of() -> Callable[[int], str]:
    """Give the function that finds a module's path by its address."""
    names = sys.modules["_tensortap_torch"].names
    return lambda address: str(names.path_at(address))


def _device_of(graph: GraphModule) -> int:
    """Give the number of the device that the graph's inputs are on; on the CPU the one that the program chose, 0 at first."""
    for node in graph.graph.nodes:
        device = getattr(node.meta.get("val"), "device", None)
        if node.op == "placeholder" and device is not None and device.index is not None:
            return int(device.index)
    return _environment.current_device


def layer_document(entries: Iterable[tuple[str, tuple[str, ...] | None]], options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the acl.json document of the graphs that were dumped with the same options.

    Parameters
    ----------
    entries : iterable
        Of each graph its name and the names that the program gives, unknown ones too; None for all nodes.
    options : mapping
        The dialect's options.

    Returns
    -------
    dict
        With the key "dump", all values texts as TorchAir has them.
    """
    listed: list[dict[str, Any]] = []
    for name, wanted in entries:
        listed.append({"model_name": name} if wanted is None else {"model_name": name, "layer": list(wanted)})
    dump: dict[str, Any] = {"dump_path": options["dump_path"], "dump_mode": options["dump_mode"], "dump_data": options["dump_data"]}
    if options["dump_step"]:
        dump["dump_step"] = options["dump_step"]
    dump["quant_dumpable"] = "1" if options["quant_dumpable"] else "0"
    dump["dump_list"] = listed
    return {"dump": dump}


def write_layer_document(document: Mapping[str, Any], place: str, number: int) -> None:
    """Write a document where TorchAir writes it; a folder that cannot be written is said and no error.

    Parameters
    ----------
    document : mapping
        Of `layer_document`.
    place : str
        The current folder when the config was used first.
    number : int
        Number of the set of options among those of the process, from 0: the first has the file that TorchAir writes.
    """
    world_size, rank = world()
    folder = os.path.join(place, "ge_dump_data_json")
    path = os.path.join(folder, f"dump_options_worldsize{world_size}_rank{rank}_pid{os.getpid()}{f'_{number + 1}' if number else ''}.json")
    try:
        os.makedirs(folder, exist_ok=True)
        _files.write_whole(path, lambda file: file.write(json.dumps(document, indent=4).encode()))
    except OSError as error:
        say(f"{path} is not written: {error}")
