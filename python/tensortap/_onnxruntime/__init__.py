"""What tensortap does inside a Python program that uses ONNX Runtime: sessions are made with taps in them.

Loaded by its path under the name ``_tensortap_onnxruntime``, once per process, by libtensortap_onnxruntime.so when the interpreter is
about to load ONNX Runtime's module: it needs the standard library, and runs on every Python from 3.10 on, also where ``tensortap`` itself
cannot be imported.
"""

from __future__ import annotations

import contextlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ._library import Library

MODULE = "onnxruntime.capi.onnxruntime_inference_collection"
_installed = False


def install(functions: dict[str, Any]) -> None:
    """Capture the sessions that the program makes from now on.

    Parameters
    ----------
    functions : dict
        "library" is the path of libtensortap_onnxruntime.so; the others are built-in functions, which `Library` takes.
    """
    global _installed
    if _installed:
        return
    _installed = True
    loaded = Library(functions["library"], functions)
    module = sys.modules.get(MODULE)
    if module is not None:
        _wrap(module, loaded)
    else:
        sys.meta_path.insert(0, _Finder(loaded))


def set_dump(session: Any, name: str, enabled: bool) -> None:
    """Switch the capture of ops of a session on or off (`sessions.set_dump`)."""
    from . import sessions

    sessions.set_dump(session, name, enabled)


def _wrap(module: ModuleType, library: Library) -> None:
    from . import sessions

    sessions.wrap(module, library)


class _Finder:
    """Waits for the one module to be imported, has it wrapped then, and is gone."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find the module by the other finders and have it wrapped."""
        if fullname != MODULE or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None:
                    self._follow(spec.loader)
                return spec
        return None

    def _follow(self, loader: Any) -> None:
        """Wrap what the loader's module defines, once it has run."""

        def begin(module: ModuleType) -> tuple[Any, ...]:
            del loader.exec_module
            return module, None

        def end(module: ModuleType, error: BaseException | None) -> None:
            if error is None:
                _wrap(module, self._library)

        with contextlib.suppress(AttributeError):  # a loader of the program's that takes no attribute
            loader.exec_module = self._library.follow(loader.exec_module, begin, end)
