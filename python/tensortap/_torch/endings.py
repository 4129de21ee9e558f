"""Tells the library of the exception that ended the program: the op that raised it is the one that matters."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator

from ._functions import Functions

_MOST_CAUSES = 20
_MOST_OF_TEXT = 1000


def follow(functions: Functions) -> None:
    """Look for such an exception when the interpreter ends.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def at_end() -> None:
        # Python keeps the uncaught exception there.
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if isinstance(error, BaseException):
            tell(functions, error)

    atexit.register(at_end)


def tell(functions: Functions, error: BaseException) -> None:
    """Report the exception that ended the program, or the captured part of it.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    error : BaseException
        The exception. Its causes are reported, too, until an op is found that raised one of them.
    """
    try:
        for one in _causes(error):
            if functions.program_raised(_text_of(one), _lines_of(functions, one)):
                return
    except Exception:  # of the exception's own code: it is not reported then
        return


def _causes(error: BaseException) -> Iterator[BaseException]:
    """List an exception and its causes."""
    one: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if one is None:
            return
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _text_of(error: BaseException) -> str:
    """Give the class and the first line of the message."""
    message = str(error).strip().partition("\n")[0][:_MOST_OF_TEXT]
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _lines_of(functions: Functions, error: BaseException) -> list[str]:
    """List the lines of the program that an exception came through, the innermost last."""
    lines = []
    traceback = error.__traceback__
    while traceback is not None:
        file = functions.program_file(traceback.tb_frame.f_code.co_filename)
        if file:
            lines.append(f"{file}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return lines
