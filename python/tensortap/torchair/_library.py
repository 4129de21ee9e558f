"""The library that dumps the nodes of a compiled graph, and the adapter that it needs for a release of torch."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from typing import Any

from tensortap import _capture
from tensortap._error import Error

from ._messages import say

_BUILD = "tensortap build-adapter --python"


def prepare() -> Any:
    """Load the adapter that fits this process's torch, and build it first where there is none.

    Returns
    -------
    Functions
        The functions of the library, see ``tensortap._torch._functions``.

    Raises
    ------
    RuntimeError
        When there is no adapter and none can be built; the message says which command builds one.
    """
    try:
        library, functions = _capture._installed_side()
    except Error as error:
        raise RuntimeError(str(error)) from error
    problem = _prepare(library)
    if problem and _build():
        problem = _prepare(library)
    if problem:
        raise RuntimeError(f"the dump of a graph needs an adapter for this torch: {problem}\nBuild it with: {_BUILD} {sys.executable}")
    return functions


def _prepare(library: ctypes.CDLL) -> str:
    """Load the adapter; gives "" or what went wrong."""
    message = ctypes.create_string_buffer(4096)
    if library.tensortap_pytorch_prepare(message, ctypes.c_size_t(len(message))) == 0:
        return ""
    return message.value.decode(errors="replace") or "the library gave no reason"


def _build() -> bool:
    """Build the adapter, with a line on standard error; false where that fails."""
    if shutil.which("c++") is None and shutil.which("g++") is None and shutil.which("clang++") is None:
        return False
    say("building the adapter for this torch (once, some 20 seconds)")
    command = [sys.executable, "-m", "tensortap", "build-adapter", "--python", sys.executable, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.rstrip(), file=sys.stderr, flush=True)
    return done.returncode == 0
