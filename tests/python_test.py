"""The Python module: dumps as arrays, runs as calls."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from case_table import each_row
from cli_support import nonfinite_model, save, small_model
from onnx import TensorProto, helper, numpy_helper

tensortap = pytest.importorskip("tensortap", reason="the module is not built")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("python")
    small_model(made / "model.onnx")
    nonfinite_model(made / "nonfinite.onnx")
    return made


@pytest.fixture(scope="module")
def x() -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).standard_normal((2, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def result(folder: Path, x: np.ndarray[Any, Any]) -> Any:
    return tensortap.run(folder / "model.onnx", [{"x": x}, {"x": -x}], out=folder / "dump", payload="full", verify=True)


def expected_outputs(model: Path, x: np.ndarray[Any, Any]) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(str(model)).run(None, {"x": x})[0]


def test_run_makes_inputs_of_ranges_and_passes_entries_of_the_session_on(folder: Path, tmp_path: Path) -> None:
    model = folder / "model.onnx"
    made = tensortap.run(model, out=tmp_path / "a", range=(-3, -2), session_config={"session.set_denormal_as_zero": "1"})
    assert [given["how"] for given in made.summary["inputs"]] == ["uniform -3..-2"]
    own = tensortap.run(model, out=tmp_path / "b", ranges={"x": (5, 6)})
    assert [given["how"] for given in own.summary["inputs"]] == ["uniform 5..6"]
    with pytest.raises(tensortap.Error, match=r"session\.load_model_format"):
        tensortap.run(model, out=tmp_path / "c", session_config={"session.load_model_format": "ORT"})


def test_run_gives_the_outputs_of_the_runtime(result: Any, folder: Path, x: np.ndarray[Any, Any]) -> None:
    assert len(result.outputs) == 2
    np.testing.assert_array_equal(result.outputs[0]["y"], expected_outputs(folder / "model.onnx", x))
    np.testing.assert_array_equal(result.outputs[1]["y"], expected_outputs(folder / "model.onnx", -x))
    assert result.identical is True
    assert result.overhead is None
    assert result.summary["steps"] == 2


def test_a_mindspore_config_writes_its_tree(folder: Path, x: np.ndarray[Any, Any], tmp_path: Path) -> None:
    common = {"dump_mode": 0, "path": str(tmp_path / "tree").replace(".", "_"), "net_name": "Net", "iteration": "all", "input_output": 2}
    config = {"common_dump_settings": {**common, "kernels": [], "support_device": [0]}, "e2e_dump_settings": {"enable": True}}
    result = tensortap.run(folder / "model.onnx", {"x": x}, config=config, profile="mindspore-2.0")
    assert result.dump.layout == "mindspore"
    softmax = next(Path(common["path"]).rglob("Softmax.Softmax-op*.npy"))  # type: ignore[arg-type]
    np.testing.assert_array_equal(np.load(softmax), expected_outputs(folder / "model.onnx", x))
    with pytest.raises(tensortap.Error, match="saved_data"):
        config["common_dump_settings"]["saved_data"] = "statistic"  # type: ignore[index]
        tensortap.run(folder / "model.onnx", {"x": x}, config=config, profile="mindspore-2.10/cpu", profile_strict=True)


@each_row("kind", [bytes, bytearray, memoryview])
def test_a_model_may_be_bytes(kind: Any, folder: Path, x: np.ndarray[Any, Any], tmp_path: Path) -> None:
    model = folder / "model.onnx"
    result = tensortap.run(kind(model.read_bytes()), {"x": x}, out=tmp_path / "dump", verify=True)
    np.testing.assert_array_equal(result.outputs[0]["y"], expected_outputs(model, x))
    assert result.identical is True
    with pytest.raises(tensortap.Error, match="ONNX"):
        tensortap.run(kind(b"not a model"), {"x": x}, out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_values_equal_what_the_model_gave(result: Any) -> None:
    dump = result.dump
    np.testing.assert_array_equal(dump["softmax_1:out0"], result.outputs[0]["y"])
    np.testing.assert_array_equal(dump["softmax_1:out0@1"], result.outputs[1]["y"])


def test_values_are_mapped_and_read_only(result: Any) -> None:
    values = result.dump["softmax_1:out0"]
    assert not values.flags.owndata
    assert not values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        values[0, 0] = 1
    again = result.dump["softmax_1:out0"]
    assert values.ctypes.data == again.ctypes.data, "both look at one map"


def test_arrays_outlive_the_dump(folder: Path, result: Any) -> None:
    dump = tensortap.open(folder / "dump")
    values, rows = dump["softmax_1:out0"], dump.records
    copy = values.copy()
    del dump
    gc.collect()
    churn = [bytearray(1 << 20) for _ in range(32)]
    np.testing.assert_array_equal(values, copy)
    assert rows["step"].max() == 1
    del churn


def test_records_are_the_rows_of_the_file(result: Any, folder: Path) -> None:
    rows = result.dump.records
    on_disk = np.load(next((folder / "dump").rglob("records.npy")))
    assert rows.dtype.names is not None
    assert len(rows) == len(result.dump) == len(on_disk)
    assert not rows.flags.owndata
    for name in ("op", "step", "absmax", "shape", "data_offset"):
        np.testing.assert_array_equal(rows[name], on_disk[name])


def test_statistics_of_rows_equal_numpys(result: Any) -> None:
    dump = result.dump
    checked = 0
    for row, name in enumerate(dump):
        values = dump[row]
        if values.dtype.kind != "f":
            continue
        record = dump.records[row]
        assert record["min"] == values.min(), name
        assert record["max"] == values.max(), name
        np.testing.assert_allclose(record["mean"], values.mean(dtype=np.float64), rtol=1e-6, atol=1e-12)
        checked += 1
    assert checked >= 4


# What NumPy chooses of the same rows.
def test_select_chooses_what_numpy_does(result: Any) -> None:
    dump = result.dump
    rows, every = dump.records, np.arange(len(dump))
    types = np.array([dump.ops[op].type for op in rows["op"]])
    outputs = rows["slot_kind"] == 0
    second = every[rows["step"] == 1]
    expected: list[tuple[dict[str, Any], Any]] = [
        ({}, every),
        ({"where": "max > 0.5 and numel < 7"}, every[(rows["max"] > 0.5) & (rows["numel"] < 7)]),
        ({"step": 1}, second),
        ({"step": [0, 1], "slot": "out"}, every[outputs]),
        ({"type": ["Softmax", "Relu"]}, every[np.isin(types, ["Softmax", "Relu"])]),
        ({"op": "^soft.*_1$", "step": "0"}, every[(types == "Softmax") & (rows["step"] == 0)]),
        ({"sort": "absmax"}, every[np.argsort(rows["absmax"], kind="stable")]),
        ({"sort": "-absmax", "limit": 3, "offset": 2}, every[np.argsort(-rows["absmax"], kind="stable")][2:5]),
        ({"sort": "-numel", "where": "step == 1"}, second[np.argsort(-rows["numel"][second].astype(int), kind="stable")]),
        ({"offset": len(dump)}, every[:0]),
        ({"where": "nan > 0"}, every[:0]),
    ]
    for words, chosen in expected:
        found = dump.select(**words)
        assert found.dtype == np.intp
        np.testing.assert_array_equal(found, chosen, err_msg=str(words))
    assert len(dump.select(type="Softmax")) == 2, "the cases above are not empty by mistake"


@each_row(
    ("words", "says"),
    [
        ({"where": "nann > 0"}, "^where: .*nann"),
        ({"op": "("}, "^op .*regular expression"),
        ({"step": "one"}, "^step: "),
        ({"slot": ["in0", "output"]}, "^slot output"),
        ({"sort": "-absmaxx"}, "^sort .*absmax"),
        ({"limit": 0}, "^limit 0"),
        ({"offset": -1}, "^offset -1"),
    ],
)
def test_select_begins_its_errors_with_the_arguments_name(words: dict[str, Any], says: str, result: Any) -> None:
    with pytest.raises(tensortap.Error, match=says) as caught:
        result.dump.select(**words)
    assert caught.value.code == "invalid_argument"


def test_names_ops_and_membership(result: Any) -> None:
    dump = result.dump
    assert "softmax_1:out0@1" in dump
    assert "softmax_9:out0" not in dump
    assert set(dump.names()) == set(dump)
    op = dump.ops[dump.records[dump.names().index("softmax_1:out0")]["op"]]
    assert (op.name, op.type) == ("softmax_1", "Softmax")
    assert [original.name for original in op.originals] == ["softmax_1"]
    assert dump.record("softmax_1:out0")["type"] == "Softmax"
    assert dump.manifest["source"].startswith("onnxruntime")
    assert dump.problems == []
    assert dump.layout == "tap"


def test_tables(result: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = result.dump.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    softmax = frame[frame["type"] == "Softmax"]
    assert softmax["shape"].tolist() == [[2, 4], [2, 4]]
    assert softmax["dtype"].tolist() == ["float32", "float32"]
    pytest.importorskip("pyarrow")
    table = result.dump.to_arrow()
    assert table.num_rows == len(frame)
    assert table.column("op").to_pylist() == frame["op"].tolist()


def test_errors_have_a_code_and_the_nearest_names(result: Any, folder: Path, x: np.ndarray[Any, Any]) -> None:
    cases: list[tuple[Callable[[], object], str, str]] = [
        (lambda: tensortap.open(folder / "nothing"), "not_found", "nothing"),
        (lambda: result.dump["softmax_2:out0"], "not_found", "softmax_1"),
        (lambda: tensortap.run(folder / "nothing.onnx", out=folder / "e1"), "", "nothing.onnx"),
        (lambda: tensortap.run(folder / "model.onnx", {"z": x}, out=folder / "e2"), "invalid_argument", "z"),
        (lambda: tensortap.run(folder / "model.onnx", {"x": x.astype(np.int64)}, out=folder / "e3"), "invalid_argument", "int64"),
        (lambda: tensortap.run(folder / "model.onnx", types="Softmx", out=folder / "e4"), "invalid_argument", "Softmax"),
        (lambda: tensortap.run(folder / "model.onnx", where="nan >", out=folder / "e5"), "invalid_argument", "nan >"),
        (lambda: tensortap.run(folder / "model.onnx", config={"stepz": 1}, out=folder / "e6"), "invalid_argument", "steps"),
    ]
    for call, code, says in cases:
        with pytest.raises(tensortap.Error, match=says) as caught:
            call()
        assert caught.value.code == code or not code
    assert not list(folder.glob("e?"))


def test_an_exception_in_the_middle_of_a_run_reaches_the_caller(folder: Path) -> None:
    with pytest.raises((tensortap.Error, TypeError)):
        tensortap.run(folder / "model.onnx", {"x": object()}, out=folder / "bad")


def cast_model(path: Path, dtype: int) -> Path:
    """Save y = float(dtype(x)): the middle value has the dtype."""
    nodes = [
        helper.make_node("Cast", ["x"], ["c"], name="to_it", to=dtype),
        helper.make_node("Cast", ["c"], ["y"], name="back", to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
        [helper.make_tensor_value_info("c", dtype, [4, 3]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), str(path))
    return path


# M23
@each_row(
    ("number", "dtype"),
    [
        (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
        (TensorProto.FLOAT16, np.float16),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
        (TensorProto.DOUBLE, np.float64),
        (TensorProto.INT8, np.int8),
        (TensorProto.UINT8, np.uint8),
        (TensorProto.INT64, np.int64),
        (TensorProto.BOOL, np.bool_),
    ],
)
def test_dtypes_come_back_as_numpy_or_ml_dtypes_has_them(number: int, dtype: Any, tmp_path: Path) -> None:
    given = np.arange(12, dtype=np.float32).reshape(4, 3)
    result = tensortap.run(cast_model(tmp_path / "m.onnx", number), {"x": given}, out=tmp_path / "d", payload="full")
    expected = given.astype(dtype)
    record = next(row for row in range(len(result.dump)) if result.dump.record(row)["op"] == "to_it")
    values = result.dump[record]
    assert values.dtype == np.dtype(dtype)
    assert values.tobytes() == expected.tobytes()
    assert not values.flags.owndata
    assert result.outputs[0]["c"].tobytes() == expected.tobytes()


def test_ml_dtypes_arrays_are_inputs(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], name="widen", to=TensorProto.FLOAT)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.BFLOAT16, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), str(tmp_path / "m.onnx"))
    given = np.array([1.5, -2, 3e38], ml_dtypes.bfloat16)
    result = tensortap.run(tmp_path / "m.onnx", {"x": given}, out=tmp_path / "d")
    np.testing.assert_array_equal(result.outputs[0]["y"], given.astype(np.float32))


def test_small_elements_are_packed_and_unpacked_alike() -> None:
    from tensortap import _tensors

    for dtype, bits in ((ml_dtypes.int4, 4), (ml_dtypes.uint4, 4), (ml_dtypes.int2, 2), (ml_dtypes.uint2, 2), (ml_dtypes.float4_e2m1fn, 4)):
        count = 13
        raw = np.arange(count, dtype=np.uint8) % (1 << bits)
        if np.dtype(dtype).kind == "V" and np.dtype(dtype).name.startswith("float"):
            values = raw.view(dtype)
        else:
            values = (raw.astype(np.int8) - (1 << (bits - 1) if np.dtype(dtype).name.startswith("int") else 0)).astype(dtype)
        number, shape, packed = _tensors.from_array(values)
        assert isinstance(packed, np.ndarray)
        assert packed.size == -(-count * bits // 8)
        back = _tensors.to_array(number, shape, packed)
        assert back.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(back.astype(np.float32), values.astype(np.float32))


def test_strings_go_in_and_come_back(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["i"], name="same"), helper.make_node("Identity", ["i"], ["y"], name="again")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, [2])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "m.onnx"))
    texts = np.array(["grün", ""], object)
    result = tensortap.run(tmp_path / "m.onnx", {"x": texts}, out=tmp_path / "d", payload="full")
    assert result.outputs[0]["y"].tolist() == texts.tolist()


def test_find_says_what_the_command_says(folder: Path) -> None:
    zeros = np.array([[0, 1, 2], [3, 4, 5]], np.float32)
    result = tensortap.run(folder / "nonfinite.onnx", {"x": zeros}, out=folder / "nonfinite", payload="full")
    found = tensortap.find(result.dump)
    assert "div_1" in json.dumps(found["first_nonfinite"])
    assert tensortap.find(folder / "nonfinite") == found


def test_a_dump_and_its_answers_know_whether_it_is_complete(folder: Path, result: Any, tmp_path: Path) -> None:
    whole = tensortap.open(folder / "dump")
    assert whole.completeness["complete"] is True
    assert whole.completeness["found"]["records"] == whole.completeness["written"]["records"] == len(whole)
    damaged = tmp_path / "damaged"
    shutil.copytree(folder / "dump", damaged)
    (damaged / "tensors.npz").unlink()
    dump = tensortap.open(damaged)
    assert dump.completeness["complete"] is False
    assert dump.completeness["found"]["tensors"] == 0
    assert "tensors.npz is missing" in dump.completeness["reasons"]
    assert tensortap.find(dump)["dump"]["complete"] is False
    comparison = tensortap.compare(damaged, folder / "dump")
    assert comparison.summary["dump"]["complete"] is False
    assert not comparison.within_tolerance
    arrays = tmp_path / "x.npy"
    np.save(arrays, np.ones(3, np.float32))
    assert tensortap.open(arrays).completeness["complete"] is None


def test_histogram_is_none_when_none_was_taken(result: Any) -> None:
    assert result.dump.histogram("softmax_1:out0") is None


def test_histogram_counts_every_value(folder: Path, x: np.ndarray[Any, Any]) -> None:
    result = tensortap.run(folder / "model.onnx", {"x": x}, config={"histogram": True}, out=folder / "histogram")
    counts = result.dump.histogram("softmax_1:out0")
    assert counts is not None
    assert counts.shape == (283,)
    assert counts.sum() == 8


def test_everything_without_ml_dtypes(tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["ml_dtypes"] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "ml_dtypes" else real(name, *rest)
import numpy as np, tensortap, warnings
warnings.simplefilter("error")
dump = tensortap.open({str(tmp_path / "d")!r})
row = next(row for row in range(len(dump)) if dump.record(row)["op"] == "to_it")
print(dump[row].dtype, dump[row].view(np.uint16).reshape(-1)[1])
"""
    given = np.arange(12, dtype=np.float32).reshape(4, 3)
    tensortap.run(cast_model(tmp_path / "m.onnx", TensorProto.BFLOAT16), {"x": given}, out=tmp_path / "d", payload="full")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.stdout.split() == ["uint16", str(0x3F80)], done


def test_weights_and_single_initializers_are_records(folder: Path, result: Any) -> None:
    model = onnx.load(str(folder / "model.onnx"))
    bias = next(numpy_helper.to_array(one) for one in model.graph.initializer if one.name == "b")
    kept = [result.dump[row] for row in range(len(result.dump)) if result.dump.record(row)["type"] == "Initializer"]
    assert any(values.shape == bias.shape and np.array_equal(values, bias) for values in kept)


def test_save_helper_makes_models_that_run(tmp_path: Path) -> None:
    model = save([helper.make_node("Relu", ["x"], ["y"], name="relu")], tmp_path / "m.onnx")
    outputs = tensortap.run(model, {"x": -np.ones((2, 3), np.float32)}, out=tmp_path / "d").outputs
    np.testing.assert_array_equal(outputs[0]["y"], np.zeros((2, 3), np.float32))
