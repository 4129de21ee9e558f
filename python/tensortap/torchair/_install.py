"""Lets programs import tensortap.torchair under the names of the real packages, where those are not installed."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from tensortap.torchair._messages import say

_OURS_BY_NAME = {"torchair": "tensortap.torchair", "torch_npu": "tensortap.torchair._torch_npu"}
# Modules that are parts of these under another name.
_OTHER_NAMES = {
    "tensortap.torchair._torch_npu.dynamo.torchair": "tensortap.torchair",
    "tensortap.torchair.ge_concrete_graph": "tensortap.torchair._ge_concrete_graph",
}


def install(npu: bool = True) -> None:
    """Let ``import torchair`` give `tensortap.torchair`, unless the real package can be imported.

    Parameters
    ----------
    npu : bool
        Whether ``import torch_npu`` gives a stand-in where the real package is not installed. The device ``npu`` means the CPU then. As
        torch imports the real package by itself, the stand-in comes with torch.
    """
    names = set(_OURS_BY_NAME) if npu else {"torchair"}
    _add(names)
    if npu:
        _import_with_torch()


def _add(names: set[str]) -> None:
    for finder in sys.meta_path:
        if isinstance(finder, _LastFinder):
            finder.names |= names
            return
    sys.meta_path.append(_LastFinder(names))


def _import_with_torch() -> None:
    """Import the stand-in now if torch is loaded, otherwise when the program imports torch."""
    if "torch" in sys.modules:
        _import_stand_in()
    elif not any(isinstance(finder, _TorchFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TorchFinder())


def _import_stand_in() -> None:
    try:
        is_real = importlib.util.find_spec("torch_npu").loader.__class__ is not _AliasLoader  # type: ignore[union-attr]
    except (ValueError, ImportError):
        is_real = True
    if is_real:
        return
    try:
        importlib.import_module("torch_npu")
    except Exception as error:
        say(f"this torch has no device npu: {error}")  # the program may not need one


class _TorchFinder(importlib.abc.MetaPathFinder):
    """Imports the stand-in behind torch."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Answer for torch, once; None for every other name."""
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _TorchLoader(spec.loader)
        return spec


class _TorchLoader(importlib.abc.Loader):
    """Loads torch as its own loader does, then the stand-in."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as its own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module; from then on it has its own loader."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _import_stand_in()


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
        found = _own_name(f"{ours}.{rest}")
        if importlib.util.find_spec(found) is None:
            raise ModuleNotFoundError(f"{fullname} is not in {ours}; see docs/torchair.md for what is", name=fullname)
        return _alias(fullname, found)


def _own_name(name: str) -> str:
    """Give the name of the module that a name means."""
    for other, own in _OTHER_NAMES.items():
        if name == other or name.startswith(f"{other}."):
            return own + name[len(other) :]
    return name


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
