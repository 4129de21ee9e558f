"""Dumps and records as notebooks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensortap import _core, _html
from tensortap._error import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tensortap._dump import Dump

_SHOWN = ("row", "op", "type", "slot", "step", "dtype", "shape", "absmax", "mean", "std", "nan", "pos_inf", "neg_inf")
_MOST_ROWS = 10
_MOST_PROBLEMS = 3
_MOST_MEMBERS = 64
_MOST_DRAWN = 1 << 22  # elements that are read for a picture
_LOWEST_EXPONENT, _EXPONENTS = -150, 280  # of the dump's histograms


class Record(dict[str, Any]):
    """The description of a record: a dict, which a notebook shows as a table with a picture.

    A copy, and what pickle makes of it, is an ordinary dict.
    """

    def __init__(self, members: dict[str, Any], dump: Dump, row: int) -> None:
        super().__init__(members)
        self._dump = dump
        self._row = row

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)

    def _picture(self) -> str:
        """Draw the histogram of the dump, or one made of the values."""
        try:
            counts = self._dump.histogram(self._row)
            if counts is not None:
                return _html.bars_by_exponent(counts[:_EXPONENTS], _LOWEST_EXPONENT)
            if not 0 < self["numel"] <= _MOST_DRAWN:
                return ""
            values = self._dump[self._row]
        except Error:
            return ""
        # Without ml_dtypes the raw bits of bfloat16 and smaller types are unsigned integers.
        raw_bits = values.dtype.kind == "u" and not self["dtype"].startswith("uint")
        return "" if raw_bits or values.dtype.kind not in "fiubV" else _html.bars_by_exponent(*_html.exponent_counts(values))

    def _repr_html_(self) -> str:
        title = f"{self.get('op')}:{self.get('slot')}, step {self.get('step')}"
        lines = [(name, _cell(self, name)) for name in list(self)[:_MOST_MEMBERS] if self[name] is not None]
        return _html.paragraph(title) + self._picture() + _html.table([], lines)


def _cell(record: Record, name: str) -> object:
    value = record.get(name)
    return "×".join(map(str, value)) if name == "shape" and isinstance(value, list) else value


def _measured(dump: Dump, *names: str) -> NDArray[np.bool_]:
    """Say of each record whether any of these statistics was measured."""
    bits = dict(_core.row_columns())
    measured: NDArray[np.bool_] = (dump.records["valid"] & np.uint32(sum(bits[name] for name in names))) != 0
    return measured


def _absmax(dump: Dump) -> NDArray[np.float64]:
    return np.where(_measured(dump, "absmax"), dump.records["absmax"].astype(np.float64), np.nan)


def _not_finite(dump: Dump) -> NDArray[np.bool_]:
    found = np.zeros(len(dump), bool)
    for name in ("nan", "pos_inf", "neg_inf"):
        found |= _measured(dump, name) & (dump.records[name] > 0)
    return found


def _clear_text(dump: Dump) -> str:
    """Report no NaN and no Inf, of no more records than were counted."""
    counted = int(np.sum(_measured(dump, "nan")))
    if counted == 0:
        return "not known whether there is NaN or Inf: no record was counted"
    return "no NaN or Inf" if counted == len(dump) else f"no NaN or Inf in {counted} of {len(dump)} records, the others were not counted"


def dump_html(dump: Dump) -> str:
    """Show what a dump is, the sizes of its values in their order, and the records that matter most.

    Parameters
    ----------
    dump : Dump
        The dump.

    Returns
    -------
    str
        HTML, at most about 50 kB.
    """
    absmax, broken = _absmax(dump), _not_finite(dump)
    places = np.flatnonzero(broken)
    lines = [repr(dump)[1:-1], *(f"skipped: {problem}" for problem in dump.problems[:_MOST_PROBLEMS])]
    if places.size:
        shown = places[:_MOST_ROWS]
        lines.append(f"NaN or Inf in {places.size} records; the first {shown.size}:")
    else:
        # Records without a value come last.
        shown = np.argsort(np.where(np.isnan(absmax), np.inf, -absmax), kind="stable")[:_MOST_ROWS]
        lines.append(f"{_clear_text(dump)}; the {shown.size} records with the largest values:")
    records = [dump.record(int(row)) for row in shown]
    cells = [[_cell(record, name) for name in _SHOWN] for record in records]
    picture = _html.bars_by_size(absmax, broken, "largest absolute value of each record, in their order", mark="NaN or Inf")
    return picture + _html.paragraph(*lines) + (_html.table(_SHOWN, cells) if cells else "")
