"""Measures what the capture of PyTorch programs costs and writes docs/overhead_pytorch.md.

usage: torch_overhead.py [--pairs N] [--output FILE]; TENSORTAP_COMMAND and TENSORTAP_TEST_PYTHON as ./dev sets them.

CPU time of a step, with the capture on to the same process with it off, bursts of both in ABBA order; the median of the pairs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHILD = Path(__file__).with_name("torch_child.py")
PROGRAMS = ("mlp", "gpt_tiny", "cnn", "block", "gpt2")
MODES: dict[str, list[str]] = {
    "nothing selected": ["--ops", "no such op"],
    "statistics of inputs and outputs": [],
    "budget 3 %": ["--budget", "3%"],
    "overflow watch": ["--config", "OVERFLOW"],
    "everything written": ["--full"],
}
# The config that stands for its name above.
OVERFLOW: dict[str, object] = {"trigger": "overflow", "payload": "full", "slots": ["in", "out"]}
BUDGET_BURST = 10
MEMORY_RUNS = 3
PEERS = ("TorchDispatchMode", "module hooks", "msprobe L0", "msprobe L1", "msprobe mix")
# What was to be reached, for each program.
TO_REACH: dict[str, tuple[float, ...]] = {
    "nothing selected": (1.3, 1.3, 1.03, 1.03, 1.03),
    "statistics of inputs and outputs": (1.6, 1.6, 1.08, 1.07, 1.04),
    "budget 3 %": (1.03,) * 5,
    "overflow watch": (float("nan"), float("nan"), 1.05, 1.05, 1.05),
    "everything written": (float("nan"), float("nan"), 1.7, 1.9, 2.0),
}


def run_child(program: str, threads: int, pairs: int, options: list[str] | None, peer: str = "") -> dict[str, list[float]]:
    """Run one process, captured unless `options` is None, and return what it printed."""
    # A budget is kept over many steps.
    length = BUDGET_BURST if options is not None and "--budget" in options else 1
    words = [os.environ["TENSORTAP_TEST_PYTHON"], str(CHILD), program, str(threads), str(pairs), str(length), *([peer] if peer else [])]
    with tempfile.TemporaryDirectory() as folder:
        if options is not None:
            command = os.environ["TENSORTAP_COMMAND"]
            config = Path(folder) / "overflow.json"
            config.write_text(json.dumps(OVERFLOW))
            options = [str(config) if option == "OVERFLOW" else option for option in options]
            words = [command, "exec", "--quiet", "--out", f"{folder}/dump", "--keep-free", "0", *options, "--", *words]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(words)} failed:\n{done.stderr}")
    answer: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def cell(ratios: list[float]) -> str:
    """Write the median with the quartiles."""
    low, _, high = statistics.quantiles(ratios, n=4)
    return f"{statistics.median(ratios):.2f} ({low:.2f}-{high:.2f})"


def verdict(limit: float, median: float) -> str:
    """Say whether a figure was reached; "" where none was asked for."""
    if math.isnan(limit):
        return ""
    return f"≤ {limit}: {'yes' if median <= limit else '**no**'}"


def table(threads: int, pairs: int) -> list[str]:
    """Measure all programs with so many threads."""
    lines = ["| " + " | ".join(["", *PROGRAMS]) + " |", "|---" * (len(PROGRAMS) + 1) + "|"]
    for mode, options in MODES.items():
        cells, medians = [], []
        for program in PROGRAMS:
            print(f"bench: {program}, {threads} threads, {mode}", file=sys.stderr)
            # Whole dumps fill the disk: some gigabytes for each pair of the largest program.
            ratios = run_child(program, threads, min(pairs, 3) if "--full" in options else pairs, options)["ratios"]
            cells.append(cell(ratios))
            medians.append(statistics.median(ratios))
        lines.append(f"| {mode} | " + " | ".join(cells) + " |")
        verdicts = [verdict(limit, median) for limit, median in zip(TO_REACH[mode], medians, strict=True)]
        lines.append("| to reach | " + " | ".join(verdicts) + " |")
    return lines


def peer_table(pairs: int) -> list[str]:
    """Measure what other tools cost the programs, with one thread; "-" where one cannot be had or does not run."""
    lines = ["| " + " | ".join(["", *PROGRAMS]) + " |", "|---" * (len(PROGRAMS) + 1) + "|"]
    for peer in PEERS:
        cells = []
        for program in PROGRAMS:
            print(f"bench: {program}, {peer}", file=sys.stderr)
            try:
                cells.append(f"{statistics.median(run_child(program, 1, pairs, None, peer)['ratios']):.2f}")
            except SystemExit as error:
                print(error, file=sys.stderr)
                cells.append("-")
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    return lines


def memory() -> list[str]:
    """Compare the peak memory of captured and plain processes that run equally many steps: the medians of some runs of each."""
    lines = ["| " + " | ".join(["", *PROGRAMS]) + " |", "|---" * (len(PROGRAMS) + 1) + "|"]
    cells = []
    for program in PROGRAMS:
        print(f"bench: {program}, peak memory", file=sys.stderr)
        peaks: dict[bool, list[float]] = {True: [], False: []}
        for captured in (True, False) * MEMORY_RUNS:
            peaks[captured].append(float(run_child(program, 1, 0, [] if captured else None)["peak_kib"]))  # type: ignore[arg-type]
        plain = statistics.median(peaks[False])
        cells.append(f"{statistics.median(peaks[True]) / plain:.3f} (of {plain / 1024:.0f} MiB)")
    lines.append("| statistics, to plain | " + " | ".join(cells) + " |")
    return lines


def processor() -> str:
    """Name the processor without its model number."""
    text = Path("/proc/cpuinfo").read_text()
    vendor = "AMD" if "AuthenticAMD" in text else "Intel" if "GenuineIntel" in text else platform.machine()
    return f"{os.cpu_count()} cores, {vendor}, {'AVX-512' if 'avx512f' in text else 'AVX2'}"


def main() -> None:
    """Measure everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=9, help="pairs of bursts for each figure (9)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/overhead_pytorch.md")
    arguments = parser.parse_args()
    notes = Path(__file__).with_name("torch_overhead_notes.md").read_text()
    lines = ["# What capture costs a PyTorch program", ""]
    lines += [
        f"Made by `./dev bench --pytorch`; the figures are not edited. Machine: {processor()}, virtual machine. torch 2.13.0, CPU.",
        "",
    ]
    lines += [
        "CPU time of a step with the capture on, to the same process with it switched off: the median of pairs of bursts in ABBA",
        "order, with the quartiles.",
    ]
    for threads in (1, 2):
        lines += ["", f"## {threads} thread{'s' if threads > 1 else ''}", "", *table(threads, arguments.pairs)]
    lines += ["", "## Other tools, one thread", "", *peer_table(max(1, arguments.pairs // 3))]
    lines += ["", "## Peak memory", "", *memory(), "", notes.strip()]
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
