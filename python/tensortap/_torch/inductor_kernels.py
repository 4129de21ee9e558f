"""The kernels that Inductor makes, as ops: the compiled program runs as it does without capture."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from . import graph_lines, node_arguments
from ._functions import Functions
from .compiled_graphs import BACKWARD, REPORTS, CompiledGraphs
from .dump_sites import Row
from .dynamo_frames import undisturbed
from .generated_code import buffers_to_write
from .generated_kernels import Kernel, KernelCall, calls_in, kernels_in
from .graph_copy import has_calls
from .graph_family import Family, compiling
from .inductor_passes import PASS, LookPass
from .launch_sites import CHANGED, FAILED, FIRST, IF_WRITTEN, INPUT, OUTPUT, SECOND, Begun, LaunchSites

_MOST_FUSED = 100
_COMPILED_BY_US = "cpp_pybinding"


class Made:
    """What Inductor made of one graph.

    Attributes
    ----------
    modules
        The Python modules that run the graph.
    fused
        Of each kernel the nodes that it fuses, for each of its calls.
    lines
        The first lines of the code that were written for a node, and the node's name.
    nodes
        The nodes of the graph by name.
    """

    def __init__(self) -> None:
        self.modules: list[ModuleType] = []
        self.fused: dict[str, list[list[Any]]] = defaultdict(list)
        self.lines: list[tuple[int, str]] = []
        self.nodes: dict[str, Any] = {}


class InductorWatch:
    """Watches Inductor while it compiles graphs of ours: which nodes it fuses into a kernel, and which code it loads."""

    def __init__(self) -> None:
        self._thread = threading.local()
        self._installed = False

    @contextmanager
    def collecting(self) -> Iterator[Made]:
        """Collect what this thread compiles."""
        if not self._installed:
            self._installed = True
            self._install()
        before = getattr(self._thread, "made", None)
        self._thread.made = made = Made()
        try:
            yield made
        finally:
            self._thread.made = before

    def _install(self) -> None:
        from torch._inductor.codecache import PyCodeCache
        from torch._inductor.codegen.cpp import CppScheduling
        from torch._inductor.graph import GraphLowering

        for kind, name, note in (
            (CppScheduling, "define_kernel", self._note_kernel),
            (GraphLowering, "codegen", self._note_lines),
            (PyCodeCache, "load_by_key_path", self._note_module),
        ):
            self._after(kind, name, note)

    def _after(self, kind: Any, name: str, note: Callable[..., None]) -> None:
        """Have `note` called with the result and the arguments of a function of Inductor, which never sees an exception of `note`."""
        original = vars(kind).get(name)
        is_class_method = isinstance(original, classmethod)
        function = original.__func__ if is_class_method else original
        if function is None:
            return

        @functools.wraps(function)
        def noted(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            made = getattr(self._thread, "made", None)
            if made is not None:
                try:
                    note(made, result, *arguments)
                except Exception:  # of this release: the kernel is captured without what was to be noted
                    return result
            return result

        setattr(kind, name, classmethod(noted) if is_class_method else noted)

    def _note_kernel(self, made: Made, name: str, _scheduling: Any, _code: str, nodes: Any, *_more: Any) -> None:
        from torch._inductor.utils import aggregate_origins

        made.fused[name].append(list(aggregate_origins(nodes)))

    def _note_lines(self, made: Made, result: Any, *_arguments: Any) -> None:
        lines = getattr(result[0], "line_map", None)  # up to torch 2.6, the second of the results
        made.lines = [(line, str(node.name)) for line, node in (result[1] if lines is None else lines) if hasattr(node, "name")]

    def _note_module(self, made: Made, module: ModuleType, *_arguments: Any) -> None:
        if hasattr(module, "call"):
            made.modules.append(module)


@dataclasses.dataclass(frozen=True)
class _Call:
    """A line of a graph's code that calls a kernel: the number of its node, and the positions of the arguments that it reads."""

    node: int
    reads: frozenset[int]


