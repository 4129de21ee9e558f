"""Compares the cost of two builds, an older commit's and this one's, run in turn; `./dev bench --pair COMMIT` builds both and calls it.

usage: pair.py OLD NEW [--pairs N] [--quick]

OLD and NEW are source folders with build/bench and build/release in them. Each line is one benchmark, or one command over a real model;
each pair runs it in both builds, every other pair in the opposite order (ABBA). The ratio of a line is the median over the pairs of new to
old CPU time. Exit code 1 when a line is slower than LINE_LIMIT, or a group's geometric mean than GROUP_LIMIT.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cases import CASES, ROOT, Case

LINE_LIMIT = 1.02
GROUP_LIMIT = 1.01
PROGRAMS = ("capture_bench", "open_bench", "mindspore_open_bench", "mindspore_write_bench")
# What only the machine's floor is measured by.
FLOORS = "floor|write_plainly"
MODES = {"statistics": ["--stats"], "everything": ["--full"], "nothing selected": ["--steps", "1000000000"]}
LAYOUTS = ("tap", "ge", "mindspore")
RUNS = 30
MODELS = Path(os.environ.get("TENSORTAP_TEST_MODELS", str(ROOT / "build/assets/models")))


@dataclass
class Group:
    """Lines that are measured together: by name, CPU time for the source folder of a build."""

    name: str
    measure: Callable[[Path], dict[str, float]]


def benchmark_times(program: str, tree: Path) -> dict[str, float]:
    """Run a Google Benchmark program; give CPU nanoseconds by benchmark."""
    command = [str(tree / "build/bench/bench" / program), "--benchmark_format=json", f"--benchmark_filter=-({FLOORS})"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    scale = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    return {line["name"]: line["cpu_time"] * scale[line["time_unit"]] for line in json.loads(done.stdout)["benchmarks"]}


def command_seconds(tree: Path, *words: str) -> float:
    """Run the command of a build with a dump in a folder that is gone afterwards; give its CPU seconds."""
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-") as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(tree / "build/release/src/cli/tensortap"), *words, "--quiet", "--keep-free", "0", "--out", f"{folder}/dump"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_words(case: Case, scratch: Path) -> list[str]:
    """Give the words that run a model on its real input, which is written into a folder."""
    words = ["run", str(MODELS / case.path), "--runs", str(RUNS), "--threads", "1"]
    for number, (name, value) in enumerate(case.inputs(MODELS).items()):
        file = scratch / f"{case.name.replace(' ', '_')}_{number}.npy"
        np.save(file, value)
        words += ["--input", f"{name}={file}"]
    return words


def model_times(words: list[str], tree: Path) -> dict[str, float]:
    """Capture a model in every mode and every layout; give CPU seconds by line."""
    times = {f"{mode}": command_seconds(tree, *words, *options) for mode, options in MODES.items()}
    for layout in LAYOUTS:
        times[f"tensors, {layout}"] = command_seconds(tree, *words, "--tensors", "--layout", layout)
    return times


def groups(scratch: Path) -> list[Group]:
    """List what is measured: the benchmark programs, then the models of the overhead page."""
    found = [Group(program, lambda tree, program=program: benchmark_times(program, tree)) for program in PROGRAMS]  # type: ignore[misc]
    for case in CASES:
        if (MODELS / case.path).exists():
            words = run_words(case, scratch)
            found.append(Group(case.name, lambda tree, words=words: model_times(words, tree)))  # type: ignore[misc]
    return found


def ratios_of(group: Group, old: Path, new: Path, pairs: int) -> dict[str, float]:
    """Measure a group in pairs; give the median ratio of each line."""
    ratios: dict[str, list[float]] = {}
    for pair in range(pairs):
        order = (old, new) if pair % 2 == 0 else (new, old)
        times = {tree: group.measure(tree) for tree in order}
        for name in times[old].keys() & times[new].keys():
            ratios.setdefault(name, []).append(times[new][name] / max(times[old][name], 1e-12))
    return {name: statistics.median(values) for name, values in sorted(ratios.items())}


def report(group: Group, ratios: dict[str, float]) -> bool:
    """Print a group's lines; say whether it keeps its limits."""
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    kept = mean <= GROUP_LIMIT and max(ratios.values()) <= LINE_LIMIT
    print(f"{group.name}: geometric mean {mean:.3f}{'' if mean <= GROUP_LIMIT else f', over {GROUP_LIMIT}'}")
    for name, ratio in ratios.items():
        print(f"  {ratio:6.3f}{' !' if ratio > LINE_LIMIT else '  '} {name}")
    sys.stdout.flush()
    return kept


def main() -> int:
    """Measure all groups."""
    parser = argparse.ArgumentParser(description="Compare the cost of two builds, run in turn.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="three pairs of one benchmark program and one model, for trying")
    options = parser.parse_args()
    pairs = 3 if options.quick else options.pairs
    print(f"{pairs} pairs, CPU time, new to old; the machine's load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-") as scratch:
        chosen = groups(Path(scratch))
        if options.quick:
            chosen = [chosen[0], chosen[-1]]
        kept = [report(group, ratios_of(group, options.old.resolve(), options.new.resolve(), pairs)) for group in chosen]
    print(f"{sum(kept)} of {len(kept)} groups within {LINE_LIMIT} for each line and {GROUP_LIMIT} for the mean")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
