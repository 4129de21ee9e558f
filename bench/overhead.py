"""Measures what capture costs and writes docs/overhead.md; `./dev bench` calls it.

usage: overhead.py [--quick] [--processes N] [--output FILE]

Every ratio compares captured with untouched runs of the same model in one process, bursts in ABBA order. Each cell is the median over
several processes, with the lowest and the highest quartile beside it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, ROOT, Case, case_named
from mindspore_tree import measure_ratios as measure_tree_ratios
from mindspore_tree import page_lines as mindspore_lines
from overhead_page import Cell, Page, write_page

RELEASE = ROOT / "build" / "release"
BENCH = ROOT / "build" / "bench"
SCRATCH = ROOT / "build" / "bench-scratch"
MODELS = Path(os.environ.get("TENSORTAP_TEST_MODELS", str(ROOT / "build" / "assets" / "models")))
MEGABYTE = 1 << 20


@dataclass
class Plan:
    """How much to measure."""

    processes: int = 2
    peer_seconds: float = 2.0
    threads: tuple[int, ...] = (1, 2)
    written_bytes: int = 4096 * MEGABYTE
    problems: list[str] = field(default_factory=list)


# What is measured: heading, the capture config without "out".
MODES: dict[str, dict[str, Any]] = {
    "nothing selected": {"steps": "1000000000"},
    "minimal statistics": {"stats": ["minimal"]},
    "full statistics": {"stats": ["all"]},
    "budget 3 %": {"stats": ["all"], "budget": 0.03},
    "overflow watch": {"trigger": "overflow", "payload": "full", "slots": ["in", "out"]},
    "everything written": {"payload": "full"},
}


def say(text: str) -> None:
    """Tell the person who waits what is going on."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def child(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this folder in a process of its own; gives the JSON object it prints last."""
    command = [sys.executable, str(ROOT / "bench" / script), *arguments]
    return last_report(subprocess.run(command, check=False, capture_output=True, text=True, timeout=300))


def last_report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Give the JSON object that a process printed last, or {"error": ...}."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        return {"error": (done.stderr or done.stdout).strip()[-300:] or f"exit status {done.returncode}"}
    report: dict[str, Any] = json.loads(lines[-1])
    return report


def captured(case: Case, config: dict[str, Any] | None, **request: Any) -> dict[str, Any]:
    """Run a case once through the library; `config` None runs it plain."""
    return captured_model(case.name, config, **request)


def captured_model(name: str, config: dict[str, Any] | None, **request: Any) -> dict[str, Any]:
    """Run a case, or a model as in model_and_inputs(), once through the library; `config` None runs it plain."""
    folder = SCRATCH / "dump"
    shutil.rmtree(folder, ignore_errors=True)
    if config is None:
        request["capture"] = False
    else:
        request["config"] = json.dumps({**config, "out": str(folder)})
    library = RELEASE / "libtensortap_onnxruntime.so"
    return child("capture_child.py", str(library), str(MODELS), name, json.dumps(request))


def ratio_cell(plan: Plan, what: str, measure: Callable[[], dict[str, Any]]) -> Cell:
    """Repeat a measurement that gives an overhead; failures are told and leave the cell empty."""
    values: list[float] = []
    quartiles: list[float] = []
    for _ in range(plan.processes):
        report = measure()
        if isinstance(report.get("overhead"), int | float):
            values.append(float(report["overhead"]))
            details = report.get("overhead_details") or {}
            quartiles += [details.get("low", values[-1]), details.get("high", values[-1])]
        else:
            plan.problems.append(f"{what}: {report.get('error', 'no overhead in the report')}")
            break
    return Cell.of(values, quartiles)


def measure_ratios(plan: Plan, threads: int) -> dict[str, dict[str, Cell]]:
    """Fill the big table: heading -> case -> cell."""
    table: dict[str, dict[str, Cell]] = {}
    for mode, config in MODES.items():
        say(f"{mode}, {threads} thread(s)")
        table[mode] = {}
        for case in CASES:
            what = f"{case.name}, {mode}, {threads} thread(s)"
            table[mode][case.name] = ratio_cell(plan, what, partial(captured, case, config, threads=threads, overhead=True))
    for heading, how in (("all tensors as outputs", "outputs"), ("Polygraphy, all marked", "polygraphy")):
        say(f"{heading}, {threads} thread(s)")
        table[heading] = {}
        for case in CASES:
            arguments = (str(MODELS), case.name, str(threads), str(plan.peer_seconds), how)
            table[heading][case.name] = ratio_cell(
                plan,
                f"{case.name}, {heading}",
                partial(child, "peer_child.py", *arguments),
            )
    return table


def measure_memory(plan: Plan) -> dict[str, dict[str, float | None]]:
    """Measure peak memory: case -> heading -> bytes."""
    say("peak memory")
    table: dict[str, dict[str, float | None]] = {}
    for case in CASES:
        ways: dict[str, Callable[[], dict[str, Any]]] = {
            "plain": partial(captured, case, None, threads=1, runs=3),
            "statistics": partial(captured, case, MODES["full statistics"], threads=1, runs=3),
            "written": partial(captured, case, MODES["everything written"], threads=1, runs=3),
            "plain session": partial(child, "peer_child.py", str(MODELS), case.name, "1", "1", "plain-memory"),
            "all tensors as outputs": partial(child, "peer_child.py", str(MODELS), case.name, "1", "1", "outputs-memory"),
        }
        table[case.name] = {}
        for heading, way in ways.items():
            values = [report["peak_bytes"] for report in (way() for _ in range(plan.processes)) if "peak_bytes" in report]
            table[case.name][heading] = statistics.median(values) if values else None
    return table


