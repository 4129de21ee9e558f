"""B16: `compare` of a program on the host, on the test device of tests/device, and on two of its devices, with and without a mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import tensortap
from device_support import on_device
from torch_support import PYTORCH_LIBRARY

pytestmark = pytest.mark.skipif(not PYTORCH_LIBRARY.exists(), reason="the PyTorch source is not built")

PROGRAM = """
import sys, torch, tapdev
first, second = sys.argv[1].split(",")
torch.manual_seed(0)
torch.set_num_threads(1)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
    def forward(self, x):
        y = torch.tanh(self.up(x))
        if "bad" in sys.argv:
            y = y * 1.05  # line P
        else:
            y = y * 1.0
        return x + self.down(y)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Block(), Block()
    def forward(self, x):
        return self.two(self.one(x.to(first)).to(second))
net = Net()
x = torch.randn(4, 8)
net.one.to(first), net.two.to(second)
with torch.no_grad():
    print(float(net(x).sum()))
"""

PLACES = {"host": "cpu,cpu", "device": "tapdev:0,tapdev:0", "devices": "tapdev:0,tapdev:1"}


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory, device: dict[str, str]) -> dict[str, Path]:
    """Run the program at each place, and once with a mistake."""
    made = {}
    for name, place in PLACES.items():
        folder = tmp_path_factory.mktemp(name)
        on_device(folder, device, PROGRAM, place, options=["--full"])
        made[name] = folder / "dump"
    for name in ("device", "devices"):
        folder = tmp_path_factory.mktemp(f"bad_{name}")
        on_device(folder, device, PROGRAM, PLACES[name], "bad", options=["--full"])
        made[f"bad {name}"] = folder / "dump"
    return made


def compared(a: Path, b: Path) -> tuple[dict[str, Any], int]:
    """Compare two dumps; gives the summary and the exit code."""
    done = tensortap("compare", "--json", a, b)
    return json.loads(done.out.splitlines()[-1])["summary"], done.code


@pytest.mark.parametrize(("a", "b"), [("host", "device"), ("device", "host"), ("device", "devices"), ("host", "devices")])
def test_the_same_program_elsewhere_is_the_same_computation(dumps: dict[str, Path], a: str, b: str) -> None:
    summary, code = compared(dumps[a], dumps[b])
    text = tensortap("compare", dumps[a], dumps[b]).out
    assert code == 0, text
    assert (summary["culprit"], summary["settings"]) == (None, [])
    assert summary["paired"] >= 10
    assert text.startswith(("verdict     same computation", "verdict     equal")), text


@pytest.mark.parametrize(("a", "b"), [("bad device", "host"), ("bad devices", "device"), ("bad devices", "host")])
def test_a_mistake_elsewhere_is_named_at_its_op(dumps: dict[str, Path], a: str, b: str) -> None:
    summary, code = compared(dumps[a], dumps[b])
    assert code == 1
    assert summary["culprit"]["type"] == "mul"
    assert summary["culprit"]["b"].startswith("Net.one/mul")
