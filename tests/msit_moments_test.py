"""Moments, models and kernels of `msit llm dump`: tensors before and after an operation, and programs of ONNX Runtime."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import tensortap as module
from cli_support import package_alone, save, tensortap
from exec_support import TORCH_PYTHON
from onnx import helper, numpy_helper

NEEDS_TORCH = pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
# The module adds 1 to what it reads, the operator below it does so, too, and the program picks a token outside of all modules.
PROGRAM = """
import torch
class Bump(torch.nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 10
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Sequential(Bump()), torch.nn.Sequential(torch.nn.ReLU())])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net = Net().eval()
with torch.no_grad():
    for length in (3, 1, 1):
        net(torch.ones(1, length, 2)).argmax(-1)
"""


def dump(folder: Path, *options: str, program: str = PROGRAM, python: object = TORCH_PYTHON) -> tuple[Path, str]:
    (folder / "net.py").write_text(program)
    done = tensortap(
        "llm",
        "dump",
        "--exec",
        f"{python} net.py",
        "-o",
        "out",
        *options,
        cwd=folder,
        environment={"PYTHONPATH": str(package_alone(folder))},
    )
    assert done.code == 0, done.err
    (found,) = (folder / "out").glob("msit_dump_*")
    return found, done.err


def values(found: Path) -> dict[str, float]:
    """Give the first value of each tensor of round 0 in the layer that bumps, by its place there."""
    (layer,) = found.glob("tensors/*/0/*Prefill_layer/0_Bump/..") or ()
    opened = module.open(found)
    result = {}
    for row in range(len(opened)):
        path = found / opened._core.file(row)
        if layer.resolve() in path.resolve().parents:
            result[str(path.resolve().relative_to(layer.resolve()))] = float(opened[row].flat[0])
    return result


# L6
@NEEDS_TORCH
@pytest.mark.parametrize("time", ["1", "2", "3"])
def test_inputs_are_those_of_their_moment(time: str, tmp_path: Path) -> None:
    found = values(dump(tmp_path, "--type", "tensor", "-time", time)[0])
    places = ["0_Bump", "0_Bump/0_AddOperation"]
    adds = {name.rpartition("/")[0].rpartition("/")[0] for name in found if "/0_" in name}
    assert adds, found
    for place in (places[0], *adds):
        before, after = f"{place}/before/intensor0.bin", f"{place}/after/intensor0.bin"
        assert found.get(before) == (None if time == "1" else 1), found
        assert found.get(after) == (None if time == "3" else 2), found
    assert found["0_Bump/after/outtensor0.bin"] == 20
    assert not any("before/outtensor" in name for name in found)


# L17
@NEEDS_TORCH
def test_models_name_themselves_and_the_last_layers_are_said(tmp_path: Path) -> None:
    found, said = dump(tmp_path, "--type", "model", "-l", "debug", "-er", "0,1")
    for path in found.glob("model/*/*.json"):
        told = json.loads(path.read_text())
        assert told["modelName"] == path.stem
        assert all(name.startswith(path.stem) for name in told["inTensors"])
    assert {path.stem for path in found.glob("model/*/*.json")} == {"Net", "Net_decode"}
    layers = {path.stem for path in found.glob("layer/*/*_layer_*.json")}
    last = {kind: max(int(name.rpartition("_")[2]) for name in layers if name.startswith(kind)) for kind in ("Prefill", "Decoder")}
    assert f"the last layer of each phase: {last['Decoder']}_Decoder_layer (Net.layers.1), " in said
    assert f"{last['Prefill']}_Prefill_layer (Net.layers.1); -ids takes the number" in said
    assert "the program is started as: " in said and "environment: ATB_SAVE_TENSOR_TIME=1" in said


# L2 L17 L18
def test_a_program_of_onnxruntime_has_a_model_and_kernels(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    weight = numpy_helper.from_array(np.full((4, 5), 0.5, np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Neg", ["a"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    save(nodes, tmp_path / "m.onnx", shape=(2, 4), initializers=[weight])
    program = """
import numpy as np, onnxruntime as ort
s = ort.InferenceSession("m.onnx")
s.run(None, {"x": np.ones((2, 4), np.float32)})
"""
    found, _ = dump(tmp_path, "--type", "model", "tensor", "kernel", program=program, python=sys.executable)
    (path,) = found.glob("model/*/*.json")
    told = json.loads(path.read_text())
    assert told["modelName"] == path.stem
    by_type = {node["opType"]: node for node in told["nodes"]}
    product, negative, total = (by_type[f"{name}Operation"] for name in ("MatMul", "Neg", "Add"))
    assert negative["inTensors"] == product["outTensors"]
    assert total["inTensors"] == [*product["outTensors"], *negative["outTensors"]]
    assert told["outTensors"] == total["outTensors"] and len(told["inTensors"]) == 2
    pid = path.parent.name
    for number, node in enumerate(told["nodes"]):
        assert node["opName"] == f"{node['opType']}_{number}"
        assert (found / f"tensors/0_{pid}/0/{number}_{node['opType']}/after/outtensor0.bin").exists()
    with (found / f"kernel_io_tensors/{pid}/kernel_tensors_0.csv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="|"))
    assert [(row["InShape"], row["OutShape"]) for row in rows] == [("2,4;4,5", "2,5"), ("2,5", "2,5"), ("2,5;2,5", "2,5")]
    assert f"/0_{pid}/0/1_NegOperation/" in rows[1]["InTensorFile"]


# L5
def test_a_round_beyond_64_bits_is_refused(tmp_path: Path) -> None:
    done = tensortap("llm", "dump", "--exec", "true", "-er", "0,99999999999999999999", "-o", tmp_path / "out")
    assert done.code == 2 and "is not a legal number: 99999999999999999999 is too large" in done.err, done.err
    assert not (tmp_path / "out").exists()
