"""Tells the library which settings of torch change a result beside the program: precision, deterministic kernels, threads, backends."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ._functions import Functions

_FACT, _CHANGED_FACT = "settings", "settings_changed"
_COMPILE, NOT_COMPILED = "torch_compile", "not used"
_MOST_VALUES = 8
_PRECISIONS = tuple((backend, op) for backend in ("cuda", "mkldnn") for op in ("matmul", "conv", "rnn"))
"""Of torch from 2.9 on, whose older functions print a warning or raise an exception once the program used the new ones."""
_OLD_PRECISIONS = (
    ("float32_matmul_precision", torch.get_float32_matmul_precision),
    ("cuda.matmul.allow_tf32", getattr(torch._C, "_get_cublas_allow_tf32", None)),
    ("cudnn.allow_tf32", getattr(torch._C, "_get_cudnn_allow_tf32", None)),
)
_GETTERS = (
    ("default_dtype", torch.get_default_dtype),
    ("threads", torch.get_num_threads),
    ("deterministic_algorithms", torch.are_deterministic_algorithms_enabled),
    ("cuda.matmul.fp16_reduced_precision", getattr(torch._C, "_get_cublas_allow_fp16_reduced_precision_reduction", None)),
    ("cuda.matmul.bf16_reduced_precision", getattr(torch._C, "_get_cublas_allow_bf16_reduced_precision_reduction", None)),
    ("cuda.matmul.fp16_accumulation", getattr(torch._C, "_get_cublas_allow_fp16_accumulation", None)),
    ("cudnn.enabled", getattr(torch._C, "_get_cudnn_enabled", None)),
    ("cudnn.benchmark", getattr(torch._C, "_get_cudnn_benchmark", None)),
    ("cudnn.deterministic", getattr(torch._C, "_get_cudnn_deterministic", None)),
    ("mkldnn.enabled", getattr(torch._C, "_get_mkldnn_enabled", None)),
    ("mkldnn.deterministic", getattr(torch._C, "_get_mkldnn_deterministic", None)),
    ("attention.flash", getattr(torch._C, "_get_flash_sdp_enabled", None)),
    ("attention.memory_efficient", getattr(torch._C, "_get_mem_efficient_sdp_enabled", None)),
    ("attention.math", getattr(torch._C, "_get_math_sdp_enabled", None)),
    ("attention.cudnn", getattr(torch._C, "_get_cudnn_sdp_enabled", None)),
    ("attention.math_in_half_precision", getattr(torch._C, "_get_math_sdp_allow_fp16_bf16_reduction", None)),
)
_VARIABLES = (
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
)


class NumberSettings:
    """Looks at the settings now and then, and tells those that are new and those that changed.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._seen: dict[str, list[Any]] = {}
        self._compile = NOT_COMPILED
        self._calls = 0
        self._told = ""
        self._told_changes = json.dumps({})

    def look(self) -> None:
        """Read all settings, and report new values."""
        for name, value in _read_settings():
            values = self._seen.setdefault(name, [])
            if (not values or values[-1] != value) and len(values) < _MOST_VALUES:
                values.append(value)
        self._tell()

    def root_called(self) -> None:
        """Look at the first, second, fourth and each further call of a model whose number is a power of two."""
        self._calls += 1
        if self._calls & (self._calls - 1) == 0:
            self.look()

    def compiled(self, route: str) -> None:
        """Note that torch.compile is used, and how it is treated; the first treatment that is told stays.

        Parameters
        ----------
        route : str
            Of ``tensortap exec --compile``.
        """
        if self._compile == NOT_COMPILED:
            self._compile = route
            self._tell()

    def begins(self) -> None:
        """Begin anew: a capture has been opened, which is not concerned with what changed before."""
        self._seen.clear()
        self._told = ""
        self.look()

    def _tell(self) -> None:
        last = {name: values[-1] for name, values in sorted(self._seen.items())}
        changed = {name: values for name, values in sorted(self._seen.items()) if len(values) > 1}
        told = json.dumps({**last, _COMPILE: self._compile})
        changes = json.dumps(changed)
        if told != self._told:
            self._functions.add_fact(_FACT, told)
        if changes != self._told_changes:
            self._functions.add_fact(_CHANGED_FACT, changes)
        self._told, self._told_changes = told, changes


def _read_settings() -> Iterator[tuple[str, Any]]:
    """Give the name and the value of each setting that this release of torch has and can tell."""
    for name, getter in (*_GETTERS, *_precision_getters(), *_autocast_getters()):
        try:
            value = None if getter is None else getter()
        except Exception:  # of this release, or the program mixed two ways to set it
            continue
        if value is not None:
            yield name, _plain(value)
    for name in _VARIABLES:
        if name in os.environ:
            yield f"environment.{name}", os.environ[name]
    least = sys.float_info.min
    yield "flush_denormal", least / 2 == 0


def _precision_getters() -> Iterator[tuple[str, Callable[[], Any] | None]]:
    getter = getattr(torch._C, "_get_fp32_precision_getter", None)
    if getter is None:
        yield from _OLD_PRECISIONS
        return
    for backend, op in _PRECISIONS:
        yield f"{backend}.{op}.fp32_precision", functools.partial(getter, backend, op)


def _autocast_getters() -> Iterator[tuple[str, Callable[[], Any] | None]]:
    getter = getattr(torch, "get_autocast_dtype", None)
    if getter is not None:
        for kind in ("cpu", "cuda"):
            yield f"autocast_dtype.{kind}", functools.partial(getter, kind)


def _plain(value: Any) -> Any:
    """Give a value as JSON has it: types of elements are called as torch calls them, without "torch."."""
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (bool, int, str)) else str(value).removeprefix("torch.")
