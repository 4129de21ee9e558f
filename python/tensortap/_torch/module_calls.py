"""Tells the library which module runs."""

from __future__ import annotations

from typing import Any

import torch

from ._functions import Functions
from .dynamo_frames import leave_alone
from .module_events import ModuleEvents


def wrap(functions: Functions, events: ModuleEvents) -> None:
    """Wrap ``torch.nn.Module.__call__``, for all modules there are and will be.

    Parameters
    ----------
    functions : Functions
        Of the library.
    events : ModuleEvents
        Who tells of calls.
    """
    call = torch.nn.Module.__call__
    is_compiling = torch.compiler.is_compiling
    enter, leave, observed = functions.enter, functions.leave, events.call

    # Short on purpose: it runs at every call of a module. While torch.compile traces a call, it is the call itself.
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if is_compiling():
            return call(self, *args, **kwargs)
        mark = enter(self)
        try:
            if mark < 0:
                return observed(self, mark == -1, args, kwargs)
            return call(self, *args, **kwargs)
        finally:
            leave(mark)

    __call__.__doc__ = call.__doc__
    leave_alone(__call__)
    torch.nn.Module.__call__ = __call__
