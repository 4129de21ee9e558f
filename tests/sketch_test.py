"""Sketches by channel and block: what `run` and `exec` record is what NumPy makes of the values beside them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from cli_support import tensortap as command
from onnx import TensorProto, helper, numpy_helper
from torch_support import capture

tensortap = pytest.importorskip("tensortap", reason="the module is not built")

FORMATS = {"float4_e2m1": 6 * 4, "float8_e4m3fn": 448 * 1024, "float8_e5m2": 57344 * 2**17}
BLOCK = 16
THERE, NO_AXIS, NO_NUMBERS = 1, 2, 4
HAS_DATA = 1

PROGRAM = """
import torch
torch.manual_seed(3)
for step in range(2):
    x = torch.randn(6, 5, 33)
    x[0, 1, 2], x[3, 4, 5], x[2, 2] = float("nan"), float("-inf"), 0.0
    y = x * 2
    for kind in (torch.bfloat16, torch.float16, torch.float64, torch.complex64):
        (y + 1).to(kind).mul(3)
    z = (torch.randn(6, 5, 33) * 50).to(torch.int8).neg()
    (z.to(torch.int64) * 3).to(torch.int32).add(7)
    w = y.transpose(1, 2).neg()
    v = torch.as_strided(torch.arange(64.0), (4, 3, 2), (9, 2, 5)).neg()
    empty = torch.zeros(3, 0, 4).neg()
    flat = torch.randn(40).neg()
    scalar = torch.tensor(4.0).neg()
    (torch.randn(3, 4, 16) * 1e30).neg()
    (torch.randn(3, 4, 16) * 1e-30).neg()
