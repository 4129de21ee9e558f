"""Servers that load a model and fork their workers: runs in the workers are counted, and nothing is cleared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, tensortap

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PROGRAM = """
import os, sys
import numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
for worker in range(2):
    if os.fork() == 0:
        session.run(None, {"x": np.array([-1, 0, 2], np.float32)})
        os._exit(0)
for worker in range(2): assert os.wait()[1] == 0
if len(sys.argv) > 2: session.run(None, {"x": np.ones(3, np.float32)})
"""


@pytest.mark.parametrize("parent_runs", [False, True])
def test_workers_that_inherit_a_session_are_counted(tmp_path: Path, parent_runs: bool) -> None:
    helper, float_ = onnx.helper, onnx.TensorProto.FLOAT
    values = [helper.make_tensor_value_info(name, float_, [3]) for name in ("x", "y")]
    weight = onnx.numpy_helper.from_array(np.ones(3, np.float32), "w")
    nodes = [helper.make_node("Mul", ["x", "w"], ["m"], "mul"), helper.make_node("Log", ["m"], ["y"], "log")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    (tmp_path / "server.py").write_text(PROGRAM)
    command = [COMMAND, "exec", "--out", "dump", "--", sys.executable, "server.py", "m.onnx", *(["too"] if parent_runs else [])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "dump/run.json").read_text())
    assert {"fork (2 processes)"} <= {name for one in report["ops"]["not_captured"] for name in one["examples"]}
    found = tensortap("find", tmp_path / "dump")
    assert found.code == 3
    assert "operators of processes made by fork" in found.out
    if parent_runs:
        assert found.out.startswith("no NaN and no Inf in what was captured\n")
    else:
        assert found.out.startswith("unknown: no op of the program was captured")
        assert "unknown: no tensor was looked at" in done.stderr
