"""The bars: what capture may cost, and whether a run of the bench kept to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bar:
    """What one figure has to reach."""

    what: str
    limit: float
    beyond: float | None = None
    """What would be better still."""
    at_least: bool = False
    """Whether the figure has to be at least the limit; at most otherwise."""
    unit: str = "ratio"
    """How it is written: "ratio", "share" (percent) or "points" (of a percent)."""

    def keeps(self, value: float, limit: float) -> bool:
        """Say whether a figure is on the right side of a limit."""
        return value >= limit if self.at_least else value <= limit

    def text(self, value: float, digits: int = 2) -> str:
        """Write a figure in the bar's unit."""
        if self.unit == "ratio":
            return f"{value:.{digits}f}"
        return f"{100 * value:.{digits - 1}f} {'%' if self.unit == 'share' else 'points'}"

    def limit_text(self) -> str:
        """Write the limit: "≤ 1.8"."""
        number = f"{self.limit:g}" if self.unit == "ratio" else f"{100 * self.limit:g} {'%' if self.unit == 'share' else 'point'}"
        return f"{'≥' if self.at_least else '≤'} {number}"


@dataclass(frozen=True)
class Verdict:
    """One bar and what was measured."""

    bar: Bar
    value: float
    """NaN where nothing was measured."""
    note: str = ""
    """What the figure leaves out."""

    @property
    def holds(self) -> bool | None:
        """Whether the bar holds; None where nothing was measured."""
        return None if math.isnan(self.value) else self.bar.keeps(self.value, self.bar.limit)

    def figure(self) -> str:
        """Write the figure, with a further digit where it would look like the limit and is not."""
        short = self.bar.text(self.value)
        return self.bar.text(self.value, 3) if short == self.bar.text(self.bar.limit) and self.value != self.bar.limit else short

    def result(self) -> str:
        """Say the figure and whether the bar holds: "1.74, holds"."""
        if self.holds is None:
            return "not measured" + (f" ({self.note})" if self.note else "")
        parts = [self.figure(), "holds" if self.holds else "falls short"]
        if self.bar.beyond is not None and self.bar.keeps(self.value, self.bar.beyond):
            parts.append(f"beyond {self.bar.text(self.bar.beyond)} even")
        return ", ".join(parts) + (f" ({self.note})" if self.note else "")

    def text(self) -> str:
        """Say it in a line: "gpt_tiny, statistics: bar ≤ 1.8: 1.74, holds"."""
        return f"{self.bar.what}: bar {self.bar.limit_text()}: {self.result()}"

    def as_json(self) -> dict[str, Any]:
        """Give it as an object."""
        value = None if math.isnan(self.value) else self.value
        bar = {"what": self.bar.what, "limit": self.bar.limit, "at_least": self.bar.at_least, "beyond": self.bar.beyond}
        return {**bar, "value": value, "holds": self.holds, "note": self.note}


# By the key that the halves of the bench know the figure by.
ONNX_BARS: dict[str, Bar] = {
    "cls": Bar("OCR cls, full statistics", 1.55, 1.3),
    "models": Bar("nine ONNX models, full statistics, geometric mean", 1.12, 1.08),
    "budget cls": Bar("budget of 3 %, OCR cls, from outside", 1.03),
    "reported cls": Bar("budget of 3 %, OCR cls, distance of the reported figure", 0.01, unit="points"),
    "budget magika": Bar("budget of 3 %, magika, from outside", 1.03),
    "reported magika": Bar("budget of 3 %, magika, distance of the reported figure", 0.01, unit="points"),
    "watch cls": Bar("overflow watch, OCR cls", 1.15, 1.05),
    "watch det": Bar("overflow watch, OCR det", 1.15, 1.05),
    "watch rec": Bar("overflow watch, OCR rec", 1.15, 1.05),
    "written": Bar("everything written, six ONNX models in memory (tmpfs), geometric mean", 1.45),
    "disk": Bar("4 GB to the disk, share of direct I/O", 0.75, 0.8, at_least=True, unit="share"),
    "memory": Bar("peak memory with statistics, the worst of the ONNX models", 1.15, 1.1),
}
TORCH_BARS: dict[str, Bar] = {
    "gpt_tiny": Bar("gpt_tiny, statistics of inputs and outputs", 1.8, 1.6),
    "mlp": Bar("mlp, statistics of inputs and outputs", 1.6, 1.45),
    "cnn": Bar("cnn, statistics of inputs and outputs", 1.08, 1.05),
    "block": Bar("block, statistics of inputs and outputs", 1.08, 1.05),
    "llama": Bar("Llama of width 128, statistics of inputs and outputs", 1.35, 1.2),
    "nothing": Bar("gpt_tiny, nothing selected", 1.38, 1.2),
    "outputs": Bar("gpt_tiny, statistics of outputs", 1.5),
    "budget mlp": Bar("budget of 3 %, mlp, from outside", 1.03),
    "reported mlp": Bar("budget of 3 %, mlp, distance of the reported figure", 0.01, unit="points"),
    "memory": Bar("peak memory with statistics, the worst of the PyTorch programs", 1.15, 1.1),
}


def verdicts(bars: Mapping[str, Bar], figures: Mapping[str, float], notes: Mapping[str, str] | None = None) -> list[Verdict]:
    """Compare figures with bars, in the order of the bars; a missing figure was not measured."""
    unknown = figures.keys() - bars.keys()
    if unknown:
        raise KeyError(f"no such bar: {', '.join(sorted(unknown))}")
    return [Verdict(bar, figures.get(key, math.nan), (notes or {}).get(key, "")) for key, bar in bars.items()]


def summary(found: Iterable[Verdict]) -> str:
    """Count the bars that hold."""
    held = [verdict.holds for verdict in found]
    parts = [f"{held.count(True)} of {len(held)} bars hold", f"{held.count(False)} fall short"]
    if None in held:
        parts.append(f"{held.count(None)} were not measured")
    return ", ".join(parts)


def table(found: Iterable[Verdict]) -> list[str]:
    """Write the bars as a page has them."""
    lines = ["| what | bar | measured |", "|---|---|---|"]
    for verdict in found:
        result = verdict.result().replace("falls short", "**falls short**")
        lines.append(f"| {verdict.bar.what} | {verdict.bar.limit_text()} | {result} |")
    return lines


def geometric_mean(values: Iterable[float]) -> float:
    """Give the geometric mean of the values that were measured; NaN when there are none."""
    known = [value for value in values if not math.isnan(value)]
    return math.exp(sum(math.log(value) for value in known) / len(known)) if known else math.nan


def worst(values: Iterable[float]) -> float:
    """Give the highest of the values that were measured; NaN when there are none."""
    return max((value for value in values if not math.isnan(value)), default=math.nan)
