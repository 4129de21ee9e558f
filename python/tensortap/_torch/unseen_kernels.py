"""Kernels of devices that are no operators: launches by Triton, which become ops, and replays of graphs.

After either the content of memory is unknown.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from ._functions import Functions
from .triton_launches import Launches


def follow(functions: Functions) -> None:
    """Notice the launches and replays that come.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    if torch.version.cuda is not None or getattr(torch.version, "hip", None) is not None:
        _follow_method(functions, torch.cuda.CUDAGraph, "replay", _nothing_before, lambda _token, _error: functions.wrote_unseen())
    launches = Launches(functions)

    def triton_loaded(module: ModuleType) -> None:
        _follow_method(functions, getattr(module, "JITFunction", None), "run", launches.begin, launches.end)

    def autotuner_loaded(module: ModuleType) -> None:
        _follow_method(functions, getattr(module, "Autotuner", None), "_bench", launches.begin_measuring, launches.end_measuring)

    _when_loaded("triton.runtime.jit", triton_loaded)
    _when_loaded("triton.runtime.autotuner", autotuner_loaded)


def _nothing_before(*_arguments: Any, **_named: Any) -> tuple[None, None]:
    return None, None


def _follow_method(
    functions: Functions, kind: Any, name: str, before: Callable[..., Any], after: Callable[[Any, BaseException | None], None]
) -> None:
    method = getattr(kind, name, None)
    if method is not None:
        setattr(kind, name, functions.follow(method, before, after))


def _when_loaded(name: str, loaded: Callable[[ModuleType], None]) -> None:
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
