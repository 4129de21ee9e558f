"""Neighbours, statistics, summaries and workbooks of dumps, on a tree of MindSpore itself and on a dump of ours."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

tensortap = pytest.importorskip("tensortap", reason="the module is not built")

TREES = Path(__file__).resolve().parent / "golden/mindspore/trees"
NETWORK = "Default/network-WithLossCell/_backbone-LeNet/"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("analysis")
    with tarfile.open(TREES / "2.10.0-train.tar.gz") as archive:
        archive.extractall(folder)
    return tensortap.open(next(folder.glob("*/d")))


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three steps of x -> exp(x * 2): sound, beyond float16, Inf."""
    folder = tmp_path_factory.mktemp("steps")
    nodes = [helper.make_node("Mul", ["x", "two"], ["m"], name="double"), helper.make_node("Exp", ["m"], ["y"], name="=exp")]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [helper.make_tensor("two", TensorProto.FLOAT, [], [2.0])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(folder / "m.onnx"))
    inputs = [{"x": np.array(values, np.float32)} for values in ([0, 0, 0], [1, 2, 6], [100, 0, 0])]
    return tensortap.run(folder / "m.onnx", inputs, out=folder / "dump", payload="full", slots="in,out").dump


# M25
def test_neighbours_of_an_op_are_those_of_the_graph(tree: Any, steps: Any) -> None:
    assert steps.consumers("double") == ["=exp"]
    assert steps.consumers("double:out0") == ["=exp"]
    assert steps.consumers("=exp") == []
    assert steps.producers("=exp") == ["double"]
    assert set(steps.producers("double")) == {"x", "two"}
    bias = f"{NETWORK}conv1-Conv2d/BiasAdd-op0"
    assert tree.consumers(f"{NETWORK}conv1-Conv2d/Conv2D-op0") == [bias]
    assert f"{NETWORK}conv1-Conv2d/Conv2D-op0" in tree.producers(bias)
    assert f"{NETWORK}bn1-BatchNorm2d/BatchNorm-op0" in tree.consumers(f"{bias}:out0")
    assert tree.consumers(f"{bias}:out1") == []
    for wrong in ("nothing", "nothing:out0", "double:in0"):
        with pytest.raises(tensortap.Error, match="is called") as error:
            steps.consumers(wrong)
        assert error.value.code == "not_found"


def test_statistics_that_were_not_taken_are_measured_on_the_tensor(tree: Any, steps: Any) -> None:
    name = f"{NETWORK}bn1-BatchNorm2d/BatchNorm-op0:out0"
    assert tree.record(name)["mean"] is None
    found, values = tree.statistics(name), tree[name].astype(np.float64)
    expected = {"min": values.min(), "max": values.max(), "mean": values.mean(), "std": values.std(), "l2": np.linalg.norm(values)}
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-12), key
    assert (found["nan"], found["zero"]) == (0, int((values == 0).sum()))
    assert steps.statistics("double:out0") == steps.record("double:out0"), "statistics that were measured stay"


def test_a_summary_counts_over_steps_what_is_wrong(tree: Any, steps: Any) -> None:
    lines = {(line["op"], line["slot"]): line for line in steps.summarize()}
    exp = lines["=exp", "out0"]
    assert {key: exp[key] for key in ("records", "steps", "nan", "inf", "out_of_range", "sound")} == {
        "records": 3,
        "steps": 3,
        "nan": 0,
        "inf": 1,
        "out_of_range": 2,
        "sound": 1,
    }
    assert exp["min"] == 1
    assert exp["max"] == np.inf
    assert lines["double", "out0"]["all_zero"] == 1
    assert {line["out_of_range"] for line in steps.summarize(1e30) if line["op"] == "=exp"} == {1}
    assert len(tree.summarize()) == len({(tree.record(row)["op"], tree.record(row)["slot"]) for row in range(len(tree))})
    with pytest.raises(tensortap.Error, match="overflow_value"):
        steps.summarize(float("nan"))


def test_a_workbook_holds_ops_neighbours_and_the_summary(tree: Any, steps: Any, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    steps.to_excel(tmp_path / "dump.xlsx")
    book = openpyxl.load_workbook(tmp_path / "dump.xlsx")
    assert book.sheetnames == ["dump", "inputs and weights", "ops", "types", "summary", "sources"]
    rows = list(book["ops"].iter_rows(values_only=True))
    assert rows[0][:2] == ("type", "name")
    # A name that a spreadsheet would read as a formula.
    assert {row[1] for row in rows[1:]} == {"double", "'=exp"}
    assert next(row for row in rows if row[1] == "double")[6] == "=exp" or next(row for row in rows if row[1] == "double")[6] == "'=exp"
    summary = [
        dict(zip(next(book["summary"].iter_rows(values_only=True)), row, strict=True))
        for row in book["summary"].iter_rows(2, values_only=True)
    ]
    assert next(line for line in summary if line["op"] == "'=exp" and line["slot"] == "out0")["max"] == "inf"
    tree.to_excel(tmp_path / "tree.xlsx")
    sources = openpyxl.load_workbook(tmp_path / "tree.xlsx")["sources"]
    assert any("conv.py:373" in str(row[0]) for row in sources.iter_rows(2, values_only=True))
    with pytest.raises(tensortap.Error) as error:
        steps.to_excel(tmp_path / "missing/dump.xlsx")
    assert error.value.code == "io"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump.xlsx", "tree.xlsx"]
