"""Dumps name the right nodes of the author: an op's last original makes its value, and the runtime adds only conversions."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_api as api
import pytest
from case_table import each_row

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import provenance  # noqa: E402  # of bench/
import provenance_models  # noqa: E402
import tensortap  # noqa: E402

pytestmark = pytest.mark.skipif(not api.MODELS.is_dir() or not api.RUNTIMES.is_dir(), reason="no models or runtimes: run ./dev setup")

CONVERSIONS = {"Cast", "Reshape", "Squeeze", "Transpose", "Unsqueeze", "ReorderInput", "ReorderOutput"}
REAL = provenance.released(api.MODELS)
# The most executed ops of which nothing is known for certain; those of all other models are known.
UNKNOWN = {
    "silero_vad": 1,  # which the author's file has in another branch
    "PP-OCRv6_rec": 2,  # of an If that was inlined
    "smart_turn": 36,  # Reshapes and Transposes that were moved behind a quantisation
    "fp16, dense": 4,  # what Softmax falls into
    "fp16, convolution": 4,
    "fp16, names that mislead": 4,
    "fp16, nodes named as their values": 4,
    "fp16, nodes without names": 4,
    "QDQ, nodes without names": 2,
}


def assert_right(count: provenance.Count) -> None:
    """Check what holds for every model."""
    assert count.wrong == []
    assert set(count.inserted_types) <= CONVERSIONS
    assert count.unknown <= UNKNOWN.get(count.model, 0)
    assert count.made >= 2


@each_row("name", REAL)
def test_originals_of_released_models_make_the_values(name: str) -> None:
    assert_right(provenance.check(name, *REAL[name], runtime=api.runtime()))


@each_row("name", provenance_models.MODELS)
def test_originals_of_small_models_make_the_values(name: str, tmp_path: Path) -> None:
    count = provenance.check_small(name, tmp_path, runtime=api.runtime())
    assert_right(count)
    assert count.unchecked == 0


@each_row("optimize", ["none", "basic", "extended"])
@each_row("name", ["fp16, convolution", "MatMul and Add, names that mislead", "QDQ", "residual, names that mislead"])
def test_originals_make_the_values_at_every_level(name: str, optimize: str, tmp_path: Path) -> None:
    assert provenance.check_small(name, tmp_path, runtime=api.runtime(), optimize=optimize).wrong == []


@each_row("version", ["1.19.2", "1.25.1"])
@each_row("name", provenance_models.MODELS)
def test_originals_make_the_values_on_older_releases(name: str, version: str, tmp_path: Path) -> None:
    count = provenance.check_small(name, tmp_path, runtime=api.runtime(version))
    assert count.wrong == []
    assert set(count.inserted_types) <= CONVERSIONS


def described(name: str, tmp_path: Path) -> list[dict[str, Any]]:
    """Give the executed ops of a small model."""
    onnx.save(provenance_models.MODELS[name](), str(tmp_path / "m.onnx"))
    ops: list[dict[str, Any]] = api.describe(tmp_path / "m.onnx").report["ops"]
    return [op for op in ops if op["type"] not in ("Input", "Initializer")]


def originals_of(ops: list[dict[str, Any]], kind: str) -> list[list[str]]:
    """Give the originals of the ops of a type."""
    return [op["originals"] for op in ops if op["type"] == kind]


def test_kernels_between_inserted_casts_are_the_authors_nodes(tmp_path: Path) -> None:
    ops = described("fp16, dense", tmp_path)
    for kind, original in (("Gemm", "gemm"), ("Pow", "pow"), ("Div", "softmax"), ("MatMul", "mm"), ("Relu", "relu")):
        assert originals_of(ops, kind) == [[original]], kind
        assert [op["name"] for op in ops if op["type"] == kind] == [original]
    assert {op["type"] for op in ops if op["inserted"]} == {"Cast"}
    parts = [op for op in ops if not op["originals"] and not op["inserted"]]
    assert {op["type"] for op in parts} == {"ReduceMax", "Sub", "Exp", "ReduceSum"}, "what Softmax falls into is none of its value"


def test_a_dense_layer_of_three_dimensions_is_the_gemm_and_not_the_reshape(tmp_path: Path) -> None:
    ops = described("MatMul and Add, 3 dimensions", tmp_path)
    assert originals_of(ops, "Gemm") == [["mm1", "add1"], ["mm2", "add2"]]
    assert [op["name"] for op in ops if op["type"] == "Gemm"] == ["add1", "add2"]
    assert all(op["inserted"] and not op["originals"] for op in ops if op["type"] == "Reshape")


def test_a_product_that_transposes_a_factor_implements_the_transpose(tmp_path: Path) -> None:
    ops = described("transposed factors", tmp_path)
    assert originals_of(ops, "FusedMatMul") == [["turn1", "mm1"], ["turn2", "mm2"]]
    assert originals_of(ops, "Transpose") == []


def test_quantised_kernels_end_with_the_node_that_quantises(tmp_path: Path) -> None:
    ops = described("QDQ", tmp_path)
    assert [originals[-1] for originals in originals_of(ops, "QLinearConv")] == ["cq"]
    assert "conv" in originals_of(ops, "QLinearConv")[0]
    assert {op["type"] for op in ops if op["inserted"]} <= {"Transpose"}


def test_a_convolution_with_a_sum_and_an_activation_ends_with_the_activation(tmp_path: Path) -> None:
    ops = described("residual convolutions", tmp_path)
    assert originals_of(ops, "Conv") == [["conv1", "relu1"], ["conv2", "sum2", "relu2"], ["conv3", "sum3", "sigmoid3"], ["conv4"]]


def captured(name: str, asked: str, tmp_path: Path) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """Select one name of a small model; give the model and the outputs that were kept."""
    model = provenance_models.MODELS[name]()
    onnx.save(model, str(tmp_path / "m.onnx"))
    inputs = provenance.made_inputs(model)
    dump = tensortap.run(
        tmp_path / "m.onnx", inputs, out=tmp_path / "d", payload="tensors", ops=f"^{re.escape(asked)}$", slots="out", threads=1, keep_free=0
    ).dump
    executed = {op.name for op in dump.ops if op.type not in provenance.PSEUDO}
    return model, [dump[record] for record in dump if record.rsplit(":", 1)[0] in executed]


def value_of(model: Any, node: str) -> np.ndarray[Any, Any]:
    """Compute what a node of the author's makes, without optimisation."""
    (output,) = (one.output[0] for one in model.graph.node if one.name == node)
    if output not in {value.name for value in model.graph.output}:
        model.graph.output.append(onnx.ValueInfoProto(name=output))
    session = onnxruntime.InferenceSession(model.SerializeToString(), provenance.options(), providers=["CPUExecutionProvider"])
    (made,) = session.run([output], provenance.made_inputs(model))
    return np.asarray(made)


@each_row(
    ("name", "node"),
    [
        ("fp16, names that mislead", "gemm"),
        ("fp16, names that mislead", "pow"),
        ("fp16, names that mislead", "mm"),
        ("MatMul and Add, names that mislead", "mm2/MatMulAddFusion"),
        ("MatMul and Add, names that mislead", "gemm_output_reshape"),
        ("MatMul and Add, names that mislead", "a1"),
        ("residual, names that mislead", "c2"),
        ("residual, names that mislead", "relu1"),
        ("QDQ, nodes named as their values", "cq"),
    ],
)
def test_a_name_of_the_authors_selects_the_tensor_that_its_node_makes(name: str, node: str, tmp_path: Path) -> None:
    """Whatever the runtime calls its own nodes and values."""
    model, kept = captured(name, node, tmp_path)
    expected = value_of(model, node)
    tolerance = 2e-2 if expected.dtype == np.float16 else 2e-3
    assert [provenance.compare(array, expected, tolerance)[0] in ("same", "moved") for array in kept] == [True]
