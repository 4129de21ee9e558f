"""The operators of a dump."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tensortap._error import Error


@dataclass(frozen=True)
class Original:
    """A node of the author's graph that an executed op implements."""

    name: str
    type: str


@dataclass(frozen=True)
class OpInput:
    """An input of an op: the value's name ("" = skipped) and who makes it, where that is known."""

    name: str
    producer: int | None
    producer_slot: int


@dataclass(frozen=True)
class Op:
    """What is known about an operator; docs/layouts/tap.md explains each field."""

    name: str
    type: str
    domain: str
    graph: str
    module: str
    source: str
    originals: tuple[Original, ...]
    inserted_by_runtime: bool
    level: str
    parent: int | None
    inputs: tuple[OpInput, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


def read_object(text: str, what: str) -> dict[str, Any]:
    """Read a JSON object of a dump, which may be damaged."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise Error(f"{what} is no JSON: {error}", "corrupt") from error
    if not isinstance(value, dict):
        raise Error(f"{what} is no JSON object", "corrupt")
    return value


def made_op(fields: dict[str, Any]) -> Op:
    originals = tuple(Original(name, kind) for name, kind in fields.pop("originals"))
    inputs = tuple(OpInput(*one) for one in fields.pop("inputs"))
    attributes = read_object(fields.pop("attributes"), f"the list of attributes of {fields['name']!r}")
    return Op(originals=originals, inputs=inputs, outputs=tuple(fields.pop("outputs")), attributes=attributes, **fields)
