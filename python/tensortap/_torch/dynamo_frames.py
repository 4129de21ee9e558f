"""Keeps what ``torch.compile`` traces as it is without us: our own Python is none of the program's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def leave_alone(function: Callable[..., Any]) -> None:
    """Keep Dynamo from compiling a function itself: as without it, compiled code begins at what it calls.

    Parameters
    ----------
    function : callable
        Written in Python.
    """
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


def undisturbed(function: _Function) -> _Function:
    """Make a function whose calls run as if nothing were being compiled, with all that they call.

    Parameters
    ----------
    function : callable
        Written in Python; it calls nothing of the program.
    """
    try:
        from torch._C._dynamo.eval_frame import set_eval_frame
    except ImportError:
        return function

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        before = set_eval_frame(None)
        try:
            return function(*args)
        finally:
            set_eval_frame(before)

    leave_alone(run)
    return run  # type: ignore[return-value]
