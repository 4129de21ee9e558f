"""Kernels of devices that are no operators: after a launch by Triton, or a replay of a graph, the content of memory is unknown."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from ._functions import Functions

_TRITON = "triton.runtime.jit"


def follow(functions: Functions) -> None:
    """Notice the launches and replays that come.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    if torch.version.cuda is not None or getattr(torch.version, "hip", None) is not None:
        _follow_method(functions, torch.cuda.CUDAGraph, "replay")

    def loaded(module: ModuleType) -> None:
        _follow_method(functions, getattr(module, "JITFunction", None), "run")

    module = sys.modules.get(_TRITON)
    if module is not None:
        loaded(module)
    else:
        sys.meta_path.insert(0, _OnceLoaded(loaded))


def _follow_method(functions: Functions, kind: Any, name: str) -> None:
    method = getattr(kind, name, None)
    if method is None:
        return

    def before(*_arguments: Any, **_named: Any) -> tuple[None, None]:
        return None, None

    def after(_token: Any, _error: BaseException | None) -> None:
        functions.wrote_unseen()

    setattr(kind, name, functions.follow(method, before, after))


class _OnceLoaded(importlib.abc.MetaPathFinder):
    """Gives the module that it waits for to a function, when the program has loaded it."""

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _TRITON:
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
