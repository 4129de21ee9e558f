"""Measures the comparison of two dumps beside Polygraphy's, msprobe's and NumPy, and writes docs/overhead_compare.md.

The pair is a text detector (RapidOCR's) and the same with its input moved by the last bit, as `tensortap run --noise` makes it: all have
the same values under the same names to compare, and nearly all of them differ.

usage: compare_peers.py [--rounds N] [--size N] [--output FILE]; TENSORTAP_COMMAND and TENSORTAP_TEST_PYTHON as ./dev sets them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from machine import LoadMeter, machine_class, own_seconds
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "build/bench/bench/compare_bench"
MODEL = ROOT / "build/assets/models/rapidocr/rapidocr/models/PP-OCRv6_det_small.onnx"
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Cost:
    """What a comparison took.

    Attributes
    ----------
    cpu, wall : float
        Seconds, of all threads and processes.
    bytes : int
        Size of the tensors of both sides.
    """

    cpu: float
    wall: float
    bytes: int

    @property
    def speed(self) -> float:
        """GB of both sides for a second of one processor."""
        return self.bytes / self.cpu / 1e9


def run(*words: str | Path, codes: tuple[int, ...] = (0, 1)) -> str:
    """Run a command; its failure ends the benchmark."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"bench: {' '.join(map(str, words))} failed:\n{done.stderr or done.stdout}")
    return done.stdout


def tensortap(*words: str | Path) -> str:
    """Run tensortap."""
    return run(os.environ["TENSORTAP_COMMAND"], *words)


def measured(work: Callable[[], object], rounds: int, size: int) -> Cost:
    """Give the median cost of some work."""
    costs = []
    for _ in range(rounds):
        start, before = time.perf_counter(), own_seconds()
        work()
        costs.append(Cost(own_seconds() - before, time.perf_counter() - start, size))
    return Cost(statistics.median(cost.cpu for cost in costs), statistics.median(cost.wall for cost in costs), size)


def make_pair(folder: Path, size: int) -> tuple[Path, Path]:
    """Capture the model and its neighbour."""
    values = np.random.default_rng(5).standard_normal((1, 3, size, size), dtype=np.float32)
    np.save(folder / "x.npy", values)
    dump = folder / "dump"
    tensortap("run", MODEL, "--full", "--input", f"x={folder / 'x.npy'}", "--noise", "1", "--out", dump)
    return dump / "noise1", dump


def floats_of(dump: Path, folder: Path) -> Arrays:
    """Read the float32 outputs of a dump."""
    tensortap("convert", dump, folder, "--to", "safetensors")
    return {name: value for name, value in load_file(folder / "step_0.safetensors").items() if value.dtype == np.float32}


def by_numpy(a: Arrays, b: Arrays) -> None:
    """Measure what Polygraphy and msprobe do, in the shortest form."""
    for name, x in a.items():
        y = b[name]
        difference = np.abs(x - y)
        relative = difference / np.maximum(np.abs(y), np.finfo(np.float32).tiny)
        _ = difference.max(), difference.mean(), relative.max(), relative.mean(), np.sqrt((difference**2).mean())
        _ = np.linalg.norm(difference) / np.linalg.norm(y), (x * y).sum() / (np.linalg.norm(x) * np.linalg.norm(y))
        _ = (relative < 1e-3).mean(), (relative < 5e-3).mean(), x.min(), x.max(), y.min(), y.max()


def by_polygraphy(a: Arrays, b: Arrays) -> None:
    """Compare with Polygraphy, as `polygraphy run --load-outputs` does."""
    from polygraphy.comparator import Comparator, CompareFunc, RunResults
    from polygraphy.comparator.struct import IterationResult
    from polygraphy.logger import G_LOGGER

    G_LOGGER.module_severity = G_LOGGER.CRITICAL
    results = RunResults()
    for name, arrays in (("a", a), ("b", b)):
        results.append((name, [IterationResult(outputs=dict(arrays), runner_name=name)]))
    Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(check_error_stat="max"))


WRITE_MSPROBE = r"""
import json, os, sys
import torch
from safetensors.torch import load_file

folder, source = sys.argv[1:]
rank = os.path.join(folder, "step0", "rank0")
place = os.path.join(rank, "dump_tensor_data")
os.makedirs(place, mode=0o750)
data, stack = {}, {}
for number, (name, tensor) in enumerate(sorted(load_file(source).items())):
    if tensor.dtype != torch.float32:
        continue
    api = f"Torch.op{number}.0.forward"
    file = f"{api}.output.0.pt"
    torch.save(tensor, os.path.join(place, file))
    wide = tensor.double()
    told = {"type": "torch.Tensor", "dtype": str(tensor.dtype), "shape": list(tensor.shape), "requires_grad": False, "data_name": file}
    told |= {"Max": float(wide.max()), "Min": float(wide.min()), "Mean": float(wide.mean()), "Norm": float(wide.norm())}
    data[api] = {"input_args": [], "input_kwargs": {}, "output": [told]}
    stack[str(number)] = [[api], ["File x.py, line 1, in x"]]
head = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": place, "data": data}
for name, value in (("dump", head), ("stack", stack), ("construct", {})):
    with open(os.path.join(rank, f"{name}.json"), "w") as file:
        json.dump(value, file)
"""


