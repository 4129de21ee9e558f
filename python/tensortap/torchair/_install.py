"""Lets programs import tensortap.torchair under the names of the real packages, where those are not installed."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_OURS_BY_NAME = {"torchair": "tensortap.torchair", "torch_npu": "tensortap.torchair._torch_npu"}


def install(npu: bool = True) -> None:
    """Let ``import torchair`` give `tensortap.torchair`, unless the real package can be imported.

    Parameters
    ----------
    npu : bool
        Whether ``import torch_npu`` gives a stand-in where the real package is not installed. Its ``.npu()`` leaves tensors and modules on
        the CPU; a device ``npu`` does not exist.
    """
    names = set(_OURS_BY_NAME) if npu else {"torchair"}
    for finder in sys.meta_path:
        if isinstance(finder, _LastFinder):
            finder.names |= names
            return
    sys.meta_path.append(_LastFinder(names))


def install_in_spawned_processes() -> None:
    """Call `install` in every process that multiprocessing spawns, before it imports the program's modules."""
    from multiprocessing import spawn

    prepare = spawn.get_preparation_data
    # The new process unpickles this dictionary before anything else, and ignores keys that it does not know.
    spawn.get_preparation_data = lambda name: {**prepare(name), "tensortap": _Installation()}


class _Installation:
    """Calls `install` where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return install, ()


class _LastFinder(importlib.abc.MetaPathFinder):
    """Answers for the packages when every other finder has been asked."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Answer for a package; None for every other name."""
        if fullname not in self.names:
            return None
        if not any(isinstance(finder, _PartFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _PartFinder())
        return _alias(fullname, _OURS_BY_NAME[fullname])


class _PartFinder(importlib.abc.MetaPathFinder):
    """Answers for the modules inside of our packages.

    It has to be the first one: the others would find the files of ``torchair`` a second time, and make second modules of them with classes
    of their own.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Answer for a module; None for a name that does not belong to us.

        Raises
        ------
        ModuleNotFoundError
            When we have no such module.
        """
        package, _, rest = fullname.partition(".")
        ours = _OURS_BY_NAME.get(package)
        if ours is None or not rest or package not in sys.modules or sys.modules[package] is not sys.modules.get(ours):
            return None
        if importlib.util.find_spec(f"{ours}.{rest}") is None:
            raise ModuleNotFoundError(f"{fullname} is not in {ours}; see docs/torchair.md for what is", name=fullname)
        return _alias(fullname, f"{ours}.{rest}")


class _AliasLoader(importlib.abc.Loader):
    """Gives a module that has another name; both names then mean one object."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module under its own name."""
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own spec: the import has replaced it by that of the alias."""
        module.__spec__ = self._spec


def _alias(name: str, ours: str) -> ModuleSpec:
    return ModuleSpec(name, _AliasLoader(ours))
