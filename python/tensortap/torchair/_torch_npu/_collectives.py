"""Collectives of a device, which run on the CPU: the backend ``hccl`` means ``gloo``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

_names: list[str] = []


def accept(name: str) -> None:
    """Let a name of a backend mean gloo in ``init_process_group`` and ``new_group``."""
    first = not _names
    _names.append(name)
    distributed = torch.distributed
    if not first or not distributed.is_available():
        return
    for module in (distributed, distributed.distributed_c10d):
        module.init_process_group = _with_gloo(module.init_process_group, 0)
        module.new_group = _with_gloo(module.new_group, 2)


def _with_gloo(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    @functools.wraps(function)
    def with_gloo(*arguments: Any, **named: Any) -> Any:
        if len(arguments) > position:
            arguments = (*arguments[:position], _gloo(arguments[position]), *arguments[position + 1 :])
        elif "backend" in named:
            named["backend"] = _gloo(named["backend"])
        return function(*arguments, **named)

    return with_gloo


def _gloo(backend: Any) -> Any:
    return "gloo" if isinstance(backend, str) and backend.lower().rpartition(":")[2] in _names else backend
