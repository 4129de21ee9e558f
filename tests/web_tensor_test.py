"""The page of the web view before tensors of many shapes and values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from cli_support import COMMAND, NativeDump, tensortap
from onnx import TensorProto, helper
from web_dumps_test import row_of
from web_support import needs_browser, scenarios


def tensors_dump(folder: Path, name: str, scale: float) -> Path:
    """Capture five ops: of 4 x 4 and of 8 x 8 values, of both signs, with all kinds of non-finite values, and of none."""
    nodes = [
        helper.make_node("Relu", ["small"], ["s"], name="small"),
        helper.make_node("Relu", ["large"], ["l"], name="large"),
        helper.make_node("Neg", ["signs"], ["n"], name="signs"),
        helper.make_node("Div", ["up", "down"], ["d"], name="bad"),
        helper.make_node("Relu", ["none"], ["e"], name="empty"),
    ]
    shapes = {"small": [4, 4], "large": [8, 8], "signs": [40, 30], "up": [3, 6, 20, 24], "down": [3, 6, 20, 24], "none": [0, 3, 5]}
    inputs = [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes]
    graph = helper.make_graph(nodes, "tensors", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(folder / "tensors.onnx"))
    rng = np.random.default_rng(3)
    values = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    values["down"] = np.abs(values["down"]) + 1
    for place, up in (((1, 4, 2, 2), 0), ((1, 4, 3, slice(4, 9)), 1), ((2, 5, 7, slice(0, 6)), -1)):
        values["down"][place], values["up"][place] = 0, up
    values["large"] *= scale
    words = ["run", folder / "tensors.onnx", "--full", "--quiet", "--out", folder / name]
    for key, array in values.items():
        np.save(folder / f"{key}.npy", array)
        words += ["--input", f"{key}={folder / f'{key}.npy'}"]
    done = tensortap(*words)
    assert done.code == 0, done.err
    return folder / name


@needs_browser
def test_the_page_shows_tensors_of_every_kind(tmp_path: Path) -> None:
    dump = tensors_dump(tmp_path, "dump", 1)
    other = tensors_dump(tmp_path, "other", 2)
    native = NativeDump(dump)
    facts = {
        "command": str(COMMAND),
        "dump": str(dump),
        "other": str(other),
        "rows": {op["name"]: row_of(native, op["name"]) for op in native.ops.values()},
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    results = scenarios("tensor_scenarios.ts", tmp_path / "facts.json")
    assert len(results) == 8
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
