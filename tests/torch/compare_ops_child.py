"""Runs each program of op_programs under a dispatch mode in one step of the dump and plain in the next.

usage: compare_ops_child.py LIBRARY OUTPUT; LIBRARY is libtensortap_pytorch.so. Writes {program: {"step": n, "ops": [names]}} as JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import torch
from op_programs import PROGRAMS
from torch.utils._python_dispatch import TorchDispatchMode


class Recorder(TorchDispatchMode):
    """Notes the operators that it sees, with whether tensors go in or out."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Note the operator and run it."""
        self.ops.append(f"{func._schema.name}.{func._schema.overload_name}".removesuffix("."))
        return func(*args, **(kwargs or {}))


def main() -> None:
    """Run all programs."""
    step = ctypes.CDLL(sys.argv[1]).tensortap_pytorch_step
    seen: dict[str, dict[str, object]] = {}
    torch.zeros(1)
    step()  # from here on the program marks its steps
    number = 1
    for name, make in PROGRAMS.items():
        torch.manual_seed(0)
        run = make()
        run()
        run()
        recorder = Recorder()
        with recorder:
            run()
        step()
        number += 1
        run()
        step()
        seen[name] = {"step": number, "ops": recorder.ops}
        number += 1
    Path(sys.argv[2]).write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
