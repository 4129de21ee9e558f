"""Reports all optimizers, and each of their steps, to the library: the steps of a training are those of its first optimizer."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ._functions import Functions


def _at_step(_optimizer: Any, _arguments: Any, _named: Any) -> None:
    """Do nothing: what Dynamo compiles into a step. A call that is not compiled runs `steps_now`."""


def follow(functions: Functions) -> None:
    """Tell the library of optimizers, those that are there and those to come.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    is_compiling = torch.compiler.is_compiling
    made, gone, steps = functions.optimizer_made, functions.optimizer_gone, functions.optimizer_steps
    living: dict[int, weakref.ref[Any]] = {}

    def look_after(optimizer: Any) -> None:
        address = id(optimizer)

        def end(_reference: Any) -> None:
            living.pop(address, None)
            gone(address)

        living[address] = weakref.ref(optimizer, functions.untraced(end))

    # Optimizer.__init__ calls it once, and the program's profilers and tracebacks see no frame of ours. One that is copied, or read from a
    # file, has its groups already.
    def begins(optimizer: Any) -> tuple[Any, None] | None:
        return (optimizer, None) if "param_groups" not in vars(optimizer) else None

    def ends(optimizer: Any, error: BaseException | None) -> None:
        if error is None:
            look_after(optimizer)
            made(id(optimizer))

    # While torch.compile traces a step, it is the step itself.
    def steps_now(optimizer: Any) -> None:
        if is_compiling():
            return
        if id(optimizer) not in living:
            look_after(optimizer)
        steps(id(optimizer))

    functions.replace_in_place(_at_step, steps_now)
    torch.optim.Optimizer._patch_step_function = functions.follow(torch.optim.Optimizer._patch_step_function, begins, ends)
    register_optimizer_step_pre_hook(functools.partial(_at_step))  # whose C code calls it, on every release of Python
    if _made_any(torch.optim.Optimizer):
        made(0)


def _made_any(kind: type) -> bool:
    """Tell whether an optimizer of this class or below was ever made: the first one of a class marks its ``step``."""
    below: list[type] = kind.__subclasses__()
    return any(getattr(one.__dict__.get("step"), "hooked", False) or _made_any(one) for one in below)
