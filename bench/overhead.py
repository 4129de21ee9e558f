"""Measures what the capture of ONNX models costs, for docs/overhead.md; `./dev bench` calls it through bench.py.

Every ratio compares captured with untouched runs of the same model in one process, bursts in ABBA order. Each cell is the median over
several processes, with the lowest and the highest quartile beside it.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import budget
import numpy as np
from bars import geometric_mean, worst
from cases import CASES, ROOT, Case, case_named
from children import report_of
from mindspore_tree import measure_ratios as measure_tree_ratios
from mindspore_tree import page_lines as mindspore_lines
from overhead_page import Cell, Page
from plan import Plan, say

RELEASE = ROOT / "build" / "release"
BENCH = ROOT / "build" / "bench"
SCRATCH = ROOT / "build" / "bench-scratch"
MODELS = Path(os.environ.get("TENSORTAP_TEST_MODELS", str(ROOT / "build" / "assets" / "models")))
MEGABYTE = 1 << 20
MEMORY = Path("/dev/shm")
"""A file system in memory, for what is written there."""
MEMORY_NEEDED = 6 << 30
LONGEST_SECONDS = 300  # of a child
WRITTEN_BYTES = 4096 * MEGABYTE
PEERS = {"all tensors as outputs": "outputs", "Polygraphy, all marked": "polygraphy"}
# What a quick run measures.
QUICK_CASES = ("magika", "OCR cls 48x192", "silero sequence")
QUICK_MODES = ("nothing selected", "full statistics", "overflow watch", "everything written")
# The cases that bars name.
OCR_CASES = {"cls": "OCR cls 48x192", "det": "OCR det 320x320", "rec": "OCR rec 48x320"}
# The bars that are means: a mode, and its models. The bar for writing everything was set on six. A small image network makes 15 MB in a
# millisecond, more than memory takes, and the small models of speech came later.
NOT_WRITTEN = (OCR_CASES["cls"], "silero window", "silero batch")
MEANS = {
    "models": ("full statistics", [case.name for case in CASES]),
    "written": ("everything written", [case.name for case in CASES if case.name not in NOT_WRITTEN]),
}
BUDGET_CASES = {"cls": OCR_CASES["cls"], "magika": "magika"}
"""Those whose budget is measured from outside, by the name of their bar."""


# What is measured: heading, the capture config without "out".
MODES: dict[str, dict[str, Any]] = {
    "nothing selected": {"steps": "1000000000"},
    "minimal statistics": {"stats": ["minimal"]},
    "full statistics": {"stats": ["all"]},
    "budget 3 %": {"stats": ["all"], "budget": 0.03},
    "overflow watch": {"trigger": "overflow", "payload": "full", "slots": ["in", "out"]},
    "everything written": {"payload": "full"},
}


def child(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this folder in a separate process; gives the JSON object it prints last, or {"error": ...}."""
    command = [sys.executable, str(ROOT / "bench" / script), *arguments]
    try:
        return report_of(command, LONGEST_SECONDS)
    except RuntimeError as error:
        return {"error": str(error)}


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
        request["config"] = json.dumps({"out": str(folder), **config})
    library = RELEASE / "libtensortap_onnxruntime.so"
    return child("capture_child.py", str(library), str(MODELS), name, json.dumps(request))


def has_room(folder: Path, needed: int) -> bool:
    """Return whether a folder exists and its file system has room."""
    return folder.is_dir() and shutil.disk_usage(folder).free >= needed


def captured_in_memory(case: Case, config: dict[str, Any], **request: Any) -> dict[str, Any]:
    """Run a case whose dump goes to a file system in memory."""
    if not has_room(MEMORY, MEMORY_NEEDED):
        return {"error": f"{MEMORY} does not have {MEMORY_NEEDED >> 30} GiB of room"}
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="tensortap-bench-") as folder:
        return captured(case, {**config, "out": f"{folder}/dump"}, **request)


def ratio_cell(plan: Plan, what: str, measure: Callable[[], dict[str, Any]]) -> Cell:
    """Repeat a measurement that gives an overhead; failures are reported and leave the cell empty."""
    if not plan.begins(what):
        return Cell.of([], [])
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


def cases_of(plan: Plan) -> list[Case]:
    """List the models of a run."""
    return [case for case in CASES if not plan.quick or case.name in QUICK_CASES]


def measure_ratios(plan: Plan, threads: int) -> dict[str, dict[str, Cell]]:
    """Fill the big table: heading -> case -> cell."""
    table: dict[str, dict[str, Cell]] = {}
    for mode, config in MODES.items():
        if plan.quick and mode not in QUICK_MODES:
            continue
        # A disk that others use makes the time of a run vary.
        in_memory = mode == "everything written" or has_room(MEMORY, MEMORY_NEEDED)
        run = captured_in_memory if in_memory else captured
        table[mode] = {}
        for case in cases_of(plan):
            what = f"{case.name}, {mode}, {threads} thread(s)"
            table[mode][case.name] = ratio_cell(plan, what, partial(run, case, config, threads=threads, overhead=True))
    return table


def measure_peers(plan: Plan, threads: int) -> dict[str, dict[str, Cell]]:
    """Fill the columns of other tools."""
    table: dict[str, dict[str, Cell]] = {}
    for heading, how in PEERS.items():
        table[heading] = {}
        for case in cases_of(plan):
            arguments = (str(MODELS), case.name, str(threads), str(plan.peer_seconds), how)
            what = f"{case.name}, {heading}, {threads} thread(s)"
            table[heading][case.name] = ratio_cell(plan, what, partial(child, "peer_child.py", *arguments))
    return table


