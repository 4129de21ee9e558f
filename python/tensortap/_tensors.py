"""Between the bytes of a tensor and NumPy arrays."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tensortap import _core
from tensortap._error import Error

DTYPES = _core.dtype_table()
"""One row for each number of a dtype: name, type of the raw bits for NumPy, bits of an element, whether those bits are all NumPy has."""

NUMBERS = {name: number for number, (name, _, _, _) in enumerate(DTYPES)}
STRING = NUMBERS["string"]
_ML_DTYPES_NAMES = {"float8_e8m0": "float8_e8m0fnu", "float4_e2m1": "float4_e2m1fn"}


@functools.cache
def row_dtype() -> np.dtype[np.void]:
    """Give the dtype of a record, as it is in memory."""
    fields = _core.record_fields()
    layout: dict[str, Any] = {
        "names": [name for name, _, _, _ in fields],
        "formats": [kind if count == 1 else (kind, (count,)) for _, kind, _, count in fields],
        "offsets": [offset for _, _, offset, _ in fields],
        "itemsize": _core.row_bytes(),
    }
    return cast("np.dtype[np.void]", np.dtype(cast(Any, layout)))


def _ml_dtype(name: str) -> np.dtype[Any] | None:
    """Give the dtype that ml_dtypes has under this name, or None when it has none or is not installed."""
    if importlib.util.find_spec("ml_dtypes") is None:
        return None
    found = getattr(importlib.import_module("ml_dtypes"), _ML_DTYPES_NAMES.get(name, name), None)
    return None if found is None else np.dtype(found)


def unpack(packed: NDArray[np.uint8], bits: int, count: int) -> NDArray[np.uint8]:
    """Spread elements of less than a byte, the first in the lowest bits, to a byte each."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    mask = np.uint8((1 << bits) - 1)
    spread: NDArray[np.uint8] = ((packed[:, np.newaxis] >> shifts) & mask).reshape(-1)[:count]
    return spread


def pack(spread: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Put elements of a byte each together, the first in the lowest bits."""
    each = 8 // bits
    padded = np.zeros(-(-spread.size // each) * each, np.uint8)
    padded[: spread.size] = spread & np.uint8((1 << bits) - 1)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(padded.reshape(-1, each) << shifts, axis=1).astype(np.uint8)
    return packed


def _small_elements(name: str, bits: int, raw: NDArray[np.uint8], count: int) -> NDArray[Any]:
    """Elements of less than a byte as ml_dtypes has them, otherwise as int8 or uint8 (the raw bits of a float)."""
    spread = unpack(raw, bits, count)
    dtype = _ml_dtype(name)
    if name.startswith("int"):
        sign = np.uint8(1 << (bits - 1))
        values = ((spread ^ sign).astype(np.int8) - np.int8(sign)).astype(np.int8)
        return values if dtype is None else values.astype(dtype)
    if dtype is None:
        return spread
    return spread.view(dtype) if name.startswith("float") else spread.astype(dtype)


def to_array(number: int, shape: list[int], raw: NDArray[np.uint8] | list[bytes]) -> NDArray[Any]:
    """Make an array of a tensor's bytes.

    Parameters
    ----------
    number : int
        Number of the dtype.
    shape : list of int
        The shape.
    raw : array of bytes, or a list of texts
        The packed elements.

    Returns
    -------
    array
        It shares the memory of `raw`, except for strings and for elements of less than a byte, which are unpacked.
    """
    name, descr, bits, raw_only = DTYPES[number]
    if isinstance(raw, list):
        array: NDArray[Any] = np.empty(len(raw), object)
        array[:] = [text.decode("utf-8", "surrogateescape") for text in raw]
        array.flags.writeable = False
    elif bits < 8:
        array = _small_elements(name, bits, raw, int(np.prod(shape, dtype=np.int64)))
        array.flags.writeable = False
    else:
        dtype = _ml_dtype(name) if raw_only else None
        array = raw.view(np.dtype(descr) if dtype is None else dtype)
    try:
        return array.reshape(shape)
    except ValueError as error:  # such as [0, 2**62], which NumPy cannot have
        raise Error(f"NumPy has no array of the shape {shape}: {error}", "unsupported") from error


def _dtype_number(dtype: np.dtype[Any]) -> int:
    name = dtype.name
    for ours, theirs in _ML_DTYPES_NAMES.items():
        if name == theirs:
            name = ours
    if dtype.kind in "OSU":
        return STRING
    if name not in NUMBERS:
        raise Error(f"tensortap has no dtype {dtype}", "invalid_argument")
    return NUMBERS[name]


def from_array(value: Any) -> tuple[int, list[int], NDArray[np.uint8] | list[bytes]]:
    """Give the dtype's number, the shape and the packed elements of anything that NumPy takes for an array.

    Parameters
    ----------
    value : array_like
        Numbers, texts or an array.

    Returns
    -------
    tuple
        As `to_array` takes them.
    """
    array = np.asarray(value)
    number = _dtype_number(array.dtype)
    shape = list(array.shape)
    if number == STRING:
        texts = [item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape") for item in array.reshape(-1).tolist()]
        return number, shape, texts
    flat = np.ascontiguousarray(array).reshape(-1)
    if not flat.dtype.isnative:
        flat = flat.astype(flat.dtype.newbyteorder("="))
    bits = DTYPES[number][2]
    if bits >= 8:
        return number, shape, flat.view(np.uint8)
    whole = flat.view(np.uint8) if DTYPES[number][0].startswith("float") else flat.astype(np.int8).view(np.uint8)
    return number, shape, pack(whole, bits)
