"""Turns what bench/torch_overhead.py measured into the page docs/overhead_pytorch.md."""

from __future__ import annotations

import math
from pathlib import Path

from bars import TORCH_BARS, Verdict
from bars import table as bar_table
from machine import Load, machine_class
from overhead_page import budget_lines, paragraph, problem_lines
from torch_overhead import PROGRAMS, STATISTICS, Table, TorchPage

NOTES = Path(__file__).with_name("torch_overhead_notes.md")
UNKNOWN = math.nan
# What was to be reached, for each program.
TO_REACH: dict[str, dict[str, float]] = {
    STATISTICS: {program: TORCH_BARS[program].limit for program in ("mlp", "gpt_tiny", "cnn", "block", "llama")} | {"gpt2": 1.04},
    "statistics of outputs": {"gpt_tiny": TORCH_BARS["outputs"].limit},
    "nothing selected": {"mlp": 1.3, "gpt_tiny": TORCH_BARS["nothing"].limit, "cnn": 1.03, "block": 1.03, "gpt2": 1.03},
    "budget 3 %": dict.fromkeys(PROGRAMS, 1.03),
    "overflow watch": {"cnn": 1.05, "block": 1.05, "gpt2": 1.05},
    "everything written": {"cnn": 1.7, "block": 1.9, "gpt2": 2.0},
}


def reached(limit: float, median: float) -> str:
    """Say whether a figure was reached; "" where none was asked for or measured."""
    if math.isnan(limit) or math.isnan(median):
        return ""
    return f"≤ {limit}: {'yes' if median <= limit else '**no**'}"


def ratio_lines(table: Table) -> list[str]:
    """Write a table of modes, with what was to be reached."""
    lines = ["| " + " | ".join(["", *PROGRAMS]) + " |", "|---" * (len(PROGRAMS) + 1) + "|"]
    for mode, cells in table.items():
        lines.append(f"| {mode} | " + " | ".join(cells[program].text() if program in cells else "–" for program in PROGRAMS) + " |")
        limits = TO_REACH.get(mode, {})
        verdicts = [reached(limits.get(program, UNKNOWN), cells[program].median) if program in cells else "" for program in PROGRAMS]
        if any(verdicts):
            lines.append("| to reach | " + " | ".join(verdicts) + " |")
    return lines


def memory_lines(memory: dict[str, tuple[float, float]]) -> list[str]:
    """Write the peak memory."""
    if not memory:
        return ["Not measured in this run."]
    lines = ["| " + " | ".join(["", *memory]) + " |", "|---" * (len(memory) + 1) + "|"]
    cells = [f"{captured / plain:.3f} (of {plain / 1024:.0f} MiB)" for captured, plain in memory.values()]
    return [*lines, "| statistics, to plain | " + " | ".join(cells) + " |"]


def write_page(page: TorchPage, found: list[Verdict], load: Load, problems: list[str], target: Path) -> None:
    """Write the page."""
    lines = [
        "# What capture costs a PyTorch program",
        "",
        *paragraph(f"Made by `./dev bench`; the figures are not edited. Machine: {machine_class()}. torch {page.release}, CPU."),
        "",
        "CPU time of a step with the capture on, to the same process with it switched off: the median of pairs of bursts in ABBA",
        "order, with the quartiles.",
        "",
        *paragraph(load.sentence()),
        "",
        "## The bars",
        "",
        "With one thread.",
        "",
        *bar_table(found),
    ]
    for threads, table in page.ratios.items():
        lines += ["", f"## {threads} thread{'s' if threads > 1 else ''}", "", *ratio_lines(table)]
    lines += ["", "## A budget of 3 %, from outside", "", *budget_lines(page.budgets)]
    lines += ["", "## Other tools, one thread", "", *ratio_lines(page.peers)]
    lines += ["", "## Peak memory", "", *memory_lines(page.memory)]
    if problems:
        lines += ["", "## What could not be measured", "", *problem_lines(problems)]
    target.write_text("\n".join([*lines, "", NOTES.read_text().strip()]) + "\n")
