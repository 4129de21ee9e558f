"""The names in MindSpore's graph files, as MindSpore's own tools look for them: every node is found, and by its scope every tensor file."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, save, tensortap
from onnx import helper, numpy_helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

# How mindstudio-probe's code_mapping finds a node, its scope, and the op of a tensor file.
NODE = re.compile(r"(%\d+)\(([A-Za-z0-9_.]+)\)\s*=\s*([A-Za-z_][A-Za-z0-9_]*)\(")
SCOPE = re.compile(r"^[ \t]*#[^\n]*?scope[^\n]*?:[ \t]*\(([^)\n]{1,200})\)[ \t]*$", re.IGNORECASE | re.MULTILINE)


def write_config(folder: Path) -> Path:
    common = {"dump_mode": 0, "path": str(folder / "tree"), "net_name": "Net", "iteration": "0", "input_output": 0, "kernels": []}
    config = {"common_dump_settings": {**common, "support_device": [0], "op_debug_mode": 0}, "e2e_dump_settings": {"enable": True}}
    (folder / "cfg.json").write_text(json.dumps(config))
    return folder / "cfg.json"


def closing(text: str, begin: int) -> int:
    """Find the parenthesis that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise AssertionError("a parenthesis that nothing closes")


def found_scopes(folder: Path) -> list[str]:
    """Give the scope of each node that is found, and check that none is missed."""
    (file,) = folder.glob("tree/rank_0/graphs/*.ir")
    text = file.read_text()
    scopes = []
    for node in NODE.finditer(text):
        scope = SCOPE.search(text, closing(text, node.end() - 1))
        assert scope is not None
        scopes.append(scope[1])
    ops = file.parent.parent.joinpath("execution_order/ms_execution_order_graph_0.csv").read_text().splitlines()[1:]
    assert scopes == ops
    return scopes


def check_tensor_files(folder: Path, scopes: list[str]) -> None:
    cleaned = {scope.replace("/", "_") for scope in scopes}
    ops = {path.name.split(".")[1] for path in folder.glob("tree/rank_0/Net/0/0/*.npy") if not path.name.startswith("Parameter.")}
    assert ops and ops <= cleaned


# M19
def test_every_node_of_an_onnx_model_is_found(tmp_path: Path) -> None:
    one = numpy_helper.from_array(np.float32(1), "one")
    nodes = [
        helper.make_node("Add", ["x", "one"], ["/model.22/cv2(1):0"], name="/model.22/cv2.0/Add"),
        helper.make_node("Neg", ["/model.22/cv2(1):0"], ["jax2tf,f(a)/n:0"], name='jax2tf_"f"(a)/b:c,d/Neg'),
        helper.make_node("Exp", ["jax2tf,f(a)/n:0"], ["y"], name="exp é {x}"),
    ]
    model = save(nodes, tmp_path / "m.onnx", initializers=[one])
    done = tensortap("run", model, "--config", write_config(tmp_path), "--seed", "1", cwd=tmp_path)
    assert done.code == 0, done.err
    scopes = found_scopes(tmp_path)
    assert scopes[0] == "Default/model/22/cv2/0/Add/Add-op0", "modules are scopes"
    assert len(scopes) == 3
    check_tensor_files(tmp_path, scopes)


PROGRAM = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.LayerNorm(3)])
        self.fc = torch.nn.Linear(3, 2)
    def forward(self, x):
        for block in self.blocks:
            x = block(x).relu()
        return self.fc(x)
net, other = Net(), Net()
optimizer = torch.optim.Adam(net.parameters())
loss = torch.nn.functional.mse_loss(net(torch.ones(2, 3)), other(torch.ones(2, 3)))
loss.backward()
optimizer.step()
"""


@pytest.mark.skipif("TENSORTAP_TEST_PYTHON" not in os.environ, reason="no Python with PyTorch")
def test_every_node_of_a_pytorch_program_is_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    words = [str(COMMAND), "exec", "--config", str(write_config(tmp_path)), "--", os.environ["TENSORTAP_TEST_PYTHON"], "train.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    scopes = found_scopes(tmp_path)
    assert len(scopes) > 40
    assert any(scope.startswith("Default/Net/blocks/0/") for scope in scopes)
    assert any(scope.startswith("Default/Adam/step/") for scope in scopes)
    check_tensor_files(tmp_path, scopes)
