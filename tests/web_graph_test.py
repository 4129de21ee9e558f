"""The page of the web view before graphs of many ops."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import onnx
from cli_support import COMMAND, NativeDump, tensortap
from onnx import NodeProto, TensorProto, helper, numpy_helper
from web_support import needs_browser, scenarios

LAYERS = 700
SELECTED = 300


def layer(index: int, x: str, names: Iterator[int]) -> tuple[list[NodeProto], str]:
    """Make the ops of one layer, each of which reads one of three weights that all layers share."""
    nodes: list[NodeProto] = []

    def add(kind: str, inputs: list[str], name: str) -> str:
        output = f"v{next(names)}"
        nodes.append(helper.make_node(kind, inputs, [output], name=f"/model/layers.{index}/{name}"))
        return output

    q, k, v = (add("MatMul", [x, "w"], f"attn/{part}_proj/MatMul") for part in "qkv")
    scores = add("MatMul", [q, add("Transpose", [k], "attn/Transpose")], "attn/MatMul")
    mixed = add("MatMul", [add("Softmax", [scores], "attn/Softmax"), v], "attn/MatMul_1")
    added = add("Add", [x, add("MatMul", [mixed, "w"], "attn/o_proj/MatMul")], "Add")
    normal = add("LayerNormalization", [added, "g", "b"], "norm/LayerNormalization")
    up = add("Tanh", [add("MatMul", [normal, "w"], "mlp/up/MatMul")], "mlp/act/Tanh")
    return nodes, add("Add", [added, add("MatMul", [up, "w"], "mlp/down/MatMul")], "Add_1")


def deep_dump(folder: Path) -> Path:
    """Capture a model of very many layers, without fusion."""
    weights = {"w": np.eye(8) / 2, "b": np.full(8, 0.1), "g": np.ones(8)}
    tensors = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    names, nodes, x = count(), [], "x"
    for index in range(LAYERS):
        made, x = layer(index, x, names)
        nodes += made
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "deep", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(folder / "deep.onnx"))
    done = tensortap("run", folder / "deep.onnx", "--optimize", "none", "--quiet", "--out", folder / "deep")
    assert done.code == 0, done.err
    return folder / "deep"


@needs_browser
def test_the_page_shows_graphs_of_many_ops(tmp_path: Path) -> None:
    dump = deep_dump(tmp_path)
    ops = {op["name"]: number for number, op in NativeDump(dump).ops.items()}
    facts = {
        "command": str(COMMAND),
        "deep": str(dump),
        "selected": ops[f"/model/layers.{SELECTED}/norm/LayerNormalization"],
        "weight": ops["w"],
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    results = scenarios("graph_scenarios.ts", tmp_path / "facts.json")
    assert len(results) == 7
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
