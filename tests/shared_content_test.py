"""Equal contents of memory are written once, and every record still has its own values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import BUILD

PROGRAM = BUILD / "tests/shared_content_program"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="shared_content_program is not built")

STEPS = 3
BYTES = 24_000


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared") / "dump"
    subprocess.run([PROGRAM, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def rows(dump: Path) -> Any:
    return np.load(dump / "records.npy", mmap_mode="r")


def block(step: int) -> np.ndarray[Any, Any]:
    return np.arange(6000, dtype=np.float32) + np.float32(step)


def expected(op: str, kind: int, step: int) -> np.ndarray[Any, Any]:
    whole = block(step).reshape(60, 100)
    if op == "fill_" and kind == 1:
        return block(step - 1).reshape(60, 100) if step > 0 else np.zeros((60, 100), np.float32)
    if kind == 1 or op == "fill_":
        return whole
    return {"flat": whole.reshape(-1), "turned": whole.T, "part": whole.reshape(-1)[100:1100]}[op]


def test_every_record_has_its_own_values(dump: Path, rows: Any) -> None:
    ops = [json.loads(line)["name"] for line in (dump / "ops.jsonl").read_text().splitlines()]
    file = np.memmap(dump / "tensors.npz", np.uint8, mode="r")
    told = rows[rows["step"] < STEPS]
    assert len(told) == STEPS * 8
    for row in told:
        values = expected(ops[row["op"]], row["slot_kind"], row["step"])
        shape = tuple(row["shape"][: row["dims_count"]])
        packed = file[row["data_offset"] : row["data_offset"] + row["data_bytes"]]
        np.testing.assert_array_equal(packed.view(np.float32).reshape(shape), values)
        assert row["max"] == values.max()
        assert row["mean"] == pytest.approx(float(values.astype(np.float64).mean()), abs=1e-9)


def test_equal_bytes_are_in_the_file_once(dump: Path, rows: Any) -> None:
    told = rows[rows["step"] < STEPS]
    # Of each content: the block, which is its own flat view, the turned one and the part; and the zeros at the beginning.
    assert len(np.unique(told["data_offset"])) == 1 + 3 * STEPS
    with np.load(dump / "tensors.npz") as tensors:
        assert len(tensors.files) == len(np.unique(rows["data_offset"]))
    report = json.loads((dump / "run.json").read_text())
    assert report["repeated"]["tensors"] == len(rows) - len(np.unique(rows["data_offset"]))
    assert report["records"] == len(rows)
    assert report["lost"] == 0


def test_storage_and_version_stand_in_the_rows(rows: Any) -> None:
    assert (rows["storage"] == 17).all()
    read = rows[(rows["op"] == 0) & (rows["slot_kind"] == 1)]
    made = rows[(rows["op"] == 0) & (rows["slot_kind"] == 0)]
    assert (made["version"] == read["version"] + 1).all()


def test_a_write_that_was_not_told_is_found(dump: Path, rows: Any) -> None:
    mismatch = json.loads((dump / "run.json").read_text())["content_mismatch"]
    assert mismatch["count"] == 1
    assert mismatch["examples"][0].startswith("flat:out0@3")
    assert rows["max"][-1] == 5999 + 100, "what is there counts from then on"


def test_the_package_reads_it(dump: Path, rows: Any) -> None:
    tensortap = pytest.importorskip("tensortap", reason="the module is not built")
    opened = tensortap.open(dump)
    np.testing.assert_array_equal(opened["flat:out0@1"], block(1))
    np.testing.assert_array_equal(opened["turned:out0@2"], block(2).reshape(60, 100).T)
    np.testing.assert_array_equal(opened["part:in0@2"], block(2).reshape(60, 100))
