"""Measures what the dump of compiled graphs costs and writes docs/overhead_torchair.md.

usage: torchair_overhead.py [--pairs N] [--output FILE]; TENSORTAP_TEST_PYTHON, whose torch is measured, and PYTHONPATH with the package as
./dev sets them.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from children import report_of
from machine import LoadMeter, machine_class
from overhead_page import Cell, paragraph
from plan import say
from torch_overhead import torch_release

ROOT = Path(__file__).resolve().parent.parent
CHILD = Path(__file__).with_name("torchair_child.py")
PROGRAMS = ("mlp", "block")
LONGEST_SECONDS = 600
FEW_PAIRS = 3  # of what writes much, or takes long
MODES: dict[str, str] = {
    "no dump": "{}",
    "a step that is not chosen": json.dumps({"enable_dump": True, "dump_step": "1000000"}),
    "statistics of inputs and outputs": json.dumps({"enable_dump": True, "dump_data": "stats"}),
    "tensors": json.dumps({"enable_dump": True}),
    "TorchDispatchMode": "TorchDispatchMode",
    "DebugMode, norms": "DebugMode, norms",
}
TO_REACH = {
    ("no dump", "mlp"): 1.0,
    ("no dump", "block"): 1.0,
    ("a step that is not chosen", "mlp"): 1.02,
    ("a step that is not chosen", "block"): 1.02,
    ("statistics of inputs and outputs", "mlp"): 1.6,
    ("statistics of inputs and outputs", "block"): 1.08,
    ("tensors", "block"): 2.5,
}


def measure(program: str, mode: str, pairs: int) -> tuple[Cell, float]:
    """Measure one figure in a separate process: the ratio, and the CPU time of a plain step in ms."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-", dir=memory if memory.is_dir() else None) as folder:
        words = [os.environ["TENSORTAP_TEST_PYTHON"], str(CHILD), program, MODES[mode], str(pairs), folder]
        report = report_of(words, LONGEST_SECONDS, {"TMPDIR": folder})
    return Cell.of_pairs(report["ratios"]), float(report["step_ms"])


def verdict(mode: str, program: str, cell: Cell) -> str:
    """Say whether a figure reaches what it has to; noise of 0.02 is none of it where nothing may be added."""
    limit = TO_REACH.get((mode, program))
    if limit is None:
        return ""
    reached = cell.low <= 1.0 <= cell.high or cell.median <= 1.02 if limit == 1.0 else cell.median <= limit
    return f"≤ {limit:.2f}: {'yes' if reached else '**no**'}"


def main() -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="./dev bench --torchair", description="Measure what the dump of compiled graphs costs.")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of bursts for each figure (9)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/overhead_torchair.md", metavar="FILE", help="where the page goes")
    arguments = parser.parse_args()
    meter = LoadMeter()
    lines = ["| | " + " | ".join(f"{program} | to reach" for program in PROGRAMS) + " |", "|---|" + "---|" * (2 * len(PROGRAMS))]
    milliseconds = {}
    for mode in MODES:
        cells = []
        for program in PROGRAMS:
            say(f"{program}, {mode}")
            pairs = arguments.pairs if mode.startswith(("no dump", "a step", "statistics")) else min(arguments.pairs, FEW_PAIRS)
            cell, milliseconds[program] = measure(program, mode, pairs)
            cells += [cell.text(), verdict(mode, program, cell)]
        lines.append(f"| {mode} | " + " | ".join(cells) + " |")
    steps = " and ".join(f"{milliseconds[program]:.1f} ms of `{program}`" for program in PROGRAMS)
    text = [
        "# What a dump of compiled graphs costs",
        "",
        *paragraph(
            f"Made by `./dev bench --torchair`; the figures are not edited. Machine: {machine_class()}. torch {torch_release()}, CPU."
        ),
        "",
        *paragraph(
            "CPU time of a step of a model that is compiled with `tensortap.torchair` and a dump, to the same model compiled without "
            "one, both in one process: the median of pairs of bursts in ABBA order, with the quartiles. A step is a forward and a "
            f"backward pass with one thread, without an optimizer; without a dump it took {steps}. Dumps go to a file system in memory. "
            "`TorchDispatchMode` computes min, max, mean and norm of each tensor, `DebugMode` a norm, of the operators of the same "
            "compiled model."
        ),
        "",
        *paragraph(meter.load().sentence()),
        "",
        *lines,
        "",
        *paragraph(
            "Every file of the tree is complete when a call returns, so each step waits for its files: one for each operator. "
            "A step of a few operators makes dozens of files, and creating them takes longer than computing the step. With tensors, "
            "a step of `block` is some 140 MB of files."
        ),
    ]
    arguments.output.write_text("\n".join(text) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
