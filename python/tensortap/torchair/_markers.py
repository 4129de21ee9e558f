"""Operators that stand in a compiled graph and compute nothing: the ends of scopes, the order of streams, and what a graph prints or saves.

They have the names of the real system's operators, so that passes of programs that insert them work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.node import has_side_effect

_libraries: dict[str, torch.library.Library] = {}
"""By namespace; the operators live as long as these objects."""


def _nothing(*_: object, **__: object) -> None:
    """Do what a marker does when it runs."""


def define(namespace: str, schema: str, run: Callable[..., Any]) -> Any:
    """Define an operator that dead-code elimination keeps, unless the real system has defined it.

    Parameters
    ----------
    namespace : str
        Such as ``air``.
    schema : str
        Name, arguments and results.
    run : callable
        What it does, on every device; where there are no results, nothing is done for tensors without values.

    Returns
    -------
    torch._ops.OpOverload
        The operator.
    """
    library = _libraries.get(namespace) or torch.library.Library(namespace, "FRAGMENT")
    _libraries[namespace] = library
    name = schema.partition("(")[0]
    operators = getattr(torch.ops, namespace)
    if not hasattr(operators, name):
        library.define(schema)
        library.impl(name, run, "CompositeExplicitAutograd")
        if schema.endswith("-> ()"):
            library.impl(name, _nothing, "Meta")
    operator = getattr(operators, name).default
    has_side_effect(operator)  # a call without results would be removed as dead code
    return operator


def _token(*, device: torch.device | None = None) -> torch.Tensor:
    return torch.empty(0, device=device)


ENTER = define("air", "scope_enter(str[] keys, str[] values, bool need_execute=False) -> ()", _nothing)
EXIT = define("air", "scope_exit(bool need_execute=False) -> ()", _nothing)
RECORD = define("air", "record(*, Device? device=None) -> Tensor", _token)
WAIT = define("air", "wait(Tensor[] tensors) -> ()", _nothing)
WITHOUT_EFFECT = frozenset({ENTER, EXIT, RECORD, WAIT})
"""What can be left out of a graph, readers before what they read."""
