"""How ``torch.compile`` is treated while operators are captured.

Kernels that Inductor fuses are no operators any more, so the program is left as it is, runs eagerly, or runs the graph of AOTAutograd,
whose nodes are operators.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from . import graph_lines
from ._functions import Functions
from .compiled_graphs import CompiledGraphs
from .compiled_modules import CompiledModules
from .dynamo_frames import undisturbed
from .graph_family import Family, NodeTable
from .graph_runs import GraphRuns
from .module_events import ModuleEvents

_MOST_REASONS = 20


def install(table: Functions, path_of: Callable[[int], str], events: ModuleEvents, compiled: Callable[[str], None]) -> CompiledGraphs:
    """Take the route that ``tensortap exec --compile`` asked for.

    Parameters
    ----------
    table : Functions
        The functions of the library.
    path_of : callable
        Gives the path of the module at an address, "" when it has none.
    events : ModuleEvents
        Reports calls of modules.
    compiled : callable
        Called with the route when the program uses ``torch.compile``.

    Returns
    -------
    CompiledGraphs
        Whose ``look`` is to be called now and then.
    """
    route = _route()

    def is_used() -> None:
        compiled(route)

    graphs = CompiledGraphs(table, is_used)
    atexit.register(graphs.count_unseen)
    graphs.look()
    if route == "eager":
        _run_eagerly(is_used)
    elif route == "aot":
        _replace_inductor(_aot_compiler(table, path_of, CompiledModules(table, events, path_of)))
    elif route == "inductor-nodes":
        _replace_inductor(_dumping_compiler(table, path_of, graphs))
    elif route == "inductor-kernels":
        _replace_inductor(_kernel_compiler(table, path_of, graphs))
    wrapper = getattr(torch, "_TorchCompileInductorWrapper", None)
    if wrapper is not None:
        table.follow_compiler(wrapper.__call__, undisturbed(graphs.compiled))
    return graphs


def _route() -> str:
    """Give the route that the file of ``tensortap exec`` names."""
    try:
        with open(os.environ["TENSORTAP_EXEC"], encoding="utf-8") as file:
            return str(json.load(file).get("compile", "inductor"))
    except (KeyError, OSError, ValueError, AttributeError):
        return "inductor"


def _run_eagerly(is_used: Callable[[], None]) -> None:
    """Make compiled functions run as they were written; importing Dynamo is put off until the program asks for it."""
    if "torch._dynamo" in sys.modules:
        _force_eager()
        is_used()
        return
    _force_eager_before(torch, "compile", is_used)
    # The program may hold torch.compile already: its first operator can be in an argument of that call.
    for name in ("_TorchCompileInductorWrapper", "_TorchCompileWrapper"):
        if hasattr(torch, name):
            _force_eager_before(getattr(torch, name), "__init__", is_used)


def _force_eager_before(owner: Any, name: str, is_used: Callable[[], None]) -> None:
    """Let the first call of a function force what is compiled to run eagerly."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def first(*args: Any, **kwargs: Any) -> Any:
        setattr(owner, name, original)
        _force_eager()
        is_used()
        return original(*args, **kwargs)

    setattr(owner, name, first)


def _force_eager() -> None:
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is not None:
        set_stance("force_eager")
        return
    from torch._dynamo import config

    config.disable = True


def _replace_inductor(compiler: Any) -> None:
    """Hand the graphs that go to the default backend to `compiler`; backends that the program names stay."""
    wrapper = getattr(torch, "_TorchCompileInductorWrapper", None)
    if wrapper is None:
        return
    original = wrapper.__call__

    @functools.wraps(original)
    def __call__(self: Any, model: Any, inputs: Any, **options: Any) -> Any:  # noqa: N807
        inductor = functools.partial(original, self)
        if _is_to_be_kept():
            return inductor(model, inputs, **options)
        return compiler(inductor, model, inputs, options)

    wrapper.__call__ = __call__


def _is_to_be_kept() -> bool:
    """Tell whether torch is about to write what it compiles into a file: nothing of ours may be in there."""
    config = sys.modules.get("torch._functorch.config")
    return bool(getattr(config, "bundled_autograd_cache", False) or getattr(config, "strict_autograd_cache", False))


