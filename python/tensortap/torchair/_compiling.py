"""Smaller functions of TorchAir around the compilation of graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .configs.compiler_config import CompilerConfig

if TYPE_CHECKING:
    import torch
    from torch.fx import GraphModule


def get_compiler(compiler_config: CompilerConfig | None = None) -> Callable[[GraphModule, Any], Callable[..., Any]]:
    """Give the compiler of one graph, for backends that programs write.

    Parameters
    ----------
    compiler_config : CompilerConfig, optional
        The options of the dump and of the compilation.

    Returns
    -------
    callable
        Takes a graph of AOTAutograd and its inputs, and gives what runs it.

    Raises
    ------
    RuntimeError
        As `get_npu_backend`.
    """
    from tensortap._torch import graph_family

    from . import _backend

    # This checks the options, and warns of those without effect.
    config: CompilerConfig = _backend.get_npu_backend(compiler_config=compiler_config).keywords["compiler_config"]
    family = _backend.Family(config)

    def compile_graph(graph: GraphModule, example_inputs: Any) -> Callable[..., Any]:
        given = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
        is_backward = any(name.startswith("tangents_") for name in given)
        return family.compile(graph, example_inputs, graph_family.BACKWARD if is_backward else graph_family.INFERENCE)

    return compile_graph


def patch_for_hcom() -> None:
    """Let graphs contain collectives; there is nothing to do, since torch does."""


def use_internal_format_weight(model: torch.nn.Module) -> None:
    """Leave the model as it is: formats of a device's memory have no meaning here."""


def dynamo_export(*args: Any, model: torch.nn.Module, **options: Any) -> None:
    """Refuse to export a model for a device.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(
        "dynamo_export writes models for the device's own tools, which tensortap.torchair cannot. "
        'Use torch.export.export for a model, or debug.graph_dump.type = "pbtxt" for the text of its graph'
    )


def create_npu_tensors(shape: Sequence[int], dtype: torch.dtype, addresses: Sequence[int]) -> list[torch.Tensor]:
    """Refuse to make tensors of addresses in a device's memory.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("create_npu_tensors takes addresses of a device's memory, and here is no device; use torch.empty")
