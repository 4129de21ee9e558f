"""The backend for ``torch.compile``: the graph of AOTAutograd as it is, dumped as the program's options say."""

from __future__ import annotations

import functools
import itertools
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ._messages import say

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    from ._ge_names import NodeName
    from .configs.compiler_config import CompilerConfig

_numbers = itertools.count(1)
_documents: dict[tuple[Any, ...], dict[str, tuple[str, ...] | None]] = {}
_single_ops: set[str] = set()
"""Files by which operators outside of graphs are dumped."""
_known_names: dict[int, tuple[CompilerConfig, set[str]]] = {}
"""By the number of a config: the names of its ``dump_layer`` that a graph has, or that were said to be unknown."""


def get_npu_backend(*, compiler_config: CompilerConfig | None = None, custom_decompositions: Mapping[Any, Any] | None = None) -> Any:
    """Give a backend for ``torch.compile``.

    Parameters
    ----------
    compiler_config : CompilerConfig, optional
        What is dumped, and how graphs are compiled.
    custom_decompositions : mapping, optional
        Decompositions of operators, for AOTAutograd.

    Returns
    -------
    functools.partial
        With the keywords ``compiler_config`` and ``decompositions``.

    Raises
    ------
    RuntimeError
        When a dump is asked for and there is no adapter for this torch, or the file of ``dump_config_path`` is wrong.
    """
    from .configs.compiler_config import CompilerConfig

    config = CompilerConfig() if compiler_config is None else compiler_config
    _warn_of_unsupported(config)
    _check_dump(config)
    return functools.partial(_backend, compiler_config=config, decompositions=dict(custom_decompositions or {}))


def _warn_of_unsupported(config: CompilerConfig) -> None:
    options = config.unsupported_options()
    if options:
        warnings.warn(f"these options have no effect here: {', '.join(options)}", UserWarning, stacklevel=3)


def _check_dump(config: CompilerConfig) -> None:
    """Find out what would keep a dump from being written before anything is compiled."""
    path = config.dump_config.dump_config_path.value
    text = ""
    if path and config.dump_config.enable_dump:
        warnings.warn(f"dump_config_path {path} has no effect beside enable_dump", UserWarning, stacklevel=3)
    elif path:
        text = _checked_config(path)
    for first, last in _turned_ranges(config.dump_config.dump_step.value or ""):
        warnings.warn(f"dump_step: {first}-{last} is the wrong way round and selects no step", UserWarning, stacklevel=3)
    if _dumps(config):
        from . import _library

        functions = _library.prepare()
        if text:
            _dump_single_ops(text, path, functions)


def _turned_ranges(steps: str) -> list[tuple[str, str]]:
    """List the ranges of ``dump_step`` whose last step comes before the first; a part of several hyphens is several ranges."""
    parts = [part.strip("\n").split("-") for part in steps.split("|")]
    ranges = [pair for numbers in parts for pair in zip(numbers[::2], numbers[1::2], strict=False)]
    return [(first, last) for first, last in ranges if int(last) < int(first)]


def _checked_config(path: str) -> str:
    """Read a file of AscendCL and give its text; RuntimeError when it cannot be read or is wrong."""
    from tensortap import _core

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise RuntimeError(f"{path} cannot be read: {error}") from error
    problem = json.loads(_core.check_config(text, path, "acl")).get("error")
    if problem:
        raise RuntimeError(problem)
    return text


def _dump_single_ops(text: str, path: str, functions: Any) -> None:
    """Begin to dump the operators outside of graphs, too, where the file of AscendCL asks for that."""
    if json.loads(text).get("dump", {}).get("dump_op_switch") != "on" or path in _single_ops:
        return
    _single_ops.add(path)
    problem = functions.open(text, path, "")
    if problem:
        warnings.warn(f"operators outside of graphs are not dumped: {problem}", UserWarning, stacklevel=4)


def _dumps(config: CompilerConfig) -> bool:
    """Tell whether graphs are dumped as they run."""
    dump = config.dump_config
    return bool(dump.enable_dump) or bool(dump.dump_config_path.value) or config.debug.data_dump.type.value == "stats"


