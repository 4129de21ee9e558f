"""The stand-in for torch_npu: what lets a program written for the device run on the CPU.

Importing it changes torch: tensors and modules get ``npu()``, which returns them as they are, torch gets ``torch.npu``, and Dynamo the
backends ``npu`` and ``npugraph_ex``. Only `tensortap.torchair.install` makes it reachable.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

import torch

from ._messages import say

_MISSING = "tensortap's stand-in for torch_npu runs programs on the CPU and has no {}; see docs/torchair.md for what it has"
_NO_DEVICE = 'Use .npu() or the device "cpu", not "npu".'
__path__: list[str] = []  # a package, whose modules nobody finds


def __getattr__(name: str) -> Any:
    raise AttributeError(_MISSING.format(f"torch_npu.{name}"))


class _DeviceModule(ModuleType):
    """``torch.npu``: one device that is not available."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_MISSING.format(f"torch.npu.{name}"))

    @staticmethod
    def is_available() -> bool:
        """Say that there is no device."""
        return False

    @staticmethod
    def device_count() -> int:
        """Give the number of devices that a program may choose from."""
        return 1

    @staticmethod
    def current_device() -> int:
        """Give the number of the only device."""
        return 0

    @staticmethod
    def set_device(device: object) -> None:
        """Accept any device."""

    @staticmethod
    def synchronize(device: object = None) -> None:
        """Return at once: nothing runs beside the program."""


def _unchanged(self: Any, *_: object, **__: object) -> Any:
    """Return the tensor or module: it stays on the CPU."""
    return self


def _graph_backend(graph: Any, inputs: Any, **options: Any) -> Any:
    """Compile for the backend ``npu``, without a dump."""
    from tensortap.torchair import get_npu_backend

    return get_npu_backend()(graph, inputs)


def _captured_graph_backend(graph: Any, inputs: Any, *, options: dict[str, Any] | None = None, **_: Any) -> Any:
    """Compile for the backend ``npugraph_ex`` with the options of torch.compile."""
    from tensortap.torchair import get_npu_backend
    from tensortap.torchair.configs.npugraphex_config import config_of_options

    return get_npu_backend(compiler_config=config_of_options(options or {}))(graph, inputs)


def _report(
    report: Callable[[type[BaseException], BaseException, TracebackType | None], object],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """Report the exception that ends the program, with the reason where it is that this device does not exist."""
    report(kind, error, trace)
    # torch itself refuses the name, deep inside of C++. To give it the name would make it look for an accelerator everywhere.
    if isinstance(error, RuntimeError) and re.search(r"device string: npu\b", str(error)):
        say(f"{_MISSING.format('device npu')}. {_NO_DEVICE}")


def _stand_in() -> None:
    device_module = _DeviceModule("torch.npu")
    sys.modules["torch.npu"] = device_module
    torch.npu = device_module
    globals()["npu"] = device_module
    torch.Tensor.npu = _unchanged
    torch.Tensor.is_npu = property(lambda self: False, doc="Whether the tensor is on the device; none is.")
    torch.nn.Module.npu = _unchanged

    from torch._dynamo import register_backend

    register_backend(name="npu")(_graph_backend)
    register_backend(name="npugraph_ex")(_captured_graph_backend)
    sys.excepthook = functools.partial(_report, sys.excepthook)
    say(f"torch_npu is not installed; a stand-in runs this program on the CPU. {_NO_DEVICE}")


_stand_in()
