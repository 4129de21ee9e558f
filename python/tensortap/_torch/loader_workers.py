"""Tells the library of the worker processes of a ``DataLoader``: captured with ``exec --workers`` only."""

from __future__ import annotations

import sys
from typing import Any

from ._functions import Functions

WORKER_MODULE = "torch.utils.data._utils.worker"


def follow(functions: Functions) -> None:
    """Tell of this process, when it is a worker, and of those that will be forked from it.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    module: Any = sys.modules.get(WORKER_MODULE)
    if module is None or not hasattr(module, "_worker_loop"):
        return
    if getattr(module, "_worker_info", None) is not None:  # a spawned one, which is at work already
        functions.worker_begins()
        return

    def begins() -> tuple[None, None]:
        functions.worker_begins()
        return None, None

    def ends(_token: None, _error: BaseException | None) -> None:
        functions.close()  # a forked worker leaves without the end of the interpreter

    functions.follow_in_place(module._worker_loop, begins, ends)
