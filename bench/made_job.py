"""A job of many ranks with known faults, made by NumPy: what bench/many_ranks.py measures.

Each op has one record in a step. Of ten ops, one has a weight that all ranks hold the same, and one a gradient. Values of ranks are close
to each other, as those of other data are, and all their digits are noise, which no compression takes away.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WEIGHT, GRADIENT = 2, 3  # kinds of slots in records.npy
DIGEST = 1  # XXH3
DRIFT = 1.02


@dataclass(frozen=True)
class JobSize:
    """How much there is in a job."""

    ranks: int
    ops: int
    steps: int

    @property
    def rows(self) -> int:
        """Records of all ranks."""
        return self.ranks * self.ops * self.steps


@dataclass(frozen=True)
class Faults:
    """What is wrong in a job: one rank drifts, another has NaN from one op and step on."""

    drifting: int
    rank: int
    op: int
    step: int


def faults_of(size: JobSize) -> Faults:
    """Place the faults: in a job of 64 ranks and 50 steps, rank 17 drifts, and rank 41 has NaN from op 777 of step 30 on."""
    return Faults(size.ranks * 17 // 64, size.ranks * 41 // 64, min(777, size.ops - 1), size.steps * 3 // 5)


def ops_of(size: JobSize) -> list[dict[str, Any]]:
    """Name the ops, those of a layer beside each other."""
    types = ["MatMul", "Add", "LayerNormalization", "Softmax", "Gelu"]
    return [
        {"id": number, "name": f"layers.{number // 20}/op_{number}", "type": types[number % 5], "module": f"layers.{number // 20}"}
        for number in range(size.ops)
    ]


def common_rows(size: JobSize, example: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Make what all ranks have alike; `example` is the record of a captured model, with all statistics."""
    random = np.random.default_rng(1)
    count = size.ops * size.steps
    rows = np.repeat(example, count)
    number = np.arange(count)
    rows["sequence"], rows["op"], rows["step"], rows["call"], rows["element"] = number, number % size.ops, number // size.ops, 0, -1
    rows["slot_kind"] = np.array([WEIGHT, GRADIENT, *[0] * 8], np.uint8)[rows["op"] % 10]
    rows["slot_index"], rows["phase"] = 0, 0
    rows["dims_count"], rows["shape"] = 2, 0
    rows["shape"][:, 0], rows["shape"][:, 1] = 64, 64 * (1 + rows["op"] % 7)
    rows["numel"] = rows["count"] = rows["shape"][:, 0] * rows["shape"][:, 1]
    rows["bytes"] = 4 * rows["numel"]
    rows["time_ns"] = np.cumsum(random.integers(1000, 30_000, count))
    rows["l2"] = np.exp(random.normal(0, 1, count))
    rows["digest_kind"] = DIGEST * (rows["slot_kind"] == WEIGHT)
    rows["digest"] = 0
    rows["digest"][:, :16] = random.integers(0, 256, (count, 16)) * (rows["slot_kind"] == WEIGHT)[:, None]
    rows["storage"], rows["first_nonfinite"], rows["flags"], rows["data_bytes"] = 0, -1, 0, 0
    for name in ("nan", "pos_inf", "neg_inf", "neg_zero"):
        rows[name] = 0
    return rows


def rows_of(rank: int, size: JobSize, common: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Make the records of one rank."""
    random = np.random.default_rng(100 + rank)
    faults = faults_of(size)
    rows = common.copy()
    other = rows["slot_kind"] != WEIGHT
    noise = np.where(other, np.exp(random.normal(0, 0.05, len(rows))), 1)
    if rank == faults.drifting:
        noise = np.where(other, noise * DRIFT ** rows["step"], noise)
    rows["rank"] = rank
    rows["l2"] *= noise
    rows["absmax"] = rows["l2"] * np.where(other, random.uniform(0.01, 0.05, len(rows)), 0.02)
    rows["max"], rows["min"] = rows["absmax"], -rows["absmax"] * np.where(other, random.uniform(0.5, 1, len(rows)), 1)
    rows["mean"] = rows["absmax"] * np.where(other, random.normal(0, 0.01, len(rows)), 0)
    rows["std"] = rows["l2"] / np.sqrt(rows["numel"])
    zeros = np.where(other, random.integers(0, 100, len(rows)), 0)
    rows["zero"], rows["positive"] = zeros, (rows["numel"] - zeros) // 2
    rows["negative"] = rows["numel"] - zeros - rows["positive"]
    rows["duration_ns"] = random.integers(5_000, 25_000, len(rows))
    if rank == faults.rank:
        bad = other & (rows["sequence"] >= faults.step * size.ops + faults.op)
        rows["nan"][bad], rows["first_nonfinite"][bad] = 7, 3
    return rows


def write_job(folder: Path, size: JobSize, example: npt.NDArray[np.void]) -> None:
    """Write the dumps of all ranks, each as docs/layouts/tap.md has it."""
    common = common_rows(size, example)
    ops = "".join(json.dumps(op) + "\n" for op in ops_of(size))
    groups = [{"name": "default", "ranks": list(range(size.ranks))}]
    manifest = {"tensortap": "0.1.0", "layout": "tap", "complete": True, "world_size": size.ranks, "lost": 0}
    for rank in range(size.ranks):
        place = folder / f"rank_{rank}"
        place.mkdir(parents=True)
        np.save(place / "records.npy", rows_of(rank, size, common))
        (place / "ops.jsonl").write_text(ops)
        (place / "run.json").write_text(json.dumps({**manifest, "rank": rank, "runtime": {"process_groups": groups}}))
