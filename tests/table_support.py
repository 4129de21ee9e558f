"""Dumps that are made by NumPy alone, for tests of tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensortap
from numpy.typing import NDArray

COUNTS = ("nan", "pos_inf", "neg_inf", "zero", "neg_zero", "positive", "negative")
NUMBERS = ("min", "max", "mean", "std", "l2", "absmax")
BITS = {name: 1 << place for place, name in enumerate(NUMBERS + COUNTS)} | {"mean_abs": 1 << 14, "subnormal": 1 << 15}
ALL_MEASURED = (1 << 13) - 1


def dtype_number(name: str) -> int:
    """Give the number that a dtype has in records."""
    return [row[0] for row in tensortap._core.dtype_table()].index(name)


FLOAT32 = dtype_number("float32")
NAMES = ["out", "in", "weight", "grad"]
MODEL_PHASES = ["", "prefill", "decode", "train", "warm-up"]
PHASES = ["inference", "forward", "backward", "update", "load"]
HEADER_SIZE = 4096
Rows = NDArray[np.void]


def made_rows(count: int, ops: int, rank: int = 0, seed: int = 0) -> Rows:
    """Make rows of all kinds: each op has a record in a step, values are random, a third lacks most statistics."""
    random = np.random.default_rng(seed)
    rows = np.zeros(count, tensortap._tensors.row_dtype())
    number = np.arange(count)
    rows["sequence"], rows["op"], rows["step"], rows["rank"] = number, number % ops, number // ops, rank
    rows["slot_kind"], rows["slot_index"] = number % 4, number % 3
    rows["element"], rows["first_nonfinite"] = -1, -1
    rows["phase"], rows["call"], rows["thread"] = number % 5, number % 2, number % 7
    rows["model_phase"] = number % 5
    rows["duration_ns"] = random.integers(-1, 10**6, count)
    rows["time_ns"] = np.cumsum(random.integers(0, 1000, count))
    rows["dtype"] = FLOAT32
    rows["dims_count"] = number % 4
    for axis in range(3):
        rows["shape"][:, axis] = np.where(rows["dims_count"] > axis, rows["op"] % 7 + 1, 0)
    rows["numel"], rows["bytes"] = random.integers(0, 2**40, count), random.integers(0, 2**62, count)
    for name in NUMBERS:
        rows[name] = random.normal(size=count)
    rows["absmax"][::11] = np.nan
    rows["max"][::13] = np.inf
    for name in COUNTS:
        rows[name] = random.integers(0, 5, count)
    rows["count"] = random.integers(0, 2**63, count)
    rows["valid"] = np.where(number % 3 == 0, 0b111, ALL_MEASURED)
    rows["digest_kind"] = number % 4
    sizes = np.array([0, 16, 16, 20])[rows["digest_kind"]]
    rows["digest"] = np.where(np.arange(20) < sizes[:, None], random.integers(0, 256, (count, 20)), 0)
    rows["storage"], rows["version"] = number % 3, number % 5
    rows["committed"] = 1
    return rows


def write_dump(folder: Path, rows: Rows, ops: Sequence[dict[str, Any]], manifest: dict[str, Any] | None = None) -> Path:
    """Write rows and ops as docs/layouts/tap.md has them."""
    folder.mkdir(parents=True)
    descr = np.lib.format.dtype_to_descr(rows.dtype)
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': ({str(len(rows)).ljust(20)},), }}".encode()
    magic = b"\x93NUMPY\x01\x00" + (HEADER_SIZE - 10).to_bytes(2, "little")
    (folder / "records.npy").write_bytes((magic + head).ljust(HEADER_SIZE - 1) + b"\n" + rows.tobytes())
    lines = [json.dumps({"id": number, **op}) for number, op in enumerate(ops)]
    (folder / "ops.jsonl").write_text("".join(line + "\n" for line in lines))
    (folder / "run.json").write_text(json.dumps({"records": len(rows), **(manifest or {})}))
    return folder


def write_job(folder: Path, change: Callable[[int, Rows], None] = lambda rank, rows: None) -> NDArray[np.float64]:
    """Write five ranks, ten steps of twelve ops: rank 3 drifts, rank 2 has NaN from step 7, op_4 on; give the l2 by rank, step and op."""
    ranks, ops, steps = 5, 12, 10
    norms = np.exp(np.random.default_rng(0).normal(0, 0.05, (ranks, steps, ops))) * np.arange(1, ops + 1)
    norms[3] *= 1.5 ** np.arange(steps)[:, None]
    for rank in range(ranks):
        rows = made_rows(ops * steps, ops, rank)
        for name in ("slot_kind", "slot_index", "phase", "call", "dims_count", "shape", "digest_kind", *COUNTS):
            rows[name] = 0
        rows["l2"], rows["absmax"], rows["max"], rows["valid"] = norms[rank].ravel(), 1, 1, ALL_MEASURED
        rows["numel"] = rows["count"] = 1
        if rank == 2:
            rows["nan"][7 * ops + 4 :] = 6
        change(rank, rows)
        write_dump(folder / f"rank_{rank}", rows, [{"name": f"op_{number}", "type": "Mul"} for number in range(ops)])
    return norms


def made_ops(count: int) -> list[dict[str, Any]]:
    """Make ops, the first of them with names that a table has to survive."""
    hostile = ["", 'a "quoted", name', "new\nline", "caf\u00e9 \U0001f600", "\udcff broken", "x" * 5000]
    ops = [{"name": f"layers.{number // 4}/op_{number}", "type": ["MatMul", "Add", "Exp"][number % 3]} for number in range(count)]
    for op, name in zip(ops, hostile, strict=False):
        op["name"] = name
    for number, op in enumerate(ops):
        op["module"] = f"layers.{number // 4}"
    return ops


def shown(text: str) -> str:
    """Give a text of a dump as readers see it: U+FFFD for bytes that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def expected_frame(rows: Rows, ops: Sequence[dict[str, Any]]) -> dict[str, list[Any] | NDArray[Any]]:
    """Give the columns of `Dump.to_arrow`, by NumPy and the tables of docs/layouts/tap.md."""
    texts: dict[str, Callable[[Any], object]] = {
        "op": lambda row: shown(ops[row["op"]]["name"]),
        "type": lambda row: ops[row["op"]]["type"],
        "slot": lambda row: f"{NAMES[row['slot_kind']]}{row['slot_index']}",
        "dtype": lambda _: "float32",
        "phase": lambda row: PHASES[row["phase"]],
        "model_phase": lambda row: MODEL_PHASES[row["model_phase"]],
        "shape": lambda row: [int(size) for size in row["shape"][: row["dims_count"]]],
    }
    left_out = "op slot_kind slot_index shape dims_count digest digest_kind strides strided element_order sketch value_flags reserved"
    left_out += " valid committed data_header min_integer max_integer spare"
    fields = [name for name in rows.dtype.names or () if name not in left_out.split()]
    columns: dict[str, list[Any] | NDArray[Any]] = {}
    for name in ["op", "type", "slot", *fields, "shape"]:
        if name in texts:
            columns[name] = [texts[name](row) for row in rows]
            continue
        values = np.ascontiguousarray(rows[name])
        missing = (rows["valid"] & BITS[name]) == 0 if name in BITS else np.zeros(len(rows), bool)
        columns[name] = np.where(missing, np.nan, values.astype(np.float64)) if missing.any() else values
    return cast("dict[str, list[Any] | NDArray[Any]]", columns)


