"""What ``tensortap.set_dump`` asked for, kept until the library knows the module."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from typing import Any

from ._functions import Functions


class DumpTargets:
    """Switches modules, classes of modules and operators on and off, in the order in which that was asked for."""

    def __init__(self) -> None:
        # A module by a weak reference, a class or an operator's name by itself.
        self._asked: list[tuple[Any, bool]] = []

    def set(self, target: Any, enabled: bool, functions: Functions | None, modules: Iterable[Any]) -> None:
        """Switch a target now, or as soon as it has a number.

        Parameters
        ----------
        target : torch.nn.Module, class of modules, operator or str
            One that `is_target` takes.
        enabled : bool
            On or off.
        functions : Functions or None
            The functions of the library, once it is installed.
        modules : iterable of torch.nn.Module
            Those that have numbers.
        """
        if isinstance(target, type):
            self._keep(target, enabled)
            if functions is not None:
                for module in modules:
                    if isinstance(module, target):
                        functions.set_dump(functions.module_id(module), "", enabled)
        elif _is_module(target):
            number = 0 if functions is None else functions.module_id(target)
            if functions is None or not number:
                self._keep(weakref.ref(target), enabled)
            else:
                functions.set_dump(number, "", enabled)
        elif functions is None:
            self._keep(_operator_name(target), enabled)
        else:
            functions.set_dump(0, _operator_name(target), enabled)

    def named(self, module: Any, functions: Functions, number: int) -> None:
        """Switch a module that has just got its number.

        Parameters
        ----------
        module : torch.nn.Module
            The module.
        functions : Functions
            The functions of the library.
        number : int
            Number of the module.
        """
        for target, enabled in self._asked:
            if _means(target, module):
                functions.set_dump(number, "", enabled)

    def installed(self, functions: Functions) -> None:
        """Switch the operators that were named before the library was there.

        Parameters
        ----------
        functions : Functions
            The functions of the library.
        """
        for target, enabled in self._asked:
            if isinstance(target, str):
                functions.set_dump(0, target, enabled)
        self._asked = [(target, enabled) for target, enabled in self._asked if not isinstance(target, str)]

    def _keep(self, target: Any, enabled: bool) -> None:
        def gone(asked: Any) -> bool:
            return isinstance(asked, weakref.ref) and asked() is None

        self._asked = [(asked, on) for asked, on in self._asked if asked != target and not gone(asked)]
        self._asked.append((target, enabled))


def is_target(target: object) -> bool:
    """Tell whether a target is a module, a class of modules or an operator.

    Parameters
    ----------
    target : object
        What ``set_dump`` was given.

    Returns
    -------
    bool
        Whether `DumpTargets.set` takes it.
    """
    torch = sys.modules.get("torch")
    if isinstance(target, str):
        return bool(target)
    if torch is None:
        return False
    if isinstance(target, type):
        return issubclass(target, torch.nn.Module)
    return isinstance(target, torch.nn.Module | torch._ops.OpOverload | torch._ops.OpOverloadPacket)


def _means(asked: Any, module: Any) -> bool:
    return asked() is module if isinstance(asked, weakref.ref) else isinstance(asked, type) and isinstance(module, asked)


def _is_module(target: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(target, torch.nn.Module)


def _operator_name(target: Any) -> str:
    """Give the name of an operator as the library has it: "aten::add", "aten::add.Tensor"; a text as it is."""
    if isinstance(target, str):
        return target
    torch = sys.modules["torch"]
    if isinstance(target, torch._ops.OpOverload):
        return str(target.name())
    return str(target._qualified_op_name)
