"""What is said of replayed calls: lines of JSON, or a summary and a table."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # torch comes with it
    from tensortap._replay.measure import Outcome, Output

_TABLE_LINES = 20
_MOST_EXAMPLES = 3
_SCRATCH = "scratch memory of a library"
_TITLES = ("record", "operator", "outcome", "differing", "max abs", "relative L2", "first at")


def printable(text: str) -> str:
    """Give a text with what a terminal would obey written out.

    Parameters
    ----------
    text : str
        Possibly from a dump.
    """
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)


def say(text: str = "") -> None:
    """Print a line of the answer. Where the reader went away, the rest is dropped and the work goes on: the exit code is an answer too."""
    try:
        print(text)
    except BrokenPipeError:
        _drop_output()


def end_output() -> None:
    """Write what is still buffered; called once, before the program ends."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()


def _drop_output() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def print_json(value: object) -> None:
    """Print a line of JSON; numbers that it does not have are texts.

    Parameters
    ----------
    value : object
        What to print.
    """
    say(json.dumps(_finite(value), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def _record(outcome: Outcome, output: Output | None) -> str:
    call = outcome.call
    slot = "" if output is None else f":{output.name}"
    return f"{call.op.name}{slot}{f'@{call.step}' if call.step else ''}{f'#{call.call}' if call.call else ''}"


def _outcome(output: Output) -> str:
    return "equal" if output.equal else "differs"


def lines_of(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Describe each output of a call, or the call, where it was not replayed.

    Parameters
    ----------
    outcome : Outcome
        What became of it.
    """
    call = outcome.call
    shared = {"op": call.op.name, "type": call.op.type, "domain": call.op.domain, "step": call.step, "call": call.call}
    named = {"function": call.function}
    if outcome.reason:
        reason = {"reason": outcome.reason, "error": outcome.detail or None}
        yield {"record": _record(outcome, None), **shared, **named, "outcome": "not replayed", **reason}
    for output in outcome.scratch:
        left_out = {"outcome": "not replayed", "reason": _SCRATCH, "error": None}
        yield {"record": _record(outcome, output), **shared, **named, **left_out}
    for output in outcome.outputs:
        yield {
            "record": _record(outcome, output),
            **shared,
            **named,
            "outcome": _outcome(output),
            "bit_equal": output.equal,
            "compared": output.numel,
            "differing": output.different,
            "first_differing": output.first,
            "max_abs": output.max_abs,
            "relative_l2": output.relative_l2,
            "reason": output.problem or None,
        }


class Summary:
    """Counts outputs by what became of them, and keeps what is shown.

    Parameters
    ----------
    show_all : bool
        Whether equal outputs are shown, too.
    """

    def __init__(self, show_all: bool) -> None:
        self.calls = 0
        self.replayed = 0
        self.equal = 0
        self.differing = 0
        self.not_replayed = 0
        self.table: list[tuple[str, ...]] = []
        self.left_out = 0
        self._show_all = show_all
        self._reasons: dict[str, dict[str, Any]] = {}
        self._kernels: dict[str, dict[str, Any]] = {}

    @property
    def outputs(self) -> int:
        """How many were compared."""
        return self.equal + self.differing

    def add(self, outcome: Outcome) -> None:
        """Count a call.

        Parameters
        ----------
        outcome : Outcome
            What became of it.
        """
        self.calls += 1
        if outcome.reason:
            self._leave_out(outcome, None, outcome.reason)
            return
        self.replayed += 1
        for output in outcome.scratch:
            self._leave_out(outcome, output, _SCRATCH)
        for output in outcome.outputs:
            self._add_output(outcome, output)

    def _leave_out(self, outcome: Outcome, output: Output | None, why: str) -> None:
        self.not_replayed += 1
        name = _record(outcome, output)
        reason = self._reasons.setdefault(why, {"reason": why, "count": 0, "examples": []})
        reason["count"] += 1
        if len(reason["examples"]) < _MOST_EXAMPLES:
            reason["examples"].append(f"{name}: {outcome.detail}" if outcome.detail else name)
        self._show((name, outcome.call.function, "not replayed", "", "", "", why), self._show_all)

    def _add_output(self, outcome: Outcome, output: Output) -> None:
        name, function = _record(outcome, output), outcome.call.function
        if output.equal:
            self.equal += 1
        else:
            self.differing += 1
            kernel = self._kernels.setdefault(function, {"type": function, "outputs": 0, "relative_l2": 0.0, "first": name})
            kernel["outputs"] += 1
            kernel["relative_l2"] = max(kernel["relative_l2"], output.relative_l2 or 0.0)
        numbers = [str(output.different), *("" if value is None else f"{value:.3g}" for value in (output.max_abs, output.relative_l2))]
        last = output.problem or ("" if output.first is None else str(output.first))
        self._show((name, function, _outcome(output), *numbers, last), self._show_all or not output.equal)

    def _show(self, row: tuple[str, ...], wanted: bool) -> None:
        if wanted and (self._show_all or len(self.table) < _TABLE_LINES):
            self.table.append(row)
        elif wanted:
            self.left_out += 1

    def reasons(self) -> list[dict[str, Any]]:
        """Why calls were not replayed, the most frequent first."""
        return sorted(self._reasons.values(), key=lambda reason: -int(reason["count"]))

    def kernels(self) -> list[dict[str, Any]]:
        """Operators that gave other bits, the largest difference first."""
        return sorted(self._kernels.values(), key=lambda kernel: -float(kernel["relative_l2"]))

    def to_json(self) -> dict[str, Any]:
        """Give the counts as the last line of JSON has them."""
        return {
            "ops": self.replayed,
            "outputs": self.outputs,
            "equal": self.equal,
            "differing": self.differing,
            "kernels": self.kernels(),
            "not_replayed": self.not_replayed,
            "reasons": self.reasons(),
        }


def _titled(title: str, text: str) -> None:
    say(printable(f"{title:<13} {text}"))


def print_text(summary: Summary, recorded: str, here: str) -> None:
    """Print what was found, for people.

    Parameters
    ----------
    summary : Summary
        Summary of all calls.
    recorded, here : str
        The release of torch that made the dump, and this one.
    """
    _titled("runtime", here if here == recorded else f"{here}; recorded on {recorded}")
    _titled("replayed", f"{summary.replayed} ops, {summary.outputs} outputs")
    _titled("equal", f"{summary.equal} bit by bit; {summary.differing} differ")
    kernels = [f"{one['outputs']} {one['type']} (relative L2 up to {one['relative_l2']:.3g})" for one in summary.kernels()]
    if kernels:
        _titled("kernels", ", ".join(kernels[:10]) + (", ..." if len(kernels) > 10 else ""))
    for number, reason in enumerate(summary.reasons()):
        examples = ", ".join(reason["examples"]) + (", ..." if reason["count"] > len(reason["examples"]) else "")
        _titled("" if number else "not replayed", f"{reason['count']}: {reason['reason']} ({examples})")
    if summary.table:
        say()
        rows = [_TITLES, *summary.table]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
        for row in rows:
            say(printable("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()))
    if summary.left_out:
        say(f"{summary.left_out} more; --all shows every output")


def print_minimal(told: dict[str, Any]) -> None:
    """Print what is left of a call that was cut down, for people.

    Parameters
    ----------
    told : dict
        As the line of JSON has it.
    """
    _titled("runtime", f"{told['runtime']}; recorded on {told['recorded']}")
    _titled("op", f"{told['op']} ({told['type']})")
    for tensor in told["tensors"]:
        shape, count = (json.dumps(tensor[key], separators=(",", ":")) for key in ("shape", "count"))
        _titled(
            tensor["slot"], shape if shape == count else f"{count} from {json.dumps(tensor['first'], separators=(',', ':'))} on, of {shape}"
        )
    numbers = f"by {told['max_abs']:.3g} at most (relative L2 {told['relative_l2']:.3g})"
    _titled("differs", f"{told['differing']} of {told['compared']} elements of {told['differing_slot']}, {numbers}")
    _titled("runs", str(told["runs"]))
    for path in told["files"]:
        _titled("written", path)
