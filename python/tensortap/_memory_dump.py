"""The records of a capture in memory."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tensortap import _analysis, _html
from tensortap._error import Error
from tensortap._module_records import ModuleRecords, counted, did_you_mean, group_by_module, joined_name, records_below, some, split_name
from tensortap._optional import optional_package
from tensortap._torch_values import dtype_name, measurable, recorded_shape, torch_to_numpy, wanted_library

if TYPE_CHECKING:
    import pandas

RECORD_BYTES = 1024
"""What a record counts beside its tensor."""
_COLUMNS = ("op", "type", "slot", "step", "call", "phase", "element", "dtype", "shape", "numel", "bytes", *_analysis._STATISTICS)
_TABLE = ("record", "type", "dtype", "shape", "absmax", "mean", "std", "nan", "pos_inf", "neg_inf")
_MOST_MEASURED = 1 << 22  # elements that are measured for a table
_MOST_ROWS = 10
_MOST_REASONS = 5


@dataclasses.dataclass(frozen=True)
class Place:
    """Which tensor of which call."""

    op: str
    type: str
    slot: str
    element: int
    step: int
    call: int
    phase: str

    @property
    def name(self) -> str:
        return joined_name(self.op, self.slot_name, self.step, self.call)

    @property
    def slot_name(self) -> str:
        return self.slot if self.element < 0 else f"{self.slot}[{self.element}]"


@dataclasses.dataclass
class _Kept:
    place: Place
    dtype: str
    shape: list[int]
    bytes: int
    value: Any  # of torch, in host memory; None where only statistics are kept
    statistics: dict[str, Any] | None  # None = not measured yet


def measured(tensor: Any) -> dict[str, Any]:
    """Measure a tensor of torch in host memory as docs/statistics.md says."""
    try:
        values = measurable(tensor)
    except (RuntimeError, TypeError, NotImplementedError):
        return dict.fromkeys(_analysis._STATISTICS)
    if values.dtype.kind == "c":
        values = np.where(np.isnan(values), np.nan, np.abs(values))
    return _analysis.measured(values)


class MemoryDump:
    """What a capture of modules keeps, in memory: ``capture(model, ...).dump``. It can be read while the capture runs, from any thread."""

    def __init__(self, bound: int, full: bool, aliases: Mapping[str, str] | None = None) -> None:
        self.bound = bound
        self._aliases = aliases or {}  # other paths of shared modules, and those that count
        self.why_missing: Callable[[str], str] = lambda module: ""
        self.used = 0
        self.full = full
        self._lock = threading.Lock()
        self._records: list[_Kept] = []
        self._rows: dict[str, int] = {}
        self._lost: Counter[tuple[str, str, str]] = Counter()  # by op, slot and reason
        self._first_lost: dict[str, str] = {}  # by reason

    def __repr__(self) -> str:
        size = f"{bytes_text(self.used)} of at most {bytes_text(self.bound)}"
        return f"<tensortap.MemoryDump: {counted(len(self), 'record')}, {size}{self.losses()}>"

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the records."""
        return iter(self.names())

    def __contains__(self, record: object) -> bool:
        return isinstance(record, str) and joined_name(*self._parts(record, None, None, None)) in self._rows

    def _parts(self, record: str, slot: str | None, step: int | None, call: int | None) -> tuple[str, str, int, int]:
        """Split a name; another path of a shared module becomes the one that counts."""
        op, at, of_step, of_call = split_name(record, slot, step, call)
        return self._aliases.get(op, op), at, of_step, of_call

    def names(self) -> list[str]:
        """Give the names of all records, in the order in which they were made."""
        return [kept.place.name for kept in self._records[:]]

    def __getitem__(self, record: str | int) -> Any:
        """Give the values of a record, as `tensor` does."""
        return self.tensor(record)

    def tensor(
        self,
        record: str | int,
        *,
        slot: str | None = None,
        step: int | None = None,
        call: int | None = None,
        as_: Literal["torch", "numpy"] | str | None = None,
    ) -> Any:
        """Give the values of a record, without a copy: who changes them changes the record.

        Parameters
        ----------
        record : str or int
            A module, or a whole name ``MODULE:SLOT@STEP#CALL``; or a row.
        slot : str, optional
            Such as ``out0``, which is the default, ``in1`` or ``grad0``.
        step, call : int, optional
            Which call of the model, and which call of the module in it; the first by default.
        as_ : str, optional
            ``"torch"``, the default, or ``"numpy"``, which is read-only.

        Returns
        -------
        torch.Tensor or array
            In host memory.

        Raises
        ------
        Error
            When the record does not exist, with the reason where it was not kept.
        """
        library = wanted_library(as_)
        kept = self._find(record, slot, step, call)
        if kept.value is None:
            raise Error(f"{kept.place.name}: the capture keeps statistics only. capture(..., full=True) keeps values", "not_found")
        return kept.value if library == "torch" else torch_to_numpy(kept.value)

    def record(self, record: str | int) -> dict[str, Any]:
        """Describe one record: module, slot, step, call, element type, shape and statistics."""
        return self._described(self._find(record, None, None, None))

    def module(self, name: str) -> ModuleRecords:
        """Give the records of a module and of all modules below it; those of shared modules have the name that counts."""
        shared = [path for other, path in self._aliases.items() if other.startswith(f"{name}.")]
        return records_below(self, self._ops(), self._aliases.get(name, name), shared)

    def by_module(self) -> dict[str, ModuleRecords]:
        """Group the records by module, in the order in which the modules were first recorded."""
        return group_by_module(self, self._ops())

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas table of the records.

        Returns
        -------
        pandas.DataFrame
            One row for each record, with statistics; columns as ``Dump.to_pandas`` names them.

        Raises
        ------
        Error
            When pandas is not installed.
        """
        lines = [self._described(kept) for kept in self._records[:]]
        return optional_package("pandas", "to_pandas()").DataFrame(lines, columns=list(_COLUMNS))

    def not_kept(self) -> list[dict[str, Any]]:
        """Count what was not kept: for each ``reason`` how many ``records``, and the name of the ``first``."""
        with self._lock:
            counts: Counter[str] = Counter()
            for (_, _, reason), count in self._lost.items():
                counts[reason] += count
            return [{"reason": reason, "records": count, "first": self._first_lost[reason]} for reason, count in counts.most_common()]

    def losses(self) -> str:
        """Say in a line what was not kept, "" for nothing."""
        lost = self.not_kept()
        parts = [f"{one['records']} not kept: {one['reason']}, first {one['first']}" for one in lost[:_MOST_REASONS]]
        if len(lost) > _MOST_REASONS:
            parts.append(f"and {len(lost) - _MOST_REASONS} more reasons")
        return "".join(f"; {part}" for part in parts)

    def table_html(self) -> str:
        """Show the last records as a table."""
        shown = self._records[-_MOST_ROWS:]
        if not shown:
            return ""
        lines = []
        for kept in shown:
            small = kept.statistics is not None or int(np.prod(kept.shape)) <= _MOST_MEASURED
            line = self._described(kept) if small else {"type": kept.place.type, "dtype": kept.dtype, "shape": kept.shape}
            lines.append([kept.place.name, *(_cell(line.get(name)) for name in _TABLE[1:])])
        return _html.paragraph(f"the last {len(shown)} records:") + _html.table(_TABLE, lines)

    def _repr_html_(self) -> str:
        return _html.paragraph(repr(self)[1:-1]) + self.table_html()

    def _ops(self) -> list[str]:
        return [kept.place.op for kept in self._records[:]]

    def _find(self, record: str | int, slot: str | None, step: int | None, call: int | None) -> _Kept:
        if isinstance(record, int):
            return self._records[record]
        parts = self._parts(record, slot, step, call)
        row = self._rows.get(joined_name(*parts))
        if row is not None:
            return self._records[row]
        raise Error(self._missing(*parts), "not_found")

    def _missing(self, op: str, slot: str, step: int, call: int) -> str:
        """Say why there is no record of this name."""
        name = joined_name(op, slot, step, call)
        with self._lock:
            reasons = [
                f"{counted(count, 'record')} not kept: {reason}" for (of, at, reason), count in self._lost.items() if (of, at) == (op, slot)
            ]
        if reasons:
            return f"there is no record {name!r}. Of {op}:{slot}, {'; '.join(reasons)}"
        beside = [one for one in self.names() if one.startswith(f"{op}:")]
        late = "; a gradient exists once backward() ran inside of the block" if slot.startswith("grad") else ""
        if beside:
            return f"there is no record {name!r}{late}. Of {op!r} there are {some(beside)}"
        known = list(dict.fromkeys(self._ops()))
        return f"there is no record {name!r}{self.why_missing(op)}.{did_you_mean(op, known)} Modules with records: {some(known)}"

    def _described(self, kept: _Kept) -> dict[str, Any]:
        if kept.statistics is None:
            kept.statistics = measured(kept.value)
        place = kept.place
        return {
            **dataclasses.asdict(place),
            "dtype": kept.dtype,
            "shape": kept.shape,
            "numel": int(np.prod(kept.shape)),
            "bytes": kept.bytes,
            **kept.statistics,
        }

    def add(self, place: Place, tensor: Any, copied: Any) -> None:
        """Keep a tensor: `copied` makes the copy in host memory, once there is room for it."""
        size = tensor.numel() * tensor.element_size()
        reserved = RECORD_BYTES + (size if self.full else 0)
        with self._lock:
            room = self.used + reserved <= self.bound
            self.used += reserved if room else 0
        if not room:
            self.lose(place, f"the bound on memory, {bytes_text(self.bound)}, was reached")
            return
        try:
            value = copied(tensor)
            kept = _Kept(place, dtype_name(value), recorded_shape(value), size, value, None)
            if not self.full:
                kept.statistics, kept.value = measured(value), None
            with self._lock:
                known = place.name in self._rows
                if not known:
                    self._rows[place.name] = len(self._records)
                    self._records.append(kept)
        except BaseException:
            self._release(reserved)
            raise
        if known:
            self._release(reserved)
            self.lose(place, "a second backward pass brought another gradient of the same call")

    def _release(self, size: int) -> None:
        with self._lock:
            self.used -= size

    def lose(self, place: Place, reason: str) -> None:
        """Count a tensor that is not kept."""
        with self._lock:
            self._lost[place.op, place.slot_name, reason] += 1
            self._first_lost.setdefault(reason, place.name)


def _cell(value: Any) -> object:
    return "×".join(map(str, value)) if isinstance(value, list) else value


def bytes_text(size: int) -> str:
    """Give a size as people read it: decimal units, three digits."""
    number, unit = float(size), 0
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    while number >= 1000 and unit + 1 < len(units):
        number, unit = number / 1000, unit + 1
    return f"{number:.3g} {units[unit]}"
