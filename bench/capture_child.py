"""One run of a model through libtensortap_onnxruntime.so in a process of its own; prints its report as JSON.

usage: capture_child.py LIBRARY MODELS CASE REQUEST

CASE is a case of cases.py, or a model's path as in model_and_inputs() there. REQUEST is the JSON object of tensortap_onnxruntime_run,
without "model". The report gains "seconds" and "peak_bytes": the highest resident memory of the process over what it had before the
library was loaded.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from cases import Inputs, model_and_inputs
from resident import Peak

DTYPES = {np.dtype(np.float32): 12, np.dtype(np.int32): 4, np.dtype(np.int64): 5}


class Tensor(ctypes.Structure):
    """tensortap_tensor of capture.h."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("dtype", ctypes.c_uint32),
        ("data", ctypes.c_void_p),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("rank", ctypes.c_uint32),
        ("slot_kind", ctypes.c_uint32),
        ("slot_index", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("element", ctypes.c_int64),
    )


class Input(ctypes.Structure):
    """tensortap_onnxruntime_input."""

    _fields_ = (("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("step", ctypes.c_int64), ("tensor", Tensor))


class RunOptions(ctypes.Structure):
    """tensortap_onnxruntime_run_options."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("request", ctypes.c_char_p),
        ("inputs", ctypes.POINTER(Input)),
        ("input_count", ctypes.c_uint64),
        ("on_output", ctypes.c_void_p),
        ("on_progress", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
    )


def make_inputs(arrays: Inputs) -> ctypes.Array[Input]:
    """Describe arrays to the library, the same for every step; the arrays must outlive the result."""
    made = (Input * len(arrays))()
    for item, (name, array) in zip(made, arrays.items(), strict=True):
        item.size, item.step = ctypes.sizeof(Input), -1
        tensor = item.tensor
        tensor.size, tensor.dtype, tensor.data = ctypes.sizeof(Tensor), DTYPES[array.dtype], array.ctypes.data
        tensor.dims, tensor.rank = (ctypes.c_int64 * array.ndim)(*array.shape), array.ndim
        tensor.slot_kind, tensor.name, tensor.element = 1, name.encode(), -1
    return made


def run(library: ctypes.CDLL, request: dict[str, Any], arrays: Inputs) -> dict[str, Any]:
    """Run a model; gives the library's report, with "status" when it failed."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    inputs = make_inputs(contiguous)
    options = RunOptions(size=ctypes.sizeof(RunOptions), request=json.dumps(request).encode(), inputs=inputs, input_count=len(inputs))
    text = ctypes.c_void_p()
    status = library.tensortap_onnxruntime_run(ctypes.byref(options), ctypes.byref(text))
    report: dict[str, Any] = json.loads(ctypes.string_at(text.value or 0))
    library.tensortap_free(text)
    if status != 0:
        report["status"] = status
    return report


def main() -> int:
    """Run what the command line says."""
    model, arrays = model_and_inputs(Path(sys.argv[2]), sys.argv[3])
    request = {**json.loads(sys.argv[4]), "model": str(model)}
    peak = Peak()
    library = ctypes.CDLL(sys.argv[1])
    start = time.perf_counter()
    report = run(library, request, arrays)
    report["seconds"] = time.perf_counter() - start
    report["peak_bytes"] = peak.over_start()
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
