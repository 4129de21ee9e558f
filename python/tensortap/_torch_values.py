"""Between tensors of torch and NumPy arrays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tensortap._error import Error
from tensortap._optional import optional_package
from tensortap._tensors import DTYPES, STRING, _ml_dtype, to_array, unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TORCH_NAMES = {"float8_e8m0": "float8_e8m0fnu"}
_OUR_NAMES = {**{theirs: ours for ours, theirs in _TORCH_NAMES.items()}, "float4_e2m1fn_x2": "float4_e2m1", "complex32": "float16"}


def wanted_library(name: str | None) -> str:
    """Give the library whose tensors are asked for: torch where it is loaded, unless one is named."""
    if name is None:
        return "torch" if "torch" in sys.modules else "numpy"
    if name not in ("torch", "numpy"):
        raise Error(f"as_ is {name!r}: it must be 'torch' or 'numpy'", "invalid_argument")
    return name


def dtype_name(tensor: Any) -> str:
    """Name the element type of a tensor of torch as records do."""
    name = str(tensor.dtype).removeprefix("torch.")
    return _OUR_NAMES.get(name, name)


def _as_pairs(tensor: Any) -> Any:
    """Give complex32 as records have it: float16 with a last dimension of 2."""
    return sys.modules["torch"].view_as_real(tensor) if str(tensor.dtype) == "torch.complex32" else tensor


def recorded_shape(tensor: Any) -> list[int]:
    """Give the shape as records have it: in single elements, also where torch counts pairs."""
    shape = list(_as_pairs(tensor).shape)
    if shape and str(tensor.dtype) == "torch.float4_e2m1fn_x2":
        shape[-1] *= 2
    return shape


def torch_to_numpy(tensor: Any) -> NDArray[Any]:
    """Give a read-only array that shares the memory of a tensor in host memory; elements of less than a byte are unpacked.

    Types that NumPy lacks are those of ml_dtypes; where it is not installed, the raw bits.
    """
    torch = sys.modules["torch"]
    tensor = _as_pairs(tensor)
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "float4_e2m1fn_x2":
        packed = tensor.contiguous().view(torch.uint8).numpy().reshape(-1)
        spread = unpack(packed, 4, 2 * packed.size).reshape(recorded_shape(tensor))
        small = _ml_dtype("float4_e2m1")
        array: NDArray[Any] = spread if small is None else spread.view(small)
    elif name == "bfloat16" or name.startswith("float8"):
        raw: NDArray[Any] = tensor.view(torch.uint8 if tensor.element_size() == 1 else torch.int16).numpy()
        raw = raw if raw.itemsize == 1 else raw.view(np.uint16)
        dtype = _ml_dtype(name)
        array = raw if dtype is None else raw.view(dtype)
    else:
        array = tensor.numpy().view()
    array.flags.writeable = False
    return array


def measurable(tensor: Any) -> NDArray[Any]:
    """Give numbers that NumPy computes with, also where it lacks the element type of a tensor."""
    tensor = _as_pairs(tensor)
    if not tensor.dtype.is_floating_point or tensor.element_size() == 8 or str(tensor.dtype) in ("torch.float16", "torch.float32"):
        return torch_to_numpy(tensor)
    torch = sys.modules["torch"]
    array: NDArray[Any] = tensor.to(torch.float32).numpy()
    return array


def raw_to_torch(number: int, shape: list[int], raw: NDArray[np.uint8] | list[bytes]) -> Any:
    """Make a tensor of torch of the bytes of a record: a copy, since a file is read-only and a tensor of torch never is."""
    torch = optional_package("torch", "as_='torch'")
    name, _, bits, _ = DTYPES[number]
    if number == STRING or isinstance(raw, list):
        raise Error("torch has no tensors of texts: use as_='numpy'", "unsupported")
    if bits < 8 and name.startswith("float"):
        raise Error(f"torch has no type for single elements of {name}: use as_='numpy'", "unsupported")
    if bits < 8:
        array = to_array(number, shape, raw)
        return torch.from_numpy(array.astype(np.int8 if name.startswith("int") else np.uint8))
    dtype = getattr(torch, _TORCH_NAMES.get(name, name), None)
    if dtype is None:
        raise Error(f"torch {torch.__version__} has no type {name}: use as_='numpy'", "unsupported")
    return torch.from_numpy(np.array(raw)).view(dtype).reshape(shape)
