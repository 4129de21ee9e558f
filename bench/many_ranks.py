"""Measures `tensortap ranks`, `export` and the engines on a made job of many ranks, and writes docs/overhead_ranks.md.

usage: many_ranks.py [--full] [--folder FOLDER] [--output FILE]; TENSORTAP_COMMAND and TENSORTAP_TEST_ENGINES as ./dev sets them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import LoadMeter, machine_class
from made_job import Faults, JobSize, faults_of, write_job

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "build/assets/models/magika/magika/models/standard_v3_3/model.onnx"
USUAL = JobSize(ranks=64, ops=2_000, steps=50)
FULL = JobSize(ranks=1_000, ops=10_000, steps=100)
ROW_BYTES = 576
TABLE_BYTES = 100
"""The most bytes of a row in the tables."""
SPILLED_BYTES = 50
"""What an engine may put on the disk for a row that it has no memory for."""
MOST_FOR_EXAMPLES = 50_000_000
"""Records that the examples for a cluster hold in memory."""
QUESTIONS = {
    "nonfinite": "first NaN or Inf",
    "apart": "distances of the ranks from their median",
    "replicas": "weights that are not equal",
    "gradients": "norm of the gradients by rank and step",
    "trends": "slope of log2(l2) of each op of each rank",
    "missing": "executions that ranks lack",
    "shapes": "shapes that differ",
    "durations": "slowest rank",
    "progress": "last step of each rank",
}
# Starts a program and writes what it took: a small process, since a program has the peak of the one that started it.
LAUNCH = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.run(sys.argv[2:]).returncode
spent = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    cost = {"seconds": time.perf_counter() - start, "cpu": spent.ru_utime + spent.ru_stime, "peak_bytes": spent.ru_maxrss * 1024}
    json.dump({**cost, "code": code}, file)
"""


@dataclass(frozen=True)
class Spent:
    """What a program took."""

    seconds: float
    cpu: float
    peak_bytes: int

    def cells(self) -> str:
        """Write the cells of a table."""
        return f"{self.cpu:.2f} s | {self.seconds:.2f} s | {self.peak_bytes / 2**20:,.0f} MiB"


def spent_of(found: dict[str, Any]) -> Spent:
    """Take the costs out of an answer."""
    return Spent(found["seconds"], found["cpu"], found["peak_bytes"])


def launched(folder: Path, *words: str | Path, codes: tuple[int, ...] = (0,)) -> tuple[Spent, str]:
    """Run a program; gives what it took and what it printed. Its failure ends the benchmark."""
    file = folder / "spent.json"
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, "-c", LAUNCH, file, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=environment)
    found = json.loads(file.read_text()) if file.exists() else {"code": done.returncode}
    if found["code"] not in codes:
        raise SystemExit(f"bench: {' '.join(map(str, words))} failed:\n{done.stderr or done.stdout}")
    return spent_of(found), done.stdout


def disk_needed(size: JobSize) -> int:
    """Give the bytes that the job, its tables and what engines spill take."""
    return size.rows * (ROW_BYTES + TABLE_BYTES + SPILLED_BYTES)


def refusal(size: JobSize, folder: Path, free: int) -> str:
    """Say why a job of this size cannot be made there; "" when it can."""
    needed = disk_needed(size)
    if needed <= free:
        return ""
    return (
        f"bench: {size.rows:,} records need {needed / 1e9:,.1f} GB in {folder}, which has {free / 1e9:,.1f} GB free; "
        "name another folder with --folder"
    )


def example_row(folder: Path) -> Any:
    """Capture a small model for the layout of a record, with all statistics."""
    words = [os.environ["TENSORTAP_COMMAND"], "run", str(MODEL), "--stats", "--out", str(folder / "example")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(words)} failed:\n{done.stderr}")
    rows = np.load(folder / "example/records.npy")
    floats = rows[(rows["slot_kind"] == 0) & (rows["dtype"] == np.bincount(rows["dtype"]).argmax())]
    return floats[:1]


def check_answers(name: str, first: dict[str, Any], distances: list[dict[str, Any]], faults: Faults) -> None:
    """End the benchmark where an answer is not what was planted."""
    found = (first["rank"], first["step"], first["op"].rpartition("_")[2])
    farthest = max(distances, key=lambda one: float(one["distance"]))["rank"]
    if found != (faults.rank, faults.step, str(faults.op)) or farthest != faults.drifting:
        raise SystemExit(f"bench: {name} says {found} and {farthest}; planted are {faults}")


