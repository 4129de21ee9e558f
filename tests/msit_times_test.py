"""How long operations took, as `msit llm dump --type cpu_profiling` has it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from cli_support import package_alone, small_model, tensortap
from exec_support import TORCH_PYTHON

COLUMNS = ["opname", "execute_kernelExecuteTime", "execute_launchTime", "execute_totalTime", "setup_totalTime"]
PROGRAM = """
import time, torch, torch.nn as nn
class Slow(nn.Module):
    def forward(self, x):
        time.sleep(0.05)
        return torch.relu(x)
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.slow, self.linear = Slow(), nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(self.slow(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(2))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net = Net().eval()
with torch.no_grad():
    for _ in range(3):
        net(torch.ones(2, 4))
"""


def tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Read the tables of a dump by their names."""
    read = {}
    for path in folder.glob("msit_dump_*/cpu_profiling/*/*.csv"):
        assert path.read_text().splitlines()[0].split(",") == COLUMNS
        with path.open(newline="") as file:
            read[path.name] = list(csv.DictReader(file))
    return read


# L2 L18
@pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
def test_modules_and_operators_have_times_in_every_round_and_no_tensors(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(PROGRAM)
    words = ["llm", "dump", "--exec", f"{TORCH_PYTHON} net.py", "--type", "cpu_profiling", "-er", "1,1", "-o", "out"]
    done = tensortap(*words, cwd=tmp_path, environment={"PYTHONPATH": str(package_alone(tmp_path))})
    assert done.code == 0, done.err
    (dump,) = (tmp_path / "out").glob("msit_dump_*")
    assert {path.name for path in dump.iterdir()} == {".tensortap", "cpu_profiling"}
    rounds = tables(tmp_path / "out")
    assert set(rounds) == {f"operation_statistic_{number}.csv" for number in range(3)}, "whatever rounds were asked for, as the real one"
    names = [row["opname"] for row in rounds["operation_statistic_0.csv"]]
    assert names[:6] == ["ReluOperation_0_0_0", "Slow_0_0", "AddmmOperation_0_1_0", "Linear_0_1", "Prefill_layer_0", "ReluOperation_1_0_0"]
    for rows in rounds.values():
        assert [row["opname"] for row in rows][:10] == names[:10]
        times = {row["opname"]: {key: int(row[key]) for key in COLUMNS[1:]} for row in rows}
        for time in times.values():
            assert abs(time["execute_totalTime"] - time["execute_kernelExecuteTime"] - time["execute_launchTime"]) <= 1
            assert time["setup_totalTime"] == 0
        layer, slow, linear = (times[name]["execute_totalTime"] for name in ("Prefill_layer_0", "Slow_0_0", "Linear_0_1"))
        assert 50_000 <= slow < 500_000 and layer >= slow + linear - 2, "a module's time is that of its call"
        assert times["Slow_0_0"]["execute_launchTime"] >= 49_000, "its operators did not sleep"
        relu = times["ReluOperation_0_0_0"]
        assert relu["execute_kernelExecuteTime"] == relu["execute_totalTime"] < 50_000


@pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
def test_times_stand_beside_tensors_that_are_those_of_operations(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(PROGRAM)
    words = ["llm", "dump", "--exec", f"{TORCH_PYTHON} net.py", "--type", "tensor", "cpu_profiling", "-o", "out"]
    done = tensortap(*words, cwd=tmp_path, environment={"PYTHONPATH": str(package_alone(tmp_path))})
    assert done.code == 0, done.err
    names = [row["opname"] for row in tables(tmp_path / "out")["operation_statistic_0.csv"]]
    folders = {path.parent.parent.name for path in (tmp_path / "out").rglob("*.bin")}
    assert {name.partition("_")[2] for name in folders} == {
        "ReluOperation",
        "Slow",
        "AddmmOperation",
        "Linear",
        "Prefill_layer",
        "OnesOperation",
    }
    assert len(names) == len(set(names)) == 11


def test_a_model_on_onnx_runtime_has_times_of_its_operations(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"dump_enable": "true", "type": "cpu_profiling"}))
    done = tensortap("run", "model.onnx", "--config", "config.json", "--runs", 2, "--out", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    rounds = tables(tmp_path / "out")
    assert set(rounds) == {"operation_statistic_0.csv", "operation_statistic_1.csv"}
    for rows in rounds.values():
        assert rows and all(row["execute_totalTime"].isdecimal() and row["execute_launchTime"] == "0" for row in rows), rows


def launches(folder: Path) -> dict[str, dict[str, object]]:
    """Read how kernels were launched, by their folder below the process."""
    found = {}
    for path in folder.glob("msit_dump_*/tiling/*/**/kernel_tilingdata.bin"):
        (line,) = path.read_text().splitlines()
        found["/".join(path.parts[path.parts.index("tiling") + 2 : -1])] = json.loads(line)
    return found


# L8
@pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
def test_kernels_of_the_rounds_that_are_asked_for_have_launch_parameters(tmp_path: Path) -> None:
    program = PROGRAM.replace("net(torch.ones(2, 4))", "net(torch.ones(4, 2).t())").replace(
        "import time, torch", "import time, torch\ntorch.set_num_threads(3)\nimport torch"
    )
    (tmp_path / "net.py").write_text(program)
    words = ["llm", "dump", "--exec", f"{TORCH_PYTHON} net.py", "-tiling", "-er", "1,1", "-ids", "0", "-o", "out"]
    done = tensortap(*words, cwd=tmp_path, environment={"PYTHONPATH": str(package_alone(tmp_path))})
    assert done.code == 0, done.err
    found = launches(tmp_path / "out")
    # relu calls clamp_min underneath, and addmm copies a tensor that is not contiguous; a kernel by itself is beside its operator.
    assert set(found) == {
        "1/0_Prefill_layer/0_Slow/0_ReluOperation/0_clamp_min", "1/0_Prefill_layer/1_Linear/0_AddmmOperation/0_copy_",
        "1/0_Prefill_layer/1_Linear/1_addmm",
    }  # fmt: skip
    by_kernel = {line["kernel"]: line for line in found.values()}
    relu, linear = by_kernel["clamp_min"], by_kernel["addmm"]
    assert list(relu) == ["kernel", "threads", "isa", "numel", "bytes", "contiguous"]
    assert (relu["threads"], relu["numel"], relu["bytes"], relu["contiguous"]) == (3, 8, 64, False)
    assert (linear["numel"], linear["bytes"]) == (8, 4 * (4 + 8 + 16 + 8))
    tensors = {str(path.relative_to(tmp_path)) for path in (tmp_path / "out").rglob("*.bin") if "tensors" in path.parts}
    assert tensors and not any("clamp_min" in path for path in tensors), "kernels have no tensors of their own without --type kernel"


def test_a_node_of_onnx_runtime_is_its_own_kernel(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"dump_enable": "true", "tiling": "true"}))
    done = tensortap("run", "model.onnx", "--config", "config.json", "--threads", 2, "--out", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    found = launches(tmp_path / "out")
    assert found and all(line["threads"] == 2 and line["kernel"] == Path(place).name.partition("_")[2] for place, line in found.items())
