"""Reads the Python code that Inductor writes for a graph: which buffers custom operators are given to write into."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

_CALL = re.compile(r"^\s*(?:\w+ = )?torch\.ops\.(\w+)\.(\w+)\.(\w+)\((.*)\)\s*$")
_BUFFER = re.compile(r"(?:reinterpret_tensor\()?(\w*buf\d+)\b")
_MADE = re.compile(r"^\s*(\w*buf\d+) = (.*)$")  # within a graph inside another one with the name of that graph before it
_NAME = re.compile(r"\b\w*buf\d+\b")
_LARGEST = 1 << 24


def buffers_to_write(code: Any) -> Iterator[tuple[str, int, bool]]:
    """Find the arguments that custom operators write into.

    Parameters
    ----------
    code : str
        Of one graph.

    Yields
    ------
    tuple
        "library::name.overload", the argument's position, and whether it is a buffer that the code has done nothing with.
    """
    untouched: set[str] = set()
    for line in code.splitlines() if isinstance(code, str) and len(code) < _LARGEST else ():
        called = _CALL.match(line)
        made = _MADE.match(line)
        if called is not None:
            yield from _written(called, untouched)
        if made is not None and not _gives_values(made[2]):
            untouched -= set(_NAME.findall(made[2]))
            untouched.add(made[1])
        elif not line.lstrip().startswith(("#", "del ", "assert_")):
            untouched -= set(_NAME.findall(line))


def _gives_values(expression: str) -> bool:
    """Tell whether the expression that makes a buffer puts values into it: new memory and that of a dropped buffer have none."""
    return re.match(r"(empty_strided\w*\(|alloc_from_pool\(|\w*buf\d+; del |reinterpret_tensor\(\w*buf\d+, .*\); del )", expression) is None


def _written(called: re.Match[str], untouched: set[str]) -> Iterator[tuple[str, int, bool]]:
    library, name, overload, text = called.groups()
    schema = getattr(getattr(getattr(getattr(torch.ops, library, None), name, None), overload, None), "_schema", None)
    if schema is None or library in ("aten", "prims"):
        return
    given, named = arguments_between(text)
    for slot, argument in enumerate(schema.arguments):
        value = given[slot] if slot < len(given) else named.get(argument.name, "")
        buffer = _BUFFER.match(value)
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield f"{library}::{name}.{overload}", slot, buffer is not None and buffer[1] in untouched


def arguments_between(text: str) -> tuple[list[str], dict[str, str]]:
    """Split the arguments between the parentheses of a call."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    parts.append(text[begin:].strip())
    named = dict(part.split("=", 1) for part in parts if re.match(r"\w+=", part))
    return [part for part in parts if part and not re.match(r"\w+=", part)], named
