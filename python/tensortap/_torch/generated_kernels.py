"""Reads the Python code that Inductor writes for a graph: its kernels, what each of them reads and writes, and where it is called."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator

from .generated_code import arguments_between

_KERNEL = re.compile(r"^(\w+) = async_compile\.(\w+)\(", re.MULTILINE)
_PARAMETERS = re.compile(r"\bkernel\(([^)]*)\)")
_CALL = re.compile(r"^\s+(\w+)(?:\.run)?\((.*)\)\s*$")
_MADE = re.compile(r"^\s*(\w*buf\d+) = (.*)$")  # within a graph inside another one with the name of that graph before it
_NEW = re.compile(r"empty_strided\w*\(|alloc_from_pool\(")
_REUSED = re.compile(r"(?:reinterpret_tensor\()?(\w*buf\d+)\b[^;]*; del ")
_ALIAS = re.compile(r"reinterpret_tensor\((\w*buf\d+),")
_BUFFER = re.compile(r"\b\w*buf\d+\b")
_LARGEST = 1 << 24


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A pointer among the parameters of a kernel: one that it only reads, one that it works on in place, or else one that it writes."""

    name: str
    is_const: bool
    is_in_place: bool


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel of a graph: its name, "cpp_pybinding" or another kind, and its parameters, None for those that are no pointers."""

    name: str
    kind: str
    parameters: tuple[Parameter | None, ...]


@dataclasses.dataclass(frozen=True)
class KernelCall:
    """A line that calls a kernel.

    Attributes
    ----------
    kernel, line
        Its name, and the number of the line.
    buffers
        Of each argument the buffer of the code that its memory belongs to; "" where it is none.
    new
        The positions of arguments that are new memory, to which nothing was written.
    left
        Those of arguments that hold what an earlier buffer left there: only a kernel that works in place reads it.
    """

    kernel: str
    line: int
    buffers: tuple[str, ...]
    new: frozenset[int]
    left: frozenset[int]

    def reads(self, parameters: tuple[Parameter | None, ...]) -> frozenset[int]:
        """Give the positions of the arguments whose values the kernel may read; what it writes first it reads as its own.

        Parameters
        ----------
        parameters : tuple
            Those of the kernel.
        """
        written = {buffer for buffer, one in zip(self.buffers, parameters, strict=False) if one is not None and not one.is_const}
        return frozenset(position for position, one in enumerate(parameters) if one is not None and self._may_read(position, one, written))

    def _may_read(self, position: int, parameter: Parameter, written: set[str]) -> bool:
        if parameter.is_const:
            is_own = position in self.new | self.left and self.buffers[position] in written
            return not is_own
        return position not in self.new and (parameter.is_in_place or position not in self.left)


def kernels_in(code: str) -> list[Kernel]:
    """List the kernels that the code of a graph compiles.

    Parameters
    ----------
    code : str
        The module that Inductor made of a graph.
    """
    if len(code) > _LARGEST:
        return []
    starts = list(_KERNEL.finditer(code))
    texts = [code[start.end() : end.start()] for start, end in itertools.pairwise(starts)] + [code[start.end() :] for start in starts[-1:]]
    return [
        Kernel(start[1], start[2], _parameters(text) if start[2] == "cpp_pybinding" else ())
        for start, text in zip(starts, texts, strict=True)
    ]


def calls_in(code: str, kernels: set[str]) -> Iterator[KernelCall]:
    """List the lines that call kernels.

    Parameters
    ----------
    code : str
        The same module.
    kernels : set of str
        The names of its kernels.

    Yields
    ------
    KernelCall
        In the order of the code.
    """
    new: set[str] = set()
    left: set[str] = set()
    root_of: dict[str, str] = {}
    for number, line in enumerate(code.splitlines(), 1):
        made = _MADE.match(line)
        called = None if made else _CALL.match(line)
        if called is not None and called[1] in kernels:
            named = [_BUFFER.search(one) for one in arguments_between(called[2])[0]]
            roots = [root_of.get(one[0], one[0]) if one else "" for one in named]
            yield KernelCall(called[1], number, tuple(roots), _positions(roots, new), _positions(roots, left))
        if made is not None and (_NEW.match(made[2]) or _REUSED.match(made[2])):
            reused = _REUSED.match(made[2])
            root_of.pop(made[1], None)
            was_used = reused is not None and root_of.get(reused[1], reused[1]) not in new
            (left if was_used else new).add(made[1])
        elif made is not None and (alias := _ALIAS.match(made[2])):
            root_of[made[1]] = root_of.get(alias[1], alias[1])
        elif not line.lstrip().startswith(("#", "del ", "assert_")):
            used = {root_of.get(name, name) for name in _BUFFER.findall(line)}
            new -= used
            left -= used


def _positions(roots: list[str], wanted: set[str]) -> frozenset[int]:
    return frozenset(position for position, root in enumerate(roots) if root in wanted)


def _parameters(code: str) -> tuple[Parameter | None, ...]:
    """Read the parameters of the C++ function "kernel"; the pointers that it reads are const, or are called in_out_ptr."""
    found = _PARAMETERS.search(code)
    return tuple(_parameter(one.strip()) for one in found[1].split(",")) if found and found[1].strip() else ()


def _parameter(text: str) -> Parameter | None:
    if "*" not in text:
        return None
    name = text.rpartition("*")[2].strip().removeprefix("__restrict__ ").strip()
    is_const = text.startswith("const ")
    return Parameter(name, is_const, name.startswith("in_out"))
