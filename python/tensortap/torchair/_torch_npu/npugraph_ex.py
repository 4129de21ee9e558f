"""``torch.npu.npugraph_ex``: the parts of the backend of that name that a program calls itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensortap.torchair import get_compiler, inference, register_replacement, scope
from tensortap.torchair.configs.npugraphex_config import config_of_options

__all__ = ["compile_fx", "inference", "register_replacement", "scope"]


def compile_fx(gm: Any, example_inputs: Any = None, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Give what runs a graph of AOTAutograd; for backends that programs write.

    Parameters
    ----------
    gm : torch.fx.GraphModule
        The graph.
    example_inputs : sequence, optional
        Its inputs.
    options : mapping, optional
        As ``torch.compile(backend="npugraph_ex", options=...)`` takes them.

    Returns
    -------
    callable
        Takes the inputs of the graph in one list.

    Raises
    ------
    ValueError
        When an option is unknown.
    """
    compiled: Callable[..., Any] = get_compiler(config_of_options(options or {}))(gm, example_inputs or [])
    return compiled
