"""The levels of a captured PyTorch program: operators, what they call underneath, and what the program itself calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from case_table import each_row
from cli_support import tensortap
from torch_support import INPUT, OUTPUT, Captured, capture

PROGRAM = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
with torch.no_grad():
    for step in range(2):
        made = model(torch.ones(1, 1, 6, 6))
        made.add_(1)
        print(F.cosine_similarity(made, made).sum().item())
"""


def types_by_level(done: Captured) -> dict[str, set[str]]:
    """Collect the types of the ops of each level that have records."""
    recorded = {int(number) for number in done.dump.rows["op"]}
    levels: dict[str, set[str]] = {}
    for number, op in done.dump.ops.items():
        if number in recorded:
            levels.setdefault(op["level"], set()).add(op["type"])
    return levels


def capture_levels(folder: Path, levels: str) -> Captured:
    """Capture the program with these levels."""
    done = capture(folder, PROGRAM, options=["--levels", levels])
    assert done.code == 0, done.err
    assert done.dump.run["lost"] == 0
    return done


def test_a_kernel_is_a_call_that_calls_nothing(tmp_path: Path) -> None:
    done = capture_levels(tmp_path, "kernel")
    levels = types_by_level(done)
    assert set(levels) == {"kernel"}
    assert "relu" not in levels["kernel"], "it calls clamp_min underneath"
    assert levels["kernel"] & {"mkldnn_convolution", "_slow_conv2d_forward"}, levels
    assert "convolution" not in levels["kernel"]
    assert "add_" in levels["kernel"], "an operator that calls nothing is its own kernel"
    assert len(done.dump.of_type("add_", OUTPUT)) == 2
    assert done.dump.of_type("add_", OUTPUT)["step"].tolist() == [0, 1]


def test_what_the_program_calls_stands_as_a_whole(tmp_path: Path) -> None:
    levels = types_by_level(capture_levels(tmp_path, "api"))
    assert set(levels) == {"api"}
    assert {"conv2d", "relu", "add_", "cosine_similarity"} <= levels["api"], "made of several operators, or one itself"
    assert "convolution" not in levels["api"]


def test_levels_stand_beside_each_other(tmp_path: Path) -> None:
    levels = types_by_level(capture_levels(tmp_path, "op,kernel,api"))
    assert {"conv2d"} <= levels["api"]
    assert {"convolution", "relu", "add_"} <= levels["op"]
    assert levels["kernel"] & {"mkldnn_convolution", "_slow_conv2d_forward"}


MODULES = """
import sys, numpy as np, torch, torch.nn as nn
torch.manual_seed(0); torch.set_num_threads(1)
class Pair(nn.Module):
    def forward(self, both, scale):
        return {"sum": both[0] + both[1], "scaled": [both[0] * scale]}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.pair = Pair()
    def forward(self, x):
        made = self.fc(x)
        return self.pair((made, made + 1), scale=torch.full((1,), 2.0))["scaled"][0]
net = Net()
x = torch.arange(6.0).reshape(2, 3)
out = net(x)
out.sum().backward()
with torch.no_grad():
    net(-x)
np.savez(sys.argv[1], x=x, weight=net.fc.weight.detach(), bias=net.fc.bias.detach(), version=x._version, out=out.detach())
"""


def recorded_calls(done: Captured) -> dict[str, list[Any]]:
    """Collect the values of each slot of the modules' calls, in time order."""
    data = (done.dump.folder / "tensors.npz").read_bytes()
    ops = done.dump.ops
    found: dict[str, list[Any]] = {}
    for row in done.dump.rows:
        kind = "in" if row["slot_kind"] == INPUT else "out"
        element = "" if row["element"] < 0 else f"[{row['element']}]"
        values = np.frombuffer(data, np.float32, int(row["numel"]), int(row["data_offset"])).reshape(row["shape"][: row["dims_count"]])
        found.setdefault(f"{ops[int(row['op'])]['name']}:{kind}{row['slot_index']}{element}", []).append(values)
    return found


def capture_calls(folder: Path, levels: str) -> tuple[Captured, dict[str, Any]]:
    """Capture the calls of the modules, and give what the program had."""
    folder.mkdir(exist_ok=True)
    done = capture(folder, MODULES, str(folder / "expected.npz"), options=["--levels", levels, "--tensors"])
    assert done.code == 0, done.err
    return done, dict(np.load(folder / "expected.npz"))


def test_a_module_is_told_with_its_arguments_and_results(tmp_path: Path) -> None:
    done, expected = capture_calls(tmp_path, "module")
    assert types_by_level(done) == {"module": {"Net", "Linear", "Pair"}}
    calls = recorded_calls(done)
    assert set(calls) == {
        "Net:in0", "Net:out0", "Net.fc:in0", "Net.fc:out0",
        "Net.pair:in0[0]", "Net.pair:in0[1]", "Net.pair:in1", "Net.pair:out0", "Net.pair:out1[0]",
    }  # fmt: skip
    for call, x in enumerate((expected["x"], -expected["x"])):
        made = x @ expected["weight"].T + expected["bias"]
        np.testing.assert_array_equal(calls["Net:in0"][call], x)
        np.testing.assert_allclose(calls["Net.fc:out0"][call], made, rtol=1e-6)
        np.testing.assert_allclose(calls["Net.pair:out0"][call], 2 * made + 1, rtol=1e-6)
        np.testing.assert_allclose(calls["Net.pair:out1[0]"][call], 2 * made, rtol=1e-6)
        np.testing.assert_array_equal(calls["Net:out0"][call], calls["Net.pair:out1[0]"][call])
    np.testing.assert_array_equal(calls["Net:out0"][0], expected["out"])
    assert expected["version"] == 0, "telling of it wrote nothing"


def test_a_model_is_the_root_alone(tmp_path: Path) -> None:
    done, _ = capture_calls(tmp_path, "model")
    assert types_by_level(done) == {"model": {"Net"}}
    done, _ = capture_calls(tmp_path / "both", "op,module,model")
    levels = types_by_level(done)
    assert levels["model"] == {"Net"}
    assert levels["module"] == {"Linear", "Pair"}
    assert {"addmm", "mul"} <= levels["op"]


WRITES = """
import torch, torch.nn as nn
class Doubled(nn.Module):
    def forward(self, x):
        return x.mul_(2)
Doubled()(torch.ones(3))
"""


def test_a_module_that_writes_into_its_argument_is_told_with_what_it_read(tmp_path: Path) -> None:
    done = capture(tmp_path, WRITES, options=["--levels", "module", "--tensors"])
    assert done.code == 0, done.err
    calls = recorded_calls(done)
    np.testing.assert_array_equal(calls["Doubled:in0"], [np.ones(3)])
    np.testing.assert_array_equal(calls["Doubled:out0"], [2 * np.ones(3)])


@each_row("levels", ["ops", "op,modules", ""])
def test_other_words_are_refused(tmp_path: Path, levels: str) -> None:
    done = tensortap("exec", "--levels", levels, "--", "true", cwd=tmp_path)
    assert done.code == 2
    assert "--levels" in done.err
