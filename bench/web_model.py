"""Models like transformers of any number of nodes, for what shows graphs: as ONNX, and as Model Explorer's own JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH = 4, 8
# Of one layer: name, type, inputs. Names with a slash are those of the layer, x is what the layer before gave.
LAYER = [
    ("attention/norm", "Mul", ("x", "scale")),
    ("attention/project_q", "MatMul", ("attention/norm", "weight")),
    ("attention/project_k", "MatMul", ("attention/norm", "weight")),
    ("attention/project_v", "MatMul", ("attention/norm", "weight")),
    ("attention/bias_q", "Add", ("attention/project_q", "bias")),
    ("attention/bias_k", "Add", ("attention/project_k", "bias")),
    ("attention/bias_v", "Add", ("attention/project_v", "bias")),
    ("attention/turn", "Transpose", ("attention/bias_k",)),
    ("attention/scores", "MatMul", ("attention/bias_q", "attention/turn")),
    ("attention/mask", "Add", ("attention/scores", "mask")),
    ("attention/softmax", "Softmax", ("attention/mask",)),
    ("attention/mix", "MatMul", ("attention/softmax", "attention/bias_v")),
    ("attention/project", "MatMul", ("attention/mix", "weight")),
    ("add", "Add", ("attention/project", "x")),
    ("mlp/norm", "Mul", ("add", "scale")),
    ("mlp/up", "MatMul", ("mlp/norm", "weight")),
    ("mlp/act", "Tanh", ("mlp/up",)),
    ("mlp/down", "MatMul", ("mlp/act", "weight")),
    ("add2", "Add", ("mlp/down", "add")),
    ("norm", "Tanh", ("add2",)),
]


def layers(count: int) -> list[tuple[str, str, list[str]]]:
    """Give name, type and inputs of about `count` nodes."""
    nodes, last = [], "input"
    for layer in range(-(-count // len(LAYER))):
        scope = f"/layer.{layer // 10}/block.{layer % 10}/"
        for name, kind, inputs in LAYER:
            known = {"x": last}
            own = [known.get(one, one if one in ("scale", "weight", "bias", "mask") else scope + one) for one in inputs]
            nodes.append((scope + name, kind, own))
        last = nodes[-1][0]
    return nodes


def save_onnx(count: int, path: Path) -> None:
    """Save the model for ONNX Runtime."""
    random = np.random.default_rng(0)
    constants = {
        "scale": np.full(WIDTH, 0.9),
        "weight": random.standard_normal((WIDTH, WIDTH)) / WIDTH,
        "bias": np.zeros(WIDTH),
        "mask": np.zeros((ROWS, ROWS)),
    }
    nodes = [helper.make_node(kind, inputs, [name], name=name) for name, kind, inputs in layers(count)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [ROWS, WIDTH])],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [ROWS, WIDTH])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def save_model_explorer(count: int, path: Path) -> None:
    """Save the same graph as Model Explorer reads it: a node has a namespace, and edges come in."""
    nodes = []
    for name, kind, inputs in layers(count):
        edges = [{"sourceNodeId": one, "sourceNodeOutputId": "0", "targetNodeInputId": str(i)} for i, one in enumerate(inputs)]
        made = [edge for edge in edges if edge["sourceNodeId"].startswith("/")]
        nodes.append({"id": name, "label": kind, "namespace": name.rsplit("/", 1)[0].lstrip("/"), "incomingEdges": made})
    path.write_text(json.dumps([{"id": "g", "nodes": nodes}]))
