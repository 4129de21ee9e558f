"""The calls of a dump of PyTorch: what each read, was given and made."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensortap._dump import Dump
from tensortap._error import Error
from tensortap._ops import Op

OUTPUT, INPUT = 0, 1
FORWARD = 1
FAILED_OP = 8
_MOST_LINE = 8 << 20


@dataclass
class Call:
    """One execution of an op.

    Attributes
    ----------
    op, number : Op, int
        What ran, and its number in the dump.
    step, call : int
        When.
    inputs, outputs : dict
        Rows by slot, then by element of a list (-1 = no list).
    arguments : dict
        What is no tensor, by the names of the schema.
    failed, gradients : bool
        Whether it raised an exception; whether gradients were being recorded.
    """

    op: Op
    number: int
    step: int
    call: int
    arguments: dict[str, Any]
    inputs: dict[int, dict[int, int]] = field(default_factory=dict)
    outputs: dict[int, dict[int, int]] = field(default_factory=dict)
    failed: bool = False
    gradients: bool = False

    @property
    def name(self) -> str:
        """How the command line names it: ``OP@STEP#CALL``, without what is 0."""
        return f"{self.op.name}{f'@{self.step}' if self.step else ''}{f'#{self.call}' if self.call else ''}"

    @property
    def overload(self) -> str:
        """The overload of the operator, "default" for the one without a name."""
        return str(self.op.attributes.get("overload") or "default")

    @property
    def function(self) -> str:
        """The operator as torch names it, such as ``aten::add.Tensor``."""
        short = self.op.type.removeprefix(f"{self.op.domain}.")
        return f"{self.op.domain or 'aten'}::{short}" + ("" if self.overload == "default" else f".{self.overload}")


@dataclass
class Arguments:
    """What calls were given that differs from their op's registration.

    Attributes
    ----------
    by_call : dict
        Arguments by number of the op, step and call.
    unreadable : int
        Lines that are none.
    missing_from : int or None
        From this step on they were not kept.
    unknown : bool
        Whether the dump does not say if there were any: a converted one, or one of an earlier version.
    """

    by_call: dict[tuple[int, int, int], dict[str, Any]] = field(default_factory=dict)
    unreadable: int = 0
    missing_from: int | None = None
    unknown: bool = False


def read_arguments(dump: Dump) -> Arguments:
    """Read ``calls.jsonl`` of a dump; a dump without one has none.

    Parameters
    ----------
    dump : Dump
        The dump.
    """
    found = Arguments()
    runtime = dump.manifest.get("runtime")
    missing = runtime.get("arguments_missing_from_step") if isinstance(runtime, dict) else None
    found.missing_from = missing if isinstance(missing, int) else None
    try:
        text = dump._core.document("calls.jsonl")
    except Error:  # too large
        text, found.unreadable = None, 1
    if text is None:
        found.unknown = not isinstance(runtime, dict) or "threads" not in runtime
        return found
    lines = io.BytesIO(text)
    while line := lines.readline(_MOST_LINE):
        key, arguments = _parsed(line)
        if key is None:
            found.unreadable += 1
        else:
            found.by_call[key] = arguments
    return found


def _parsed(line: bytes) -> tuple[tuple[int, int, int] | None, dict[str, Any]]:
    try:
        told = json.loads(line)
        op, step, call, arguments = told["op"], told["step"], told["call"], told["arguments"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, {}
    if not all(isinstance(number, int) for number in (op, step, call)) or not isinstance(arguments, dict):
        return None, {}
    return (op, step, call), arguments


def _order(rows: NDArray[np.void]) -> NDArray[np.intp]:
    """Give the rows of calls one behind the other, calls in the order in which they ended."""
    keys = np.stack([rows["op"].astype(np.int64), rows["step"].astype(np.int64), rows["call"].astype(np.int64)])
    _, group = np.unique(keys, axis=1, return_inverse=True)
    group = group.reshape(-1)
    last = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    np.maximum.at(last, group, rows["sequence"].astype(np.int64))
    return np.lexsort((rows["sequence"], group, last[group]))


def _given(op: Op, told: dict[str, Any] | None) -> dict[str, Any]:
    """Give the arguments of a call: its own where it has any, otherwise those of its op."""
    if told is not None:
        return told
    inside = op.attributes.get("arguments")
    return {**op.attributes, **inside} if isinstance(inside, dict) else op.attributes


def calls_of(dump: Dump, arguments: Arguments) -> Iterator[Call]:
    """Give the calls of a dump in the order of execution.

    Parameters
    ----------
    dump : Dump
        The dump.
    arguments : Arguments
        Of `read_arguments`.
    """
    rows = dump.records
    ops = dump.ops
    call: Call | None = None
    for number in _order(rows):
        row = rows[number]
        key = (int(row["op"]), int(row["step"]), int(row["call"]))
        if call is None or (call.number, call.step, call.call) != key:
            if call is not None:
                yield call
            call = Call(ops[key[0]], *key, _given(ops[key[0]], arguments.by_call.get(key)))
        kind = int(row["slot_kind"])
        call.gradients = int(row["phase"]) == FORWARD
        call.failed = call.failed or bool(int(row["flags"]) & FAILED_OP)
        if kind in (INPUT, OUTPUT):
            slots = call.inputs if kind == INPUT else call.outputs
            slots.setdefault(int(row["slot_index"]), {}).setdefault(int(row["element"]), int(number))
    if call is not None:
        yield call


# Devices that calls named which were made on the processor instead.
other_devices: set[str] = set()


def device_here(name: str) -> str:
    """Give the device that a call is made on: the processor, whatever the program ran on.

    Parameters
    ----------
    name : str
        The device that the dump names.
    """
    if not name.startswith("cpu"):
        other_devices.add(name)
        return "cpu"
    return name
