"""TorchAir's interface: a backend for torch.compile that dumps what the operators of a compiled graph read and wrote.

Programs that import ``torchair`` and ``torch_npu`` run unchanged under ``python -m tensortap.torchair PROGRAM``, or after `install`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tensortap.torchair._install import install
from tensortap.torchair.configs.compiler_config import CompilerConfig
from tensortap.torchair.core.utils import logger

if TYPE_CHECKING:
    from tensortap.torchair import _ge_concrete_graph as ge_concrete_graph
    from tensortap.torchair import ge, inference, llm_datadist, ops, scope
    from tensortap.torchair._backend import get_npu_backend
    from tensortap.torchair._compiling import dynamo_export, get_compiler, patch_for_hcom, use_internal_format_weight
    from tensortap.torchair._ge_concrete_graph.fx2ge_converter import register_fx_node_ge_converter
    from tensortap.torchair._graph import no_dump
    from tensortap.torchair._replacement import register_replacement

__all__ = [
    "CompilerConfig",
    "dynamo_export",
    "ge",
    "ge_concrete_graph",
    "get_compiler",
    "get_npu_backend",
    "inference",
    "install",
    "llm_datadist",
    "logger",
    "no_dump",
    "ops",
    "patch_for_hcom",
    "register_fx_node_ge_converter",
    "register_replacement",
    "scope",
    "use_internal_format_weight",
]

# These need torch, which takes seconds to import and which options do without. Where each one comes from:
_PARTS = {
    "dynamo_export": "tensortap.torchair._compiling",
    "ge": "tensortap.torchair.ge",
    "ge_concrete_graph": "tensortap.torchair._ge_concrete_graph",
    "get_compiler": "tensortap.torchair._compiling",
    "get_npu_backend": "tensortap.torchair._backend",
    "inference": "tensortap.torchair.inference",
    "llm_datadist": "tensortap.torchair.llm_datadist",
    "no_dump": "tensortap.torchair._graph",
    "ops": "tensortap.torchair.ops",
    "patch_for_hcom": "tensortap.torchair._compiling",
    "register_fx_node_ge_converter": "tensortap.torchair._ge_concrete_graph.fx2ge_converter",
    "register_replacement": "tensortap.torchair._replacement",
    "scope": "tensortap.torchair.scope",
    "use_internal_format_weight": "tensortap.torchair._compiling",
}


def __getattr__(name: str) -> Any:
    if name not in _PARTS:
        raise AttributeError(f"torchair.{name} is not in tensortap.torchair; see docs/torchair.md for what is")
    module = importlib.import_module(_PARTS[name])
    part = getattr(module, name) if hasattr(module, name) else module
    globals()[name] = part
    return part


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
