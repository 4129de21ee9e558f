"""Measures what `tensortap llm dump` costs and writes docs/overhead_msit.md.

usage: msit_overhead.py [--pairs N] [--output FILE]; TENSORTAP_COMMAND and TENSORTAP_TEST_PYTHON as ./dev sets them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from children import report_of
from machine import LoadMeter, machine_class
from overhead_page import Cell, paragraph
from plan import say
from torch_overhead import torch_release

ROOT = Path(__file__).resolve().parent.parent
CHILD = Path(__file__).with_name("msit_child.py")
MEMORY = Path("/dev/shm")
LONGEST_SECONDS = 900
FAR_AWAY = "1000000,1000001"
MANY_FILES = 100_000


def dumped(folder: Path, pairs: int, rounds: int, *options: str) -> dict[str, Any]:
    """Run the child under `tensortap llm dump`; gives what it reports."""
    words = [os.environ["TENSORTAP_COMMAND"], "llm", "dump", "-l", "error", "-o", str(folder), *options]
    program = f"{os.environ['TENSORTAP_TEST_PYTHON']} {CHILD} {pairs} {rounds}"
    return report_of([*words, "--exec", program], LONGEST_SECONDS)


def files_of(folder: Path) -> list[int]:
    """List the sizes of the tensor files below a folder."""
    return [path.stat().st_size for path in folder.rglob("*.bin")]


def floor_seconds(folder: Path, sizes: list[int]) -> float:
    """Time open, write, rename and close of as many files of these sizes, 64 to a folder."""
    data = bytes(max(sizes))
    begin = time.perf_counter()
    for number, size in enumerate(sizes):
        if number % 64 == 0:
            (folder / str(number // 64)).mkdir(parents=True)
            directory = os.open(folder / str(number // 64), os.O_RDONLY)
        file = os.open("part", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640, dir_fd=directory)
        os.write(file, data[:size])
        os.close(file)
        os.rename("part", f"{number}.bin", src_dir_fd=directory, dst_dir_fd=directory)
    return time.perf_counter() - begin


def measure_files(folder: Path, rounds: int, *kinds: str) -> dict[str, float]:
    """Compare the wall time that files of these kinds add to a round with the floor."""
    report = dumped(folder / "dump", 1, rounds, "--type", *kinds, "-er", "0,1000000")
    sizes = files_of(folder / "dump")
    rounds_there = len(list((folder / "dump").glob("msit_dump_*/tensors/*/*")))
    share = report["rounds"] / rounds_there  # others lie around the bursts
    added = report["wall"][0] - report["wall"][1]
    floors = [floor_seconds(folder / f"floor{number}", sizes) for number in range(2)]
    floor = statistics.fmean(floors)
    plain = 1 + floor * 1000 / rounds_there / report["round_ms"]
    return {"ratio": added / (floor * share), "files": len(sizes), "bytes": sum(sizes), "rounds": rounds_there, "floor": plain}


def measure_listing(folder: Path) -> tuple[float, int]:
    """Time `tensortap ls` over a dump of many files: headers with statistics, which take the least room."""
    per_round = measure_files(folder / "one", 1, "tensor")
    rounds = int(MANY_FILES / (per_round["files"] / per_round["rounds"]))
    dumped(folder / "many", 1, rounds // 2 + 1, "--type", "tensor", "stats", "-er", "0,1000000")
    count = len(files_of(folder / "many"))
    (dump,) = (folder / "many").glob("msit_dump_*")
    begin = time.perf_counter()
    subprocess.run([os.environ["TENSORTAP_COMMAND"], "ls", str(dump), "--limit", "1"], check=True, capture_output=True)
    return time.perf_counter() - begin, count


def row(what: str, limit: float, shown: str, value: float) -> str:
    """Write a row of the table."""
    return f"| {what} | ≤ {limit:g} | {shown} | {'yes' if value <= limit else '**no**'} |"


def measure(pairs: int) -> tuple[list[str], float]:
    """Measure all rows; gives them, and the milliseconds of a plain round."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        say("statistics of every round")
        statistic = dumped(folder / "stats", pairs, 0, "--type", "tensor", "stats", "-er", "0,1000000")
        cell = Cell.of_pairs(statistic["ratios"])
        floor = measure_files(folder / "headers", 4, "tensor", "stats")
        what = f"statistics of modules and operators, every round; the floor of their files alone is {floor['floor']:.2f}"
        rows.append(row(what, 1.15, cell.text(), cell.median))
        say("nothing selected")
        cell = Cell.of_pairs(dumped(folder / "far", pairs, 0, "--type", "tensor", "-er", FAR_AWAY)["ratios"])
        rows.append(row("rounds that are not chosen", 1.03, cell.text(), cell.median))
        say("tensors")
        written = measure_files(folder / "files", 4, "tensor")
        what = f"tensors: wall time that they add, to the floor ({written['files']:,} files, {written['bytes'] / 1e6:,.0f} MB)"
        rows.append(row(what, 1.3, f"{written['ratio']:.2f}", written["ratio"]))
        say("memory")
        plain = report_of([os.environ["TENSORTAP_TEST_PYTHON"], str(CHILD), "1", "4"], LONGEST_SECONDS)
        tensors = dumped(folder / "memory", 1, 4, "--type", "tensor", "-er", "0,1000000")
        added = (tensors["peak_kib"] - plain["peak_kib"]) / 1024
        rows.append(row("tensors: peak memory on top of the plain program's, MiB", 256, f"{added:.0f}", added))
    with tempfile.TemporaryDirectory(prefix="tensortap-bench-", dir=ROOT / "build") as name:
        say("listing many files")
        seconds, count = measure_listing(Path(name))
        rows.append(row(f"`tensortap ls` of {count:,} files on the disk, s", 5, f"{seconds:.1f}", seconds))
    return rows, float(plain["round_ms"])


def main() -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="./dev bench --msit", description="Measure what `tensortap llm dump` costs.")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of bursts for each ratio (9)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/overhead_msit.md", metavar="FILE", help="where the page goes")
    arguments = parser.parse_args()
    meter = LoadMeter()
    rows, milliseconds = measure(arguments.pairs)
    lines = ["| what | to reach | measured | reached |", "|---|---|---|---|", *rows]
    text = [
        "# What `tensortap llm dump` costs",
        "",
        *paragraph(f"Made by `./dev bench --msit`; the figures are not edited. Machine: {machine_class()}. torch {torch_release()}, CPU."),
        "",
        *paragraph(
            f"The program calls a decoder of 12 layers, uncompiled, with one thread; a plain round took {milliseconds:.1f} ms. The first "
            "two rows are CPU time of captured to uncaptured rounds of one process: the median of pairs of bursts in ABBA order, with the "
            "quartiles. The floor is open, write, rename and close of as many files of the same sizes by one thread. Dumps go to a file "
            "system in memory, except for the last row."
        ),
        "",
        *paragraph(meter.load().sentence()),
        "",
        *lines,
    ]
    arguments.output.write_text("\n".join(text) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
