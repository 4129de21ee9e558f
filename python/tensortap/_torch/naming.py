"""The names of modules and parameters: "Net.blocks.0.attn" and "blocks.0.attn.qkv.weight"."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import Module

from ._functions import Functions

_WRAPPERS = {"OptimizedModule": "_orig_mod", "DistributedDataParallel": "module"}
"""Modules that wrap another one and have its name."""
_MIXED_IN = ("FSDPModule", "FSDP")
"""What ``fully_shard`` puts before the class of a module; torch 2.4 has the second."""
_CHECKED = 4
"""How many parameters are looked up again at each call of a root."""


class _ModuleReference(weakref.ref[Module]):
    """A weak reference to a module that still knows, when the module is gone, where it was."""

    __slots__ = ("address", "parameters", "path")

    def __init__(self, module: Module, gone: Callable[[Any], None], path: str) -> None:
        super().__init__(module, gone)  # type: ignore[call-arg]
        self.address = id(module)
        self.path = path
        self.parameters: list[_Parameter] = []

    def __new__(cls, module: Module, gone: Callable[[Any], None], _path: str) -> _ModuleReference:
        return super().__new__(cls, module, gone)


class _Parameter:
    """A parameter or buffer: its module, its name, and the last known place of its storage."""

    __slots__ = ("address", "full_name", "kind", "module", "name", "offset")

    def __init__(self, module: _ModuleReference, kind: str, name: str, full_name: str) -> None:
        self.module, self.kind, self.name, self.full_name = module, kind, name, full_name
        self.address = 0
        self.offset = 0


class _Storage:
    """The parameters that have names in one storage."""

    __slots__ = ("parameters",)

    def __init__(self) -> None:
        self.parameters: list[_Parameter] = []

    def name(self) -> str:
        """Give the name of all parameters here; "" when several of them lie side by side."""
        first = self.parameters[0]
        return first.full_name if all(parameter.offset == first.offset for parameter in self.parameters) else ""


class Names:
    """Names modules when they are first called, and their parameters. Never writes into a module, never keeps one alive.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    named : callable
        Told of each module that got a number.
    """

    def __init__(self, functions: Functions, named: Callable[[Module, int], None]) -> None:
        self._functions = functions
        self._named = named
        self._modules: dict[int, _ModuleReference] = {}
        self._roots: dict[str, list[_ModuleReference | None]] = {}
        self._storages: dict[int, _Storage] = {}
        self._parameters: dict[int, list[_Parameter]] = {}
        self._next_checked = 0
        self._forget = functions.untraced(self._gone)

    def name_called(self, module: Module, caller: str) -> None:
        """Name a module that is called, and what it holds.

        Parameters
        ----------
        module : torch.nn.Module
            Has no number yet.
        caller : str
            Path of the module that calls it; "" when none does.
        """
        wrapped = _wrapped(module)
        if wrapped is not None and id(wrapped) in self._modules:
            self._bind(module, self._modules[id(wrapped)].path)
            return
        inner = wrapped if wrapped is not None else module
        kind = class_name_of(inner)
        path = f"{caller}.{kind}" if caller else self._root_name(kind)
        reference = self._name_tree(inner, path)
        if wrapped is not None:
            reference = self._bind(module, path)
        if not caller and reference is not None:
            self._take_root_name(path, kind, reference)

    def root_called(self, module: Module) -> None:
        """Look whether parameters have moved (``.to()``, ``.data =``): some of them at each call.

        Parameters
        ----------
        module : torch.nn.Module
            A module that is called while none runs.
        """
        wrapped = _wrapped(module)
        parameters = self._parameters.get(id(module if wrapped is None else wrapped))
        if not parameters:
            return
        moved = self._look_at(parameters[0])
        count = len(parameters)
        for _ in range(min(_CHECKED, count - 1)):
            self._next_checked += 1
            moved |= self._look_at(parameters[self._next_checked % count])
        if moved:
            for parameter in parameters:
                self._look_at(parameter)

    def living(self) -> list[Module]:
        """List the modules that have names.

        Returns
        -------
        list of torch.nn.Module
            Those that are still there.
        """
        return [module for reference in list(self._modules.values()) if (module := reference()) is not None]

    def path_at(self, address: int) -> str:
        """Give the path of the module at an address.

        Parameters
        ----------
        address : int
            The ``id`` of a module.

        Returns
        -------
        str
            Its path, "" when it has none.
        """
        reference = self._modules.get(address)
        return "" if reference is None else reference.path

    def _root_name(self, class_name: str) -> str:
        """Give the first name of the class that no living module has."""
        taken = self._roots.setdefault(class_name, [])
        number = next((i for i, reference in enumerate(taken) if reference is None or reference() is None), len(taken))
        return f"{class_name}#{number}" if number else class_name

    def _take_root_name(self, path: str, class_name: str, reference: _ModuleReference) -> None:
        _, _, number = path.partition("#")
        taken = self._roots[class_name]
        index = int(number or 0)
        taken.extend([None] * (index + 1 - len(taken)))
        taken[index] = reference

    def _name_tree(self, root: Module, path: str) -> _ModuleReference | None:
        """Name a module and what it holds; what has a name keeps it."""
        first = None
        parameters: list[_Parameter] = []
        for name, module in _tree(root):
            if id(module) in self._modules:
                continue
            full = f"{path}.{name}" if name else path
            reference = self._bind(module, full)
            if reference is None:
                continue
            first = first or reference
            parameters += self._name_parameters(module, reference, full.partition(".")[2])
        if first is not None and parameters:
            self._parameters[id(root)] = parameters
        return first

    def _bind(self, module: Module, path: str) -> _ModuleReference | None:
        number = self._functions.bind(module, path)
        if not number:
            return None
        reference = _ModuleReference(module, self._forget, path)
        self._modules[reference.address] = reference
        self._named(module, number)
        return reference

    def _gone(self, reference: _ModuleReference) -> None:
        if self._modules.get(reference.address) is not reference:
            return
        del self._modules[reference.address]
        self._functions.unbind(reference.address)
        self._parameters.pop(reference.address, None)
        for parameter in reference.parameters:
            self._leave_storage(parameter)

    def _name_parameters(self, module: Module, reference: _ModuleReference, path: str) -> list[_Parameter]:
        found = []
        for kind in ("_parameters", "_buffers"):
            for name, tensor in list(getattr(module, kind, {}).items()):
                if tensor is None:
                    continue
                parameter = _Parameter(reference, kind, name, f"{path}.{name}" if path else name)
                reference.parameters.append(parameter)
                found.append(parameter)
                self._look_at(parameter)
        return found

    def _look_at(self, parameter: _Parameter) -> bool:
        """Find out where the parameter is now; give whether it has moved."""
        module = parameter.module()
        tensor = None if module is None else getattr(module, parameter.kind).get(parameter.name)
        address = _storage_address(tensor)
        if address == parameter.address:
            return False
        had_one = parameter.address != 0
        self._leave_storage(parameter)
        if address and tensor is not None:
            storage = self._storages.setdefault(address, _Storage())
            storage.parameters.append(parameter)
            parameter.address = address
            parameter.offset = getattr(tensor, "_local_tensor", tensor).storage_offset()
            self._tell(address, storage)
        return had_one

    def _leave_storage(self, parameter: _Parameter) -> None:
        storage = self._storages.get(parameter.address)
        if storage is not None:
            storage.parameters.remove(parameter)
            self._tell(parameter.address, storage)
        parameter.address = 0

    def _tell(self, address: int, storage: _Storage) -> None:
        """Say what is in a storage now."""
        name = storage.name() if storage.parameters else ""
        if name:
            self._functions.name_parameter(address, name)
        else:
            self._functions.forget_parameter(address)
        if not storage.parameters:
            del self._storages[address]


def holds_tensors(module: Module) -> bool:
    """Tell whether a module or one inside it has parameters or buffers; nothing of the program's is called.

    Parameters
    ----------
    module : torch.nn.Module
        That is called.
    """
    seen = set()
    waiting: list[Any] = [module]
    while waiting:
        own = getattr(waiting.pop(), "__dict__", {})
        if id(own) in seen:
            continue
        seen.add(id(own))
        if any(value is not None for kind in ("_parameters", "_buffers") for value in own.get(kind, {}).values()):
            return True
        waiting += own.get("_modules", {}).values()
    return False


def class_name_of(module: Module) -> str:
    """Name the class that a module was written as.

    Parameters
    ----------
    module : torch.nn.Module
        ``fully_shard`` gives each module that it shards a class of its own, ``FSDP`` with the name of the first one behind it.

    Returns
    -------
    str
        Without the module that it is defined in.
    """
    kind = type(module)
    bases = kind.__bases__
    return bases[1].__name__ if len(bases) == 2 and bases[0].__name__ in _MIXED_IN else kind.__name__


def unwrapped(module: Module) -> Module:
    """Give the model inside of what torch puts around a model, such as DistributedDataParallel; any other module itself.

    Parameters
    ----------
    module : torch.nn.Module
        That is called.
    """
    inner = _wrapped(module)
    return module if inner is None else inner


def _wrapped(module: Module) -> Module | None:
    name = _WRAPPERS.get(type(module).__name__)
    inner = module._modules.get(name) if name is not None else None
    return inner if isinstance(inner, Module) else None


def _tree(root: Module) -> Iterator[tuple[str, Module]]:
    """List the modules of a tree by name, the root first; just the root when the program's own ``named_modules`` fails."""
    try:
        modules = list(root.named_modules())
    except Exception:
        modules = []
    yield "", root
    for name, module in modules:
        if module is not root and isinstance(module, Module):
            yield name, module


def _storage_address(tensor: Any) -> int:
    """Give the data pointer of a plain tensor's storage; 0 when it has none, or when asking would run code of a subclass."""
    if type(tensor).__name__ == "DTensor":  # its own part
        tensor = getattr(tensor, "_local_tensor", None)
    if type(tensor) not in (torch.nn.Parameter, torch.Tensor):
        return 0
    try:
        return int(tensor.untyped_storage().data_ptr())
    except Exception:
        return 0
