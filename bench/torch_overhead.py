"""Measures what the capture of PyTorch programs costs, for docs/overhead_pytorch.md; `./dev bench` calls it through bench.py.

CPU time of a step, with the capture on to the same process with it off, bursts of both in ABBA order; the median of the pairs. Other tools
are measured in the same way, on the same programs.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import budget
from bars import worst
from children import report_of
from overhead_page import Cell
from plan import Plan

CHILD = Path(__file__).with_name("torch_child.py")
PROGRAMS = ("mlp", "gpt_tiny", "cnn", "block", "llama", "gpt2")
STATISTICS = "statistics of inputs and outputs"
MODES: dict[str, list[str]] = {
    STATISTICS: [],
    "statistics of outputs": ["--slots", "out"],
    "nothing selected": ["--ops", "no such op"],
    "budget 3 %": ["--budget", "3%"],
    "overflow watch": ["--config", "OVERFLOW"],
    "everything written": ["--full"],
}
# The config that replaces its name above.
OVERFLOW: dict[str, object] = {"trigger": "overflow", "payload": "full", "slots": ["in", "out"]}
# A budget is kept over many steps.
BUDGET_BURST = 10
# Whole dumps fill the disk, some gigabytes for each pair of the largest program, and bursts of a budget are long.
FEW_PAIRS = 3
MEMORY_RUNS = 3
LONGEST_SECONDS = 600  # of a child; msprobe and the largest program take minutes
PEERS = (
    "TorchDispatchMode",
    "DebugMode, calls",
    "DebugMode, norms",
    "ExecutionTraceObserver",
    "torch.profiler",
    "module hooks",
    "msprobe L0",
    "msprobe L1",
    "msprobe mix",
)
# What a quick run measures: a program's modes.
QUICK_MODES = {
    "gpt_tiny": (STATISTICS, "statistics of outputs", "nothing selected"),
    "mlp": (STATISTICS,),
    "cnn": (STATISTICS,),
    "block": (STATISTICS,),
    "llama": (STATISTICS,),
}
QUICK_PEERS = ("TorchDispatchMode", "DebugMode, norms", "ExecutionTraceObserver", "torch.profiler", "module hooks")

Table = dict[str, dict[str, Cell]]
"""Heading -> program -> figure."""


@dataclass
class TorchPage:
    """Everything that was measured."""

    release: str
    ratios: dict[int, Table] = field(default_factory=dict)
    budgets: dict[str, budget.Kept] = field(default_factory=dict)
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Peaks in KiB: captured, plain."""
    peers: Table = field(default_factory=dict)


def python() -> str:
    """Give the Python that has torch."""
    return os.environ["TENSORTAP_TEST_PYTHON"]