def _backend(
    graph: GraphModule, inputs: Any, *, compiler_config: CompilerConfig, decompositions: Mapping[Any, Any], **_options: Any
) -> Callable[..., Any]:
    """Compile a graph of Dynamo: its forward, backward and inference graphs."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import default_partition

    from tensortap._torch import graph_family

    family = _Family(compiler_config)
    compiler = aot_autograd(
        fw_compiler=functools.partial(family.compile, phase=graph_family.FORWARD),
        bw_compiler=functools.partial(family.compile, phase=graph_family.BACKWARD),
        inference_compiler=functools.partial(family.compile, phase=graph_family.INFERENCE),
        decompositions=dict(decompositions),
        partition_fn=default_partition,
        keep_inference_input_mutations=True,
    )
    with _compiling():
        compiled: Callable[..., Any] = compiler(graph, inputs)
    return compiled


def _compiling() -> AbstractContextManager[None]:
    """Keep the operators that compiling runs out of a capture of the program."""
    from tensortap._torch.graph_family import compiling

    side = sys.modules.get("_tensortap_torch")
    functions = None if side is None else side.functions
    return nullcontext() if functions is None else compiling(functions)


class _Family:
    """The graphs that one graph of Dynamo becomes."""

    def __init__(self, config: CompilerConfig) -> None:
        self._config = config
        self._in_scope: set[int] = set()  # sequence numbers of the forward nodes inside of a scope
        self._has_scope = False

    def compile(self, graph: GraphModule, inputs: Any, phase: int) -> Callable[..., Any]:
        """Give what runs a graph."""
        from functorch.compile import make_boxed_func

        boxed: Callable[..., Any] = make_boxed_func(self._runner(graph, inputs, phase))
        return boxed

    def _runner(self, graph: GraphModule, inputs: Any, phase: int) -> Callable[..., Any]:
        from . import _fx_dump, _fx_summary

        config = self._config
        name = f"graph_{next(_numbers)}"
        if hasattr(graph, "real_recompile"):
            graph.real_recompile()
        if config.debug.fx_summary.type.value:
            _fx_summary.write_fx_summary(graph, inputs)
            if config.debug.fx_summary.skip_compile:
                return _plain(graph)
        if config.debug.data_dump.type.value == "npy":
            return _fx_dump.FxDumper(graph, name, config)
        if self._saves_nodes() and config.dump_config.data_dump_stage.value == "original":
            return self._saving(graph)
        marked = self._passes(graph, phase)
        return self._finished(graph, name, marked, phase)

    def _passes(self, graph: GraphModule, phase: int) -> set[Node]:
        """Apply the program's passes; gives the nodes inside of a scope of the dump."""
        from tensortap._torch.graph_family import BACKWARD

        from . import scope

        config = self._config
        _apply(config.post_grad_custom_pre_pass, graph)
        if config.experimental_config.remove_noop_ops:
            _remove_noop_ops(graph)
        marked: set[Node] = scope.marked_nodes(graph.graph)
        scope.remove_markers(graph.graph)
        if phase == BACKWARD:
            marked |= {node for node in graph.graph.nodes if node.meta.get("seq_nr", -1) in self._in_scope}
        else:
            self._in_scope |= {node.meta["seq_nr"] for node in marked if node.meta.get("seq_nr", -1) >= 0}
        self._has_scope = self._has_scope or bool(marked)
        _apply(config.post_grad_custom_post_pass, graph)
        graph.recompile()
        return marked

    def _finished(self, graph: GraphModule, name: str, marked: set[Node], phase: int) -> Callable[..., Any]:
        from . import _ge_names, _graph_text

        config = self._config
        names = _ge_names.name_nodes(graph.graph)
        _graph_text.dump_ge_graph(graph, names, name)
        runner = self._choose(graph, name, names, marked, phase)
        if not config.debug.graph_dump.type.value:
            return runner
        _graph_text.write_graph_dump(graph, names, name, config)
        return _AtFirstCall(lambda: _graph_text.write_graph_dump(graph, names, name, config, "optimized"), runner)

    def _choose(self, graph: GraphModule, name: str, names: Mapping[Node, NodeName], marked: set[Node], phase: int) -> Callable[..., Any]:
        """Give what runs a graph: as it is, with files for its nodes, or dumped."""
        config = self._config
        if config.debug.run_eagerly:
            warnings.warn("debug.run_eagerly is set: the graph runs without a dump", UserWarning, stacklevel=2)
            return _plain(graph)
        if self._saves_nodes():
            return self._saving(graph)
        if config.debug.data_dump.type.value == "stats":
            return self._measured(graph, name, names, phase)
        return self._dumped(graph, name, names, marked, phase) if _dumps(config) else _plain(graph)

    def _measured(self, graph: GraphModule, name: str, names: Mapping[Node, NodeName], phase: int) -> Callable[..., Any]:
        """Give the graph with statistics of everything it reads and makes, in the native layout: the FX data dump without leaving it."""
        from . import _graph
        from ._environment import world_folder

        folder = os.path.join(world_folder(self._config.debug.data_dump.path or "."), name)
        spec = {"tensortap": 1, "payload": "statistics", "slots": ["in", "out"], "out": os.path.abspath(folder)}
        return _graph.DumpedGraph(graph, name, names, phase, lambda: (json.dumps(spec), "compiler_config.debug.data_dump"))

    def _saves_nodes(self) -> bool:
        """Tell whether the mode is one of those that save the outputs of nodes."""
        from .configs.compiler_config import ACLGRAPH_MODES

        return self._config.mode.value in ACLGRAPH_MODES

    def _saving(self, graph: GraphModule) -> Callable[..., Any]:
        """Give what saves the outputs of all nodes, as the aclgraph modes do."""
        from . import _aclgraph
        from ._environment import world_folder

        dump = self._config.dump_config
        if not dump.enable_dump:
            return _plain(graph)
        saving = _aclgraph.with_saved_nodes(graph, world_folder(str(dump.dump_path.value)))
        return _plain(saving)

    def _dumped(self, graph: GraphModule, name: str, names: Mapping[Node, NodeName], marked: set[Node], phase: int) -> Callable[..., Any]:
        from . import _graph
        from ._environment import make_world_folder

        dump = self._config.dump_config
        if not dump.enable_dump:
            path = str(dump.dump_config_path.value)
            text = _checked_config(path)
            return _graph.DumpedGraph(graph, name, names, phase, lambda: (text, path))
        wanted, unknown = self._wanted(name, names, marked)
        said = functools.partial(_say_unknown, self._config, name, names, unknown)
        if wanted is not None and not wanted:
            return _AtFirstCall(said, _plain(graph))

        path = str(dump.dump_path.value)
        options: dict[str, Any] = {
            "dump_mode": dump.dump_mode.value,
            "dump_step": (dump.dump_step.value or "").rstrip("\n"),
            "dump_data": dump.dump_data.value,
            "quant_dumpable": bool(dump.quant_dumpable),
        }

        def config() -> tuple[str, str]:
            said()
            located = {"dump_path": make_world_folder(path), **options}
            _told(name, wanted, located)
            if wanted is not None:
                located["scope"] = list(wanted)
            return json.dumps({"torchair": located}), "compiler_config.dump_config"

        return _graph.DumpedGraph(graph, name, names, phase, config)

    def _wanted(self, name: str, names: Mapping[Node, NodeName], marked: set[Node]) -> tuple[tuple[str, ...] | None, list[str]]:
        """Give the names of the nodes that are dumped, None for all of them, and the names that the graph does not have."""
        from . import _ge_names

        asked = (self._config.dump_config.dump_layer.value or "").split()
        if not asked and not self._has_scope:
            return None, []
        known = _known_names.setdefault(id(self._config), (self._config, set()))[1]
        unknown = []
        chosen = {named.name: None for node, named in names.items() if node in marked}
        for text in asked:
            found = _ge_names.matched(names, text, name)
            chosen.update({names[node].name: None for node in found})
            if found:
                known.add(text)
            else:
                unknown.append(text)
        return tuple(chosen), unknown


