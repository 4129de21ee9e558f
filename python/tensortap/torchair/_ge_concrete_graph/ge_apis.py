"""Operators of GE under their older name."""

from __future__ import annotations

from typing import Any

from tensortap.torchair import ge
from tensortap.torchair.ge import Cast, Clone, Const, DataType, Format, Tensor, TensorSpec, custom_op

__all__ = ["Cast", "Clone", "Const", "DataType", "Format", "Tensor", "TensorSpec", "custom_op"]


def __getattr__(name: str) -> Any:
    return getattr(ge, name)
