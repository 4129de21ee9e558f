"""The page of the web view before a training: the table, the curves, and numbers that leave the page."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import COMMAND, package_alone
from onnx import TensorProto, helper
from torch_support import PYTHON
from web_support import PATIENCE, needs_browser, scenarios

tensortap = pytest.importorskip("tensortap", reason="the module is not built")

# A module that runs twice in a step, whole numbers that a double rounds, and memory that nothing is written to.
TRAINING = """
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        return x + torch.relu(self.norm(self.linear(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 16)
        self.block = Block(16)
        self.head = nn.Linear(16, 10)

    def forward(self, words):
        return self.head(self.block(self.block(self.emb(words))).mean(1))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    words, wanted = torch.randint(0, 50, (8, 12)), torch.randint(0, 10, (8,))
    loss = nn.functional.cross_entropy(model(words), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.tensor([2**53, 7]) + 1
torch.empty(3)
"""


def captured(folder: Path, name: str, *options: str) -> Path:
    """Capture the training."""
    (folder / "train.py").write_text(TRAINING)
    words = [COMMAND, "exec", "--quiet", *options, "--out", folder / name, "--", PYTHON, "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(package_alone(folder))}
    subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, check=True)
    return folder / name


def strings(folder: Path) -> Path:
    """Capture a model that gives on a tensor of strings."""
    values = [helper.make_tensor_value_info(name, TensorProto.STRING, [2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"], name="copy")], "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(folder / "strings.onnx"))
    tensortap.run(folder / "strings.onnx", {"x": np.array(["ab", "<b>é</b>"], object)}, out=folder / "strings", payload="full")
    return folder / "strings"


@needs_browser
def test_the_page_serves_daily_work_with_a_training(tmp_path: Path) -> None:
    dumps = [captured(tmp_path, "training"), captured(tmp_path, "full", "--full", "--steps", "0-2"), strings(tmp_path)]
    results = scenarios("daily_scenarios.ts", COMMAND, *dumps)
    assert len(results) >= 24
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