def _dumping_compiler(table: Functions, path_of: Callable[[int], str], graphs: CompiledGraphs) -> Any:
    nodes = NodeTable(table, path_of)

    def lost(reason: str) -> None:
        _warn(f"a graph of torch.compile has no dump nodes, its fused operators are not captured: {reason}")

    def compile_graph(inductor: Any, model: Any, inputs: Any, options: dict[str, Any]) -> Any:
        if not table.takes_nodes():
            return inductor(model, inputs, **options)
        from .inductor_nodes import compile_with_nodes

        patches = {**inductor.args[0].config, **(options.get("config_patches") or {})}
        return compile_with_nodes(model, inputs, patches, Family(nodes, inputs), graphs, lost)

    return compile_graph


def _kernel_compiler(table: Functions, path_of: Callable[[int], str], graphs: CompiledGraphs) -> Any:
    nodes = NodeTable(table, path_of)
    kernels: list[Any] = []
    reasons: Counter[str] = Counter()

    def lost(reason: str) -> None:
        reasons[_first_line(reason)] += 1
        table.add_fact(
            "graphs_without_kernels", json.dumps([{"reason": one, "count": count} for one, count in reasons.most_common(_MOST_REASONS)])
        )
        _warn(f"the kernels of a graph of torch.compile are not captured: {reason}")

    def compile_graph(inductor: Any, model: Any, inputs: Any, options: dict[str, Any]) -> Any:
        if not table.takes_nodes():
            return inductor(model, inputs, **options)
        from . import inductor_kernels

        if not kernels:
            kernels.append(inductor_kernels.InductorKernels(table, path_of, graphs))
        patches = {**inductor.args[0].config, **(options.get("config_patches") or {})}
        family = Family(nodes, inputs)
        return inductor_kernels.compile_with_kernels(model, inputs, patches, family, kernels[0], lost)

    return compile_graph


def _aot_compiler(table: Functions, path_of: Callable[[int], str], modules: CompiledModules) -> Any:
    nodes = NodeTable(table, path_of)

    def compile_graph(_inductor: Any, model: Any, inputs: Any, _options: dict[str, Any]) -> Any:
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd

        family = Family(nodes, inputs)

        def run_graph(graph: Any, backward: bool) -> Any:
            if hasattr(graph, "real_recompile"):
                graph.real_recompile()
            return make_boxed_func(_with_dump_nodes(graph, family, backward) or _observed(graph, family, None if backward else modules))

        def run_forward(graph: Any, _inputs: Any) -> Any:
            return run_graph(graph, False)

        def run_backward(graph: Any, _inputs: Any) -> Any:
            return run_graph(graph, True)

        return aot_autograd(fw_compiler=run_forward, bw_compiler=run_backward)(model, inputs)

    return compile_graph


def _with_dump_nodes(graph: Any, family: Family, backward: bool) -> Any:
    """Give a function that runs a graph with dump nodes, None where there cannot be any."""
    if not family.table.functions.takes_nodes():
        return None

    def lost(reason: str) -> None:
        _warn(f"a graph of torch.compile is captured without dump nodes: {reason}")

    try:
        return GraphRuns(graph, family, backward, lost)
    except Exception as error:
        lost(str(error))
        return None


def _observed(graph: Any, family: Family, modules: CompiledModules | None) -> Any:
    """Give the function that runs a graph whose operators torch's own callbacks report; `modules` reports calls of its modules."""
    table = family.table.functions
    run = graph.forward
    if modules is not None and table.tells_calls_apart():
        graph, run = modules.telling(graph, family.root)
    table.describe_code(graph.forward.__func__.__code__, graph_lines.rows(graph, family.root, table, family.table.path_of))
    return run


def _warn(text: str) -> None:
    print(f"tensortap: {_first_line(text)}", file=sys.stderr)


def _first_line(text: str) -> str:
    """Leave out the description of a whole graph, which torch's exceptions have behind their first line."""
    return text.partition("\n")[0]
