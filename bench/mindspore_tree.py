"""Measures MindSpore's tree beside the native layout and beside the floor, for bench/overhead.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from overhead_page import Cell

TREE = {"layout": "mindspore", "extras": {"graphs": True, "execution_order": True}}
# Heading -> the capture config.
MODES: dict[str, dict[str, Any]] = {
    "tensors, native": {"payload": "tensor"},
    "tensors, tree": {"payload": "tensor", **TREE},
    "tensors and inputs, tree": {"payload": "tensor", "slots": ["in", "out"], **TREE},
    "statistics, native": {"payload": "statistics"},
    "statistics, tree": {"payload": "statistics", **TREE, "layout_options": {"statistic_category": "max,min,l2norm"}},
}
MODELS = ("magika", "OCR rec 48x320")


def ratio_lines(table: dict[str, dict[str, Cell]]) -> list[str]:
    """Write the ratios to a plain run: a row for each model."""
    if not table:
        return ["Not measured in this run."]
    cases = list(next(iter(table.values())))
    lines = ["| model | " + " | ".join(table) + " | statistics, tree to native |", "|---|" + "---|" * (len(table) + 1)]
    worst = 0.0
    for case in cases:
        share = table["statistics, tree"][case].median / table["statistics, native"][case].median
        worst = max(worst, share)
        lines.append(f"| {case} | " + " | ".join(row[case].text() for row in table.values()) + f" | {share:.2f} |")
    reached = "not measured" if math.isnan(worst) else "yes" if worst <= 1.15 else "**no**"
    return [*lines, "", f"To reach: statistics in the tree ≤ 1.15 × native ones. Reached: {reached}."]


def file_lines(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Write the files a second of the tree and of the floor, by place."""
    lines = ["| where | size of a file | floor, files/s | tree, files/s | tree, MB/s | floor to tree |", "|---|---|---|---|---|---|"]
    worst = 0.0
    for place, benchmarks in results.items():
        rates = {tuple(str(one["name"]).split("/")[:2]): one for one in benchmarks if "files" in one}
        for size in sorted({int(name[1]) for name in rates}):
            floor, tree = rates.get(("floor", str(size))), rates.get(("tree", str(size)))
            if floor is None or tree is None:
                continue
            ratio = floor["files"] / tree["files"]
            worst = max(worst, ratio)
            speed = tree["bytes_per_second"] / 1e6
            lines.append(f"| {place} | {size >> 10} KiB | {floor['files']:,.0f} | {tree['files']:,.0f} | {speed:,.0f} | {ratio:.2f} |")
    if len(lines) == 2:
        return ["Not measured in this run."]
    return [*lines, "", f"To reach: ≤ 1.3 × the floor. Reached: {'yes' if worst <= 1.3 else '**no**'}."]


def open_lines(results: list[dict[str, Any]]) -> list[str]:
    """Write how long opening a tree takes."""
    times = {str(one["name"]).rsplit("/", 1)[-1]: float(one["real_time"]) for one in results}
    if "100000" not in times:
        return ["Opening 100,000 files was not measured in this run."]
    seconds = times["100000"] / 1e3
    reached = "yes" if seconds < 2 else "**no**"
    return [f"Opening 100,000 files, page cache warm: {seconds:.2f} s. To reach: < 2 s. Reached: {reached}."]


def page_lines(ratios: dict[str, dict[str, Cell]], files: dict[str, list[dict[str, Any]]], opening: list[dict[str, Any]]) -> list[str]:
    """Write the section of the page."""
    return [
        "## MindSpore's tree",
        "",
        "Ratios to a plain run, one thread. MindSpore's own dump of small models, releases 2.0 to 2.10 on two CPU cores, costs",
        "2.2 to 19 × in memory and 20 to 80 × on a disk.",
        "",
        *ratio_lines(ratios),
        "",
        "One file for each tensor; the floor is a loop that only opens, writes and closes the same files.",
        "",
        *file_lines(files),
        "",
        *open_lines(opening),
        "",
    ]


def measure_ratios(measure: Callable[[str, str, dict[str, Any]], Cell]) -> dict[str, dict[str, Cell]]:
    """Measure every mode on every model by measure(heading, model, config)."""
    return {heading: {model: measure(heading, model, config) for model in MODELS} for heading, config in MODES.items()}
