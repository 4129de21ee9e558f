"""Tells the library which optimizer steps, and whether there is one at all: the steps of a training are those of its first optimizer."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ._functions import Functions


def follow(functions: Functions) -> None:
    """Tell the library of optimizers, those that are there and those to come.

    Parameters
    ----------
    functions : Functions
        Of the library.
    """
    initialize = torch.optim.Optimizer.__init__
    is_compiling = torch.compiler.is_compiling
    made, steps = functions.optimizer_made, functions.optimizer_steps

    @functools.wraps(initialize)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        initialize(self, *args, **kwargs)
        made()

    # While torch.compile traces a step, it is the step itself.
    def before_step(optimizer: Any, _arguments: Any, _named: Any) -> None:
        if not is_compiling():
            steps(id(optimizer))

    torch.optim.Optimizer.__init__ = __init__
    register_optimizer_step_pre_hook(before_step)
    if _made_any(torch.optim.Optimizer):
        made()


def _made_any(kind: type) -> bool:
    """Tell whether an optimizer of this class or below was ever made: the first one of a class marks its ``step``."""
    below: list[type] = kind.__subclasses__()
    return any(getattr(one.__dict__.get("step"), "hooked", False) or _made_any(one) for one in below)
