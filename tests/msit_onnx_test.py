"""Topologies of msit as ONNX models: those of the real library by msit's own rules, ours as onnx's checker wants them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tensortap as module
from case_table import each_row
from cli_support import ROOT, package_alone, tensortap
from exec_support import TORCH_PYTHON

GOLDEN = ROOT / "tests/golden/msit"
DUMP = "msit_dump_20251120_200000"
# How many operations msit 8.2.0's converter gives for each file and depth; it has no answer for a model that is not taken apart.
COUNTS = {
    "Decoder_layer_1": {-1: 3, 0: 1, 1: 3, 2: 3, 3: 3, -2: 3},
    "Decoder_layer_3": {-1: 3, 0: 1, 1: 3, 2: 3, 3: 3, -2: 3},
    "LmHead_4": {-1: 1, 0: 1, 1: 1, 2: 1, 3: 1, -2: 1},
    "WordEmbedding_0": {-1: 1, 0: 1, 1: 1, 2: 1, 3: 1, -2: 1},
    "ToyModel": {-1: 11, 1: 5, 2: 11, 3: 11, -2: 5},
}


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(GOLDEN / "g2_tensor.tar.gz") as archive:
        archive.extractall(folder)
    return folder / "g2_tensor" / DUMP


def topologies(dump: Path) -> Iterator[Path]:
    yield from dump.glob("layer/*/*.json")
    yield from dump.glob("model/*/*.json")


def operations_of(node: dict[str, Any], level: int, depth: int = 0) -> list[dict[str, Any]]:
    """Take a topology apart by the rule of the fact sheet."""
    if "nodes" not in node or (level == 0 if depth == 0 else level != -1 and depth >= level):
        return [node]
    return [operation for inner in node["nodes"] for operation in operations_of(inner, level, depth + 1)]


def converted(path: Path, level: int = -1, cache: dict[Any, Any] | None = None) -> onnx.ModelProto:
    module.atb_json_to_onnx(str(path), level, cache)
    model = onnx.load(path.with_suffix(".onnx"))
    onnx.checker.check_model(model, full_check=True)
    return model


def attribute_values(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


# L17
def test_topologies_of_the_real_library_have_as_many_operations_as_msit_gives_them(golden: Path) -> None:
    seen = {}
    for path in topologies(golden):
        for level in COUNTS.get(path.stem, {}):
            model = converted(path, level)
            expected = operations_of(json.loads(path.read_text()), level)
            assert [(node.name, node.op_type, node.domain) for node in model.graph.node] == [
                (operation["opName"], operation["opType"], "atb") for operation in expected
            ]
            seen.setdefault(path.stem, {})[level] = len(model.graph.node)
    assert seen == COUNTS


# L17
def test_what_goes_between_operations_has_the_topologys_names_and_the_types_of_the_table(golden: Path) -> None:
    cache: dict[Any, Any] = {}
    (path,) = golden.glob("model/*/ToyModel.json")
    graph = converted(path, -1, cache).graph
    assert [Path(key).name for key in cache] == ["operation_tensors_0.csv"]
    for node, expected in zip(graph.node, operations_of(json.loads(path.read_text()), -1), strict=True):
        assert (list(node.input), list(node.output)) == (expected["inTensors"], expected["outTensors"])
    assert [value.name for value in graph.input] == ["ToyModel_input_0", *(f"ToyModel_weight_{i}" for i in range(5))]
    assert [value.name for value in graph.output] == ["ToyModel_output_0"]
    truth = np.load(golden.parent / "truth.npz")
    made = truth["0_22349/0/4_LmHead/after/outtensor0.bin"]
    tensor = graph.output[0].type.tensor_type
    assert tensor.elem_type == onnx.helper.np_dtype_to_tensor_dtype(made.dtype)
    assert [dim.dim_value for dim in tensor.shape.dim] == list(made.shape)
    assert {value.name for value in graph.value_info} >= {"Decoder_layer_1_internal_0", "ToyModel_internal_3"}
    # Without a table nothing is known, and the second file needs no second look.
    assert converted(path).graph.output[0].type.WhichOneof("value") == "opaque_type"
    before = dict(cache)
    converted(next(golden.glob("layer/*/LmHead_4.json")), -1, cache)
    assert cache == before


# L17
def test_parameters_are_attributes_of_their_types(tmp_path: Path) -> None:
    parameters = {
        "text": "größe", "whole": 8, "zero": 0, "yes": True, "no": False, "real": 1e-5, "list": [1, 2], "none": [], "reals": [1, 0.5],
        "words": ["a", 3], "outer": {"inner": 7, "deep": {"x": "y"}}, "outer.inner": 8, "nothing": None, "huge": 2**64 - 1, "": 1,
    }  # fmt: skip
    node = {"opName": "A_0", "opType": "A", "param": parameters, "inTensors": ["x"], "outTensors": ["y"]}
    path = tmp_path / "A_0.json"
    path.write_text(json.dumps(node))
    values = attribute_values(converted(path).graph.node[0])
    assert values.pop("real") == np.float32(1e-5)
    assert values == {
        "text": "größe".encode(), "whole": 8, "zero": 0, "yes": 1, "no": 0, "list": [1, 2], "none": [], "reals": [1.0, 0.5],
        "words": [b"a", b"3"], "outer.inner": 7, "outer.deep.x": b"y", "outer.inner_2": 8, "huge": str(2**64 - 1).encode(), "_": 1,
    }  # fmt: skip


def test_a_wrong_file_is_told_with_its_place_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "A_0.json"
    path.write_text('{"opName": "A_0", "opType": "A", "nodes": [{"opName": "B"}]}')
    with pytest.raises(module.Error, match=r"A_0\.json: nodes\[0\] has no opType") as caught:
        module.atb_json_to_onnx(path)
    assert caught.value.code == "invalid_argument"
    for name, words in (("missing.json", "missing.json"), ("A_0.onnx", "NAME.json")):
        with pytest.raises(module.Error, match=words):
            module.atb_json_to_onnx(tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["A_0.json"]


@each_row(
    ("table", "words"),
    [
        ("", ":1: no column OpName"),
        ("a|b\n", ":1: no column OpName"),
        ("OpName|InDType|InShape|OutDType|OutShape\nA_0|float\n", ":2: the row is cut short"),
        ("OpName|InDType|InShape|OutDType|OutShape\n\nA_0|float|2,x|float|2\n", ":3: the row is cut short, or a shape in it is none"),
        ("OpName|InDType|InShape|OutDType|OutShape\nA_0|float|-2|float|2\n", "a shape"),
        ("OpName|InDType|InShape|OutDType|OutShape\nA_0|float|" + "1," * 40 + "1|float|2\n", "a shape"),
    ],
)
def test_a_wrong_table_is_told_with_its_line(tmp_path: Path, table: str, words: str) -> None:
    for folder in ("layer/7", "operation_io_tensors/7"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "operation_io_tensors/7/operation_tensors_0.csv").write_text(table)
    path = tmp_path / "layer/7/A_0.json"
    path.write_text('{"opName": "A_0", "opType": "A", "inTensors": ["x"], "outTensors": ["y"]}')
    with pytest.raises(module.Error) as caught:
        module.atb_json_to_onnx(path, -1, {})
    assert "operation_tensors_0.csv" in str(caught.value) and words in str(caught.value)
    module.atb_json_to_onnx(path)


# L2 L17
@pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
def test_a_program_leaves_a_model_beside_each_topology(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text((ROOT / "tests/programs/generate.py").read_text())
    words = ["llm", "dump", "--exec", f"{TORCH_PYTHON} program.py 1 3", "--type", "onnx", "-o", "out"]
    done = tensortap(*words, cwd=tmp_path, environment={"PYTHONPATH": str(package_alone(tmp_path))})
    assert done.code == 0, done.err
    (dump,) = (tmp_path / "out").glob("msit_dump_*")
    assert not (dump / "tensors").exists() and list(dump.glob("operation_io_tensors/*/*.csv")), "the table comes with it, tensors do not"
    paths = list(topologies(dump))
    assert {"Decoder.json", "Decoder_decode.json", "Prefill_layer_1.json"} <= {path.name for path in paths}
    for path in paths:
        model = onnx.load(path.with_suffix(".onnx"))
        onnx.checker.check_model(model, full_check=True)
        operations = operations_of(json.loads(path.read_text()), -1)
        assert [node.name for node in model.graph.node] == [operation["opName"] for operation in operations]
        made = [name for node in model.graph.node for name in node.output]
        assert len(made) == len(set(made)), path.name
        typed = {
            value.name for value in [*model.graph.input, *model.graph.output, *model.graph.value_info] if value.type.HasField("tensor_type")
        }
        assert typed >= {name for node in model.graph.node for name in (*node.input, *node.output)}, path.name
        # What the function makes of the same files, with the types of the table.
        again = converted(path, -1, {})
        assert again.graph.node == model.graph.node
        assert {value.name: value for value in again.graph.value_info} == {value.name: value for value in model.graph.value_info}
