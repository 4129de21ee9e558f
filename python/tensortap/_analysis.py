"""What an offline debugger answers about a dump: neighbours in the graph, statistics, a summary over steps, a workbook."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensortap._error import Error
from tensortap._optional import optional_package

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tensortap._dump import Dump
    from tensortap._notebook import Record

_GIVEN = ("Input", "Initializer", "Parameter")
# The statistics of a record, as `tensortap ls --json` names them.
_STATISTICS = ("min", "max", "mean", "std", "l2", "absmax", "nan", "pos_inf", "neg_inf", "zero")
_MOST_ROWS = 1_048_575  # of a sheet, below its head
_MOST_TEXT = 32_767  # of a cell


def measured(values: NDArray[Any]) -> dict[str, float | int | None]:
    """Measure an array as docs/statistics.md says: NaN is left out of everything but its count."""
    if values.dtype.kind not in "fiubV":
        return dict.fromkeys(_STATISTICS)
    wide = values.astype(np.float64).ravel()
    numbers = wide[~np.isnan(wide)]
    counts = {
        "nan": int(wide.size - numbers.size),
        "pos_inf": int(np.sum(numbers == np.inf)),
        "neg_inf": int(np.sum(numbers == -np.inf)),
        "zero": int(np.sum(numbers == 0)),
    }
    if not numbers.size:
        return {**dict.fromkeys(_STATISTICS), **counts}
    with np.errstate(all="ignore"):
        return {
            "min": float(numbers.min()),
            "max": float(numbers.max()),
            "mean": float(numbers.mean()),
            "std": float(numbers.std()),
            "l2": float(np.sqrt(np.sum(numbers * numbers))),
            "absmax": float(np.abs(numbers).max()),
            **counts,
        }


def statistics(dump: Dump, row: int) -> Record:
    """Give a record as `Dump.record` does, with the statistics that it lacks measured on its tensor."""
    record = dump.record(row)
    if any(record.get(name) is None for name in _STATISTICS):
        try:
            found = measured(dump[row])
        except Error:
            return record
        record.update({name: found[name] for name in _STATISTICS if record.get(name) is None})
    return record


def summary(dump: Dump, overflow_value: float) -> list[dict[str, Any]]:
    """Count over steps what is wrong with each slot of each op."""
    if not overflow_value >= 0:
        raise Error(f"overflow_value {overflow_value!r}: it must be a number that is not negative", "invalid_argument")
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    steps: dict[tuple[Any, ...], set[int]] = {}
    for row in range(len(dump)):
        record = statistics(dump, row)
        key = (record["rank"], record["op"], record["slot"], record.get("element"))
        line = found.setdefault(
            key,
            {
                **{name: record[name] for name in ("op", "type", "slot", "rank")},
                **dict.fromkeys(("records", "steps", "nan", "inf", "out_of_range", "all_zero", "sound"), 0),
                "min": None,
                "max": None,
            },
        )
        steps.setdefault(key, set()).add(record["step"])
        _count(line, record, overflow_value)
    for key, line in found.items():
        line["steps"] = len(steps[key])
    return list(found.values())


def _count(line: dict[str, Any], record: dict[str, Any], overflow_value: float) -> None:
    low, high = _number(record["min"]), _number(record["max"])
    nan, inf = bool(record["nan"]), bool(record["pos_inf"]) or bool(record["neg_inf"])
    large = any(abs(end) > overflow_value for end in (low, high) if end is not None)
    line["records"] += 1
    line["nan"] += nan
    line["inf"] += inf
    line["out_of_range"] += large
    line["all_zero"] += record["numel"] > 0 and record["zero"] == record["numel"]
    line["sound"] += not (nan or inf or large)
    line["min"] = low if line["min"] is None or (low is not None and low < line["min"]) else line["min"]
    line["max"] = high if line["max"] is None or (high is not None and high > line["max"]) else line["max"]


def _number(value: Any) -> float | None:
    """Read a number of a record's JSON, where NaN and Inf are texts."""
    return None if value is None else float(value)


def neighbours(dump: Dump, name: str, *, readers: bool) -> list[str]:
    """Name the ops beside one in the graph: those that read what it made, or that made what it read."""
    op, _, slot = name.rpartition(":")
    ids = [number for number, one in enumerate(dump.ops) if one.name == name]
    wanted = None
    if not ids and slot.removeprefix("out").isdigit():
        ids = [number for number, one in enumerate(dump.ops) if one.name == op]
        wanted = int(slot.removeprefix("out"))
    if not ids:
        raise Error(f"no op of {dump.path!r} is called {name!r}", "not_found")
    found: dict[int, None] = {}
    for maker, output, reader in dump.edges:
        if readers and maker in ids and wanted in (None, output):
            found[reader] = None
        elif not readers and reader in ids:
            found[maker] = None
    return [dump.ops[number].name for number in found]


def save_workbook(dump: Dump, path: str | os.PathLike[str], overflow_value: float) -> None:
    """Write the ops, the weights and inputs, counts by type, the summary and the source lines as an xlsx file, whole or not at all."""
    book = optional_package("openpyxl", "to_excel()").Workbook(write_only=True)
    _sheet(
        book, "dump", ["name", "value"], [["folder", dump.path], ["layout", dump.layout], ["records", len(dump)], ["ops", len(dump.ops)]]
    )
    given = [op for op in dump.ops if op.type in _GIVEN]
    made = [op for op in dump.ops if op.type not in _GIVEN]
    _sheet(book, "inputs and weights", ["name", "type", "read by"], ([op.name, op.type, _readers(dump, op.name)] for op in given))
    _sheet(
        book,
        "ops",
        ["type", "name", "graph", "module", "inputs", "outputs", "read by", "source"],
        (
            [
                op.type,
                op.name,
                op.graph,
                op.module,
                _lines(one.name for one in op.inputs),
                _lines(op.outputs),
                _readers(dump, op.name),
                op.source,
            ]
            for op in made
        ),
    )
    _sheet(book, "types", ["type", "ops"], ([kind, count] for kind, count in Counter(op.type for op in made).most_common()))
    lines = summary(dump, overflow_value)
    head = list(lines[0]) if lines else ["op"]
    _sheet(book, "summary", head, ([line[name] for name in head] for line in lines))
    sources: dict[str, list[str]] = {}
    for op in made:
        if op.source:
            sources.setdefault(op.source, []).append(op.name)
    _sheet(book, "sources", ["source", "ops"], ([source, _lines(names)] for source, names in sources.items()))
    target = Path(path)
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            temporary = Path(file.name)
        try:
            book.save(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise Error(f"{target}: {error.strerror or error}", "io") from error


def _readers(dump: Dump, name: str) -> str:
    return _lines(neighbours(dump, name, readers=True))


def _lines(texts: Any) -> str:
    return "\n".join(texts)


def _cell(value: Any) -> Any:
    """Give a value that a cell can hold: no control characters, no text that a spreadsheet would cut or read as a formula."""
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if not isinstance(value, str):
        return value
    text = "".join(one if one in "\n\t" or one >= " " else "\ufffd" for one in value)[:_MOST_TEXT]
    return "'" + text if text.startswith(("=", "+", "-", "@")) else text


def _sheet(book: Any, title: str, head: list[str], lines: Any) -> None:
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "B2"
    sheet.append(head)
    for number, line in enumerate(lines):
        if number >= _MOST_ROWS:
            raise Error(f"the sheet {title!r} would have more than {_MOST_ROWS} lines: use to_pandas() or to_arrow()", "exhausted")
        sheet.append([_cell(value) for value in line])