class InductorKernels:
    """Reports the calls of the kernels of compiled graphs.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    path_of : callable
        Gives the path of the module at an address, "" when it has none.
    graphs : CompiledGraphs
        The compiled graphs of the process.
    """

    def __init__(self, functions: Functions, path_of: Callable[[int], str], graphs: CompiledGraphs) -> None:
        self.graphs = graphs
        self.watch = InductorWatch()
        self._functions = functions
        self._path_of = path_of
        self._sites = LaunchSites(functions)
        self._followed: set[str] = set()
        self._calls: dict[tuple[str, int], _Call] = {}
        self._kernels: dict[int, tuple[Any, Any]] = {}

    def follow(self, made: Made, family: Family) -> str:
        """Follow the kernels of a graph from now on.

        Parameters
        ----------
        made : Made
            What Inductor made of the graph.
        family : Family
            The family of the graph.

        Returns
        -------
        str
            Why they cannot all be followed; "" where they are.
        """
        if len(made.modules) != 1 or not made.modules[0].__file__:
            return "its code is not that of one Python module"
        module = made.modules[0]
        place = str(module.__file__)
        if place in self._followed:
            return ""
        with open(place, encoding="utf-8") as file:
            code = file.read()
        if "CppWrapperCodeCache" in code or "async_compile" not in code:
            return "cpp_wrapper: it calls its kernels from C++"
        kernels = kernels_in(code)
        for kernel in kernels:
            if kernel.kind != _COMPILED_BY_US or not callable(vars(module).get(kernel.name)):
                return f"a kernel of the kind {kernel.kind} ({kernel.name})"
        calls = list(calls_in(code, {kernel.name for kernel in kernels}))
        described = _Described(made, family, self._functions, self._path_of)
        self._followed.add(place)
        for kernel in kernels:
            of_kernel = [call for call in calls if call.kernel == kernel.name]
            for number, call in enumerate(of_kernel):
                node = self._functions.add_kernel((described.type_of(kernel), described.attributes(kernel, number)))
                self._calls[place, call.line] = _Call(node, call.reads(kernel.parameters))
            setattr(module, kernel.name, self._followed_kernel(vars(module)[kernel.name], kernel))
        for function in _functions_of(module):
            self._functions.describe_code(function, described.rows(function, calls))
        return ""

    def _followed_kernel(self, function: Any, kernel: Kernel) -> Any:
        """Give what to call for a kernel; graphs share kernels of the same code."""
        if id(function) not in self._kernels:
            begins = undisturbed(functools.partial(self._begins, kernel))
            self._kernels[id(function)] = function, self._functions.follow(function, begins, undisturbed(self._ends))
        return self._kernels[id(function)][1]

    def _begins(self, kernel: Kernel, *arguments: Any) -> tuple[Begun | None, None]:
        begun = None
        try:
            begun = self._begin(kernel, arguments)
        except Exception:
            self._functions.launch_ends()
        return begun, None

    def _begin(self, kernel: Kernel, arguments: tuple[Any, ...]) -> Begun | None:
        call = self._call_of(sys._getframe(1))
        if call is None or not call.node:
            return None
        tensors: list[torch.Tensor] = []
        names: list[str] = []
        inputs: list[Row] = []
        outputs: list[Row] = []
        for place, (parameter, tensor) in enumerate(zip(kernel.parameters, arguments, strict=False)):
            if parameter is None or not isinstance(tensor, torch.Tensor):
                continue
            if place in call.reads:
                flags = 0 if parameter.is_const or parameter.is_in_place else IF_WRITTEN
                inputs.append((len(tensors), INPUT, len(inputs), -1, flags))
                names.append(self._sites.name_of(tensor) or parameter.name)
            if not parameter.is_const:
                outputs.append((len(tensors), OUTPUT, len(outputs), -1, CHANGED))
            tensors.append(tensor)
        phase = self._functions.launch_begins(call.node, torch.is_grad_enabled(), names) if tensors else -1
        if phase < 0:
            return None
        begun = Begun(call.node, phase, tensors, tuple(inputs), tuple(outputs))
        self._sites.dump(begun, FIRST)
        return begun

    def _call_of(self, frame: FrameType | None) -> _Call | None:
        """Find the line of a graph's code that calls a kernel."""
        while frame is not None:
            found = self._calls.get((frame.f_code.co_filename, frame.f_lineno))
            if found is not None:
                return found
            frame = frame.f_back
        return None

    def _ends(self, begun: Begun | None, error: BaseException | None) -> None:
        if begun is None:
            self._functions.wrote_unseen()
            return
        try:
            self._sites.dump(begun, SECOND if error is None else FAILED)
        finally:
            self._functions.launch_ends()


