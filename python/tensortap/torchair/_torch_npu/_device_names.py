"""The device ``npu`` as another name of the CPU.

torch parses names of devices in C++, where only a device that it then looks for everywhere can be added. So the functions that take a name
get the CPU in its place, and `torch.device` gives it.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import re
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from tensortap.torchair._messages import say

_SLOT_OF_NEW, _WORDS_BEFORE_NEW = 65, 39  # Py_tp_new, and its place in PyTypeObject
_names = ["npu"]
"""The devices that mean the CPU."""
_on_device = WeakIdKeyDictionary()
"""The tensors that a move has given, and whether it was one to the device: another such move gives them as they are."""


def accept() -> None:
    """Let tensors and modules move to the device, and functions of torch take its name."""
    _remember_the_functions_of_torch()
    _accept_in_device()
    for module, name in _makers():
        setattr(module, name, _with_device(getattr(module, name)))
    for name in ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"):
        setattr(torch.Tensor, name, _with_device(getattr(torch.Tensor, name)))
    torch.Tensor.to = _tensor_to(torch.Tensor.to)
    torch.Tensor.npu = _tensor_npu
    torch.Tensor.cpu = _tensor_cpu(torch.Tensor.cpu)
    torch.Tensor.is_npu = property(lambda self: False, doc="Whether the tensor is on the device; none is.")
    torch.Tensor.record_stream = _nothing
    torch.nn.Module.npu = _module_npu
    torch.nn.Module.to = _module_to(torch.nn.Module.to)
    torch.nn.Module.to_empty = _with_device(torch.nn.Module.to_empty)
    torch.Generator = _generator(torch.Generator)
    torch.load = _with_map_location(torch.load)
    torch.autocast = torch.amp.autocast = _autocast(torch.autocast)


def accept_cuda() -> None:
    """Let ``cuda`` mean the CPU, too, as torch_npu's transfer_to_npu lets it mean the device."""
    _names.append("cuda")
    torch.Tensor.cuda = _tensor_npu
    torch.nn.Module.cuda = _module_npu


def on_cpu(device: Any) -> Any:
    """Replace the stand-in's device by the CPU; every other value stays."""
    return "cpu" if is_device(device) else device


def is_device(device: Any) -> bool:
    """Tell whether a value names the device of the stand-in."""
    return isinstance(device, str) and device.partition(":")[0] in _names


def _remember_the_functions_of_torch() -> None:
    """Let torch make the tables of its functions before some of the functions are replaced."""
    torch.utils._device._device_constructors()
    dynamo = torch._dynamo
    for owner, name in (
        (dynamo.trace_rules, "get_torch_obj_rule_map"),
        (dynamo.variables.torch.TorchInGraphFunctionVariable, "_get_handlers"),
    ):
        make = getattr(owner, name, None)  # some releases have other tables
        if make is not None:
            make()


def _makers() -> list[tuple[Any, str]]:
    """List the functions of torch that make a tensor on a device, as module and name."""
    constructors = torch.utils._device._device_constructors()
    like = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like", "normal")
    places = [(module, name) for module in (torch, torch.fft, torch.nested) for name in vars(module)]
    return [(module, name) for module, name in places if _is_in(getattr(module, name), constructors)] + [(torch, name) for name in like]


def _is_in(value: Any, functions: Any) -> bool:
    try:
        return value in functions
    except TypeError:
        return False


def _with_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that takes the device's name as the keyword ``device``."""

    @functools.wraps(function)
    def with_device(*arguments: Any, **named: Any) -> Any:
        if "device" in named:
            named["device"] = on_cpu(named["device"])
        return function(*arguments, **named)

    builtin = torch.jit._builtins._find_builtin(function)
    if builtin is not None:
        torch.jit._builtins._register_builtin(with_device, builtin)
    return with_device


def _with_map_location(load: Callable[..., Any]) -> Callable[..., Any]:
    """Give a ``torch.load`` that takes the device's name, and files whose tensors were on it."""

    @functools.wraps(load)
    def with_map_location(f: Any, map_location: Any = None, *arguments: Any, **named: Any) -> Any:
        if isinstance(map_location, dict):
            map_location = {key: on_cpu(value) for key, value in map_location.items()}
        return load(f, on_cpu(map_location), *arguments, **named)

    torch.serialization.register_package(5, lambda storage: None, lambda storage, place: storage if is_device(place) else None)
    return with_map_location


