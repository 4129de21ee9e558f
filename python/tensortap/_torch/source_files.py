"""Says whose source files are not the program's own."""

from __future__ import annotations

import atexit
import os
import sysconfig
from pathlib import Path

import torch

from ._functions import Functions


def prepare(functions: Functions) -> None:
    """Tell the library which folders hold torch, tensortap and the standard library.

    Parameters
    ----------
    functions : Functions
        Of the library.
    """
    torch_folder = Path(torch.__file__).parent
    own_folder = Path(__file__).parent
    folders = [torch_folder, torch_folder.parent / "functorch", torch_folder.parent / "torchgen", own_folder, own_folder.parent]
    folders += [own_folder.resolve(), own_folder.resolve().parent, Path(os.__file__).parent]
    paths = sysconfig.get_paths()
    folders += [Path(paths[name]) for name in ("stdlib", "platstdlib") if name in paths]
    exceptions = [folder / name for folder in folders for name in ("site-packages", "dist-packages")]
    # What is installed is the program's, wherever it lies: a virtual environment may lie in the standard library's folder, too.
    exceptions += [Path(paths[name]) for name in ("purelib", "platlib") if name in paths]
    functions.prepare_source([str(folder) for folder in folders], [str(folder) for folder in exceptions])
    atexit.register(functions.ends)