def by_msprobe(folder: Path, rounds: int, size: int) -> Cost | None:
    """Compare with msprobe's command; None where it is not installed."""
    python = Path(os.environ.get("TENSORTAP_TEST_PYTHON", "python3"))
    command = python.parent / "msprobe"
    if not command.is_file():
        return None
    os.umask(0o027)  # it refuses files that others may write
    for side in "ab":
        run(python, "-c", WRITE_MSPROBE, folder / f"msprobe_{side}", folder / side / "step_0.safetensors", codes=(0,))
    words: list[str | Path] = [
        command,
        "compare",
        "-tp",
        folder / "msprobe_a/step0",
        "-gp",
        folder / "msprobe_b/step0",
        "-o",
        folder / "results",
    ]
    cost = measured(lambda: run(*words), rounds, size)
    if not list((folder / "results").glob("*.csv")):
        raise SystemExit("bench: msprobe compared nothing")
    return cost


def kernel_speeds() -> dict[str, dict[int, float]]:
    """Run the kernel on tensors in memory: GB of both sides a second of one core, by what it compares and the bytes of one side."""
    if not KERNELS.is_file():
        return {}
    chosen = r"--benchmark_filter=^memcmp/|/float32/(equal|close)/"
    results = json.loads(run(KERNELS, "--benchmark_format=json", "--benchmark_min_time=0.5", chosen, codes=(0,)))["benchmarks"]
    speeds: dict[str, dict[int, float]] = {}
    for result in results:
        name, _, size = str(result["name"]).rpartition("/")
        speeds.setdefault(name, {})[int(size)] = result["bytes_per_second"] / 1e9
    return speeds


def kernel_table(speeds: dict[str, dict[int, float]]) -> str:
    """Write a row for each instruction set and kind of pair."""
    if not speeds:
        return "Not measured in this run."
    sizes = sorted(next(iter(speeds.values())))
    heading = [f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB" for size in sizes]
    lines = [f"| GB/s of both sides, one core | {' | '.join(heading)} |", "|---|" + "--:|" * len(sizes)]
    for name, row in speeds.items():
        words = name.replace("/float32/equal", ", equal values").replace("/float32/close", ", values that differ")
        lines.append(f"| {words} | {' | '.join(f'{row[size]:.1f}' for size in sizes)} |")
    return "\n".join(lines)


def page(rows: list[tuple[str, str, Cost | None]], facts: dict[str, Any], load: str) -> str:
    """Write the page."""
    table = "\n".join(
        f"| {name} | {what} | {cost.cpu:.2f} s | {cost.wall:.2f} s | {cost.speed:.2g} GB/s |"
        if cost
        else f"| {name} | not installed | | | |"
        for name, what, cost in rows
    )
    return f"""# What a comparison costs

Made by `./dev bench --compare`; the figures are not edited. Measured on
{facts["processor"]}.
{load}
Medians of {facts["rounds"]} rounds.

The pair: RapidOCR's text detector for a picture of {facts["size"]} by {facts["size"]}, and the same with its input moved by the last bit
(`tensortap run --noise`). {facts["tensors"]} tensors of float32 in each, {facts["megabytes"]:.0f} MB together; {facts["differing"]} of
{facts["pairs"]} pairs differ.

| | what is in it | CPU | wall | both sides, for a second of CPU |
|---|---|--:|--:|--:|
{table}

tensortap's line is the whole command: it opens both dumps, finds the pairs by itself and writes all measures of
[difference.md](difference.md), verdicts and births as JSON; it includes integers. msprobe's line is its whole command, on the same tensors
in files of msprobe's dumps, whose names match; it starts worker processes. Polygraphy's and NumPy's lines do not include reading files:
their arrays are in memory already, under equal names. The measures of the NumPy line are maximum, mean, relative maximum and mean, RMSE,
relative L2, cosine, the two shares of msprobe, and minimum and maximum of both.

## The kernel alone

All measures of two tensors of float32 that are in memory already, by the size of one of them and the instruction set; `memcmp` beside it.
A second is one of the core's own time, which other processes do not use, but they use caches and the memory bus.

{kernel_table(facts["kernels"])}
"""


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--output", type=Path, default=ROOT / "docs/overhead_compare.md")
    options = parser.parse_args()
    meter = LoadMeter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, other = make_pair(folder, options.size)
        a, b = floats_of(one, folder / "a"), floats_of(other, folder / "b")
        a = {name: value for name, value in a.items() if name in b}
        size = 2 * sum(value.nbytes for value in a.values())
        words = ("compare", one, other, "--noise", "none", "--json")
        summary = json.loads(tensortap(*words).splitlines()[-1])["summary"]
        own = measured(lambda: tensortap(*words), options.rounds, size)
        rows: list[tuple[str, str, Cost | None]] = [
            ("`tensortap compare`", "the whole command", own),
            ("NumPy", "16 expressions for a pair", measured(lambda: by_numpy(a, b), options.rounds, size)),
            ("Polygraphy", "`CompareFunc.simple`", measured(lambda: by_polygraphy(a, b), options.rounds, size)),
            ("msprobe", "the whole command", by_msprobe(folder, options.rounds, size)),
        ]
        differing = sum(summary["verdicts"].values()) - summary["verdicts"]["equal"]
        facts = {
            "processor": machine_class(),
            "rounds": options.rounds,
            "size": options.size,
            "tensors": len(a),
            "megabytes": size / 1e6,
            "kernels": kernel_speeds(),
            "differing": differing,
            "pairs": sum(summary["verdicts"].values()),
        }
        text = page(rows, facts, meter.load().sentence().replace(" (load", "\n(load"))
    options.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
