"""Every record of a PyTorch program comes back through every tree, in its place, also where some records have no file there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND, tensortap
from torch_support import TorchDump, capture

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

# Calls of one op whose types, sizes and failures the trees store in different places, or not at all.
PROGRAM = """
import torch
torch.set_num_threads(1)
types = [torch.float8_e4m3fnuz, torch.float32, torch.bfloat16, torch.float8_e5m2, torch.complex128, torch.float16, torch.int8, torch.uint16]
for step in range(2):
    for order in (1, -1):
        for i, dtype in enumerate(types[::order]):
            copy = (torch.arange(3) + step * 100 + i).to(torch.float32).to(dtype).clone()
        for shape in ((0, 3), (3,), (), (1,), (2, 0), (2, 2)):
            made = torch.full(shape, float(step + order)) * 2
        try:
            torch.cat([torch.full((2, 3), float(step)), torch.ones(2, 4)], 0)
        except RuntimeError:
            pass
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""
STATISTICS = ("min", "max", "mean", "std", "l2", "absmax", "nan", "pos_inf", "neg_inf", "zero")
Record = tuple[tuple[Any, ...], int, bytes | None, bytes | None]


def records(folder: Path) -> Iterator[Record]:
    """Yield what each record is, its type, its values and its statistics, read with NumPy alone."""
    dump = TorchDump(folder)
    rows, ops = dump.rows, dump.ops
    values = (folder / "tensors.npz").read_bytes() if (folder / "tensors.npz").exists() else b""
    for row in rows:
        shape = tuple(int(size) for size in row["shape"][: row["dims_count"]])
        place = tuple(int(row[name]) for name in ("rank", "run", "step", "call", "slot_kind", "slot_index", "element", "thread", "phase"))
        begin, size = int(row["data_offset"]), int(row["data_bytes"])
        data = values[begin : begin + size] if row["flags"] & 1 else None
        measured = int(row["valid"]) & 0x3FFF != 0
        statistics = b"".join(row[name].tobytes() for name in STATISTICS) if measured else None
        yield (ops[int(row["op"])]["name"], *place, shape), int(row["dtype"]), data, statistics


def of_rank(source: Path, target: Path) -> Path:
    """Copy a dump as that of rank 3 of a job, whose later steps are of a second run."""
    shutil.copytree(source, target)
    rows = np.load(target / "records.npy", mmap_mode="r+")
    rows["rank"] = 3
    rows["run"] = rows["step"] > 0
    rows.flush()
    manifest = json.loads((target / "run.json").read_text())
    (target / "run.json").write_text(json.dumps({**manifest, "rank": 3, "world_size": 4, "files": {}}))
    return target


def lacking_some(source: Path, target: Path) -> Path:
    """Copy a dump, of which a fifth of the records then have no values, a tenth no statistics, and a tenth neither."""
    shutil.copytree(source, target)
    rows = np.load(target / "records.npy", mmap_mode="r+")
    drawn = np.random.default_rng(3).random(len(rows))
    without_values, without_statistics = (drawn < 0.2) | (drawn > 0.9), drawn > 0.8
    rows["flags"][without_values] &= 0xFE
    for name in ("data_offset", "data_bytes", "data_header", "member"):
        rows[name][without_values] = 0
    rows["valid"][without_statistics] = 0
    rows.flush()
    return target


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("records")
    made = {}
    for kind in ("full", "stats"):
        (folder / kind).mkdir()
        captured = capture(folder / kind, PROGRAM, options=["--" + kind])
        assert captured.code == 0, captured.err
        made[kind] = captured.dump.folder
    made["rank"] = of_rank(made["full"], folder / "rank_3")
    made["mixed"] = lacking_some(made["full"], folder / "mixed")
    return made


# M25, B1
@each_row("trees", [("ge",), ("mindspore",), ("msit",), ("ge", "mindspore"), ("msit", "ge")])
@each_row("kind", ["full", "stats", "mixed", "rank"])
def test_every_record_keeps_its_place(kind: str, trees: tuple[str, ...], dumps: dict[str, Path], tmp_path: Path) -> None:
    source, failed = dumps[kind], set()
    for number, layout in enumerate((*trees, "tap")):
        done = tensortap("convert", source, tmp_path / str(number), "--to", layout, "--json")
        assert done.code in (0, 3), done.err
        failed |= {one["source"] for one in done.object["failed"]}
        source = tmp_path / str(number)
    before, after = list(records(dumps[kind])), list(records(source))
    assert [one[0] for one in after] == [one[0] for one in before]
    lost = 0
    wider = 0
    for one, other in zip(before, after, strict=True):
        if one[3] is not None:
            assert one[3] == other[3], one[0]
        if one[2] is None:
            assert other[2] is None, one[0]
        elif other[2] is None:
            lost += 1
        elif one[1] != other[1]:
            wider += 1
        else:
            assert one[2] == other[2], one[0]
    assert lost == len(failed), "each is counted and said"
    assert wider == 0 or "mindspore" in trees