"""


def numbers(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], type]:
    """Give the numbers that count, and the type in which products of blocks are formed."""
    if np.iscomplexobj(values):
        wide = values.astype(np.complex128)
        return np.where(np.isnan(wide.real) | np.isnan(wide.imag), np.nan, np.abs(wide)), np.float64
    wide = values.astype(np.float64)
    narrow = values.dtype.itemsize < 4 or values.dtype == np.float32
    return wide, np.float32 if narrow else np.float64


def check_channels(found: Any, values: npt.NDArray[Any], axis: int) -> None:
    wide, kind = numbers(values)
    rows = np.moveaxis(wide, axis, 0).reshape(wide.shape[axis], wide.size // max(wide.shape[axis], 1))
    finite = np.where(np.isfinite(rows), rows, 0.0)
    assert (found.axis, found.elements) == (axis % wide.ndim, rows.shape[1])
    np.testing.assert_array_equal(found.absmax, np.abs(finite).max(axis=1, initial=0))
    np.testing.assert_allclose(found.squares, (finite**2).sum(axis=1), rtol=2**-17 if kind is np.float32 else 2**-40)
    np.testing.assert_array_equal(found.zero, (rows == 0).sum(axis=1))
    np.testing.assert_array_equal(found.nonfinite, (~np.isfinite(rows)).sum(axis=1))


def check_blocks(found: Any, values: npt.NDArray[Any], size: int) -> None:
    wide, kind = numbers(values)
    length = wide.shape[-1] if wide.ndim else 1
    rows = wide.reshape(-1, length) if wide.size else np.zeros((0, 1))
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % size)))
    blocks = np.abs(padded.reshape(-1, size))
    nan = np.isnan(blocks).any(axis=1)
    inf = np.isinf(blocks).any(axis=1) & ~nan
    finite = blocks[~nan & ~inf]
    largest = finite.max(axis=1, initial=0)
    bins = np.zeros(280, np.uint64)
    np.add.at(bins, np.clip(np.frexp(largest[largest > 0])[1] - 1 + 150, 0, 279), np.uint64(1))
    assert (found.size, found.zero, found.nan, found.inf) == (size, (largest == 0).sum(), nan.sum(), inf.sum())
    np.testing.assert_array_equal(found.bins, bins)
    assert found.nonzero == np.count_nonzero(finite)
    with np.errstate(over="ignore"):
        for name, factor in FORMATS.items():
            lost = (finite.astype(kind) * kind(factor) <= largest.astype(kind)[:, None]) & (finite != 0)
            assert found.underflow[name] == lost.sum(), name


def check_dump(folder: Path, axis: int | None, size: int | None) -> dict[int, int]:
    """Compare every record with its values; return how many records are in which state."""
    dump = tensortap.open(folder)
    states: dict[int, int] = {}
    for row, name in enumerate(dump):
        state = int(dump.records["sketch"][row])
        states[state] = states.get(state, 0) + 1
        if not dump.records["flags"][row] & HAS_DATA:
            # Memory that nothing was written to.
            assert (state, dump.sketch(row)) == (NO_NUMBERS, None), name
            continue
        values, sketch = dump[row], dump.sketch(row)
        expected = axis is not None and -values.ndim <= axis < values.ndim
        assert state == (THERE if expected or axis is None else NO_AXIS), name
        assert (sketch is not None) == (expected or size is not None), name
        if sketch is None:
            continue
        assert (sketch.channels is not None) == expected, name
        assert (sketch.blocks is not None) == (size is not None), name
        if expected:
            check_channels(sketch.channels, values, axis)
        if size is not None:
            check_blocks(sketch.blocks, values, size)
    return states


def image_model(path: Path) -> Path:
    """Save a convolution, a bias, casts to other types, a product with a matrix and a sum to one number."""
    rng = np.random.default_rng(5)
    weights = numpy_helper.from_array(rng.standard_normal((7, 3, 3, 3)).astype(np.float32), "w")
    axes = numpy_helper.from_array(np.array([0, 1, 2, 3], np.int64), "axes")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Cast", ["r"], ["half"], name="half", to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["c"], ["bytes"], name="bytes", to=TensorProto.INT8),
        helper.make_node("Transpose", ["c"], ["t"], name="last", perm=[0, 2, 3, 1]),
        helper.make_node("ReduceSum", ["t", "axes"], ["sum"], name="sum", keepdims=0),
    ]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("half", 10), ("bytes", 3), ("sum", 1))]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 9, 21])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights, axes])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.fixture(scope="module")
def model_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    image_model(folder / "model.onnx")
    x = np.random.default_rng(2).standard_normal((2, 3, 9, 21)).astype(np.float32)
    np.save(folder / "x.npy", x)
    words = (
        "run",
        "model.onnx",
        "--input",
        "x=x.npy",
        "--runs",
        "3",
        "--as-written",
        "--full",
        "--channels",
        "1",
        "--blocks",
        "32",
        "--out",
        "dump",
    )
    done = command(*words, cwd=folder)
    assert done.code == 0, done.err
    return folder / "dump"


# B12
def test_sketches_of_a_model_are_those_of_its_values(model_dump: Path) -> None:
    states = check_dump(model_dump, 1, 32)
    assert states[THERE] >= 12
    assert states[NO_AXIS] >= 3


# B12
def test_sketches_of_a_program_are_those_of_its_values(tmp_path: Path) -> None:
    for name, axis, size in (("both", -1, BLOCK), ("channels", 1, None), ("blocks", None, 128)):
        folder = tmp_path / name
        folder.mkdir()
        sketch = {key: value for key, value in (("channels", axis), ("blocks", size)) if value is not None}
        (folder / "config.json").write_text(json.dumps({"payload": "full", "slots": ["in", "out"], "sketch": sketch}))
        done = capture(folder, PROGRAM, options=["--config", str(folder / "config.json")])
        assert done.code == 0, done.err
        states = check_dump(folder / "dump", axis, size)
        assert states[THERE] > 40
        assert (axis is None) == (NO_AXIS not in states)


# B12
def test_sketches_of_steps_merge_to_that_of_all_their_values(model_dump: Path) -> None:
    dump = tensortap.open(model_dump)
    rows = [row for row in range(len(dump)) if dump.record(row)["op"] == "last"]
    assert len(rows) == 3
    merged = tensortap.merge_sketches(dump.sketch(row) for row in [*rows[:1], *rows])
    whole = np.concatenate([dump[row] for row in [*rows[:1], *rows]])
    check_channels(merged.channels, whole, 1)
    check_blocks(merged.blocks, whole, 32)
    lost = merged.blocks.underflow["float4_e2m1"] / np.count_nonzero(whole)
    assert merged.blocks.underflow_share("float4_e2m1") == lost > 0
    image = dump.sketch("x:out0")
    for others, said in (
        ([image, merged], "numbers of channels"),
        ([None], "no sketch"),
        ([merged, tensortap.Sketch(None, merged.blocks)], "kinds"),
    ):
        with pytest.raises(tensortap.Error, match=said):
            tensortap.merge_sketches(others)


# B12
def test_show_says_what_a_sketch_holds(model_dump: Path) -> None:
    dump = tensortap.open(model_dump)
    sketch = dump.sketch("relu:out0")
    told = command("show", model_dump, "relu:out0", "--json").object["sketch"]
    assert told["missing"] is None
    assert (told["channels"]["axis"], told["blocks"]["size"]) == (1, 32)
    for name in ("absmax", "squares", "zero", "nonfinite"):
        assert told["channels"][name] == getattr(sketch.channels, name).tolist()
    assert told["blocks"]["bins"] == sketch.blocks.bins.tolist()
    assert told["blocks"]["underflow"] == sketch.blocks.underflow
    text = command("show", model_dump, "relu:out0").out
    assert f"7 along axis 1, {2 * 7 * 19} elements each; the largest is {sketch.channels.absmax.argmax()} (absmax " in text
    assert f"float4_e2m1 {100 * sketch.blocks.underflow_share('float4_e2m1'):.3g} %" in text
    without = command("show", model_dump, "sum:out0")
    assert "none: the tensor has no such axis" in without.out
    assert command("show", model_dump, "sum:out0", "--json").object["sketch"]["missing"] == "the tensor has no such axis"


def test_an_axis_that_no_tensor_has_is_said(tmp_path: Path) -> None:
    image_model(tmp_path / "model.onnx")
    done = command("run", "model.onnx", "--stats", "--channels", "9", "--out", "dump", cwd=tmp_path)
    assert done.code == 0
    assert "no tensor has an axis 9, so there are no sums of channels" in done.err


# B12
def test_conversion_says_that_sketches_stay_behind(model_dump: Path, tmp_path: Path) -> None:
    done = command("convert", model_dump, tmp_path / "tree", "--to", "mindspore")
    assert done.code == 0, done.err
    assert "sketches by channel and block" in done.err
    again = tensortap.open(tmp_path / "tree")
    dump = tensortap.open(model_dump)
    for name in ("relu:out0", "last:out0@2"):
        for mine, theirs in (
            (again.sketch(name).channels, dump.sketch(name).channels),
            (again.sketch(name).blocks, dump.sketch(name).blocks),
        ):
            np.testing.assert_equal(vars(mine), vars(theirs))
    refused = command("run", model_dump.parent / "model.onnx", "--blocks", "16", "--layout", "mindspore", "--out", tmp_path / "no")
    assert refused.code == 2
    assert 'the layout "mindspore" has no place for sketches' in refused.err
    assert not (tmp_path / "no").exists()


# B12
def test_damaged_sketches_are_one_error(model_dump: Path, tmp_path: Path) -> None:
    for name in ("sketches.npy", "sketch_channels.npy"):
        folder = tmp_path / name
        folder.mkdir()
        for path in model_dump.iterdir():
            if path.is_file():
                (folder / path.name).write_bytes(path.read_bytes())
        os.truncate(folder / name, 600)
        with pytest.raises(tensortap.Error, match=name):
            tensortap.open(folder).sketch("relu:out0")
        done = command("show", folder, "relu:out0")
        assert done.code == 0, done.err
        assert f"none: relu:out0: {name if name == 'sketches.npy' else 'sketches.npy: the channels'}" in done.out
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(tensortap.Error, match="is a pipe"):
            tensortap.open(folder).sketch("relu:out0")