class _AtFirstCall:
    """Does something before the first call of what runs a graph."""

    def __init__(self, first: Callable[[], object], runner: Callable[..., Any]) -> None:
        self._first: Callable[[], object] | None = first
        self._runner = runner

    def __call__(self, *values: Any) -> Any:
        first, self._first = self._first, None
        if first is not None:
            first()
        return self._runner(*values)


def _say_unknown(config: CompilerConfig, name: str, names: Mapping[Node, NodeName], unknown: list[str]) -> None:
    """Say which names no graph of a config has so far, each once."""
    from . import _ge_names

    known = _known_names[id(config)][1] if unknown else set()
    news = [text for text in unknown if text not in known]
    known.update(news)
    if news:
        text = _ge_names.unknown_message(names, news, name)
        say(f"{text}. DUMP_GE_GRAPH=3 in the environment writes a file with all names.")


def _told(name: str, wanted: tuple[str, ...] | None, options: Mapping[str, Any]) -> None:
    """Write the acl.json of the graphs with these options, this one among them."""
    from . import _graph

    key = tuple(options.values())
    entries = _documents.setdefault(key, {})
    entries[name] = wanted
    _graph.write_layer_document(_graph.layer_document(entries.items(), options), list(_documents).index(key))


def _plain(graph: GraphModule) -> Callable[..., Any]:
    """Give what runs a graph as it is."""
    forward: Callable[..., Any] = graph.forward
    return forward


def _apply(option: Any, graph: GraphModule) -> None:
    """Call a pass of the program, where there is one."""
    if option.value is not None:
        option.value(graph)


def _remove_noop_ops(graph: GraphModule) -> None:
    """Take out operators that do nothing, as TorchAir does before it names nodes; of releases of torch that have such a pass."""
    try:
        from torch._inductor.fx_passes.post_grad import remove_noop_ops
    except ImportError:
        return
    try:
        remove_noop_ops(graph.graph)
    except Exception as error:
        say(f"operators that do nothing stay in the graph: {error}")