def ask_engines(tables: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Ask each engine each of its questions, each in a separate process."""
    script = [os.environ["TENSORTAP_TEST_ENGINES"], str(ROOT / "bench/ranks_questions.py")]
    answers: dict[str, dict[str, dict[str, Any]]] = {}
    for engine in ("duckdb", "polars"):
        has = json.loads(subprocess.run([*script, engine], capture_output=True, text=True, check=True).stdout)
        for question in has:
            done = subprocess.run([*script, engine, question, str(tables)], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"bench: {engine} does not answer {question}:\n{done.stderr}")
            answers.setdefault(question, {})[engine] = json.loads(done.stdout)
            print(f"bench: {engine}, {question}: {done.stdout.strip()[:300]}", file=sys.stderr)
    return answers


def measure(folder: Path, size: JobSize) -> dict[str, Any]:
    """Make the job, ask everything of it, and hold the answers against what was planted."""
    faults = faults_of(size)
    start = time.perf_counter()
    write_job(folder / "job", size, example_row(folder))
    facts: dict[str, Any] = {"made": time.perf_counter() - start, "size": size, "faults": faults, "commands": [], "examples": []}
    command = os.environ["TENSORTAP_COMMAND"]
    ranks, printed = launched(folder, command, "ranks", folder / "job", "--json", codes=(1,))
    report = json.loads(printed)
    check_answers("tensortap ranks", report["nonfinite"]["first"], report["apart"]["distances"], faults)
    facts["commands"].append(("`tensortap ranks JOB`, all ten questions", ranks))
    tables = folder / "tables"
    export, _ = launched(folder, command, "export", folder / "job", "--to", "parquet", "--out", tables)
    facts["commands"].append(("`tensortap export JOB --to parquet`", export))
    records = sum(path.stat().st_size for path in tables.glob("records/*/*.parquet"))
    facts["bytes"] = {"`records.npy`": ROW_BYTES, "Parquet": records / size.rows}
    facts["questions"] = ask_engines(tables)
    for engine in ("duckdb", "dask", "ray") if size.rows <= MOST_FOR_EXAMPLES else ("duckdb",):
        script = f"examples/ranks_{engine}.py"
        spent, printed = launched(folder, os.environ["TENSORTAP_TEST_ENGINES"], ROOT / script, tables)
        answers = json.loads(printed)
        check_answers(script, answers["first"], answers["distances"], faults)
        facts["examples"].append((script, spent))
        print(f"bench: {script}: {spent}", file=sys.stderr)
    return facts


def question_rows(answers: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """Write a row for each question."""
    rows = []
    for question, words in QUESTIONS.items():
        cells = [spent_of(found).cells() if (found := answers[question].get(engine)) else " | | " for engine in ("duckdb", "polars")]
        rows.append(f"| {words} | {' | '.join(cells)} |")
    return rows


def page(facts: dict[str, Any], machine: str) -> str:
    """Write docs/overhead_ranks.md."""
    size, faults = facts["size"], facts["faults"]
    shape = f"{size.ranks:,} ranks, {size.ops:,} ops and {size.steps:,} steps: {size.rows:,} records"
    planted = (
        f"Rank {faults.drifting} drifts by 2 % a step, rank {faults.rank} has NaN from op {faults.op} of step {faults.step} on; "
        "`tensortap ranks` and the examples found both."
    )
    lines = [
        "# What questions over many ranks cost",
        "",
        "Made by `./dev bench --ranks`; the figures are not edited.",
        *textwrap.wrap(f"Measured on {machine_class()}. {machine}", 140),
        "",
        *textwrap.wrap(f"A made job of {shape}, each of them noise in all its digits. {planted}", 140),
        "Files that were just written are in memory, as far as they fit.",
        "",
        "| | bytes for a record |",
        "|---|--:|",
        *(f"| {name} | {value:.0f} |" for name, value in facts["bytes"].items()),
        "",
        "| from the dumps | CPU | wall | peak memory | records for a second of CPU |",
        "|---|--:|--:|--:|--:|",
        *(f"| {name} | {spent.cells()} | {size.rows / spent.cpu:,.0f} |" for name, spent in facts["commands"]),
        "",
        "Mapped files count as memory.",
        "",
        "Each question by itself, asked of the tables on all processors, without the engine's start; the questions are those of",
        "[bench/ranks_questions.py](../bench/ranks_questions.py):",
        "",
        "| | DuckDB: CPU | wall | peak memory | Polars: CPU | wall | peak memory |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *question_rows(facts["questions"]),
        "",
        "The examples: the first two questions together, the engine's start included. Ray's workers are not children of the program, so",
        "that its CPU time and memory are not known.",
        "",
        "| | CPU | wall | peak memory |",
        "|---|--:|--:|--:|",
        *(f"| `{name}` | {f'| {spent.seconds:.2f} s |' if 'ray' in name else spent.cells()} |" for name, spent in facts["examples"]),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="a job of 10^9 records instead of one of 6.4 million")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench-scratch", help="where the job is made, and removed at the end")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/overhead_ranks.md")
    options = parser.parse_args()
    size = FULL if options.full else USUAL
    options.folder.mkdir(parents=True, exist_ok=True)
    if problem := refusal(size, options.folder, shutil.disk_usage(options.folder).free):
        print(problem, file=sys.stderr)
        raise SystemExit(2)
    print(f"bench: {size.rows:,} records need {disk_needed(size) / 1e9:,.1f} GB in {options.folder} for a while", file=sys.stderr)
    meter = LoadMeter()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        facts = measure(Path(name), size)
    text = page(facts, meter.load().sentence())
    options.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
