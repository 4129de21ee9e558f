"""Turns what bench/overhead.py measured into the page docs/overhead.md."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import budget
from bars import ONNX_BARS, Verdict, geometric_mean
from bars import table as bar_table
from machine import Load, machine_class

# The figure to reach and how it is judged, by heading of the big table.
TARGETS: dict[str, tuple[str, Callable[[list[float]], bool]]] = {
    "nothing selected": ("≤ 1.02 on each", lambda cells: max(cells) <= 1.02),
    "minimal statistics": ("≤ 1.08 in the geometric mean", lambda cells: geometric_mean(cells) <= 1.08),
    "full statistics": ("≤ 1.12 in the geometric mean", lambda cells: geometric_mean(cells) <= ONNX_BARS["models"].limit),
    "budget 3 %": ("≤ 1.03 on each", lambda cells: max(cells) <= 1.03),
    "overflow watch": ("≤ 1.15 on each", lambda cells: max(cells) <= ONNX_BARS["watch cls"].limit),
}
NOTES = Path(__file__).with_name("overhead_notes.md")


@dataclass(frozen=True)
class Cell:
    """One figure: a median, and the lowest and highest quartile."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: list[float], quartiles: list[float]) -> Cell:
        """Summarise the medians of some processes and their quartiles; NaN when there are none."""
        if not values:
            return Cell(math.nan, math.nan, math.nan)
        return Cell(statistics.median(values), min(quartiles), max(quartiles))

    @staticmethod
    def of_pairs(ratios: list[float]) -> Cell:
        """Summarise the ratios of the pairs of one process."""
        quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios
        return Cell.of([statistics.median(ratios)], [quartiles[0], quartiles[-1]])

    def text(self) -> str:
        """Give the figure as the page has it."""
        if math.isnan(self.median):
            return "–"
        if self.high - self.low < 0.005:
            return f"{self.median:.2f}"
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


@dataclass(frozen=True)
class Page:
    """Everything that was measured."""

    ratios: dict[int, dict[str, dict[str, Cell]]]
    budgets: dict[str, budget.Kept]
    memory: dict[str, dict[str, float | None]]
    writing: dict[str, float]
    numpy: dict[str, float]
    kernels: list[dict[str, Any]]
    opening: dict[str, float]
    mindspore: list[str]
    problems: list[str]
    processes: int


def paragraph(text: str) -> list[str]:
    """Wrap a paragraph of a page."""
    return textwrap.wrap(text, 140, break_long_words=False, break_on_hyphens=False)


def ratio_table(table: dict[str, dict[str, Cell]]) -> list[str]:
    """Write the table of one thread count: a row for each model."""
    headings = list(table)
    cases = list(next(iter(table.values())))
    lines = ["| model | " + " | ".join(headings) + " |", "|---|" + "---|" * len(headings)]
    for case in cases:
        lines.append(f"| {case} | " + " | ".join(table[heading][case].text() for heading in headings) + " |")
    means = [geometric_mean([cell.median for cell in table[heading].values()]) for heading in headings]
    lines.append("| **geometric mean** | " + " | ".join("–" if math.isnan(mean) else f"**{mean:.2f}**" for mean in means) + " |")
    lines.append("| to reach | " + " | ".join(TARGETS[heading][0] if heading in TARGETS else "" for heading in headings) + " |")
    lines.append("| reached | " + " | ".join(verdict(heading, table[heading]) for heading in headings) + " |")
    return lines


def verdict(heading: str, cells: dict[str, Cell]) -> str:
    """Say whether a column reached its figure."""
    values = [cell.median for cell in cells.values()]
    if heading not in TARGETS:
        return ""
    if any(math.isnan(value) for value in values):
        return "not measured"
    return "yes" if TARGETS[heading][1](values) else "**no**"


