"""What tensortap does inside a Python program that uses ONNX Runtime: sessions are made with taps in them.

Loaded by its path under the name ``_tensortap_onnxruntime``, once per process, by libtensortap_onnxruntime.so when the interpreter is
about to load ONNX Runtime's module: it needs the standard library, and runs on every Python from 3.10 on, also where ``tensortap`` itself
cannot be imported.
"""

from __future__ import annotations

import importlib.abc
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ._library import Library

MODULE = "onnxruntime.capi.onnxruntime_inference_collection"


def install(library: str) -> None:
    """Capture the sessions that the program makes from now on.

    Parameters
    ----------
    library : str
        Path of libtensortap_onnxruntime.so.
    """
    loaded = Library(library)
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


class _Loader(importlib.abc.Loader):
    """Runs a module as its own loader does and wraps it then."""

    def __init__(self, loader: Any, library: Library) -> None:
        self._loader = loader
        self._library = library

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as its own loader does."""
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then wrap what it defines."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _wrap(module, self._library)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the one module to be imported, and is gone then."""

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
                    spec.loader = _Loader(spec.loader, self._library)
                return spec
        return None
