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
    from tensortap.torchair import inference, scope
    from tensortap.torchair._backend import get_npu_backend
    from tensortap.torchair._graph import no_dump

__all__ = ["CompilerConfig", "get_npu_backend", "inference", "install", "logger", "no_dump", "scope"]

# These need torch, which takes seconds to import and which options do without. Where each one comes from:
_PARTS = {
    "get_npu_backend": "tensortap.torchair._backend",
    "inference": "tensortap.torchair.inference",
    "no_dump": "tensortap.torchair._graph",
    "scope": "tensortap.torchair.scope",
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
