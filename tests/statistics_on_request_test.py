"""Statistics that are computed on request, against NumPy; and dumps whose rows have other columns."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, small_model, tensortap
from numpy.typing import NDArray
from onnx import TensorProto, helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")
module = pytest.importorskip("tensortap", reason="the module is not built")

ROOT = Path(__file__).resolve().parent.parent
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE, "int32": TensorProto.INT32}


def hard_values(dtype: str) -> NDArray[np.generic]:
    """Give 1,000 numbers of each sign with subnormal ones, NaN, Inf and both zeros among them."""
    rng = np.random.default_rng(5)
    values = (rng.standard_normal(1000) * 100).astype(dtype)
    if np.issubdtype(values.dtype, np.floating):
        limits = np.finfo(values.dtype)
        values[:40] = (rng.uniform(-1, 1, 40) * float(limits.tiny)).astype(dtype)
        values[40:46] = [0.0, -0.0, np.nan, np.inf, limits.tiny, limits.smallest_subnormal]
    return values


@pytest.mark.parametrize("dtype", TYPES)
def test_they_equal_numpys(tmp_path: Path, dtype: str) -> None:
    nodes = [helper.make_node("Identity", ["x"], ["y"], name="same")]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TYPES[dtype], [1000])],
        [helper.make_tensor_value_info("y", TYPES[dtype], [1000])],
    )
    (tmp_path / "m.onnx").write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )
    values = hard_values(dtype)
    np.save(tmp_path / "x.npy", values)
    done = tensortap(
        "run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--statistics", "all", "--out", tmp_path / "d", "--json"
    )
    assert done.code == 0, done
    record = next(one for one in tensortap("ls", tmp_path / "d", "--json").objects if one["numel"] == 1000)
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    # Inf enters means, as it does `mean`.
    expected = np.inf if np.isinf(wide).any() else np.abs(finite).mean()
    assert float(record["mean_abs"]) == pytest.approx(expected, rel=1e-12)
    tiny = float(np.finfo(dtype).tiny) if np.issubdtype(values.dtype, np.floating) else 0.0
    assert record["subnormal"] == ((finite != 0) & (np.abs(finite) < tiny)).sum()
    assert (record["subnormal"] > 10) == (dtype != "int32")
    shown = tensortap("show", tmp_path / "d", f"{record['op']}:{record['slot']}").out
    assert "mean_abs" in shown and f"subnormal {record['subnormal']}" in shown
    assert "subnormal" in tensortap("ls", tmp_path / "d").out.splitlines()[0]
    assert tensortap("ls", tmp_path / "d", "--where", "subnormal > 10", "--json").objects != [] or dtype == "int32"
    rows = module.Dump(tmp_path / "d").records
    assert record["subnormal"] in rows["subnormal"]


def test_nothing_computes_them_unasked(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    assert tensortap("run", model, "--out", tmp_path / "d").code == 0
    assert all("mean_abs" not in one and "subnormal" not in one for one in tensortap("ls", tmp_path / "d", "--json").objects)
    assert "subnormal" not in tensortap("ls", tmp_path / "d").out
    wrong = tensortap("run", model, "--statistics", "subnormals", "--out", tmp_path / "e")
    assert (wrong.code, "subnormal" in wrong.err) == (2, True)
    assert tensortap("run", model, "--statistics", "min", "--tensors", "--out", tmp_path / "e").code == 2


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(ROOT / "tests/golden/tap/rows_of_512.tar.gz") as archive:
        archive.extractall(tmp_path)
    return tmp_path / "rows_of_512"


def test_dumps_of_the_version_with_512_byte_rows_read_as_it_read_them(old: Path) -> None:
    for name in ("whole", "bad"):
        expected = [json.loads(line) for line in (old / f"{name}.jsonl").read_text().splitlines()]
        assert tensortap("ls", old / name, "--json").objects == expected
        rows = np.load(old / name / "records.npy")
        assert rows.dtype.itemsize == 512
        assert [int(row["sequence"]) for row in module.Dump(old / name).records] == [int(row["sequence"]) for row in rows]
    assert tensortap("find", old / "whole").code == 0
    assert tensortap("find", old / "bad").code == 1
    assert tensortap("compare", old / "whole", old / "whole").code == 0


def test_they_are_repaired_too(old: Path) -> None:
    records = old / "whole/records.npy"
    whole = tensortap("ls", old / "whole", "--json").objects
    records.write_bytes(records.read_bytes()[:-600])
    assert tensortap("find", old / "whole").code == 3
    assert tensortap("repair", old / "whole").code == 0
    assert [one for one in tensortap("ls", old / "whole", "--json").objects if "op" in one] == whole[:-2]
    # Without its header, a file tells by its rows how long they are.
    shutil.copytree(old / "bad", old / "headless")
    content = bytearray((old / "headless/records.npy").read_bytes())
    content[:100] = bytes(100)
    (old / "headless/records.npy").write_bytes(content)
    found = tensortap("ls", old / "headless", "--json")
    assert [one["op"] for one in found.objects if "op" in one] == [one["op"] for one in tensortap("ls", old / "bad", "--json").objects]
