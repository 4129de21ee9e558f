"""Tells the library which optimizer steps, and whether there is one at all: the steps of a training are those of its first optimizer."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ._functions import Functions


class Optimizers:
    """The optimizers of the program.

    Parameters
    ----------
    functions : Functions
        Of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._made = False
        is_compiling = torch.compiler.is_compiling
        steps = functions.optimizer_steps

        # While torch.compile traces a step, it is the step itself.
        def before_step(optimizer: Any, _arguments: Any, _named: Any) -> None:
            if not is_compiling():
                steps(id(optimizer))

        register_optimizer_step_pre_hook(before_step)

    def root_called(self) -> None:
        """Say that there is an optimizer, if so, before a call of a model is taken for a step."""
        self._made = self._made or _made_any(torch.optim.Optimizer)
        if self._made:
            self._functions.optimizer_made()


def _made_any(kind: type) -> bool:
    """Tell whether an optimizer of this class or below was ever made: the first one of a class marks its ``step``."""
    below: list[type] = kind.__subclasses__()
    return any(getattr(one.__dict__.get("step"), "hooked", False) or _made_any(one) for one in below)
