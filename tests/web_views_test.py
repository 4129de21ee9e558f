"""Every view of the page before axe and in windows of three sizes, and the clicks that daily tasks take, on dumps of real programs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_api as api
import pytest
import table_support as made
from cli_support import COMMAND, NativeDump, package_alone
from serve_live_test import wait_for_capture
from torch_support import PYTHON
from web_pairs_test import captured_pair
from web_support import PATIENCE, needs_browser, scenarios

OUTPUT = 0
RANKS = 2
LINE = "return torch.log(self.norm(x) - 10)"

TRAINING = f"""
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.broken = False

    def forward(self, x):
        if self.broken:
            {LINE}
        return self.norm(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 16)
        self.norm = nn.LayerNorm(16)
        self.last = Last()
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.last(torch.relu(self.norm(self.first(x)))))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    model.last.broken = step == 6
    x, wanted = torch.randn(4, 3, 12), torch.randint(0, 10, (12,))
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for one in (
    torch.tensor([[0.1, 1 / 3, 3], [1e-300, 2, 0]], dtype=torch.float64),
    torch.tensor([[2**53 + 1, -7]]),
    torch.tensor([[0.1, 65504]]).half(),
    torch.tensor([[0.1, 3]]).bfloat16(),
):
    torch.neg(one)
"""

# Takes ten steps a second until a file tells it to end.
RUNNING = """
import pathlib
import time
import torch

torch.set_num_threads(1)
model = torch.nn.Linear(12, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while not pathlib.Path("stop").exists():
    optimizer.zero_grad()
    model(torch.randn(4, 12)).square().mean().backward()
    optimizer.step()
    time.sleep(0.1)
"""

# What NumPy makes of the same values; bfloat16 has no name there and leaves as float32. 0.1 in bfloat16 is 205/2048.
NEGATED = {
    "float64": -np.array([[0.1, 1 / 3, 3], [1e-300, 2, 0]]),
    "int64": -np.array([[2**53 + 1, -7]]),
    "float16": -np.array([[0.1, 65504]], np.float16),
    "bfloat16": -np.array([[205 / 2048, 3]], np.float32),
}


def training_facts(folder: Path) -> dict[str, Any]:
    """Capture a training in which a line makes a NaN in step 6; NumPy finds its first element."""
    (folder / "train.py").write_text(TRAINING)
    words = [COMMAND, "exec", "--quiet", "--full", "--out", folder / "training", "--", PYTHON, "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(package_alone(folder))}
    subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, check=True)
    dump = NativeDump(folder / "training")
    rows = dump.rows
    number, origin = next((number, op) for number, op in dump.ops.items() if op["type"] == "log")
    values = np.load(dump.folder / "tensors.npz")[f"{origin['name']}:out0@6"]
    kinds = [dump.ops[int(op)]["type"] for op in rows["op"]]
    assert np.isnan(values).any()
    assert number in rows["op"]
    return {
        "dump": str(dump.folder),
        "origin": origin["name"],
        "text": LINE,
        "element": [int(part) for part in np.argwhere(~np.isfinite(values))[0]],
        "layerNorms": kinds.count("native_layer_norm"),
        "records": len(rows),
        "matrix": next(number for number, kind in enumerate(kinds) if kind == "relu"),
        "kinds": kinds_of(dump, rows, kinds),
    }


def kinds_of(dump: NativeDump, rows: Any, types: list[str]) -> list[dict[str, Any]]:
    """Find the outputs of torch.neg outside of the training, one for each type."""
    found = [number for number, kind in enumerate(types) if kind == "neg" and rows["slot_kind"][number] == OUTPUT]
    found = [number for number in found if not dump.ops[int(rows["op"][number])]["name"].startswith(("Net", "autograd"))]
    assert len(found) == len(NEGATED), found
    return [{"record": record, "dtype": dtype} for record, dtype in zip(found, NEGATED, strict=True)]


def check_saved(folder: Path) -> None:
    """Compare the files that the page saved with what NumPy computes."""
    for dtype, values in NEGATED.items():
        saved = np.load(folder / f"{dtype}.npy")
        assert (saved.dtype, saved.shape, saved.tobytes()) == (values.dtype, values.shape, values.tobytes()), dtype
        lines = (folder / f"{dtype}.csv").read_text().split()
        texts = np.array([[values.dtype.type(text) for text in line.split(",")] for line in lines], values.dtype)
        assert texts.tobytes() == values.tobytes(), (dtype, lines)


def job_of_two(folder: Path) -> Path:
    """Write a job of two ranks that part."""
    made.write_job(folder / "whole")
    (folder / "two").mkdir()
    for rank in range(RANKS):
        (folder / f"whole/rank_{rank}").rename(folder / f"two/rank_{rank}")
    return folder / "two"


@needs_browser
@pytest.mark.skipif(not api.MODELS.is_dir(), reason="no models: run ./dev setup")
def test_every_view_is_accessible_and_daily_tasks_take_few_clicks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # B13
    (tmp_path / "runtime").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))  # other captures of this user may run
    wrong, right, born = captured_pair(tmp_path)
    made.write_job(tmp_path / "job")
    facts = {
        "command": str(COMMAND),
        "training": training_facts(tmp_path),
        "pair": {"wrong": str(wrong), "right": str(right), "born": born},
        "job": str(tmp_path / "job"),
        "two": str(job_of_two(tmp_path)),
        "live": str(tmp_path / "live"),
        "saved": str(tmp_path),
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    (tmp_path / "running.py").write_text(RUNNING)
    words = [COMMAND, "exec", "--quiet", "--out", "live", "--", PYTHON, "running.py"]
    environment = {**os.environ, "PYTHONPATH": str(package_alone(tmp_path))}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        try:
            wait_for_capture(tmp_path / "live", {})
            results = scenarios("view_scenarios.ts", tmp_path / "facts.json")
        finally:
            (tmp_path / "stop").touch()
    assert len(results) == 13
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
    check_saved(tmp_path)
