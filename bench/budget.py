"""Measures from outside whether a budget is kept: a program's own time under `tensortap exec --budget 3%` to that of the program alone.

Each is a separate process. Nothing may come between the runs of one, since the budget counts time as the program spends it, so whole
processes take turns.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from children import report_of

OPTIONS = ["--budget", "3%"]
TURNS = (True, False, False, True) * 5
"""Captured or not: ten alternations."""
LONGEST_SECONDS = 600
CHILD = Path(__file__).with_name("budget_child.py")


@dataclass(frozen=True)
class Kept:
    """What a program with a budget costs."""

    cpu: float
    """CPU time to that of the program alone."""
    wall: float
    """The same of the time that passes."""
    turns: tuple[float, ...]
    """The ratio of CPU time in each pair of neighbours."""
    reported: float
    """What the dump says, as a ratio."""
    runs: int

    @property
    def distance(self) -> float:
        """How far the report is from what was measured."""
        return abs(self.cpu - self.reported)

    def cells(self) -> str:
        """Write a row of the page behind the program's name."""
        turns = ", ".join(f"{turn:.3f}" for turn in self.turns)
        return f"{self.runs:,} | {self.cpu:.3f} ({turns}) | {self.wall:.3f} | {self.reported:.3f} | {100 * self.distance:.1f}"


HEADING = ["| program | runs | CPU time (each pair) | time | reported | points between them |", "|---|---|---|---|---|---|"]


def reported_overhead(folder: Path) -> float:
    """Give what the dump below a folder says about its cost, as a ratio; NaN when it says nothing."""
    for manifest in sorted(folder.rglob("run.json")):
        measured = (json.loads(manifest.read_text()).get("governor") or {}).get("measured_overhead")
        if measured is not None:
            return 1.0 + float(measured)
    return math.nan


def run_once(program: list[str], captured: bool) -> tuple[dict[str, float], float]:
    """Run the program once; give its times and what the dump reports. Raises RuntimeError with what a failed one said."""
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-") as folder:
        exec_words = [os.environ["TENSORTAP_COMMAND"], "exec", "--quiet", "--out", f"{folder}/dump", *OPTIONS, "--"]
        times = report_of([*(exec_words if captured else []), *program], LONGEST_SECONDS)
        return times, reported_overhead(Path(folder)) if captured else math.nan


def combined(turns: list[tuple[bool, dict[str, float], float]], runs: int) -> Kept:
    """Put the turns of a program together: whether captured, its times, what was reported."""

    def total(captured: bool, clock: str) -> float:
        return sum(times[clock] for was_captured, times, _ in turns if was_captured == captured)

    pairs = [{captured: times["cpu"] for captured, times, _ in turns[first : first + 2]} for first in range(0, len(turns), 2)]
    return Kept(
        cpu=total(True, "cpu") / total(False, "cpu"),
        wall=total(True, "wall") / total(False, "wall"),
        turns=tuple(pair[True] / pair[False] for pair in pairs),
        reported=statistics.fmean(reported for captured, _, reported in turns if captured),
        runs=runs,
    )


def measure(python: str, words: list[str], runs: int) -> Kept:
    """Measure a program of budget_child.py over so many runs. Raises RuntimeError when it fails."""
    program = [python, str(CHILD), *words, str(runs)]
    return combined([(captured, *run_once(program, captured)) for captured in TURNS], runs)
