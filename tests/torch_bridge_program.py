"""What the programs of torch_bridge_test.py begin with: the bridge to Python, loaded into this process and installed."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = os.environ["TORCH_BRIDGE_LIBRARY"]

_with_lock = ctypes.PyDLL(LIBRARY)
_without_lock = ctypes.CDLL(LIBRARY)
_with_lock.bridge_functions.restype = ctypes.py_object
_without_lock.bridge_cost.restype = ctypes.c_double


def _text(function: Any, *arguments: Any) -> str:
    buffer = ctypes.create_string_buffer(1 << 16)
    function(*arguments, buffer, ctypes.c_size_t(len(buffer)))
    return buffer.value.decode()


def install() -> Any:
    """Load the package's Python side by its path, as the library does."""
    folder = ROOT / "python" / "tensortap" / "_torch"
    spec = importlib.util.spec_from_file_location("_tensortap_torch", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    side = importlib.util.module_from_spec(spec)
    sys.modules["_tensortap_torch"] = side
    spec.loader.exec_module(side)
    side.install(_with_lock.bridge_functions())
    return side


def where(*, lock: bool = False) -> str:
    """Give the line of the caller, asked from C code without the GIL; with `lock` that code may take it."""
    return _text(_without_lock.bridge_where, int(lock))


def module() -> str:
    """Give the module that runs on this thread."""
    return _text(_without_lock.bridge_module)


def graph_module() -> str:
    """Give the module of the compiled graph's node that runs on this thread."""
    return _text(_without_lock.bridge_graph_module)


def bootstrap(package: str | None = None) -> bool:
    """Do what the tracker does at an operator."""
    return bool(_without_lock.bridge_bootstrap(str(package or ROOT / "python").encode()))


def walks_without_lock() -> bool:
    """Tell whether the self-test passed."""
    return bool(_without_lock.bridge_walks_without_gil())


def cost(times: int) -> float:
    """Give the nanoseconds of one look."""
    return float(_without_lock.bridge_cost(times))


def record_events() -> None:
    """Keep the events that the tracker would receive, for `events`."""
    _without_lock.bridge_record_events()


def events() -> list[str]:
    """List the events since the last call."""
    return _text(_without_lock.bridge_events).splitlines()


# The frames that lead to C code must not pass for the program's own.
for _function in (_text, where, graph_module):
    _function.__code__ = _function.__code__.replace(co_filename="<frozen bridge>")
