"""Sketches: numbers about each channel and each block of a tensor, which merge by addition and maximum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tensortap import _core
from tensortap._error import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tensortap._dump import Dump

_BINS = 280


@dataclass(frozen=True)
class Channels:
    """Sums of each channel along one axis. Elements that are NaN or Inf are in `nonfinite` alone."""

    axis: int
    elements: int  # of each channel
    absmax: NDArray[np.float64]
    squares: NDArray[np.float64]  # sum of squares
    zero: NDArray[np.uint64]
    nonfinite: NDArray[np.uint64]


@dataclass(frozen=True)
class Blocks:
    """Counts of blocks of `size` elements along the last axis."""

    size: int
    bins: NDArray[np.uint64]  # by exponent of the largest magnitude, from 2**-150 on
    zero: int  # blocks of zeros alone
    nan: int  # blocks with NaN
    inf: int  # blocks with Inf and without NaN
    nonzero: int  # elements other than 0 in blocks that are finite
    underflow: dict[str, int]  # those of them that become 0 when each block is scaled to the format

    def underflow_share(self, name: str) -> float:
        """Give the share of the elements other than 0 that a format would lose.

        Parameters
        ----------
        name : str
            ``float4_e2m1``, ``float8_e4m3fn`` or ``float8_e5m2``.

        Returns
        -------
        float
            From 0 to 1; NaN where there are no such elements.
        """
        return self.underflow[name] / self.nonzero if self.nonzero else float("nan")


@dataclass(frozen=True)
class Sketch:
    """The sketch of a record, or of several."""

    channels: Channels | None
    blocks: Blocks | None


def read_sketch(dump: Dump, row: int) -> Sketch | None:
    """Read the sketch of a record.

    Parameters
    ----------
    dump : Dump
        The dump.
    row : int
        Row of the record.

    Returns
    -------
    Sketch or None
        None when the record has none.
    """
    found = dump._core.sketch(row)
    if found is None:
        return None
    axis, elements, table, size, counts = found
    channels = None
    if axis >= 0:
        columns = np.frombuffer(table, [("absmax", "<f8"), ("squares", "<f8"), ("zero", "<u8"), ("nonfinite", "<u8")])
        channels = Channels(axis, elements, *(columns[name].copy() for name in columns.dtype.names or ()))
    blocks = None
    if size > 0:
        numbers = np.array(counts, np.uint64)
        zero, nan, inf, nonzero, *lost = (int(number) for number in numbers[_BINS:])
        blocks = Blocks(size, numbers[:_BINS], zero, nan, inf, nonzero, dict(zip(_core.underflow_formats(), lost, strict=True)))
    return Sketch(channels, blocks)


def _same(values: set[object], what: str) -> None:
    if len(values) > 1:
        raise Error(f"sketches of different {what} cannot be merged: {', '.join(sorted(map(str, values)))}", "invalid_argument")


def _merged_channels(parts: list[Channels]) -> Channels:
    _same({(part.axis, len(part.absmax)) for part in parts}, "axes or numbers of channels")
    return Channels(
        parts[0].axis,
        sum(part.elements for part in parts),
        np.max([part.absmax for part in parts], axis=0),
        np.sum([part.squares for part in parts], axis=0),
        np.sum([part.zero for part in parts], axis=0, dtype=np.uint64),
        np.sum([part.nonfinite for part in parts], axis=0, dtype=np.uint64),
    )


def _merged_blocks(parts: list[Blocks]) -> Blocks:
    _same({part.size for part in parts}, "sizes of blocks")
    return Blocks(
        parts[0].size,
        np.sum([part.bins for part in parts], axis=0, dtype=np.uint64),
        sum(part.zero for part in parts),
        sum(part.nan for part in parts),
        sum(part.inf for part in parts),
        sum(part.nonzero for part in parts),
        {name: sum(part.underflow[name] for part in parts) for name in parts[0].underflow},
    )


def merge_sketches(sketches: Iterable[Sketch | None]) -> Sketch:
    """Merge the sketches of several steps or ranks, by addition and maximum.

    Parameters
    ----------
    sketches : iterable of Sketch
        At least one. None, of a record without a sketch, is left out.

    Returns
    -------
    Sketch
        What one tensor that holds all of theirs would have.

    Raises
    ------
    Error
        When there is none, or when they have not the same axis, number of channels and size of blocks.
    """
    parts = [sketch for sketch in sketches if sketch is not None]
    if not parts:
        raise Error("there is no sketch to merge", "invalid_argument")
    _same({(part.channels is not None, part.blocks is not None) for part in parts}, "kinds (channels, blocks)")
    channels = [part.channels for part in parts if part.channels is not None]
    blocks = [part.blocks for part in parts if part.blocks is not None]
    return Sketch(_merged_channels(channels) if channels else None, _merged_blocks(blocks) if blocks else None)