def measure_memory(plan: Plan) -> dict[str, dict[str, float | None]]:
    """Measure peak memory: case -> heading -> bytes."""
    table: dict[str, dict[str, float | None]] = {}
    for case in cases_of(plan):
        ways: dict[str, Callable[[], dict[str, Any]]] = {
            "plain": partial(captured, case, None, threads=1, runs=3),
            "statistics": partial(captured, case, MODES["full statistics"], threads=1, runs=3),
            "written": partial(captured, case, MODES["everything written"], threads=1, runs=3),
            "plain session": partial(child, "peer_child.py", str(MODELS), case.name, "1", "1", "plain-memory"),
            "all tensors as outputs": partial(child, "peer_child.py", str(MODELS), case.name, "1", "1", "outputs-memory"),
        }
        table[case.name] = dict.fromkeys(ways)
        if not plan.begins(f"{case.name}, peak memory"):
            continue
        for heading, way in ways.items():
            if plan.quick and heading not in ("plain", "statistics"):
                continue
            values = [report["peak_bytes"] for report in (way() for _ in range(plan.processes)) if "peak_bytes" in report]
            table[case.name][heading] = statistics.median(values) if values else None
    return table


def measure_budgets(plan: Plan) -> dict[str, budget.Kept]:
    """Measure from outside whether the budget is kept, by the name of the bar."""
    found = {}
    for name, case in BUDGET_CASES.items():
        if (plan.quick and name != "cls") or not plan.begins(f"{case}, budget of 3 % from outside"):
            continue
        try:
            found[name] = budget.measure(sys.executable, ["onnx", str(MODELS), case], plan.budget_runs)
        except RuntimeError as error:
            plan.problems.append(f"{case}, budget from outside: {error}")
    return found


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
    nothing = {"dump": math.nan, "direct": math.nan, "bytes": 0.0}
    if plan.quick:
        return nothing
    say("writing more than waits in memory")
    # One dump or one file of dd at a time, and what a capture leaves free.
    if not has_room(SCRATCH, WRITTEN_BYTES + (4 << 30)):
        plan.problems.append(f"writing {WRITTEN_BYTES / 1e9:.1f} GB: the disk does not have the room")
        return nothing
    case = case_named(OCR_CASES["det"])
    first = captured(case, MODES["everything written"], threads=1, runs=1)
    if not first.get("bytes"):
        plan.problems.append(f"writing to the disk: {first.get('error', 'nothing was written')}")
        return nothing
    runs = max(1, WRITTEN_BYTES // first["bytes"])
    before = direct_write_rate(SCRATCH / "direct", WRITTEN_BYTES)
    os.sync()
    start = time.perf_counter()
    report = captured(case, MODES["everything written"], threads=1, runs=runs)
    os.sync()
    seconds = time.perf_counter() - start
    after = direct_write_rate(SCRATCH / "direct", WRITTEN_BYTES)
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
    """Run a benchmark program with its temporary files in a folder; gives its results, none if the program does not exist."""
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


def onnx_figures(page: Page) -> dict[str, float]:
    """Give what the bars judge, by their keys."""
    table = page.ratios[1]

    def median(mode: str, case: str) -> float:
        return table[mode][case].median if case in table.get(mode, {}) else math.nan

    figures = {name: geometric_mean(median(mode, case) for case in cases) for name, (mode, cases) in MEANS.items()}
    figures["cls"] = median("full statistics", OCR_CASES["cls"])
    figures |= {f"watch {key}": median("overflow watch", case) for key, case in OCR_CASES.items()}
    for name, kept in page.budgets.items():
        figures |= {f"budget {name}": kept.cpu, f"reported {name}": kept.distance}
    figures["disk"] = page.writing["dump"] / page.writing["direct"]
    figures["memory"] = worst((row["statistics"] or math.nan) / (row["plain"] or math.nan) for row in page.memory.values())
    return figures


def figure_notes(page: Page) -> dict[str, str]:
    """Say which figures leave models out."""
    notes = {}
    for name, (mode, cases) in MEANS.items():
        cells = page.ratios[1].get(mode, {})
        measured = sum(case in cells and not math.isnan(cells[case].median) for case in cases)
        if measured < len(cases):
            notes[name] = f"{measured} of {len(cases)} models"
    return notes


def measure(plan: Plan) -> Page:
    """Measure the ONNX half; the bars first, so that a quick run has them."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    ratios = {threads: measure_ratios(plan, threads) for threads in plan.threads}
    budgets, memory = measure_budgets(plan), measure_memory(plan)
    for threads in plan.threads:
        ratios[threads] |= measure_peers(plan, threads)
    page = Page(
        ratios=ratios,
        budgets=budgets,
        memory=memory,
        writing=measure_writing(plan),
        numpy={} if plan.quick else numpy_rates(),
        kernels=[] if plan.quick else google_benchmark("stats_bench"),
        opening={} if plan.quick else million_records(plan),
        mindspore=[] if plan.quick else measure_mindspore(plan),
        problems=plan.problems,
        processes=plan.processes,
    )
    shutil.rmtree(SCRATCH, ignore_errors=True)
    return page
