"""An open dump."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensortap import _analysis, _core
from tensortap._error import Error
from tensortap._module_reading import ModuleReading
from tensortap._notebook import Record, dump_html
from tensortap._ops import Op, made_op, read_object
from tensortap._optional import optional_package
from tensortap._selection import RecordSelection
from tensortap._sketch import Sketch, read_sketch
from tensortap._tensors import row_dtype, to_array

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Dump(ModuleReading, RecordSelection):
    """A dump of any layout, opened for reading. Everything in it is read when it is asked for.

    Parameters
    ----------
    path : str or path
        Folder of the dump.

    Raises
    ------
    Error
        When there is no dump at `path`, or nothing of it can be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._core = _core.Dump(os.fsencode(self.path))

    def __repr__(self) -> str:
        lost: Any = 0
        with contextlib.suppress(Error):  # a damaged manifest
            lost = self.manifest.get("lost")
        losses = f", {lost} records lost" if isinstance(lost, int) and lost > 0 else ""
        return f"<tensortap.Dump {self.path!r}: {len(self)} records of {len(self.ops)} ops{losses}, layout {self.layout}>"

    def _repr_html_(self) -> str:
        return dump_html(self)

    def __len__(self) -> int:
        return self._core.row_count

    def __iter__(self) -> Iterator[str]:
        """Give the names of the records, in the order of the dump."""
        return (self._core.name(row) for row in range(len(self)))

    def __contains__(self, record: object) -> bool:
        try:
            self._core.find(str(record))
        except Error:
            return False
        return True

    @property
    def layout(self) -> str:
        """Which directory tree it is, such as ``tap``."""
        return self._core.layout

    @functools.cached_property
    def manifest(self) -> dict[str, Any]:
        """The dump's own account of itself (run.json): program, versions, coverage, losses."""
        return read_object(self._core.manifest, f"the manifest of {self.path!r}")

    @functools.cached_property
    def completeness(self) -> dict[str, Any]:
        """Whether the dump holds all that its capture wrote.

        ``complete`` is True, False, or None where nothing tells; ``state`` is ``complete``, ``running``, ``incomplete`` or ``unknown``;
        ``found`` and ``written`` count records, tensors, ops and steps; ``reasons`` say what is missing.
        """
        return read_object(self._core.completeness, f"the state of {self.path!r}")

    def requests(self) -> list[dict[str, Any]]:
        """List the requests of a serving engine, as far as the capture was told of them.

        Returns
        -------
        list of dict
            For each call of the engine's model: ``step``, ``model_phase``, ``rows`` of the whole batch, and ``requests``, a list of ``id``,
            ``first_row``, ``rows``, ``position`` (tokens that were computed before) and ``prompt`` (tokens of the prompt). The rows are
            those of tensors that have as many rows as the batch: ``dump[record][first_row : first_row + rows]``. Empty for other programs.
        """
        text = (self._core.document("requests.jsonl") or b"").decode(errors="replace")
        read = []
        for line in text.splitlines():  # one that is cut is of a program that was killed
            with contextlib.suppress(ValueError, RecursionError):
                one = json.loads(line)
                if isinstance(one, dict) and isinstance(one.get("requests"), list):
                    read.append(one)
        return read

    @property
    def problems(self) -> list[str]:
        """What was skipped while opening, one sentence each; empty for a whole dump."""
        return self._core.problems

    @property
    def unknown_columns(self) -> list[str]:
        """Columns of its records that a later version wrote and this one does not know. Their values stay in the file."""
        return self._core.unknown_columns

    @functools.cached_property
    def parts(self) -> dict[str, dict[str, str]]:
        """The dumps of all processes, ranks and models below this one's folder, itself included.

        The keys are the names that ``tensortap ls --part`` takes. Each value has ``role``, the name, title or command of the process, and
        ``path``, which `open` takes.
        """
        return {name: {"role": role, "path": path} for name, role, path in _core.dump_parts(os.fsencode(self.path))}

    @functools.cached_property
    def records(self) -> NDArray[np.void]:
        """One row for each tensor: a structured array, mapped and read-only. docs/layouts/tap.md lists the columns."""
        return self._core.rows().view(row_dtype())

    @functools.cached_property
    def ops(self) -> list[Op]:
        """The operators; the column ``op`` of `records` counts in this list."""
        return [made_op(fields) for fields in self._core.ops()]

    def names(self) -> list[str]:
        """Give the names of all records, as ``dump[...]`` takes them.

        Returns
        -------
        list of str
            ``OP:SLOT``, with ``@STEP`` and ``#CALL`` when not the first.
        """
        return list(self)

    def __getitem__(self, record: str | int) -> NDArray[Any]:
        """Give the values of a record, by name or by row: read-only, mapped where the layout allows it.

        The array keeps what it needs alive: it outlives the dump. bfloat16, float8 and the types of less than a byte are ml_dtypes'
        types when that package is installed; without it they are the raw bits (uint16, uint8) and, for integers, the values as int8
        or uint8. Types of less than a byte are unpacked, which copies. Strings are an array of objects.
        """
        row = self._core.find(record) if isinstance(record, str) else range(len(self))[record]
        return to_array(*self._core.data(row))

    def record(self, record: str | int) -> Record:
        """Describe one record.

        Parameters
        ----------
        record : str or int
            Name or row.

        Returns
        -------
        Record
            A dict: what ``tensortap ls --json`` prints for it.
        """
        row = self._core.find(record) if isinstance(record, str) else range(len(self))[record]
        return Record(json.loads(self._core.record(row)), self, row)

    def histogram(self, record: str | int) -> NDArray[np.uint64] | None:
        """Give the counts of values by binary exponent.

        Parameters
        ----------
        record : str or int
            Name or row.

        Returns
        -------
        array or None
            280 bins from 2**-150 on, then the counts of zero, NaN and Inf; None when no histogram was taken.
        """
        row = self._core.find(record) if isinstance(record, str) else range(len(self))[record]
        counts = self._core.histogram(row)
        return np.array(counts, np.uint64) if counts else None

    def sketch(self, record: str | int) -> Sketch | None:
        """Give what a record holds by channel and by block.

        Parameters
        ----------
        record : str or int
            Name or row.

        Returns
        -------
        Sketch or None
            None when the record has none; the column ``sketch`` of `records` says why (docs/layouts/tap.md).

        Raises
        ------
        Error
            When the files of the dump do not hold what the record says.
        """
        row = self._core.find(record) if isinstance(record, str) else range(len(self))[record]
        return read_sketch(self, row)

    @functools.cached_property
    def edges(self) -> list[tuple[int, int, int]]:
        """Who reads what: the number of the op that makes a value, which output it is, and the number of an op that reads it."""
        return self._core.edges()

    def consumers(self, name: str) -> list[str]:
        """Name the ops that read what an op made.

        Parameters
        ----------
        name : str
            An op; or one output of it, as ``OP:out0``.

        Returns
        -------
        list of str
            Names of ops.
        """
        return _analysis.neighbours(self, name, readers=True)

    def producers(self, name: str) -> list[str]:
        """Name the ops that made what an op reads.

        Parameters
        ----------
        name : str
            An op.

        Returns
        -------
        list of str
            Names of ops; inputs and weights among them where the dump knows them.
        """
        return _analysis.neighbours(self, name, readers=False)

    def statistics(self, record: str | int) -> Record:
        """Describe one record, with statistics that were not taken measured on its tensor.

        Parameters
        ----------
        record : str or int
            Name or row.

        Returns
        -------
        Record
            As `Dump.record`.
        """
        row = self._core.find(record) if isinstance(record, str) else range(len(self))[record]
        return _analysis.statistics(self, row)

    def summarize(self, overflow_value: float = 65500) -> list[dict[str, Any]]:
        """Count over all steps what is wrong with each slot of each op.

        Parameters
        ----------
        overflow_value : float
            A record with a number beyond this, or below its negative, is out of range; 65500 is about what float16 holds.

        Returns
        -------
        list of dict
            ``op``, ``type``, ``slot``, ``rank``; how many ``records`` and ``steps``; of the records those with ``nan``, ``inf`` or numbers
            ``out_of_range``, those ``all_zero``, and those that are ``sound``; the least ``min`` and the largest ``max``.
        """
        return _analysis.summary(self, overflow_value)

    def to_excel(self, path: str | os.PathLike[str], overflow_value: float = 65500) -> None:
        """Write an Excel workbook: inputs and weights, ops with their neighbours, counts by type, `summarize`, source lines.

        Parameters
        ----------
        path : str or path
            The file; replaced when it is there.
        overflow_value : float
            As in `summarize`.

        Raises
        ------
        Error
            When openpyxl is not installed, the file cannot be written, or there is more than a sheet holds.
        """
        _analysis.save_workbook(self, path, overflow_value)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table of `to_arrow` to another library; Polars, DuckDB and others ask for it by this name.

        Parameters
        ----------
        requested_schema : object
            Not looked at, as Arrow's rules allow: the columns have their own types.

        Returns
        -------
        object
            A capsule with a stream of Arrow's C data interface.
        """
        return self._core.arrow_stream()

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas table of the records.

        Returns
        -------
        pandas.DataFrame
            One row for each record; statistics that were not measured are NaN. Records of equal shape share one list.

        Raises
        ------
        Error
            When pandas is not installed.
        """
        columns: dict[str, NDArray[Any]] = {}
        for name, numbers, objects in self._core.frame():
            columns[name] = numbers if objects is None else _objects(objects)[numbers]
        return optional_package("pandas", "to_pandas()").DataFrame(columns, copy=False)

    def to_arrow(self) -> pyarrow.Table:
        """Make an Arrow table of the records.

        Returns
        -------
        pyarrow.Table
            One row for each record; statistics that were not measured are NaN.

        Raises
        ------
        Error
            When pyarrow is not installed.
        """
        return optional_package("pyarrow", "to_arrow()").table(self)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    """Make an array of texts or lists, whatever their sizes."""
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


def open(path: str | os.PathLike[str]) -> Dump:  # the module's own word, as in tarfile.open
    """Open a dump of any layout.

    Parameters
    ----------
    path : str or path
        Folder of the dump, or a single tensor file of any format.

    Returns
    -------
    Dump
        The dump; it may be used from any thread.
    """
    return Dump(path)
