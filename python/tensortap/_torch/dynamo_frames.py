"""Keeps our own Python apart from the program: what compiles, traces or intercepts the program's calls does not meet ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

try:
    from torch._C._dynamo.eval_frame import set_eval_frame as _set_eval_frame
except ImportError:  # of this release

    def _set_eval_frame(callback: Any) -> Any:
        return callback


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
    """Make a function that neither Dynamo, nor a tracer, nor the program's ``__torch_function__`` and ``__torch_dispatch__`` see.

    That holds for all that it calls, on tensors of any class and inside of any mode.

    Parameters
    ----------
    function : callable
        Written in Python; it calls nothing of the program.
    """

    @functools.wraps(function)
    def run(*args: Any, **named: Any) -> Any:
        frames, trace = _set_eval_frame(None), torch._C._get_tracing_state()
        if trace is not None:
            torch._C._set_tracing_state(None)
        try:
            with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
                return function(*args, **named)
        finally:
            _set_eval_frame(frames)
            if trace is not None:
                torch._C._set_tracing_state(trace)

    leave_alone(run)
    return run  # type: ignore[return-value]