def expected_export(rows: Rows, dump: str, job_ops: Sequence[int]) -> dict[str, list[Any]]:
    """Give the columns that `tensortap export` writes for the records of one rank, ordered by step, op of the job and row."""
    order = sorted(range(len(rows)), key=lambda number: (rows["step"][number], job_ops[rows["op"][number]], number))
    sizes, kinds = [0, 16, 16, 20], [None, "xxh3", "md5", "sha1"]
    plain = ["step", "call", "run", "slot_index", "numel", "bytes", "count", "sequence", "thread", "time_ns", "flags"]

    def where(name: str, has: Callable[[Any], object]) -> Callable[[Any], object]:
        return lambda row: row[name].item() if has(row) else None

    def measured(bit: int) -> Callable[[Any], object]:
        return lambda row: row["valid"] & bit

    made: dict[str, Callable[[Any], object]] = {name: where(name, lambda _: True) for name in plain}
    made |= {name: where(name, measured(bit)) for name, bit in BITS.items()}
    made |= {
        "job_op": lambda row: job_ops[row["op"]],
        "op": lambda row: row["op"].item(),
        "slot": lambda row: f"{NAMES[row['slot_kind']]}{row['slot_index']}",
        "slot_kind": lambda row: NAMES[row["slot_kind"]],
        "element": lambda row: row["element"].item() if row["element"] >= 0 else None,
        "phase": lambda row: PHASES[row["phase"]],
        "model_phase": lambda row: MODEL_PHASES[row["model_phase"]],
        "moment": lambda row: ["after", "before"][row["moment"]],
        "dtype": lambda _: "float32",
        "shape": lambda row: "x".join(str(size) for size in row["shape"][: row["dims_count"]]),
        "sampled": lambda row: bool(row["valid"] & (1 << 30)),
        "first_nonfinite": lambda row: row["first_nonfinite"].item() if row["first_nonfinite"] >= 0 else None,
        "duration_ns": lambda row: row["duration_ns"].item() if row["duration_ns"] >= 0 else None,
        "digest": lambda row: bytes(row["digest"])[: sizes[row["digest_kind"]]] if row["digest_kind"] else None,
        "digest_kind": lambda row: kinds[row["digest_kind"]],
        "storage": where("storage", lambda row: row["storage"]),
        "version": where("version", lambda row: row["storage"]),
        "dump": lambda _: dump,
        "file": lambda row: "tensors.npz" if row["flags"] & 1 else None,
        **{name: where(name, lambda row: row["flags"] & 1) for name in ("member", "data_offset", "data_bytes")},
    }
    columns = {name: [value(rows[number]) for number in order] for name, value in made.items()}
    return columns | {"row": order}
