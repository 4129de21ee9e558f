"""Says whose source files are not the program's own."""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
from pathlib import Path

import torch

from ._functions import Functions


def prepare(functions: Functions) -> None:
    """Tell the library which folders hold torch, Triton, tensortap and the standard library.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    torch_folder, own_folder = Path(torch.__file__).parent, Path(__file__).parent
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    standard = [Path(os.__file__).parent, Path(sys.base_exec_prefix, sys.platlibdir, version)]
    # typing_extensions has the wrapper of what torch calls deprecated.
    torchs = [torch_folder, *(torch_folder.parent / name for name in ("functorch", "torchgen", "typing_extensions.py"))]
    torchs += [Path(folder) for folder in _folders_of("triton")]
    folders = [*standard, *torchs, own_folder.parent, own_folder.resolve().parent]
    folders += [Path(made) for made in [os.environ.get("TORCHINDUCTOR_CACHE_DIR")] if made]
    # Installed packages belong to the program, in whatever folder they are.
    exceptions = [folder / name for folder in standard for name in ("site-packages", "dist-packages")]
    functions.prepare_source([str(folder) for folder in folders], [str(folder) for folder in exceptions])
    atexit.register(functions.ends)


def _folders_of(package: str) -> list[str]:
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # of a module that a program put there itself
        return []
    return [] if found is None else list(found.submodule_search_locations or ())
