"""Compiled methods of a model for inference."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import MethodType
from typing import Any

import torch

import tensortap.torchair
from tensortap.torchair.configs.compiler_config import CompilerConfig
from tensortap.torchair.core.utils import logger

__all__ = ["cache_compile", "get_dim_gears", "readable_cache", "set_dim_gears"]


def cache_compile(
    func: Callable[..., Any],
    *,
    config: CompilerConfig | None = None,
    dynamic: bool = True,
    custom_decompositions: dict[Any, Any] | None = None,
    ge_cache: bool = False,
    **_: Any,
) -> Callable[..., Any]:
    """Compile a method of a model for calls without gradients.

    Nothing is kept on the disk: every process compiles the method again. Arguments that only say where and how it would be kept
    (``cache_dir``, ``global_rank``, ``tp_rank``, ``pp_rank`` and others) have no effect.

    Parameters
    ----------
    func : bound method of a torch.nn.Module
        What to compile; at its first call.
    config : CompilerConfig, optional
        The options of the backend.
    dynamic : bool
        Whether sizes may change from call to call, as for torch.compile.
    custom_decompositions : dict, optional
        As for `tensortap.torchair.get_npu_backend`.
    ge_cache : bool
        Without effect.

    Returns
    -------
    callable
        Takes the arguments of the method.

    Raises
    ------
    ValueError
        When `func` is no bound method of a torch.nn.Module, or `ge_cache` is combined with frozen parameters.
    """
    if not isinstance(func, MethodType):
        raise ValueError(f"Only method can be cached now, got {func}")
    if not isinstance(func.__self__, torch.nn.Module):
        raise ValueError(f"Only torch.nn.Module method can be cached now, got {func}")
    config = config or CompilerConfig()
    if ge_cache and config.experimental_config.frozen_parameter:
        raise ValueError(
            "ge_cache and experimental_config.frozen_parameter cannot be enabled at the same time. Please disable one of them."
        )
    logger.warning_once("cache_compile keeps nothing on the disk: every process compiles its methods again")
    backend = tensortap.torchair.get_npu_backend(compiler_config=config, custom_decompositions=custom_decompositions or {})
    compiled = torch.compile(func, backend=backend, fullgraph=True, dynamic=dynamic)

    @functools.wraps(func)
    def call(*arguments: Any, **named: Any) -> Any:
        with torch.no_grad():
            return compiled(*arguments, **named)

    return call


def readable_cache(cache_bin: str | os.PathLike[str], print_output: bool = True, file: str | None = None) -> str:
    """Refuse to show the cache of a compiled method: the real system writes such files, and only it can read them.

    Raises
    ------
    ValueError
        When the file does not exist, and when it does.
    """
    path = os.path.abspath(cache_bin)
    if not os.path.exists(path):
        raise ValueError(f"Cache file {path} is not exists")
    raise ValueError(f"{path}: tensortap.torchair writes no cache files and cannot read those of torchair")


def set_dim_gears(t: torch.Tensor, dim_gears: dict[int, list[int] | tuple[int, ...]]) -> None:
    """Say which sizes some dimensions of an input may have. They are only marked as dynamic: other sizes work, too.

    Parameters
    ----------
    t : torch.Tensor
        An input of a compiled function.
    dim_gears : dict
        Dimension -> 2 to 100 sizes.

    Raises
    ------
    AssertionError
        When a dimension or a list of sizes is not possible, or the tensor has other sizes already.
    """
    if get_dim_gears(t) not in (None, dim_gears):
        raise AssertionError(f"Tensor {t} already has set dim gears, and it is not supported to set it again.")
    for index, gears in dim_gears.items():
        _check_gears(index, gears, t.dim())
        torch._dynamo.mark_dynamic(t, index)
    t.dim_gears = dim_gears


def get_dim_gears(t: torch.Tensor) -> dict[int, list[int] | tuple[int, ...]] | None:
    """Give what `set_dim_gears` has stored with a tensor, or None."""
    gears: dict[int, list[int] | tuple[int, ...]] | None = getattr(t, "dim_gears", None)
    return gears


def _check_gears(index: object, gears: object, dimensions: int) -> None:
    if not isinstance(index, int):
        raise AssertionError(f"Dim index in dim_gears must be an integer, but got {type(index)}.")
    if not 0 <= index < dimensions:
        raise AssertionError(f"Dim index in dim_gears must be in range [0, {dimensions - 1}], but got {index}.")
    if not isinstance(gears, (list, tuple)):
        raise AssertionError(f"Gears for dim index {index} in dim_gears must be a list or tuple, but got {type(gears)}.")
    for position, gear in enumerate(gears):
        if not isinstance(gear, int):
            raise AssertionError(
                f"Element at index {position} of value for dim index {index} in dim_gears must be an integer, but got {type(gear)}."
            )
    if not 2 <= len(gears) <= 100:
        raise AssertionError(f"Length of gears for dim index {index} in dim_gears must be in range [2, 100], but got {len(gears)}.")