class _Described:
    """Where the kernels and the lines of a graph's code come from in the program."""

    def __init__(self, made: Made, family: Family, functions: Functions, path_of: Callable[[int], str]) -> None:
        self._made = made
        self._family = family
        self._functions = functions
        self._path_of = path_of

    def type_of(self, kernel: Kernel) -> str:
        """Name the operator that a kernel is: its number in the graph is none of its name."""
        return f"inductor::{kernel.name.rstrip('0123456789').rstrip('_')}"

    def attributes(self, kernel: Kernel, call: int) -> str:
        """List the nodes that a kernel fuses at one of its calls."""
        fused = [self._text_of(node) for node in self._nodes_of(kernel.name, call)]
        attributes: dict[str, Any] = {"kernel": kernel.name, "fuses": fused[:_MOST_FUSED]}
        if len(fused) > _MOST_FUSED:
            attributes["fuses_more"] = len(fused) - _MOST_FUSED
        return json.dumps(attributes)

    def rows(self, function: CodeType, calls: list[KernelCall]) -> Iterator[tuple[int, str, str]]:
        """List the lines of a function of the code, with the lines of the program and the paths of the modules that they come from."""
        numbers: dict[str, int] = defaultdict(int)
        kernel_nodes = {}
        for call in calls:
            nodes = self._nodes_of(call.kernel, numbers[call.kernel])
            kernel_nodes[call.line] = next((node for node in reversed(nodes) if self._place_of(node)[0]), None)
            numbers[call.kernel] += 1
        by_line = dict(self._made.lines)
        last = max((line for _, _, line in function.co_lines() if line is not None), default=0)
        node: Any = None
        for line in range(1, last + 1):
            node = self._made.nodes.get(by_line[line]) if line in by_line else node
            shown = kernel_nodes.get(line, node)
            if line >= function.co_firstlineno and shown is not None:
                yield line, *self._place_of(shown)

    def _nodes_of(self, kernel: str, call: int) -> list[Any]:
        """List the nodes that a kernel fuses, in the order of the graph."""
        calls = self._made.fused.get(kernel, [])
        found = calls[call] if call < len(calls) else [node for nodes in calls for node in nodes]
        order = {name: number for number, name in enumerate(self._made.nodes)}
        known = [self._made.nodes.get(node.name, node) for node in found]
        return sorted(known, key=lambda node: order.get(node.name, len(order)))

    def _place_of(self, node: Any) -> tuple[str, str]:
        source = graph_lines.source_of(node, self._functions)
        return source, graph_lines.module_of(node, self._family.root, self._path_of)

    def _text_of(self, node: Any) -> str:
        source, module = self._place_of(node)
        name = node_arguments.names_of(node)[0].rpartition("::")[2]
        place = ", ".join(one for one in (module, source) if one)
        return f"{name} ({place})" if place else name


def _functions_of(module: ModuleType) -> Iterator[CodeType]:
    """List the code of the functions in a module of Inductor's that run a graph: "call", and the parts of it."""
    for value in vars(module).values():
        function = value.__func__ if isinstance(value, MethodType) else value
        if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
            yield function.__code__


def compile_with_kernels(
    model: Any,
    inputs: Any,
    patches: dict[str, Any],
    family: Family,
    kernels: InductorKernels,
    lost: Callable[[str], None],
) -> Any:
    """Compile as ``torch.compile`` does, and follow the kernels of the result.

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
    kernels : InductorKernels
        Reports kernels.
    lost : callable
        Called with the reason when the kernels of a graph are not captured.

    Returns
    -------
    callable
        The compiled function.
    """
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def inner(graph: Any, example_inputs: Any, **settings: Any) -> Any:
        if not has_calls(graph):
            return compile_fx_inner(graph, example_inputs, **settings)
        with compiling(family.table.functions), kernels.watch.collecting() as made:
            own.begin(bool(settings.get("is_inference")), made.nodes)
            compiled = compile_fx_inner(graph, example_inputs, **settings)
            kernels.graphs.look()
            problem = follow(compiled, made, settings)
        if problem:
            lost(problem)
        else:
            flags = BACKWARD if settings.get("is_backward") else 0
            kernels.graphs.bind(compiled, flags | REPORTS, family.root_number, False)
            for argument in buffers_to_write(getattr(compiled, "source_code", "")):
                family.table.functions.note_output_argument(*argument)
        return compiled

    def follow(compiled: Any, made: Made, settings: dict[str, Any]) -> str:
        if not kernels.graphs.runs(compiled):
            return f"it became a {type(compiled).__name__}"
        if settings.get("cudagraphs") and "cuda" in getattr(compiled, "device_types", ()):
            return "its launches are recorded into a CUDA graph"
        try:
            return kernels.follow(made, family)
        except Exception as error:
            return str(error)

    own = LookPass(patches.get(PASS, getattr(config, PASS, None)))
    return compile_fx(model, inputs, inner_compile=inner, config_patches={**patches, PASS: own})
