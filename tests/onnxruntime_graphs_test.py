"""Models made for one difficulty each: nesting, sequences, optionals, every type, files beside the model, failing nodes, wrong input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_api as api
import pytest
from case_table import each_row

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

pytestmark = pytest.mark.skipif(not api.RUNTIMES.is_dir(), reason="no runtimes: run ./dev setup")
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
VERSIONS = ("1.19.2", "1.25.1", "1.31.1")


def info(name: str, kind: int, shape: list[Any] | None) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], **more: Any) -> Path:
    opset = more.pop("opset", 17)
    graph = helper.make_graph(nodes, "g", inputs, outputs, **more)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=min(10, helper.OP_SET_ID_VERSION_MAP.get(("ai.onnx", opset), 10))
    )
    path.write_bytes(model.SerializeToString())
    return path


def checked(path: Path, out: Path, inputs: dict[str, Any] | None = None, **request: Any) -> api.Outcome:
    outcome = api.run(path, inputs or {}, verify=True, config=api.config(out), **request)
    assert outcome.status == 0, outcome.report
    assert outcome.report["identical"] is True, outcome.report["notes"]
    assert outcome.report["executed_nodes_equal"] is True, outcome.report["notes"]
    return outcome


def ops_of(out: Path) -> dict[int, dict[str, Any]]:
    """Lines of ops.jsonl by op number."""
    return {line["id"]: line for line in map(json.loads, (out / "ops.jsonl").read_text().splitlines())}


def records_of(out: Path) -> list[tuple[str, str, Any]]:
    """(op name, op type, row) of all records."""
    ops = ops_of(out)
    return [(ops[int(row["op"])]["name"], ops[int(row["op"])]["type"], row) for row in np.load(out / "records.npy")]


@each_row("version", VERSIONS)
def test_weights_that_are_listed_as_inputs_and_folded_need_no_values(version: str, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["w"], "fill", value=numpy_helper.from_array(np.array([0.5], np.float32))),
        helper.make_node("MatMul", ["x", "w"], ["y"], "multiply"),
    ]
    weights = [numpy_helper.from_array(np.array([64, 512]), "shape")]
    graph = helper.make_graph(nodes, "g", [info("x", FLOAT, [2, 64]), info("shape", INT64, [2])], [info("y", FLOAT, [2, 512])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=3)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    x = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32)
    outcome = checked(tmp_path / "model.onnx", tmp_path / "dump", {"x": x}, runtime=api.runtime(version))
    np.testing.assert_allclose(outcome.outputs[0, "y"], x @ np.full((64, 512), 0.5, np.float32), rtol=1e-5, atol=1e-5)


def body_inputs_of(folder: Path, name: str) -> Any:
    """Give what an op in the body of a loop says of its inputs."""
    ops = [json.loads(line) for line in (folder / "ops.jsonl").read_text().splitlines()]
    return next(op["attributes"]["body_inputs"] for op in ops if op["name"] == name)


def nested_model(path: Path) -> Path:
    """Make a Loop over an If, with a sequence carried through."""
    then = helper.make_graph([helper.make_node("Add", ["x", "x"], ["doubled"], "double")], "then", [], [info("doubled", FLOAT, [3])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["negated"], "negate")], "else", [], [info("negated", FLOAT, [3])])
    body = helper.make_graph(
        [
            helper.make_node("If", ["flag"], ["chosen"], "choose", then_branch=then, else_branch=other),
            helper.make_node("Add", ["carried", "chosen"], ["sum"], "accumulate"),
            helper.make_node("SequenceInsert", ["list", "chosen"], ["longer"], "insert"),
            helper.make_node("Identity", ["condition"], ["go_on"], "go"),
        ],
        "body",
        [
            info("i", INT64, []),
            info("condition", BOOL, []),
            info("carried", FLOAT, [3]),
            helper.make_tensor_sequence_value_info("list", FLOAT, [3]),
        ],
        [info("go_on", BOOL, []), info("sum", FLOAT, [3]), helper.make_tensor_sequence_value_info("longer", FLOAT, [3])],
    )
    nodes = [
        helper.make_node("SequenceEmpty", [], ["empty"], "empty", dtype=FLOAT),
        helper.make_node("Loop", ["trips", "", "x", "empty"], ["total", "all"], "loop", body=body),
        helper.make_node("ConcatFromSequence", ["all"], ["joined"], "join", axis=0),
    ]
    inputs = [info("x", FLOAT, [3]), info("flag", BOOL, []), info("trips", INT64, [])]
    return save(path, nodes, inputs, [info("total", FLOAT, [3]), info("joined", FLOAT, ["n"])])


@each_row("version", VERSIONS)
def test_every_trip_of_a_loop_with_a_nested_if_and_a_sequence_is_seen(version: str, tmp_path: Path) -> None:
    path = nested_model(tmp_path / "m.onnx")
    inputs = {"x": np.array([1, 2, 3], np.float32), "flag": np.array(True), "trips": np.array(3)}
    outcome = checked(path, tmp_path / "d", inputs, runtime=api.runtime(version))
    assert outcome.outputs[0, "total"].tolist() == [7, 14, 21]
    names = [name for name, _, _ in records_of(tmp_path / "d")]
    assert names.count("loop/body/choose/then_branch/double") == 3
    assert names.count("loop/body/choose/else_branch/negate") == 0
    assert names.count("loop/body/accumulate") == 3
    # The sequence grows: 1 + 2 + 3 elements inside, 3 outside.
    assert names.count("loop/body/insert") == 6
    assert names.count("loop") == 1 + 3
    # The body adds x in the first trip, and the sum so far in later ones.
    assert body_inputs_of(tmp_path / "d", "loop/body/accumulate") == {"0": [["", "x"], ["loop/body", "sum"]]}


@each_row("version", VERSIONS)
def test_optionals_and_scans_are_seen(version: str, tmp_path: Path) -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "item"], ["next"], "step"), helper.make_node("Identity", ["next"], ["row"], "row")],
        "body",
        [info("state", FLOAT, [2]), info("item", FLOAT, [2])],
        [info("next", FLOAT, [2]), info("row", FLOAT, [2])],
    )
    nodes = [
        helper.make_node("Scan", ["start", "items"], ["last", "rows"], "scan", body=body, num_scan_inputs=1),
        helper.make_node("Optional", ["rows"], ["maybe"], "wrap"),
        helper.make_node("OptionalHasElement", ["maybe"], ["has"], "ask"),
        helper.make_node("OptionalGetElement", ["maybe"], ["got"], "get"),
        helper.make_node("Neg", ["got"], ["y"], "neg"),
    ]
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [info("start", FLOAT, [2]), info("items", FLOAT, [4, 2])],
        [info("y", FLOAT, None), info("has", BOOL, []), info("last", FLOAT, [2])],
    )
    outcome = checked(
        path, tmp_path / "d", {"start": np.zeros(2, np.float32), "items": np.ones((4, 2), np.float32)}, runtime=api.runtime(version)
    )
    assert outcome.outputs[0, "y"].tolist() == [[-i, -i] for i in range(1, 5)]
    names = [name for name, _, _ in records_of(tmp_path / "d")]
    assert names.count("scan/body/step") == 4
    assert body_inputs_of(tmp_path / "d", "scan/body/step") == {"0": [["", "start"], ["scan/body", "next"]], "1": [["", "items"]]}
    assert names.count("wrap") == 1


def test_values_of_every_type_are_captured_bit_for_bit(tmp_path: Path) -> None:
    kinds = [
        "FLOAT",
        "DOUBLE",
        "FLOAT16",
        "BFLOAT16",
        "INT8",
        "INT16",
        "INT32",
        "INT64",
        "UINT8",
        "UINT16",
        "UINT32",
        "UINT64",
        "BOOL",
        "STRING",
    ]
    kinds += ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]
    for kind in kinds:
        number = getattr(TensorProto, kind)
        path = save(
            tmp_path / f"{kind}.onnx",
            [helper.make_node("Identity", ["x"], ["y"], "same")],
            [info("x", number, [5])],
            [info("y", number, [5])],
            opset=25,
        )
        outcome = api.run(path, verify=True, seed=3, config=api.config(tmp_path / kind))
        assert outcome.status == 0, (kind, outcome.report)
        assert outcome.report["identical"] is True, (kind, outcome.report)
        with np.load(tmp_path / kind / "tensors.npz", allow_pickle=False) as tensors:
            given, made = (tensors[key].tobytes() for key in tensors.files[:2])
        assert given == made, kind


@each_row("version", VERSIONS)
def test_weights_of_more_than_2_gb_stay_in_their_file(version: str, tmp_path: Path) -> None:
    rows, columns = 9, 64 * 1024 * 1024
    weight = TensorProto(name="w", data_type=FLOAT, dims=[rows, columns], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(rows * columns * 4))):
        weight.external_data.add(key=key, value=value)
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(rows * columns * 4)
        file.seek(4 * columns)
        file.write(np.arange(1, 5, dtype=np.float32).tobytes())
    nodes = [helper.make_node("Slice", ["w", "begin", "end"], ["part"], "slice"), helper.make_node("Add", ["part", "x"], ["y"], "add")]
    begin, end = (numpy_helper.from_array(np.array(v), name) for v, name in (([1, 0], "begin"), ([2, 4], "end")))
    # The weight is an input with a value, so that it is not folded.
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [info("x", FLOAT, [1, 4]), info("w", FLOAT, [rows, columns])],
        [info("y", FLOAT, [1, 4])],
        initializer=[weight, begin, end],
    )
    more = {"extras": {"weights": False}}
    outcome = api.run(
        path, {"x": np.ones((1, 4), np.float32)}, config=api.config(tmp_path / "d", **more), runtime=api.runtime(version), verify=True
    )
    assert outcome.status == 0, outcome.report
    assert outcome.report["identical"] is True
    assert outcome.outputs[0, "y"].tolist() == [[2, 3, 4, 5]]
    assert sum(file.stat().st_size for file in (tmp_path / "d").rglob("*")) < 10_000_000


def test_external_weights_are_captured_at_load(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(600, dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"], "add")], "g", [info("x", FLOAT, [600])], [info("y", FLOAT, [600])], [weight]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(tmp_path / "m.onnx"), save_as_external_data=True, location="weights.bin", size_threshold=0)
    checked(tmp_path / "m.onnx", tmp_path / "d", runtime=api.runtime("1.31.1"))
    row = next(row for name, kind, row in records_of(tmp_path / "d") if kind == "Initializer")
    assert float(row["max"]) == 599


def test_a_missing_weights_file_is_named(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(600, dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])], "g", [info("x", FLOAT, [600])], [info("y", FLOAT, [600])], [weight]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(tmp_path / "m.onnx"), save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    outcome = api.run(tmp_path / "m.onnx", config=api.config(tmp_path / "d"))
    assert outcome.status == 1
    assert "weights.bin" in outcome.report["error"]
    assert not (tmp_path / "d").exists()


def test_a_node_that_fails_is_named_with_its_inputs(tmp_path: Path) -> None:
    nodes = [helper.make_node("Neg", ["i"], ["j"], "turn"), helper.make_node("Gather", ["table", "j"], ["y"], "look_up")]
    path = save(tmp_path / "m.onnx", nodes, [info("i", INT64, [2]), info("table", FLOAT, [3])], [info("y", FLOAT, [2])])
    inputs = {"i": np.array([1, -7]), "table": np.array([5, 6, 7], np.float32)}
    outcome = api.run(path, inputs, config=api.config(tmp_path / "d"))
    assert outcome.status == 7
    failed = outcome.report["failed_op"]
    assert (failed["name"], failed["type"]) == ("look_up", "Gather")
    assert "out of" in failed["message"]
    assert [(given["name"], given["shape"]) for given in failed["inputs"]] == [("table", [3]), ("j", [2])]
    kept = [row for name, _, row in records_of(tmp_path / "d") if name == "look_up"]
    assert sorted(float(row["max"]) for row in kept) == [7.0, 7.0]
    assert min(float(row["min"]) for row in kept) == -1.0


def test_a_model_that_is_not_deterministic_is_recognised(tmp_path: Path) -> None:
    # The node that is optimised away gives the next one another number, from which it takes its seed.
    nodes = [
        helper.make_node("Identity", ["x"], ["same"], "same"),
        helper.make_node("RandomNormalLike", ["same"], ["r"], "noise"),
        helper.make_node("Add", ["x", "r"], ["y"], "add"),
    ]
    path = save(tmp_path / "m.onnx", nodes, [info("x", FLOAT, [8])], [info("y", FLOAT, [8])])
    outcome = api.run(path, verify=True, config=api.config(tmp_path / "d"))
    assert outcome.status == 0
    assert outcome.report["identical"] is None
    assert any("not deterministic" in note for note in outcome.report["notes"])


def test_fused_ops_name_the_nodes_that_they_execute(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "/layer1/conv"), helper.make_node("Relu", ["c"], ["y"], "/layer1/relu")]
    path = save(tmp_path / "m.onnx", nodes, [info("x", FLOAT, [1, 3, 8, 8])], [info("y", FLOAT, None)], initializer=[weight])
    for level in ("extended", "all"):
        ops = api.describe(path, optimize=level).report["ops"]
        (conv,) = [op for op in ops if "Conv" in op["type"]]
        assert conv["name"] == "/layer1/relu"
        assert conv["originals"] == ["/layer1/conv", "/layer1/relu"]
        assert conv["original_types"] == ["Conv", "Relu"]
        assert all(op["originals"] == [] for op in ops if op["type"].startswith("Reorder"))
    separate = [op["name"] for op in api.describe(path, optimize="none").report["ops"] if op["type"] in ("Conv", "Relu")]
    assert separate == ["/layer1/conv", "/layer1/relu"]


def test_as_written_shows_the_authors_own_ops(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), helper.make_node("Relu", ["c"], ["y"], "relu")]
    path = save(tmp_path / "m.onnx", nodes, [info("x", FLOAT, [1, 3, 8, 8])], [info("y", FLOAT, None)], initializer=[weight])
    outcome = api.run(path, as_written=True, config=api.config(tmp_path / "d"))
    assert outcome.status == 0, outcome.report
    assert {"conv", "relu"} <= {name for name, _, _ in records_of(tmp_path / "d")}
    assert any("different execution" in note for note in outcome.report["notes"])


def test_ort_files_run(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    path = save(
        tmp_path / "m.onnx",
        [helper.make_node("Neg", ["x"], ["n"], "neg"), helper.make_node("Exp", ["n"], ["y"], "exp")],
        [info("x", FLOAT, [4])],
        [info("y", FLOAT, [4])],
    )
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "m.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    checked(tmp_path / "m.ort", tmp_path / "d")
    assert [name for name, kind, _ in records_of(tmp_path / "d") if kind in ("Neg", "Exp")] == ["neg", "exp"]


@each_row("taps", ["side", "alias"])
def test_alias_taps_give_the_same_dump(taps: str, tmp_path: Path) -> None:
    path = nested_model(tmp_path / "m.onnx")
    inputs = {"x": np.array([1, 2, 3], np.float32), "flag": np.array(False), "trips": np.array(2)}
    outcome = checked(path, tmp_path / "d", inputs, taps=taps)
    assert outcome.report["tap_kind"] == taps
    assert sum(name == "loop/body/choose/else_branch/negate" for name, _, _ in records_of(tmp_path / "d")) == 2


def small(tmp_path: Path) -> Path:
    return save(
        tmp_path / "m.onnx", [helper.make_node("Neg", ["image"], ["y"], "neg")], [info("image", FLOAT, ["N", 3])], [info("y", FLOAT, None)]
    )


@each_row(
    ("given", "request_keys", "complaint"),
    [
        ({"imge": np.zeros((1, 3), np.float32)}, {}, 'no input "imge". Its inputs are image. Did you mean'),
        ({"image": np.zeros((1, 4), np.float32)}, {}, 'input "image" must be float32 [N, 3], but is float32 [1, 4]'),
        ({"image": np.zeros((1, 3))}, {}, "must be float32 [N, 3], but is float64 [1, 3]"),
        ({}, {"dims": {"M": 4}}, 'no open dimension of an input is called "M". There are N, image.0'),
        ({}, {"modell": 1}, 'unknown key "modell"'),
        ({}, {"optimize": "most"}, "one of none, basic, extended, all"),
        ({}, {"runtime": "no/such/file"}, "there is no libonnxruntime.so at no/such/file"),
        ({}, {"carry": {"z": "image"}}, 'no output "z"'),
    ],
)
def test_wrong_requests_say_what_is_expected_and_write_nothing(
    given: dict[str, Any], request_keys: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    outcome = api.run(small(tmp_path), given, config=api.config(tmp_path / "d"), **request_keys)
    assert outcome.status in (1, 2)
    assert complaint in outcome.report["error"]
    assert not (tmp_path / "d").exists()


@each_row("damage", ["missing", "empty", "text", "cut", "folder", "operator"])
def test_wrong_models_are_one_clear_error(damage: str, tmp_path: Path) -> None:
    path = small(tmp_path)
    whole = path.read_bytes()
    if damage == "missing":
        path = tmp_path / "absent.onnx"
    elif damage == "folder":
        path = tmp_path
    elif damage == "operator":
        save(
            path, [helper.make_node("NoSuchOperator", ["image"], ["y"], "odd")], [info("image", FLOAT, ["N", 3])], [info("y", FLOAT, None)]
        )
    else:
        path.write_bytes({"empty": b"", "text": b"hello, world, this is text", "cut": whole[: len(whole) // 2]}[damage])
    outcome = api.run(path, config=api.config(tmp_path / "d"))
    assert outcome.status == 1
    assert str(path) in outcome.report["error"]
    if damage == "operator":
        assert "NoSuchOperator" in outcome.report["error"]
    assert not (tmp_path / "d").exists()


def test_made_inputs_are_the_same_for_the_same_seed_only(tmp_path: Path) -> None:
    path = small(tmp_path)
    first, again, other = (api.run(path, seed=seed, capture=False, dims={"N": 5}) for seed in (1, 1, 2))
    made = {"name": "image", "kind": "tensor", "dtype": "float32", "shape": [5, 3], "made": True, "how": "uniform 0..1", "seed": 1}
    assert first.report["inputs"] == [made]
    assert first.outputs[0, "y"].tobytes() == again.outputs[0, "y"].tobytes()
    assert first.outputs[0, "y"].tobytes() != other.outputs[0, "y"].tobytes()


def test_overhead_is_measured_and_leaves_nothing_behind(tmp_path: Path) -> None:
    outcome = api.run(small(tmp_path), overhead=True, config=api.config(tmp_path / "d", "statistics"))
    assert outcome.status == 0
    assert outcome.report["overhead"] is not None, outcome.report["notes"]
    assert outcome.report["overhead_details"]["low"] <= outcome.report["overhead"] <= outcome.report["overhead_details"]["high"]
    assert sorted(os.listdir(tmp_path)) == ["d", "m.onnx"]
    assert outcome.report["steps"] == 1
