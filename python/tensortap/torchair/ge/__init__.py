"""What converters are written with: `tensortap.torchair` keeps the graph of torch, so no converter is called and no operator made."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["Cast", "Clone", "Const", "DataType", "Format", "Tensor", "TensorSpec", "custom_op"]


class DataType(enum.IntEnum):
    """Types of elements, by GE's numbers."""

    DT_FLOAT = 0
    DT_FLOAT16 = 1
    DT_INT8 = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 6
    DT_UINT16 = 7
    DT_UINT32 = 8
    DT_INT64 = 9
    DT_UINT64 = 10
    DT_DOUBLE = 11
    DT_BOOL = 12
    DT_COMPLEX64 = 16
    DT_COMPLEX128 = 17
    DT_BF16 = 27


class Format(enum.IntEnum):
    """Formats of a device's memory, by GE's numbers."""

    FORMAT_NCHW = 0
    FORMAT_NHWC = 1
    FORMAT_ND = 2
    FORMAT_NC1HWC0 = 3
    FORMAT_FRACTAL_Z = 4
    FORMAT_FRACTAL_NZ = 29


class Tensor:
    """A value in a graph of GE: for annotations of converters."""


class TensorSpec:
    """What is known of a result: for annotations of converters."""


def _refused(*_: Any, **__: Any) -> Any:
    """Refuse to make an operator.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("tensortap.torchair runs the graph of torch and makes no operators of GE, so it calls no converters")


Cast = Clone = Const = custom_op = _refused


def __getattr__(name: str) -> Any:
    if name[:1].isupper():
        return _refused  # an operator of GE: its name is used inside of converters
    raise AttributeError(f"torchair.ge.{name} is not in tensortap.torchair; see docs/torchair.md for what is")
