"""Tables and small pictures for notebooks: no script, of bounded size, readable on light and on dark pages."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Marks = NDArray[np.bool_]

_MOST_TEXT = 120
_MOST_BARS = 160
_BAR, _HEIGHT = 3, 60  # pixels: of a bar with its gap, of a picture
# Both have a contrast of 3 or more on white and on black.
_BLUE, _RED = "#3f7fbf", "#d7301f"
_NOT_FINITE = ("nan", "inf", "-inf")
_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")  # control characters, writing direction, halves of characters


def text(value: object) -> str:
    """Give a text that a page may hold: escaped, cut, without what is unseen or changes its surroundings."""
    given = str(value)
    cut = given if len(given) <= _MOST_TEXT else given[: _MOST_TEXT - 1] + "…"
    return html.escape("".join("\ufffd" if unicodedata.category(one) in _UNSEEN else one for one in cut))


def cell(value: object) -> str:
    """Give the content of a cell; NaN and Inf are red."""
    if value is None:
        return ""
    shown = text(f"{value:.4g}" if isinstance(value, float) else value)
    return f'<b style="color:{_RED}">{shown}</b>' if shown in _NOT_FINITE else shown


def table(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Give a table; an empty `head` is left out."""
    first = f"<thead><tr>{''.join(f'<th>{text(name)}</th>' for name in head)}</tr></thead>" if head else ""
    rows = ("".join(f'<td style="text-align:left">{cell(value)}</td>' for value in line) for line in lines)
    return f"<table>{first}<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def paragraph(*sentences: str) -> str:
    """Give one line for each sentence."""
    return "".join(f"<div>{text(sentence)}</div>" for sentence in sentences)


def _starts(count: int) -> NDArray[np.intp]:
    """Divide `count` values among the bars."""
    bars = min(count, _MOST_BARS)
    return np.arange(bars, dtype=np.intp) * count // max(bars, 1)


def _strokes(heights: Numbers, chosen: Marks) -> str:
    places = np.flatnonzero(chosen & (heights > 0))
    return "".join(f"M{_BAR * place + 1} {_HEIGHT}V{_HEIGHT - max(1, round(float(heights[place]) * (_HEIGHT - 2)))}" for place in places)


def _picture(heights: Numbers, marked: Marks, caption: str) -> str:
    width = _BAR * max(len(heights), 1)
    paths = "".join(
        f'<path d="{_strokes(heights, chosen)}" stroke="{colour}" stroke-width="{_BAR - 1}" fill="none"/>'
        for colour, chosen in ((_BLUE, ~marked), (_RED, marked))
        if chosen.any()
    )
    ground = f'<path d="M0 {_HEIGHT}H{width}" stroke="currentColor" stroke-opacity="0.4" fill="none"/>'
    return (
        f'<div><svg role="img" width="{width}" height="{_HEIGHT + 1}" viewBox="0 0 {width} {_HEIGHT + 1}">'
        f"<title>{text(caption)}</title>{ground}{paths}</svg>"
        f'<div style="font-size:smaller">{text(caption)}</div></div>'
    )


def bars_by_size(values: Numbers, marked: Marks, caption: str, *, mark: str) -> str:
    """Draw numbers of any size in their order, by their logarithms.

    Parameters
    ----------
    values : array of float64
        Not negative. Those that are zero or not finite have no bar.
    marked : array of bool
        Which are red; they have at least a small bar. A bar of several values has the height of the largest, and is red when one of
        them is.
    caption : str
        Describes the numbers.
    mark : str
        Describes the red ones.

    Returns
    -------
    str
        An SVG image with its caption; nothing when there is nothing to draw.
    """
    if not len(values):
        return ""
    starts = _starts(len(values))
    drawn = np.where(np.isfinite(values) & (values > 0), values, 0)
    largest = np.maximum.reduceat(drawn, starts)
    red = np.logical_or.reduceat(marked, starts)
    sizes = largest[largest > 0]
    heights = np.where(red, 0.1, 0.0)
    if sizes.size:
        low, high = float(np.log2(sizes.min())), float(np.log2(sizes.max()))
        with np.errstate(divide="ignore"):
            logs = np.log2(largest)
        share = (logs - low) / (high - low) if high > low else np.full(len(logs), 0.5)
        heights = np.where(largest > 0, 0.1 + 0.9 * share, heights)
        caption += f", {sizes.min():.3g} to {sizes.max():.3g}, logarithmic"
    elif not red.any():
        return ""
    return _picture(heights, red, f"{caption}; red: {mark}" if red.any() else caption)


def bars_by_exponent(counts: NDArray[np.uint64], lowest: int) -> str:
    """Draw how many values have which binary exponent.

    Parameters
    ----------
    counts : array
        A count for each exponent.
    lowest : int
        The first exponent.

    Returns
    -------
    str
        An SVG image with its caption; nothing when all counts are zero.
    """
    there = np.flatnonzero(counts)
    if not there.size:
        return ""
    first, last = int(there[0]), int(there[-1])
    sums = np.add.reduceat(counts[first : last + 1], _starts(last + 1 - first)).astype(np.float64)
    caption = f"values by binary exponent, 2^{first + lowest} to 2^{last + lowest}"
    return _picture(sums / sums.max(), np.zeros(len(sums), bool), caption)


def exponent_counts(values: NDArray[Any]) -> tuple[NDArray[np.uint64], int]:
    """Count the binary exponents of numbers that are finite and not zero: a count for each, and the first exponent."""
    wide = np.abs(values.astype(np.float64).ravel())
    exponents = np.frexp(wide[np.isfinite(wide) & (wide > 0)])[1] - 1
    lowest = int(exponents.min()) if exponents.size else 0
    return np.bincount(exponents - lowest).astype(np.uint64), lowest
