"""Which initializers of an ONNX model that runs are constants of its graph and not weights: MindSpore's folder constants/."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from case_table import each_row
from cli_support import COMMAND, NativeDump, tensortap
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")
TABLE = np.arange(6, dtype=np.float32).reshape(2, 3) / 7
WEIGHTS = np.arange(8, dtype=np.float32).reshape(4, 2) - 3
ADDED = np.arange(12, dtype=np.float32).reshape(3, 4) / 11
"""In a branch."""


def constant(name: str, array: npt.ArrayLike) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], name=f"{name}_node", value=numpy_helper.from_array(np.asarray(array)))


def branch(name: str, array: npt.NDArray[np.float32]) -> onnx.GraphProto:
    nodes = [constant("added", array), helper.make_node("Add", ["z", "added"], [name], name=f"add_{name}")]
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4])])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a model with constants that stay, one that is computed of others, of a shape, of a weight, and one in each branch of an If."""
    nodes = [
        constant("table", TABLE),
        constant("order", np.array([3, 2], np.int64)),
        helper.make_node("Reshape", ["table", "order"], ["turned"], name="turn"),
        helper.make_node("MatMul", ["x", "turned"], ["m"], name="first"),
        helper.make_node("Relu", ["m"], ["r"], name="relu"),
        helper.make_node("Transpose", ["w"], ["wt"], name="turn_w", perm=[1, 0]),
        helper.make_node("MatMul", ["r", "wt"], ["n"], name="second"),
        constant("limit", np.float32(0.25)),
        helper.make_node("Max", ["n", "limit"], ["z"], name="most"),
        helper.make_node("Shape", ["x"], ["size"], name="size"),
        helper.make_node("Gather", ["size", "one"], ["width"], name="width"),
        helper.make_node("Cast", ["width"], ["scale"], name="scale", to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["z"], ["top"], name="top", keepdims=0),
        helper.make_node("Greater", ["top", "half"], ["large"], name="large"),
        helper.make_node("If", ["large"], ["v"], name="choose", then_branch=branch("p", ADDED), else_branch=branch("q", -ADDED)),
        helper.make_node("Mul", ["v", "scale"], ["y"], name="scaled"),
    ]
    given = [("w", WEIGHTS), ("one", np.array(1, np.int64)), ("half", np.float32(0.5))]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in given],
    )
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


# What runs has these initializers. Without optimisation the constants of branches stay nodes.
EXPECTED: dict[str, set[str]] = {
    "none": {"table", "order", "limit"},
    "all": {"turned", "limit", "scale", "choose/then_branch/added", "choose/else_branch/added"},
}


# M18
@each_row(("optimize", "names"), EXPECTED.items())
def test_the_native_dump_says_which_initializers_are_constants(optimize: str, names: set[str], model: Path, tmp_path: Path) -> None:
    done = tensortap("run", model, "--optimize", optimize, "--out", tmp_path / "dump")
    assert done.code == 0, done.err
    ops = [op for op in NativeDump(tmp_path / "dump").ops.values() if op["type"] == "Initializer"]
    constants = {op["name"]: op for op in ops if (op.get("attributes") or {}).get("constant")}
    assert set(constants) == names
    assert constants["limit"]["originals"] == [{"name": "limit_node", "type": "Constant"}]
    assert {op["name"] for op in ops} - names >= {"half"}


# M18
def test_they_are_in_a_folder_of_their_own_in_mindspores_tree(model: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        '{"common_dump_settings": {"op_debug_mode": 0, "dump_mode": 0, "path": "%s", "net_name": "Net", "iteration": "all", '
        '"input_output": 0, "kernels": [], "support_device": [0]}, "e2e_dump_settings": {"enable": true}}' % (tmp_path / "tree")
    )
    done = tensortap("run", model, "--config", config, "--profile", "mindspore-2.10/gpu", "--runs", "2")
    assert done.code == 0, done.err
    net = tmp_path / "tree/rank_0/Net/0"
    found = [np.load(path) for path in net.glob("constants/Parameter.data-*.output.0.DefaultFormat.*.npy")]
    expected = [TABLE.reshape(3, 2), np.float32(0.25), np.float32(3), ADDED, -ADDED]
    assert len(found) == len(expected)
    for array in expected:
        assert sum(one.shape == array.shape and bool(np.all(one == array)) for one in found) == 1, array
    for step in ("0", "1"):
        parameters = {path.name.split(".")[1]: np.load(path) for path in (net / step).glob("Parameter.*.npy")}
        assert {"x", "half", "wt"} <= set(parameters)
        np.testing.assert_array_equal(parameters["wt"], WEIGHTS.T)
        assert not any(name.startswith("data-") or name in ("turned", "limit", "scale") for name in parameters)
    listed = [line["op"] for line in tensortap("ls", tmp_path / "tree", "--json").objects if line.get("phase") == "load"]
    assert sorted(listed) == [f"data-{number}" for number in range(1, 6)]