def direct_write_rate(path: Path, size: int) -> float:
    """Measure the disk: bytes a second written with O_DIRECT in blocks of 4 MiB."""
    command = ["dd", "if=/dev/zero", f"of={path}", "bs=4M", f"count={size // (4 * MEGABYTE)}", "oflag=direct"]
    start = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True)
    seconds = time.perf_counter() - start
    path.unlink(missing_ok=True)
    return size / seconds if done.returncode == 0 else math.nan


def measure_writing(plan: Plan) -> dict[str, float]:
    """Compare a big dump, synced to the disk, with direct I/O of the same size in the same run."""
    say("writing more than waits in memory")
    case = next(case for case in CASES if case.name.startswith("OCR det"))
    per_run = max(1, captured(case, MODES["everything written"], threads=1, runs=1).get("bytes") or 1)
    runs = max(1, plan.written_bytes // per_run)
    before = direct_write_rate(SCRATCH / "direct", plan.written_bytes)
    os.sync()
    start = time.perf_counter()
    report = captured(case, MODES["everything written"], threads=1, runs=runs)
    os.sync()
    seconds = time.perf_counter() - start
    after = direct_write_rate(SCRATCH / "direct", plan.written_bytes)
    shutil.rmtree(SCRATCH / "dump", ignore_errors=True)
    return {"dump": (report.get("bytes") or math.nan) / seconds, "direct": (before + after) / 2, "bytes": report.get("bytes") or 0}


def numpy_rates() -> dict[str, float]:
    """Measure the minimal statistics by NumPy on 256 MB: dtype -> bytes a second."""
    say("NumPy's statistics")
    random = np.random.default_rng(1)
    rates = {}
    for name, dtype in (("f32", np.float32), ("int8", np.int8), ("int32", np.int32)):
        count = 256 * MEGABYTE // np.dtype(dtype).itemsize
        data: Any = (random.standard_normal(count, np.float32) * 30).astype(dtype)
        start = time.perf_counter()
        data.min(), data.max(), data.mean(dtype=np.float64)
        np.sqrt(np.einsum("i,i->", data, data, dtype=np.float64))
        if dtype is np.float32:
            np.isnan(data).sum(), np.isinf(data).sum()
        rates[name] = data.nbytes / (time.perf_counter() - start)
    return rates


def google_benchmark(program: str, temporary: Path | None = None) -> list[dict[str, Any]]:
    """Run a benchmark program with its temporary files in a folder; gives its results, none when it is not there."""
    path = BENCH / "bench" / program
    if not path.exists():
        return []
    say(program)
    command = [str(path), "--benchmark_format=json", "--benchmark_min_time=0.2"]
    environment = {**os.environ, **({"TMPDIR": str(temporary)} if temporary else {})}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=SCRATCH, env=environment)
    if done.returncode != 0:
        return []
    results: list[dict[str, Any]] = json.loads(done.stdout)["benchmarks"]
    return results


def million_records(plan: Plan) -> dict[str, float]:
    """Time the command on a dump of a million records, made from a real one by repeating its rows: what was listed -> seconds."""
    say("a dump of a million records")
    source = SCRATCH / "dump"
    report = captured(CASES[0], MODES["full statistics"], threads=1, runs=1)
    if "records" not in report:
        plan.problems.append(f"a million records: {report.get('error')}")
        return {}
    records = np.load(source / "records.npy")
    repeats = -(-1_000_000 // len(records))
    many = np.tile(records, repeats)[:1_000_000]
    many["step"] = np.arange(len(many)) // len(records)
    np.save(source / "records.npy", many)
    command = str(RELEASE / "src" / "cli" / "tensortap")
    found = {}
    for what, options in (("nan > 0", ["--where", "nan > 0"]), ("the ten largest", ["--sort", "-absmax", "--limit", "10"])):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([command, "ls", str(source), *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times.append(time.perf_counter() - start)
        found[what] = min(times)
    return found


def measure_mindspore(plan: Plan) -> list[str]:
    """Measure MindSpore's tree; gives the section of the page."""
    say("MindSpore's tree")

    def cell(heading: str, model: str, config: dict[str, Any]) -> Cell:
        return ratio_cell(plan, f"{model}, {heading}", partial(captured, case_named(model), config, threads=1, overhead=True))

    places = {"memory": Path("/dev/shm"), "disk": SCRATCH}
    files = {name: google_benchmark("mindspore_write_bench", place) for name, place in places.items() if place.is_dir()}
    return mindspore_lines(measure_tree_ratios(cell), files, google_benchmark("mindspore_open_bench"))


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure what capture costs and write docs/overhead.md.")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, one thread; for trying, not for publishing")
    parser.add_argument("--processes", type=int, default=2, help="processes for each figure (2)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "overhead.md")
    return parser.parse_args()


def main() -> int:
    """Measure everything and write the page."""
    arguments = parse_arguments()
    plan = Plan(processes=1, peer_seconds=0.5, threads=(1,), written_bytes=512 * MEGABYTE) if arguments.quick else Plan(arguments.processes)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    ratios = {threads: measure_ratios(plan, threads) for threads in plan.threads}
    page = Page(
        ratios=ratios,
        memory=measure_memory(plan),
        writing=measure_writing(plan),
        numpy=numpy_rates(),
        kernels=google_benchmark("stats_bench"),
        opening=million_records(plan),
        mindspore=measure_mindspore(plan),
        problems=plan.problems,
        processes=plan.processes,
    )
    write_page(page, arguments.output)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    for problem in plan.problems:
        say(problem)
    say(f"wrote {arguments.output} in {time.monotonic() - start:.0f} s")
    return 1 if plan.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
