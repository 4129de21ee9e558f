"""The backend for ``torch.compile``: the graph of AOTAutograd as it is, dumped as the program's options say."""

from __future__ import annotations

import functools
import itertools
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from . import _acl_config
from ._messages import say

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    from ._ge_names import NodeName
    from .configs.compiler_config import CompilerConfig

_numbers = itertools.count(1)
_documents: dict[tuple[Any, ...], tuple[str, dict[str, tuple[str, ...] | None]]] = {}
"""By the options: where the acl.json is, and the names that the program gives for each graph."""
_registry_lock = threading.Lock()
_COPIES = ("aten.clone.default", "aten.copy.default")
_single_ops: set[str] = set()
"""Files by which operators outside of graphs are dumped."""
_known_names: dict[int, tuple[CompilerConfig, set[str]]] = {}
"""By the number of a config: the names of its ``dump_layer`` that a graph has, or that were said to be unknown."""


def get_npu_backend(*, compiler_config: CompilerConfig | None = None, custom_decompositions: Mapping[Any, Any] | None = None) -> Any:
    """Give a backend for ``torch.compile``.

    Parameters
    ----------
    compiler_config : CompilerConfig, optional
        Options of the dump and of the compilation of graphs.
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
    config.used_from()
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
        text = _acl_config.checked(path, config.used_from())
    for first, last in _turned_ranges(config.dump_config.dump_step.value or ""):
        warnings.warn(f"dump_step: {first}-{last} is the wrong way round and selects no step", UserWarning, stacklevel=3)
    if _dumps(config):
        from . import _library

        functions = _library.prepare()
        if text:
            dump_single_ops(text, path, functions)


def _turned_ranges(steps: str) -> list[tuple[str, str]]:
    """List the ranges of ``dump_step`` whose last step comes before the first; a part of several hyphens is several ranges."""
    parts = [part.strip("\n").split("-") for part in steps.split("|")]
    ranges = [pair for numbers in parts for pair in zip(numbers[::2], numbers[1::2], strict=False)]
    return [(first, last) for first, last in ranges if int(last) < int(first)]


def dump_single_ops(text: str, path: str, functions: Any) -> None:
    """Begin to dump the operators outside of graphs, too, where the file of AscendCL asks for that; a failure is a warning."""
    if not _acl_config.dumps_single_ops(text) or path in _single_ops:
        return
    _single_ops.add(path)
    problem = functions.open(text, path, "")
    if problem:
        warnings.warn(f"operators outside of graphs are not dumped: {problem}", UserWarning, stacklevel=4)


def end_single_ops() -> None:
    """End that dump, where there is one."""
    if _single_ops:
        from . import _library

        _single_ops.clear()
        _library.prepare().close()


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

    family = Family(compiler_config)
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


class Family:
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
            _fx_summary.write_fx_summary(graph, inputs, config.used_from())
            if config.debug.fx_summary.skip_compile:
                return _plain(graph)
        if config.debug.data_dump.type.value == "npy":
            return _fx_dump.FxDumper(graph, name, config)
        if self._saves_nodes() and config.dump_config.data_dump_stage.value == "original":
            return self._saving(graph)
        marked, has_block = self._passes(graph, inputs, phase)
        return self._finished(graph, name, marked, phase, has_block)

    def _passes(self, graph: GraphModule, inputs: Any, phase: int) -> tuple[set[Node], bool]:
        """Apply the program's passes; gives the nodes inside of a scope of the dump, and whether there is a scope."""
        from tensortap._torch.graph_family import BACKWARD

        from . import _replacement, scope

        config = self._config
        _apply(config.post_grad_custom_pre_pass, graph, inputs, config)
        if config.experimental_config.remove_noop_ops:
            _remove_noop_ops(graph)
        if config.experimental_config.pattern_fusion_pass:
            _replacement.replace_patterns(graph)
        has_block = scope.has_dump_block(graph.graph)
        marked: set[Node] = scope.marked_nodes(graph.graph)
        scope.remove_markers(graph.graph)
        if phase == BACKWARD:
            marked |= {node for node in graph.graph.nodes if node.meta.get("seq_nr", -1) in self._in_scope}
        else:
            self._in_scope |= {node.meta["seq_nr"] for node in marked if node.meta.get("seq_nr", -1) >= 0}
        _apply(config.post_grad_custom_post_pass, graph, inputs, config)
        scope.remove_markers(graph.graph)
        graph.recompile()
        return marked, has_block

    def _finished(self, graph: GraphModule, name: str, marked: set[Node], phase: int, has_block: bool) -> Callable[..., Any]:
        from . import _ge_names, _graph_text

        config = self._config
        names = _ge_names.name_nodes(graph.graph)
        has_op = any(node in names for node in marked)
        self._has_scope = self._has_scope or has_op
        if has_block and not has_op and config.dump_config.enable_dump:
            alone = not (config.dump_config.dump_layer.value or "").split()
            effect = "every operator of the graph is dumped" if alone else "only the operators of dump_layer are dumped"
            say(f"torchair.scope.data_dump() marks no operator in {name}: {effect}")
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

        config = self._config
        folder = os.path.join(world_folder(config.debug.data_dump.path or config.used_from()), name)
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
        saving = _aclgraph.with_saved_nodes(graph, world_folder(self._config.located(str(dump.dump_path.value))))
        return _plain(saving)

    def _dumped(self, graph: GraphModule, name: str, names: Mapping[Node, NodeName], marked: set[Node], phase: int) -> Callable[..., Any]:
        from . import _graph
        from ._environment import make_world_folder

        dump, folder = self._config.dump_config, self._config.used_from()
        if not dump.enable_dump:
            path = str(dump.dump_config_path.value)
            text = _acl_config.for_graph(_acl_config.checked(path, folder), path, name)
            return _graph.DumpedGraph(graph, name, names, phase, lambda: (text(), path))
        wanted, asked, unknown = self._wanted(name, names, marked)
        options: dict[str, Any] = {
            "dump_path": self._config.located(str(dump.dump_path.value)),
            "dump_mode": dump.dump_mode.value,
            "dump_step": (dump.dump_step.value or "").rstrip("\n"),
            "dump_data": dump.dump_data.value,
            "quant_dumpable": bool(dump.quant_dumpable),
        }

        def config() -> tuple[str, str]:
            _say_unknown(self._config, name, names, unknown)
            located = {**options, "dump_path": make_world_folder(options["dump_path"])}
            _told(name, asked, located, folder)
            if wanted is not None:
                located["scope"] = list(wanted)
            return json.dumps({"torchair": located}), "compiler_config.dump_config"

        if wanted is not None and not wanted:
            return _AtFirstCall(config, _plain(graph))
        return _graph.DumpedGraph(graph, name, names, phase, config)

    def _wanted(
        self, name: str, names: Mapping[Node, NodeName], marked: set[Node]
    ) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None, list[str]]:
        """Say what is dumped of a graph.

        Returns
        -------
        tuple
            The names of the nodes that are dumped; the names that the program gives, unknown ones too; both None for all nodes. The names
            that the graph does not have.
        """
        from . import _ge_names

        asked = (self._config.dump_config.dump_layer.value or "").split()
        if not asked and not self._has_scope:
            return None, None, []
        known = _known_names.setdefault(id(self._config), (self._config, set()))[1]
        unknown = []
        chosen = {named.name: None for node, named in names.items() if node in marked}
        listed = tuple(dict.fromkeys([*asked, *chosen]))
        for text in asked:
            found = _ge_names.matched(names, text, name)
            chosen.update({names[node].name: None for node in found})
            if found:
                known.add(text)
            else:
                unknown.append(text)
        return tuple(chosen), listed, unknown


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


