"""Two dumps beside each other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensortap import _core, _html
from tensortap._dump import Dump, open
from tensortap._optional import optional_package

if TYPE_CHECKING:
    import pandas

    AnyDump = Dump | str | os.PathLike[str]

_SHOWN = ("b", "a", "type_b", "rule", "verdict", "error", "max_abs", "max_ulp", "birth", "growth")
_MOST_SHOWN = 20


def _size(error: object) -> float:
    """Give an error as a number, which may be the text of one that is not finite."""
    return float(error) if isinstance(error, str | int | float) else float("nan")


class Comparison:
    """What ``tensortap compare`` says of two dumps.

    Attributes
    ----------
    rows : list of dict
        One for each pair of records, in the order of execution of B; docs/comparison.md lists the members.
    unpaired : list of dict
        Values without a partner: ``unpaired`` ("A" or "B"), ``value``, ``type``, ``why`` and ``by``.
    summary : dict
        Counts, the first difference, and the ops where differences are born.
    """

    def __init__(self, rows: Sequence[str], unpaired: Sequence[str], summary: str) -> None:
        self.rows: list[dict[str, Any]] = [json.loads(row) for row in rows]
        self.unpaired: list[dict[str, Any]] = [json.loads(one) for one in unpaired]
        self.summary: dict[str, Any] = json.loads(summary)["summary"]

    @property
    def within_tolerance(self) -> bool:
        """Whether all was compared, nothing is outside of the tolerance, and both dumps are whole: the exit code 0 of the command."""
        summary = self.summary
        return not summary["outside"] and summary["not_known"] is None and summary["dump"]["complete"] is not False

    @property
    def differing(self) -> list[dict[str, Any]]:
        """The rows that are not equal."""
        return [row for row in self.rows if row["verdict"] not in ("equal", "same statistics")]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        summary = self.summary
        born = len(summary["born"])
        return (
            f"<tensortap.Comparison: {summary['paired']} of {summary['values_a']} values of A and of {summary['values_b']} of B paired, "
            f"{len(self.differing)} of {len(self)} records not equal, born in {born} op{'' if born == 1 else 's'}>"
        )

    def _repr_html_(self) -> str:
        differing = self.differing
        errors = np.array([_size(row.get("error")) for row in self.rows], np.float64)
        born = np.array([row.get("birth") == "born" for row in self.rows], bool)
        picture = _html.bars_by_size(errors, born, "error of each pair, in their order", mark="born there")
        lines = [repr(self)[1:-1]]
        if len(differing) > _MOST_SHOWN:
            lines.append(f"the first {_MOST_SHOWN} of {len(differing)} that are not equal:")
        cells = [[row.get(name) for name in _SHOWN] for row in differing[:_MOST_SHOWN]]
        return picture + _html.paragraph(*lines) + (_html.table(_SHOWN, cells) if cells else "")

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas table of the rows.

        Returns
        -------
        pandas.DataFrame
            One row for each pair of records.

        Raises
        ------
        Error
            When pandas is not installed.
        """
        return optional_package("pandas", "to_pandas()").DataFrame(self.rows)


def _opened(dump: AnyDump) -> Dump:
    return dump if isinstance(dump, Dump) else open(dump)


def _file_or_text(given: str | os.PathLike[str] | None, name: str, text: str) -> tuple[str, str]:
    """Give a file's text and its name; without a file, give `text` and `name`."""
    if given is None:
        return text, name
    path = os.fspath(given)
    return _core.read_file(path, 1 << 30).decode("utf-8", "surrogateescape"), path


def _steps_text(steps: str | Mapping[int, int] | Sequence[int]) -> str:
    if isinstance(steps, str):
        return steps
    if isinstance(steps, Mapping):
        return ",".join(f"{a}:{b}" for a, b in steps.items())
    return ",".join(str(step) for step in steps)


def compare(
    a: AnyDump,
    b: AnyDump,
    *,
    map: str | os.PathLike[str] | Mapping[str, str] | None = None,
    tolerance: str | os.PathLike[str] | Sequence[tuple[str, float, float]] = "auto",
    noise: Sequence[AnyDump] | None = None,
    steps: str | Mapping[int, int] | Sequence[int] = "",
    shards: str | os.PathLike[str] | bool = False,
    groups: Sequence[str] = (),
) -> Comparison:
    """Put the values of a dump beside those of a reference.

    Parameters
    ----------
    a : Dump, str or path
        The dump that is judged.
    b : Dump, str or path
        The reference.
    map : str, path or mapping, optional
        Names that belong together: a file as ``--map`` takes it, or names of `a` and of `b`.
    tolerance : str, path or list
        ``auto``; a file as ``--tolerance`` takes it; or (regular expression, absolute, relative), the last for ``.*``.
    noise : list of Dump, str or path, optional
        Other runs of one of the two programs, whose inputs differ in the last bit. By default those that the option ``noise`` of `run` left
        in the folders of `a` and `b`, where the tolerance is ``auto``; an empty list is none.
    steps : str, mapping or list
        Steps that stand beside each other: ``3:4,0-2``, ``{3: 4}``, or equal ones.
    shards : str, path or bool
        `a` is the folder of a job whose ranks hold parts of tensors, which are put together: a file as ``--shards`` takes it, or true, as
        the dumps tell.
    groups : list of str
        Ranks that hold the parts, as ``--groups`` takes them: ``tp=0-1,2-3``. By default those of the meshes that the dumps tell.

    Returns
    -------
    Comparison
        Rows, values without a partner, and a summary.

    Raises
    ------
    Error
        When a dump cannot be read, nothing can be paired, or an argument is wrong.
    """
    mapped = "".join(f"{x}\t{y}\n" for x, y in map.items()) if isinstance(map, Mapping) else ""
    map_text, map_name = _file_or_text(None if isinstance(map, Mapping) else map, "map", mapped)
    if isinstance(tolerance, str) and tolerance == "auto":
        rules_text, rules_name = "", ""
    elif isinstance(tolerance, str | os.PathLike):
        rules_text, rules_name = _file_or_text(tolerance, "", "")
    else:
        rules_text, rules_name = "".join(f"{pattern} {x!r} {y!r}\n" for pattern, x, y in tolerance), "tolerance"
    words = {"map": map_text, "map_name": map_name, "rules": rules_text, "rules_name": rules_name, "steps": _steps_text(steps)}
    second = _opened(b)
    if shards or groups:
        judged = os.fspath(a.path if isinstance(a, Dump) else a)
        shards_text, shards_name = _file_or_text(None if isinstance(shards, bool) else shards, "", "")
        core_a = _core.join_shards(os.fsencode(judged), shards_text, shards_name, list(groups), second._core)
    else:
        first = _opened(a)
        judged, core_a = first.path, first._core
    beside = [(side, _core.noise_dumps(os.fsencode(path))) for side, path in (("a", judged), ("b", second.path))]
    found = [(os.fsdecode(folder), side) for side, folders in beside for folder in folders]
    if noise is None:
        chosen: list[tuple[AnyDump, str]] = list(found) if not rules_name else []
    else:
        places = {os.path.realpath(folder): side for folder, side in found}
        chosen = [(one, places.get(os.path.realpath(one.path if isinstance(one, Dump) else one), "")) for one in noise]
    others = [(_opened(one)._core, side) for one, side in chosen]
    words |= {"a": os.fspath(judged), "b": os.fspath(second.path)}
    return Comparison(*_core.compare(core_a, second._core, others, words))
