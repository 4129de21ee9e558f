"""Moments, models and kernels of `msit llm dump`: tensors before and after an operation, and programs of ONNX Runtime."""

from __future__ import annotations

import csv
import json
import subprocess
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


def dump(folder: Path, *options: str, program: str = PROGRAM, python: object = TORCH_PYTHON, command: str = "") -> tuple[Path, str]:
    (folder / "net.py").write_text(program)
    done = tensortap(
        "llm",
        "dump",
        "--exec",
        command or f"{python} net.py",
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


ONNX_PROGRAM = """
import numpy as np, onnxruntime as ort
s = ort.InferenceSession("m.onnx")
s.run(None, {"x": np.ones((2, 4), np.float32)})
"""
# Functions of the runtime are called by their place in its table (src/capture/source/onnxruntime/runtime/ort_interface.h).
CPP_PROGRAM = """
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
struct Base { void* const* (*table)(uint32_t); const char* (*version)(); };
extern "C" const Base* OrtGetApiBase();
class Runtime {
 public:
  Runtime() : table_(OrtGetApiBase()->table(17)) {}
  template <typename... Arguments>
  void call(int place, Arguments... arguments) const {
    void* status = reinterpret_cast<void* (*)(Arguments...)>(table_[place])(arguments...);
    if (status == nullptr) return;
    const std::string said = reinterpret_cast<const char* (*)(void*)>(table_[2])(status);
    reinterpret_cast<void (*)(void*)>(table_[93])(status);
    throw std::runtime_error(said);
  }
  void release(int place, void* object) const { reinterpret_cast<void (*)(void*)>(table_[place])(object); }

 private:
  void* const* table_;
};
int main() {
  const Runtime runtime;
  void *environment = nullptr, *memory = nullptr, *options = nullptr, *session = nullptr;
  void *input = nullptr, *output = nullptr, *made = nullptr;
  runtime.call(3, 3, "program", &environment);
  runtime.call(69, 0, 0, &memory);
  runtime.call(10, &options);
  runtime.call(7, environment, "m.onnx", options, &session);
  std::vector<float> values(8, 1);
  const std::vector<int64_t> shape = {2, 4};
  runtime.call(49, memory, values.data(), values.size() * sizeof(float), shape.data(), shape.size(), 1, &input);
  const char *read = "x", *written = "y";
  runtime.call(9, session, nullptr, &read, &input, size_t{1}, &written, size_t{1}, &output);
  runtime.call(51, output, &made);
  std::cout << static_cast<float*>(made)[0] << std::endl;
  try {
    const char* wrong = "nothing";
    void* none = nullptr;
    runtime.call(9, session, nullptr, &wrong, &input, size_t{1}, &written, size_t{1}, &none);
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << std::endl;
  }
  runtime.release(96, output);
  runtime.release(96, input);
  runtime.release(95, session);
  runtime.release(92, environment);
}
"""


def cpp_program(folder: Path) -> Path:
    """Compile a C++ program that is linked to the library of the package onnxruntime."""
    package = pytest.importorskip("onnxruntime")
    (library,) = (Path(package.__file__).parent / "capi").glob("libonnxruntime.so.1.*")
    (folder / "libonnxruntime.so.1").symlink_to(library)
    (folder / "program.cc").write_text(CPP_PROGRAM)
    words = ["g++", "-std=c++17", "-Wall", "-Werror", "program.cc", "libonnxruntime.so.1", f"-Wl,-rpath,{folder}", "-o", "program"]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "program"


# L2 L17 L18
@pytest.mark.parametrize("language", ["Python", "C++"])
def test_a_program_of_onnxruntime_has_a_model_and_kernels(language: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    weight = numpy_helper.from_array(np.full((4, 5), 0.5, np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Neg", ["a"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    save(nodes, tmp_path / "m.onnx", shape=(2, 4), initializers=[weight])
    kinds = ("--type", "model", "tensor", "kernel")
    if language == "C++":
        program = cpp_program(tmp_path)
        plain = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert plain.stdout.startswith("0\n") and "nothing" in plain.stdout
        found, _ = dump(tmp_path, *kinds, command=str(program))
    else:
        found, _ = dump(tmp_path, *kinds, program=ONNX_PROGRAM, python=sys.executable)
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


QUANTISED = """
import torch, warnings
warnings.simplefilter("ignore")
torch.manual_seed(0)
class Int8Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (8, 8), dtype=torch.int8))
    def forward(self, x):
        return torch._int_mm((x * 20).round().to(torch.int8), self.weight.t()).float()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Sequential(Int8Linear()), torch.nn.Sequential(torch.nn.Linear(8, 4))])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net = torch.ao.quantization.quantize_dynamic(Net().eval(), {torch.nn.Linear}, dtype=torch.qint8)
with torch.no_grad():
    torch.save(net(torch.randn(32, 8)), "result.pt")
"""


# L2
@NEEDS_TORCH
def test_modules_in_eight_bits_have_their_integers(tmp_path: Path) -> None:
    found, said = dump(tmp_path, "--type", "tensor", program=QUANTISED)
    assert "none lost" in said
    opened = module.open(found)
    arrays = {str(Path(opened._core.file(row)).relative_to("tensors")): opened[row] for row in range(len(opened))}
    slots = ("before/intensor0", "before/intensor1", "after/outtensor0")
    left, right, made = (next(array for name, array in arrays.items() if f"IntMmOperation/{slot}" in name) for slot in slots)
    assert (left.dtype, right.dtype, made.dtype) == (np.int8, np.int8, np.int32) and left.std() > 10
    np.testing.assert_array_equal(made, left.astype(np.int32) @ right.astype(np.int32))
    (result,) = (array for name, array in arrays.items() if "_layer/0_Linear/after/outtensor0" in name)
    code = "import torch, sys; sys.stdout.buffer.write(torch.load('result.pt').numpy().tobytes())"
    expected = subprocess.run([str(TORCH_PYTHON), "-c", code], cwd=tmp_path, capture_output=True, check=True).stdout
    assert result.tobytes() == expected


# L5
def test_a_round_beyond_64_bits_is_refused(tmp_path: Path) -> None:
    done = tensortap("llm", "dump", "--exec", "true", "-er", "0,99999999999999999999", "-o", tmp_path / "out")
    assert done.code == 2 and "is not a legal number: 99999999999999999999 is too large" in done.err, done.err
    assert not (tmp_path / "out").exists()
