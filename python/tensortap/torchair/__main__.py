"""``python -m tensortap.torchair PROGRAM``: runs a program that imports torchair and torch_npu as if they were installed."""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType

from tensortap.torchair._install import install, install_in_spawned_processes

_USAGE = """usage: python -m tensortap.torchair PROGRAM [ARG...]
       python -m tensortap.torchair -m MODULE [ARG...]

Runs a Python program in which `import torchair` gives tensortap.torchair, and `import torch_npu` a stand-in that leaves everything on the
CPU. Where the real packages are installed, the program gets those."""


def main() -> None:
    """Run the program of the command line in this process; it ends as the program does."""
    words = sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        print(_USAGE)
        return
    is_module = words[:1] == ["-m"]
    if len(words) <= is_module:
        print(_USAGE, file=sys.stderr)
        sys.exit(2)
    program = words[is_module]
    if not is_module and not os.path.exists(program):
        print(f"tensortap.torchair: {program} does not exist", file=sys.stderr)
        sys.exit(2)
    install()
    install_in_spawned_processes()
    sys.argv = words[is_module:]
    if is_module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    elif os.path.isdir(program):
        runpy.run_path(program, run_name="__main__")
    else:
        _run_file(program)


def _run_file(path: str) -> None:
    """Run a file as Python runs a script, with a module __main__ that stays until the process ends."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    path = os.path.abspath(path)
    module = ModuleType("__main__")
    module.__dict__.update(
        __builtins__=builtins,
        __file__=path,
        __loader__=SourceFileLoader("__main__", path),
        __package__=None,
        __spec__=None,
        __cached__=None,
    )
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    sys.modules["__main__"] = module
    exec(code, vars(module))


if __name__ == "__main__":
    main()
