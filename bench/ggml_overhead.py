"""Measures what the capture of programs over ggml costs and prints the table of docs/ggml.md.

usage: ggml_overhead.py [--rounds N] [--model FILE]; TENSORTAP_COMMAND and TENSORTAP_TEST_GGML as ./dev sets them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from children import report_of
from machine import LoadMeter, machine_class
from plan import say

ROOT = Path(__file__).resolve().parent.parent
CHILD = ROOT / "tests/programs/ggml_measured.py"
LONGEST_SECONDS = 600
MODES: dict[str, tuple[str, ...]] = {
    "`--idle`": ("--idle",),
    "statistics of `l_out-*` alone": ("--ops", "^l_out-"),
    "statistics of everything": (),
}
WORKS = ("prompts", "tokens")
# The sizes of the made model: 8 layers, 512 wide.
MAKES_MODEL = """
import sys
sys.path.insert(0, sys.argv[1])
import ggml_model
ggml_model.WIDTH, ggml_model.HIDDEN, ggml_model.LAYERS, ggml_model.HEADS, ggml_model.KEY_HEADS = 512, 1376, 8, 8, 4
sys.argv = ["ggml_model.py", sys.argv[2], "f16"]
ggml_model.main()
"""


def measure(model: Path, threads: int, mode: str | None, folder: Path) -> dict[str, Any]:
    """Run the program, plain without a mode."""
    program = [os.environ["TENSORTAP_TEST_GGML"], str(CHILD), str(model), str(threads)]
    if mode is None:
        return report_of(program, LONGEST_SECONDS)
    with tempfile.TemporaryDirectory(dir=folder) as dump:
        before = [os.environ["TENSORTAP_COMMAND"], "exec", "--no-torch", "--quiet", "--out", dump]
        return report_of([*before, *MODES[mode], "--", *program], LONGEST_SECONDS)


def ratios_of(model: Path, threads: int, rounds: int, folder: Path) -> dict[tuple[str, str], list[float]]:
    """Give the ratio to the plain program in each round, by mode and work. A round goes through the modes forth and back."""
    ratios: dict[tuple[str, str], list[float]] = {(mode, work): [] for mode in MODES for work in WORKS}
    clock = "process" if threads == 1 else "clock"
    order: list[str | None] = [None, *MODES]
    for number in range(rounds):
        say(f"{model.name}, {threads} threads, round {number + 1} of {rounds}")
        sums: dict[tuple[str | None, str], float] = {}
        for mode in (*order, *reversed(order)):
            report = measure(model, threads, mode, folder)
            for work in WORKS:
                sums[mode, work] = sums.get((mode, work), 0) + report[work][clock]
        for mode, work in ratios:
            ratios[mode, work].append(sums[mode, work] / sums[None, work])
    return ratios


def cell(values: list[float]) -> str:
    """Give the median with the least and the largest."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="./dev bench --ggml", description="Measure what the capture of programs over ggml costs.")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, each of two runs for a figure (5)")
    parser.add_argument("--model", type=Path, metavar="FILE", help="another GGUF file next to the made model")
    arguments = parser.parse_args()
    meter = LoadMeter()
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-") as name:
        folder = Path(name)
        made = folder / "made.gguf"
        words = [os.environ["TENSORTAP_TEST_GGML"], "-c", MAKES_MODEL, str(ROOT / "tests/programs"), str(made)]
        subprocess.run(words, check=True)
        print("| model | threads | capture | 3 prompts | 48 tokens, one by one |\n|---|--:|---|--:|--:|")
        for model in (made, arguments.model):
            for threads in (1, 2) if model is not None else ():
                ratios = ratios_of(model, threads, arguments.rounds, folder)
                for mode in MODES:
                    cells = " | ".join(cell(ratios[mode, work]) for work in WORKS)
                    print(f"| {model.name} | {threads} | {mode} | {cells} |", flush=True)
    print(f"\n{machine_class()}. {meter.load().sentence()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