def memory_table(memory: dict[str, dict[str, float | None]]) -> list[str]:
    """Write the table of peak memory."""
    lines = [
        "| model | plain | statistics | written | ratio, statistics | Python session | all tensors as outputs |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios = []

    def megabytes(value: float | None) -> str:
        return "–" if value is None else f"{value / 1e6:.0f} MB"

    for case, row in memory.items():
        plain, captured = row["plain"], row["statistics"]
        ratio = captured / plain if plain and captured else math.nan
        ratios.append(ratio)
        shown = "–" if math.isnan(ratio) else f"{ratio:.2f}"
        cells = [megabytes(row[name]) for name in ("plain", "statistics", "written")]
        peers = [megabytes(row[name]) for name in ("plain session", "all tensors as outputs")]
        lines.append(f"| {case} | {' | '.join(cells)} | {shown} | {' | '.join(peers)} |")
    reached = "not measured" if any(map(math.isnan, ratios)) else "yes" if max(ratios) <= 1.15 else "**no**"
    lines += ["", f"To reach: ≤ 1.15 × plain on each. Reached: {reached}."]
    return lines


def writing_lines(writing: dict[str, float]) -> list[str]:
    """Write the comparison with direct I/O."""
    share = writing["dump"] / writing["direct"]
    if math.isnan(share):
        return ["Not measured in this run."]
    verdict_text = "yes" if share >= ONNX_BARS["disk"].limit else "**no**"
    return paragraph(
        f"A dump of {writing['bytes'] / 1e9:.1f} GB, model runs and the last sync to the disk included: {writing['dump'] / 1e6:.0f} MB/s. "
        f"The same number of bytes by `dd` with direct I/O, before and after: {writing['direct'] / 1e6:.0f} MB/s. Share: {share:.0%}. "
        f"To reach: ≥ 75 %. Reached: {verdict_text}."
    )


def budget_lines(budgets: dict[str, budget.Kept]) -> list[str]:
    """Write what programs with a budget cost; the ONNX page and PyTorch's have the same table."""
    if not budgets:
        return ["Not measured in this run."]
    return [
        *paragraph(
            "A Python program under `tensortap exec --budget 3%`, to the program alone. Whole processes take turns: captured, plain, "
            "plain, captured."
        ),
        "",
        *budget.HEADING,
        *(f"| {name} | {kept.cells()} |" for name, kept in budgets.items()),
    ]


def problem_lines(problems: list[str]) -> list[str]:
    """Write what could not be measured: a line for each, with the last line of its reason."""
    return [f"- {problem.splitlines()[-1][:138]}" for problem in problems]


def kernel_table(results: list[dict[str, Any]]) -> list[str]:
    """Write the kernels' speeds: a row for each kernel, a column for each size, beside reading only and copying."""
    rates: dict[str, dict[int, float]] = {}
    for result in results:
        name, _, size = str(result["name"]).rpartition("/")
        if "bytes_per_second" in result and size.isdigit():
            rates.setdefault(name, {})[int(size)] = result["bytes_per_second"] / 1e9
    if "read_only" not in rates:
        return ["Not measured in this run."]
    sizes = sorted(rates["read_only"])
    largest = sizes[-1]
    heading = [f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB" for size in sizes]
    lines = [f"| GB/s, one thread | {' | '.join(heading)} | of reading only, {heading[-1]} |", "|---|" + "---|" * (len(sizes) + 1)]
    for name, row in rates.items():
        share = row.get(largest, math.nan) / rates["read_only"][largest]
        speeds = [f"{row[size]:.1f}" if size in row else "–" for size in sizes]
        lines.append(f"| {name.replace('/', ', ')} | {' | '.join(speeds)} | {share:.0%} |")
    wanted = [f"{dtype}/minimal" for dtype in ("float32", "bfloat16", "int8", "int32")]
    shares = [rates[name][largest] / rates["read_only"][largest] for name in wanted if name in rates]
    reached = "not measured" if len(shares) < len(wanted) else "yes" if min(shares) >= 0.8 else "**no**"
    return [*lines, "", f"To reach: ≥ 80 % of reading only in memory for f32, bf16, int8 and int32 (minimal set). Reached: {reached}."]


def opening_lines(opening: dict[str, float]) -> list[str]:
    """Write how long the command takes on a million records."""
    if not opening:
        return ["Not measured in this run."]
    lines = ["The whole command, start and end of the process included, page cache warm, best of five. To reach: < 1 s.", ""]
    lines += ["| command | seconds | reached |", "|---|---|---|"]
    for what, seconds in opening.items():
        lines.append(f"| `ls`, {what} | {seconds:.2f} | {'yes' if seconds < 1 else '**no**'} |")
    return lines


def write_page(page: Page, found: list[Verdict], load: Load, target: Path) -> None:
    """Write the page."""
    lines = [
        "# What capture costs",
        "",
        "Made by `./dev bench`; the figures are not edited. Machine: " + machine_class() + ".",
        "",
        *paragraph(
            "Ratios of the time of a run to the untouched session's, in one process, bursts of both in ABBA order. Each figure is the "
            f"median of {page.processes} process{'es' if page.processes > 1 else ''}, with the lowest and highest quartile in brackets. "
            "1.00 is free. A figure that falls short is published as it is; the reasons are at the end. Dumps go to a file "
            "system in memory."
        ),
        "",
        *paragraph(load.sentence()),
        "",
        "## The bars",
        "",
        "With one thread.",
        "",
        *bar_table(found),
        "",
    ]
    for threads, table in page.ratios.items():
        lines += [f"## {threads} thread{'s' if threads > 1 else ''}", "", *ratio_table(table), ""]
    lines += ["## A budget of 3 %, from outside", "", *budget_lines(page.budgets), ""]
    lines += ["## Peak memory", "", "Highest resident memory of the process, less its memory before the model was loaded.", ""]
    lines += [*memory_table(page.memory), "", "## Writing more than the page cache should hold", "", *writing_lines(page.writing), ""]
    lines += ["## Statistics kernels", "", *kernel_table(page.kernels), ""]
    rates = ", ".join(f"{name} {rate / 1e9:.2f} GB/s" for name, rate in page.numpy.items())
    lines += [f"NumPy in the same run, 256 MB, one call for each of the minimal statistics: {rates}.", ""]
    lines += ["## Opening a dump of a million records", "", *opening_lines(page.opening), ""]
    lines += page.mindspore
    if page.problems:
        lines += ["## What could not be measured", "", *problem_lines(page.problems), ""]
    if NOTES.exists():
        lines += [NOTES.read_text().rstrip(), ""]
    target.write_text("\n".join(lines))
