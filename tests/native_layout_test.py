"""NumPy, zipfile and json read what the native layout writes, as docs/layouts/tap.md says."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import BUILD

PROGRAM = BUILD / "tests/write_dump_program"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="write_dump_program is not built")

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0", "int4", "uint4",
    "int2", "uint2", "uint1", "float4_e2m1", "string",
]  # fmt: skip
RAW = {"bfloat16": "<u2"} | {name: "|u1" for name in DTYPES if name.startswith("float8")}
PACKED_BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "uint1": 1, "float4_e2m1": 4}
STRINGS = [b"", b"a", "größe".encode(), b"\xff", b"two words", b"end"]
SLOTS_PER_DTYPE = 2


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dump")
    subprocess.run([PROGRAM, folder], check=True)
    return folder


def pattern(number: int, step: int, size: int) -> np.ndarray[Any, Any]:
    return ((np.arange(size) * 151 + number + 50 * step) % 256).astype(np.uint8)


def test_numpy_maps_the_records(dump: Path) -> None:
    rows = np.load(dump / "records.npy", mmap_mode="r")
    assert rows.dtype.itemsize == 576
    assert len(rows) == len(DTYPES) * SLOTS_PER_DTYPE
    assert (rows["committed"] == 1).all()
    assert rows["dtype"].tolist() == [1 + i // 2 for i in range(len(rows))]
    assert rows["step"].tolist() == [i % 2 for i in range(len(rows))]
    assert (rows["shape"][:, :2] == [2, 3]).all()
    assert (rows["shape"][:, 2:] == 0).all()
    assert (rows["numel"] == 6).all()
    numbers = rows[rows["dtype"] != DTYPES.index("string") + 1]
    assert (numbers["min"] == -1.5).all()
    assert (numbers["nan"] == numbers["dtype"]).all()


def test_numpy_loads_every_tensor_bit_for_bit(dump: Path) -> None:
    tensors = np.load(dump / "tensors.npz")
    assert len(tensors.files) == len(DTYPES) * SLOTS_PER_DTYPE
    for number, name in enumerate(DTYPES, 1):
        for step in (0, 1):
            values = tensors[f"graph/{name}:out0" + (f"@{step}" if step else "")]
            if name == "string":
                sizes = values[: 8 * 6].view("<u8")
                ends = np.cumsum(sizes)
                texts = values[8 * 6 :].tobytes()
                assert [texts[int(end - size) : int(end)] for end, size in zip(ends, sizes, strict=True)] == STRINGS
            elif name in PACKED_BITS:
                assert values.dtype == np.uint8
                assert values.tobytes() == pattern(number, step, (6 * PACKED_BITS[name] + 7) // 8).tobytes()
            else:
                assert values.dtype == np.dtype(RAW.get(name, name))
                assert values.shape == (2, 3)
                assert values.tobytes() == pattern(number, step, values.nbytes).tobytes()


def test_rows_point_at_aligned_elements(dump: Path) -> None:
    rows = np.load(dump / "records.npy")
    content = np.memmap(dump / "tensors.npz", mode="r")
    for row in rows:
        begin, size = int(row["data_offset"]), int(row["data_bytes"])
        assert begin % 64 == 0
        assert bytes(content[begin - int(row["data_header"]) :][:4]) == b"PK\x03\x04"
        if row["dtype"] != DTYPES.index("string") + 1:
            assert (content[begin : begin + size] == pattern(int(row["dtype"]), int(row["step"]), size)).all()


def test_zipfile_finds_no_damage(dump: Path) -> None:
    with zipfile.ZipFile(dump / "tensors.npz") as archive:
        assert archive.testzip() is None
        assert not any(name.startswith("/") or ".." in name for name in archive.namelist())


def test_numpy_loads_the_histograms(dump: Path) -> None:
    histograms = np.load(dump / "histograms.npy")
    rows = np.load(dump / "records.npy")
    counted = rows[rows["histogram"] > 0]
    assert histograms.shape == (len(DTYPES) - 1, 283)
    for row in counted:
        histogram = histograms[row["histogram"] - 1]
        assert histogram[row["dtype"]] == 7
        assert histogram[282] == row["dtype"]


def test_every_op_is_a_line_of_json(dump: Path) -> None:
    ops = [json.loads(line) for line in (dump / "ops.jsonl").read_text().splitlines()]
    assert [op["name"] for op in ops] == [f"/graph/{name}" for name in DTYPES]
    assert ops[0]["attributes"] == {"number": 1}
    run = json.loads((dump / "run.json").read_text())
    assert run["program"] == "write_dump_program"
    assert {name: told["bytes"] for name, told in run["files"].items()} == {
        path.name: path.stat().st_size for path in dump.iterdir() if path.name != "run.json"
    }


def test_numpy_maps_the_records_of_a_program_that_died(tmp_path: Path) -> None:
    subprocess.run([PROGRAM, tmp_path, "die"], check=True)
    rows = np.load(tmp_path / "records.npy", mmap_mode="r")
    assert rows.dtype.itemsize == 576
    # The header lags behind; the file already contains the rows.
    content = np.memmap(tmp_path / "records.npy", mode="r")[4096:].view(rows.dtype)
    assert int((content["committed"] == 1).sum()) == len(DTYPES) * SLOTS_PER_DTYPE
