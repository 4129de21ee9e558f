"""Moves a program's floating-point numbers by their last bit, for ``tensortap exec --noise``.

Each module is moved once, when it is first called: its parameters and buffers. Of a module that no other one calls, the tensors that it is
given are moved at every call. Memory is written past torch, so that a captured program runs the operators that it runs otherwise.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import sys
import threading
from typing import Any

SHAPES = {"float16": (16, 0x7C00), "bfloat16": (16, 0x7F80), "float32": (32, 0x7F800000), "float64": (64, 0x7FF0000000000000)}
"""Bits of a number, and those of +Inf."""


class Mover:
    """Moves numbers, and keeps account of it.

    Parameters
    ----------
    numpy : module
        NumPy.
    seed : int
        Where the generator of the directions begins.
    """

    def __init__(self, numpy: Any, seed: int) -> None:
        self.numpy = numpy
        self.random = numpy.random.default_rng(seed)
        self.moved = 0
        self.elsewhere: dict[str, set[int]] = {}
        self.kept: dict[int, Any] = {}
        self.running = threading.local()

    def move_memory(self, address: int, size: int, kind: str) -> None:
        """Move each number in a piece of memory by one unit in its last place; 0, NaN and Inf stay."""
        bits, infinity = SHAPES[kind]
        unsigned = self.numpy.dtype(f"uint{bits}").type
        words = self.numpy.frombuffer((ctypes.c_char * size).from_address(address), unsigned)
        magnitude = words & unsigned((1 << (bits - 1)) - 1)
        up = ((self.random.integers(0, 2, words.shape) == 1) & (magnitude + unsigned(1) != infinity)) | (magnitude == 1)
        steps = self.numpy.where(up, words + unsigned(1), words - unsigned(1))
        movable = (magnitude != 0) & (magnitude < infinity)
        self.numpy.copyto(words, steps, where=movable)
        self.moved += int(movable.sum())

    def move(self, tensor: Any, whole: bool) -> None:
        """Move the numbers of a tensor; `whole`: of all its memory, once."""
        kind = str(tensor.dtype).removeprefix("torch.")
        if kind not in SHAPES or tensor.numel() == 0:
            return
        if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided":
            self.elsewhere.setdefault(f"{tensor.device.type} ({tensor.layout})", set()).add(id(tensor))
            return
        storage = tensor.untyped_storage()
        if storage.data_ptr() in self.kept:
            return
        if whole:
            self.kept[storage.data_ptr()] = storage
        if whole or not tensor.is_contiguous():
            self.move_memory(storage.data_ptr(), storage.nbytes(), kind)
        else:
            self.move_memory(tensor.data_ptr(), tensor.numel() * tensor.element_size(), kind)

    def move_all(self, value: Any) -> None:
        """Move the tensors in an argument."""
        if isinstance(value, (list, tuple)):
            for one in value:
                self.move_all(one)
        elif isinstance(value, dict):
            for one in value.values():
                self.move_all(one)
        elif hasattr(value, "untyped_storage"):
            self.move(value, False)

    def before(self, module: Any, arguments: Any) -> None:
        """Move the arguments of a module and, once, its parameters and buffers."""
        depth = getattr(self.running, "depth", 0)
        self.running.depth = depth + 1
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None:
                self.move(tensor, True)
        if depth == 0:
            self.move_all(arguments)
            # A hook of all modules is not given the arguments with names; the call that runs it has them.
            self.move_all(sys._getframe(1).f_locals.get("kwargs"))

    def after(self, module: Any, arguments: Any, result: Any) -> None:
        """Note the end of a call, also of one that failed."""
        self.running.depth = getattr(self.running, "depth", 1) - 1

    def report(self, path: str) -> None:
        """Append what was moved to a file."""
        with open(path, "a", encoding="utf-8") as file:
            elsewhere = {place: len(tensors) for place, tensors in sorted(self.elsewhere.items())}
            file.write(json.dumps({"moved": self.moved, "elsewhere": elsewhere}) + "\n")


def plant(torch: Any, seed: int) -> None:
    """Move the numbers of all modules that the program calls from now on."""
    import numpy

    mover = Mover(numpy, seed)
    calls = torch.nn.modules.module
    calls.register_module_forward_pre_hook(mover.before)
    calls.register_module_forward_hook(mover.after, always_call=True)
    atexit.register(mover.report, os.environ["TENSORTAP_NOISE_REPORT"])