def _told(name: str, asked: tuple[str, ...] | None, options: Mapping[str, Any], folder: str) -> None:
    """Write the acl.json of the graphs with these options, this one among them, into the folder where the first config was used."""
    from . import _graph

    key = tuple(options.values())
    place, entries = _documents.setdefault(key, (folder, {}))
    entries[name] = asked
    _graph.write_layer_document(_graph.layer_document(entries.items(), options), place, list(_documents).index(key))


def _plain(graph: GraphModule) -> Callable[..., Any]:
    """Give the function that runs an unchanged graph."""
    forward: Callable[..., Any] = graph.forward
    return forward


def _apply(option: Any, graph: GraphModule, inputs: Any, config: CompilerConfig) -> None:
    """Call a pass of the program, where there is one."""
    if option.value is not None:
        option.value(graph, inputs, config)


def _remove_noop_ops(graph: GraphModule) -> None:
    """Take out operators that do nothing, as TorchAir does before it names nodes; of releases of torch that have such a pass.

    Copies stay: the program asks for them by name, and for their values.
    """
    try:
        from torch._inductor.fx_passes import post_grad

        registry = post_grad.noop_registry
        remove = post_grad.remove_noop_ops
    except (ImportError, AttributeError):
        return
    with _registry_lock:
        copies = {target: registry.pop(target) for target in list(registry) if str(target) in _COPIES}
        try:
            remove(graph.graph)
        except Exception as error:
            say(f"operators that do nothing stay in the graph: {error}")
        finally:
            registry.update(copies)
