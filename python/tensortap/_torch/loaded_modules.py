"""Waits for modules that the program loads, and follows methods of their classes."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ._functions import Functions


def follow_method(
    functions: Functions, kind: Any, name: str, before: Callable[..., Any], after: Callable[[Any, BaseException | None], None]
) -> None:
    """Follow the calls of a method from now on; one that the class does not have is left out.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    kind, name : type, str
        The class, and the name of the method.
    before, after : callable
        What ``functions.follow`` takes.
    """
    method = getattr(kind, name, None)
    if method is not None:
        setattr(kind, name, functions.follow(method, before, after))


def when_loaded(name: str, loaded: Callable[[ModuleType], None]) -> None:
    """Give a module to a function as soon as the program has loaded it.

    Parameters
    ----------
    name : str
        The module's.
    loaded : callable
        Gets the module.
    """
    module = sys.modules.get(name)
    if module is not None:
        loaded(module)
    else:
        sys.meta_path.insert(0, _OnceLoaded(name, loaded))


class _OnceLoaded(importlib.abc.MetaPathFinder):
    """Gives the module that it waits for to a function, when the program has loaded it."""

    def __init__(self, name: str, loaded: Callable[[ModuleType], None]) -> None:
        self._name, self._loaded = name, loaded

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._loaded)
        return spec


class _Loader(importlib.abc.Loader):
    """The loader of a module, and what is to be done when it has run."""

    def __init__(self, own: Any, loaded: Any) -> None:
        self._own, self._loaded = own, loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._own.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._own
        module.__loader__ = self._own
        self._own.exec_module(module)
        self._loaded(module)