def torch_release() -> str:
    """Ask which torch is measured."""
    words = [python(), "-c", "import importlib.metadata as m; print(m.version('torch').split('+')[0])"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def run_child(program: str, threads: int, pairs: int, options: list[str] | None, peer: str = "") -> dict[str, Any]:
    """Run one process, captured unless `options` is None, and return what it printed. Raises RuntimeError when it fails."""
    length = BUDGET_BURST if options is not None and "--budget" in options else 1
    words = [python(), str(CHILD), program, str(threads), str(pairs), str(length), *([peer] if peer else [])]
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-") as folder:
        if options is not None:
            command = os.environ["TENSORTAP_COMMAND"]
            config = Path(folder) / "overflow.json"
            config.write_text(json.dumps(OVERFLOW))
            options = [str(config) if option == "OVERFLOW" else option for option in options]
            words = [command, "exec", "--quiet", "--out", f"{folder}/dump", "--keep-free", "0", *options, "--", *words]
        # Files that tools write to the default folder are removed with this one.
        return report_of(words, LONGEST_SECONDS, {"TMPDIR": folder})


def ratio_cell(plan: Plan, what: str, measure: Callable[[], dict[str, Any]]) -> Cell:
    """Measure the pairs of one process; a failure is a problem of the run and leaves the cell empty."""
    if not plan.begins(what):
        return Cell.of([], [])
    try:
        ratios = measure()["ratios"]
    except RuntimeError as error:
        plan.problems.append(f"{what}: {error}")
        return Cell.of([], [])
    return Cell.of_pairs(ratios)


def programs_of(plan: Plan, mode: str) -> Iterable[str]:
    """List the programs that a mode is measured on."""
    return [program for program in PROGRAMS if not plan.quick or mode in QUICK_MODES.get(program, ())]


def measure_ratios(plan: Plan, threads: int) -> Table:
    """Measure all programs with so many threads."""
    table: Table = {}
    for mode, options in MODES.items():
        pairs = min(plan.pairs, FEW_PAIRS) if mode in ("everything written", "budget 3 %") else plan.pairs
        cells = {
            program: ratio_cell(plan, f"{program}, {mode}, {threads} thread(s)", partial(run_child, program, threads, pairs, options))
            for program in programs_of(plan, mode)
        }
        if cells:
            table[mode] = cells
    return table


def measure_peers(plan: Plan) -> Table:
    """Measure what other tools cost the programs, with one thread."""
    pairs = 1 if plan.quick else max(1, plan.pairs // 3)
    return {
        peer: {
            program: ratio_cell(plan, f"{program}, {peer}", partial(run_child, program, 1, pairs, None, peer))
            for program in (("gpt_tiny",) if plan.quick else PROGRAMS)
        }
        for peer in (QUICK_PEERS if plan.quick else PEERS)
    }


def measure_memory(plan: Plan) -> dict[str, tuple[float, float]]:
    """Compare the peak memory of captured and plain processes that run equally many steps: the medians of some runs of each."""
    found = {}
    for program in () if plan.quick else PROGRAMS:
        plan.begins(f"{program}, peak memory")
        peaks: dict[bool, list[float]] = {True: [], False: []}
        try:
            for captured in (True, False) * MEMORY_RUNS:
                peaks[captured].append(float(run_child(program, 1, 0, [] if captured else None)["peak_kib"]))
        except RuntimeError as error:
            plan.problems.append(f"{program}, peak memory: {error}")
            continue
        found[program] = statistics.median(peaks[True]), statistics.median(peaks[False])
    return found


def measure_budgets(plan: Plan) -> dict[str, budget.Kept]:
    """Measure from outside whether the budget is kept."""
    if not plan.begins("mlp, budget of 3 % from outside"):
        return {}
    try:
        return {"mlp": budget.measure(python(), ["torch", "mlp"], plan.budget_runs)}
    except RuntimeError as error:
        plan.problems.append(f"mlp, budget from outside: {error}")
        return {}


def torch_figures(page: TorchPage) -> dict[str, float]:
    """Give what the bars judge, by their keys."""

    def median(mode: str, program: str) -> float:
        row = page.ratios[1].get(mode, {})
        return row[program].median if program in row else math.nan

    figures = {program: median(STATISTICS, program) for program in ("gpt_tiny", "mlp", "cnn", "block", "llama")}
    figures["nothing"] = median("nothing selected", "gpt_tiny")
    figures["outputs"] = median("statistics of outputs", "gpt_tiny")
    for name, kept in page.budgets.items():
        figures |= {f"budget {name}": kept.cpu, f"reported {name}": kept.distance}
    figures["memory"] = worst(captured / plain for captured, plain in page.memory.values())
    return figures


def measure(plan: Plan) -> TorchPage:
    """Measure the PyTorch half; the bars first, so that a quick run has them."""
    page = TorchPage(torch_release())
    page.ratios[1] = measure_ratios(plan, 1)
    page.budgets = measure_budgets(plan)
    page.memory = measure_memory(plan)
    page.peers = measure_peers(plan)
    for threads in plan.threads[1:]:
        page.ratios[threads] = measure_ratios(plan, threads)
    return page
