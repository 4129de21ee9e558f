"""Tells the library which module runs."""

from __future__ import annotations

from typing import Any

import torch

from ._functions import Functions
from .module_events import ModuleEvents


def wrap(functions: Functions) -> None:
    """Wrap ``torch.nn.Module.__call__``, for all modules there are and will be.

    Parameters
    ----------
    functions : Functions
        Of the library.
    """
    call = torch.nn.Module.__call__
    is_compiling = torch.compiler.is_compiling
    enter, leave, observed = functions.enter, functions.leave, ModuleEvents(functions, call).call

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
    _leave_alone(__call__)
    torch.nn.Module.__call__ = __call__


def _leave_alone(function: Any) -> None:
    """Keep Dynamo from compiling the wrapper itself: as without it, compiled code begins at the ``forward`` inside."""
    try:
        from torch._C._dynamo import eval_frame
    except ImportError:
        return
    skip_code = getattr(eval_frame, "skip_code", None)  # up to 2.6
    if skip_code is not None:
        skip_code(function.__code__)
    elif hasattr(eval_frame, "set_code_exec_strategy"):
        action = eval_frame._FrameAction
        eval_frame.set_code_exec_strategy(function.__code__, eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT))
