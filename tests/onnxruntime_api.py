"""The C interface of the ONNX Runtime source for Python tests, and where its models and runtimes are."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from cli_support import LIBRARIES

MODELS = Path(os.environ.get("TENSORTAP_TEST_MODELS", "no models"))
RUNTIMES = Path(os.environ.get("TENSORTAP_TEST_RUNTIMES", "no runtimes"))
NEWEST = "1.31.1"
# Numbers of enum tensortap_dtype.
DTYPES: dict[int, npt.DTypeLike] = {
    1: np.bool_,
    2: np.int8,
    3: np.int16,
    4: np.int32,
    5: np.int64,
    6: np.uint8,
    7: np.uint16,
    8: np.uint32,
    9: np.uint64,
    10: np.float16,
    11: ml_dtypes.bfloat16,
    12: np.float32,
    13: np.float64,
}


class Tensor(ctypes.Structure):
    """struct tensortap_tensor."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("dtype", ctypes.c_uint32),
        ("data", ctypes.c_void_p),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_uint32),
        ("slot_kind", ctypes.c_uint32),
        ("slot_index", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("element", ctypes.c_int64),
    ]


class Input(ctypes.Structure):
    """struct tensortap_onnxruntime_input."""

    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("step", ctypes.c_int64), ("tensor", Tensor)]


OnOutput = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(Tensor))


class Options(ctypes.Structure):
    """struct tensortap_onnxruntime_run_options."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("request", ctypes.c_char_p),
        ("inputs", ctypes.POINTER(Input)),
        ("input_count", ctypes.c_uint64),
        ("on_output", OnOutput),
        ("on_progress", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
    ]


@cache
def library() -> ctypes.CDLL:
    """Load the installed libtensortap_onnxruntime.so."""
    loaded = ctypes.CDLL(str(LIBRARIES / "libtensortap_onnxruntime.so"))
    loaded.tensortap_free.argtypes = [ctypes.c_void_p]
    return loaded


@dataclass
class Outcome:
    """What a call gave: its status, its report, and the outputs by step and name."""

    status: int
    report: dict[str, Any]
    outputs: dict[tuple[int, str], npt.NDArray[Any]] = field(default_factory=dict)


def runtime(version: str = NEWEST) -> str:
    """Give the path of a release's folder."""
    return str(RUNTIMES / version)


def model(path: str) -> str:
    """Give the path of a model out of a released package."""
    return str(MODELS / path)


def _tensor(name: str, array: npt.NDArray[Any], keep: list[Any]) -> Tensor:
    number = next(key for key, dtype in DTYPES.items() if np.dtype(dtype) == array.dtype)
    array = np.require(array, requirements="C")
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    keep += [array, dims]
    return Tensor(ctypes.sizeof(Tensor), number, array.ctypes.data, dims, None, array.ndim, 0, 0, 0, name.encode(), -1)


def _array(tensor: Tensor) -> npt.NDArray[Any] | None:
    if tensor.dtype not in DTYPES:
        return None
    dtype = np.dtype(DTYPES[tensor.dtype])
    shape = tuple(tensor.dims[axis] for axis in range(tensor.rank))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(ctypes.string_at(tensor.data, size), dtype).reshape(shape)


def _answer(status: int, text: ctypes.c_void_p) -> Outcome:
    report = json.loads(ctypes.string_at(text.value or 0))
    library().tensortap_free(text)
    return Outcome(status, report)


def run(
    path: str | Path,
    inputs: Mapping[str, npt.NDArray[Any]] | None = None,
    steps: Sequence[Mapping[str, npt.NDArray[Any]]] = (),
    **request: Any,
) -> Outcome:
    """Call tensortap_onnxruntime_run(). `inputs` are those of every step, `steps` those of single ones."""
    keep: list[Any] = []
    given = [(-1, name, array) for name, array in (inputs or {}).items()]
    given += [(step, name, array) for step, arrays in enumerate(steps) for name, array in arrays.items()]
    entries = (Input * max(1, len(given)))()
    for entry, (step, name, array) in zip(entries, given, strict=False):
        entry.size, entry.step, entry.tensor = ctypes.sizeof(Input), step, _tensor(name, array, keep)
    outputs: dict[tuple[int, str], npt.NDArray[Any]] = {}

    def on_output(_: int, step: int, tensor: Any) -> None:
        array = _array(tensor.contents)
        if array is not None:
            outputs[step, tensor.contents.name.decode()] = array

    callback = OnOutput(on_output)
    text = ctypes.c_void_p()
    body = json.dumps({"model": str(path), "runtime": runtime(), "threads": 1, **request}).encode()
    options = Options(ctypes.sizeof(Options), 0, body, entries, len(given), callback, None, None)
    outcome = _answer(library().tensortap_onnxruntime_run(ctypes.byref(options), ctypes.byref(text)), text)
    outcome.outputs = outputs
    return outcome


def describe(path: str | Path, **request: Any) -> Outcome:
    """Call tensortap_onnxruntime_describe()."""
    text = ctypes.c_void_p()
    body = json.dumps({"model": str(path), "runtime": runtime(), **request}).encode()
    return _answer(library().tensortap_onnxruntime_describe(body, ctypes.byref(text)), text)


def config(out: Path, payload: str = "full", **more: Any) -> str:
    """Make a capture config that writes to a folder."""
    return json.dumps({"tensortap": 1, "out": str(out), "payload": payload, **more})