def _tensor_to(to: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(to)
    def tensor_to(self: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        target = named.get("device", arguments[0] if arguments else None)
        to_device = is_device(target)
        if not to_device and not (isinstance(target, str) and target == "cpu"):
            return to(self, *arguments, **named)
        if "device" in named:
            named["device"] = "cpu"
        else:
            arguments = ("cpu", *arguments[1:])
        return _moved(self, to(self, *arguments, **named), to_device)

    return tensor_to


def _moved(before: torch.Tensor, given: torch.Tensor, to_device: bool) -> torch.Tensor:
    """Give a move's result: a copy, as between two memories, unless the tensor is known to be there."""
    if torch.compiler.is_compiling():
        return before.clone() if given is before else given
    if given is before and _on_device.get(before) is not to_device:
        given = before.clone()
    _on_device[given] = to_device
    return given


def _tensor_npu(self: torch.Tensor, device: Any = None, non_blocking: bool = False, **_: Any) -> torch.Tensor:
    """Return a copy, as a move to a device does; a tensor on the device is returned as it is."""
    return _moved(self, self, True)


def _tensor_cpu(cpu: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(cpu)
    def tensor_cpu(self: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        """Return a copy, as a move from a device does; what such a move has made is returned as it is."""
        return _moved(self, cpu(self, *arguments, **named), False)

    return tensor_cpu


def _module_npu(self: torch.nn.Module, device: Any = None) -> torch.nn.Module:
    """Copy parameters and buffers, as a move to a device does, and return the module."""

    def move(tensor: torch.Tensor) -> torch.Tensor:
        moved = _tensor_npu(tensor)
        if isinstance(tensor, torch.nn.Parameter):
            _on_device[tensor] = True  # the same object gets the data of the copy
        return moved

    return self._apply(move)


def _module_to(to: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(to)
    def module_to(self: torch.nn.Module, *arguments: Any, **named: Any) -> Any:
        if not is_device(named.get("device", arguments[0] if arguments else None)):
            return to(self, *arguments, **named)
        if "device" in named:
            named["device"] = "cpu"
        else:
            arguments = ("cpu", *arguments[1:])
        return to(_module_npu(self), *arguments, **named)

    return module_to


def _generator(kind: Any) -> Any:
    """Give a ``torch.Generator`` that takes the device's name; instances are those of torch."""

    class Generators(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, kind)

        def __call__(cls, device: Any = "cpu") -> Any:
            return kind(on_cpu(device))

    return Generators("Generator", (), {"__doc__": kind.__doc__, "__module__": "torch"})


def _autocast(kind: Any) -> Any:
    """Give a ``torch.autocast`` that takes the device's name."""
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_on_cpu(self: Any, device_type: str, *arguments: Any, **named: Any) -> None:
        begin(self, on_cpu(device_type), *arguments, **named)

    kind.__init__ = begin_on_cpu
    return kind


def _nothing(*_: object, **__: object) -> None:
    """Accept everything."""


def _accept_in_device() -> None:
    """Let ``torch.device("npu")`` give the CPU.

    The type stays as it is, since all of torch compares with it. What makes its instances is a function in C; in its place comes the one
    of CPython that calls ``__new__``. Where types are laid out in another way than known, the name stays unknown.
    """
    api = ctypes.pythonapi
    api.PyType_GetSlot.restype = ctypes.c_void_p
    api.PyType_GetSlot.argtypes = [ctypes.py_object, ctypes.c_int]
    kind = torch.device
    place = ctypes.c_void_p.from_address(id(kind) + _WORDS_BEFORE_NEW * ctypes.sizeof(ctypes.c_void_p))
    (members,) = [referent for referent in gc.get_referents(kind.__dict__) if isinstance(referent, dict)]
    if sys.version_info < (3, 10) or place.value is None or place.value != api.PyType_GetSlot(kind, _SLOT_OF_NEW):
        say('torch.device("npu") is unknown in this Python; use the name "npu" itself')
        return
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.py_object)(place.value)

    def new(kind: Any, *arguments: Any, **named: Any) -> Any:
        """Make a device."""
        name = named.get("type", named.get("device", arguments[0] if arguments else None))
        return make(kind, ("cpu",), {}) if is_device(name) else make(kind, arguments, named)

    class Example:
        def __new__(cls) -> Any:
            return object.__new__(cls)

    members["__new__"] = staticmethod(new)
    place.value = api.PyType_GetSlot(Example, _SLOT_OF_NEW)
    api.PyType_Modified(ctypes.py_object(kind))


_INDEX = re.compile(r"(?:npu|cuda)?:?(\d+)")


def index_of(device: Any) -> int:
    """Give the number of a device that a program names: 3 of 3, "3", "npu:3" and of a ``torch.device``.

    Raises
    ------
    ValueError
        When it is something else.
    """
    if device is None or device in _names:
        return 0
    found = _INDEX.fullmatch(str((device.index or 0) if isinstance(device, torch.device) else device))
    if found is None:
        raise ValueError(f"{device!r} is no device; give a number, or a text such as npu:0")
    return int(found[1])
