"""Finds tensors inside of what is given to modules and what they give."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch


def tensors_in(value: Any, deepest: int) -> Iterator[torch.Tensor]:
    """Give the tensors inside of a list, tuple, mapping or dataclass, in their order.

    Parameters
    ----------
    value : object
        A tensor, what holds tensors, or anything else, which holds none.
    deepest : int
        Containers inside of each other that are opened.
    """
    if isinstance(value, torch.Tensor):
        yield value
    elif deepest > 0:
        for item in _items(value):
            yield from tensors_in(item, deepest - 1)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, (list, tuple)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (getattr(value, field.name, None) for field in dataclasses.fields(value))
    return ()
