"""What msit 8.2.0 itself, where it is installed, makes of dumps of ours and of topologies: its reader, its comparison, its converter."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tensortap as module
from cli_support import ROOT, package_alone, small_model, tensortap
from exec_support import TORCH_PYTHON

MSIT_PYTHON = os.environ.get("TENSORTAP_TEST_MSIT_PYTHON", "")
pytestmark = pytest.mark.skipif(not MSIT_PYTHON, reason="TENSORTAP_TEST_MSIT_PYTHON names no Python with msit 8.2.0")
NEEDS_TORCH = pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
BEGIN = """
import json, sys, types
import components
sys.path.insert(0, list(components.__path__)[0] + "/llm")
asked = json.loads(sys.stdin.read())
"""
# msit finds the layers of models that have more than ten of them.
PROGRAM = """
import sys, torch, torch.nn as nn
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)
    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.head = nn.Embedding(20, 8), nn.ModuleList(Layer() for _ in range(12)), nn.Linear(8, 20)
    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
torch.manual_seed(int(sys.argv[1]))
model = Model().eval()
with torch.no_grad():
    ids = torch.arange(5)[None]
    for _ in range(3):
        ids = model(ids)[:, -1:].argmax(-1)
"""


def vendor(program: str, asked: Any, folder: Path) -> Any:
    """Run a program with msit's modules on what is asked, and give what its last line says."""
    done = subprocess.run(
        [MSIT_PYTHON, "-c", BEGIN + program], input=json.dumps(asked), capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def dumped(folder: Path, name: str, seed: int) -> Path:
    """Dump a model of twelve layers."""
    (folder / "model.py").write_text(PROGRAM)
    words = ["llm", "dump", "--exec", f"{TORCH_PYTHON} model.py {seed}", "--type", "tensor", "model", "-er", "0,1", "-o", name]
    done = tensortap(*words, cwd=folder, environment={"PYTHONPATH": str(package_alone(folder))})
    assert done.code == 0, done.err
    (dump,) = (folder / name).glob("msit_dump_*")
    return dump


READER = """
from components.utils.tool import read_bin_data
values = []
for path in asked:
    tensor = read_bin_data(path).get_data()
    values.append([str(tensor.dtype), list(tensor.shape), tensor.flatten().tolist()])
print(json.dumps(values))
"""


# L16
@NEEDS_TORCH
def test_its_reader_reads_our_tensors(tmp_path: Path) -> None:
    dump = module.open(dumped(tmp_path, "out", 0))
    rows = range(0, len(dump), 7)
    paths = [str(next(tmp_path.glob("out/msit_dump_*")) / dump._core.file(row)) for row in rows]
    for row, (dtype, shape, values) in zip(rows, vendor(READER, paths, tmp_path), strict=True):
        own = dump[row]
        assert (dtype, shape) == (f"torch.{own.dtype}", list(own.shape))
        np.testing.assert_array_equal(np.array(values, own.dtype).reshape(shape), own)


COMPARE = """
from msit_llm.compare.cmp_mgr import CompareMgr
golden, mine, level = asked
settings = types.SimpleNamespace(golden_path=golden, my_path=mine, output="report", mapping_file="", cmp_level=level, stats=False,
                                 rank_id=None, custom_algorithms=None, weight=False, log_level="info")
compared = CompareMgr(golden, mine, settings)
print(json.dumps(compared.is_parsed_cmp_path()) if not compared.is_parsed_cmp_path() else json.dumps(compared.compare("report")))
"""


# L2 L17
def test_its_comparison_pairs_the_operations_of_two_dumps_of_onnxruntime(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    program = "import numpy, onnxruntime; onnxruntime.InferenceSession('m.onnx').run(None, {'x': numpy.ones((2, 3), 'f')})"
    (tmp_path / "net.py").write_text(program)
    dumps = []
    for name in ("first", "same"):
        words = ["llm", "dump", "--exec", f"{sys.executable} net.py", "--type", "tensor", "model", "-o", name]
        done = tensortap(*words, cwd=tmp_path)
        assert done.code == 0 and model.exists(), done.err
        dumps += [str(path) for path in (tmp_path / name).glob("msit_dump_*")]
    (tmp_path / "report").mkdir(mode=0o750)
    vendor(COMPARE, [*dumps, "api"], tmp_path)
    (path,) = (tmp_path / "report").glob("*.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    (topology,) = Path(dumps[0]).glob("model/*/*.json")
    assert [row["my_op_type"] for row in rows] == [node["opType"] for node in json.loads(topology.read_text())["nodes"]]
    assert {row["cosine_similarity"] for row in rows} == {"1.0"}


# L15 L17
@NEEDS_TORCH
def test_its_comparison_finds_the_layers_of_two_dumps(tmp_path: Path) -> None:
    first, same, other = (dumped(tmp_path, name, seed) for name, seed in (("first", 0), ("same", 0), ("other", 1)))
    for mine, is_same in ((same, True), (other, False)):
        report = tmp_path / "report"
        report.mkdir(mode=0o750)
        vendor(COMPARE, [str(first), str(mine), "layer"], tmp_path)
        (path,) = report.glob("*.csv")
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        # Round 0, which it treats as a warm-up, and round 1.
        assert [row["my_op_type"] for row in rows] == [row["golden_op_type"] for row in rows] and len(rows) == 36
        assert {row["my_op_type"] for row in rows} == {"Prefill_layer", "Decoder_layer"}
        assert all(row["cmp_fail_reason"] == "" for row in rows)
        assert all((float(row["max_absolute_error"]) == 0) == is_same for row in rows)
        path.unlink()
        report.rmdir()


NESTED = {
    "opName": "L_0", "opType": "L", "param": "", "inTensors": ["x"], "outTensors": ["y"], "internalTensors": ["h"],
    "nodes": [
        {"opName": "M_0_0", "opType": "M", "param": "", "inTensors": ["x"], "outTensors": ["h"], "nodes": [
            {"opName": "A_0_0_0", "opType": "A", "param": {"a": 1}, "inTensors": ["x"], "outTensors": ["h"]},
            {"opName": "B_0_0_1", "opType": "B", "param": {}, "inTensors": ["h"], "outTensors": ["h"]},
        ]},
        {"opName": "C_0_1", "opType": "C", "param": {"c": "t"}, "inTensors": ["h", "x"], "outTensors": ["y"]},
        {"opName": "E_0_2", "opType": "E", "param": "", "inTensors": ["y"], "outTensors": ["y"], "nodes": []},
    ],
}  # fmt: skip


CONVERTER = """
import onnx
from msit_llm.common.json_fitter import atb_json_to_onnx
answers = []
for path, level in asked:
    atb_json_to_onnx(path, level, {})
    graph = onnx.load(path[:-5] + ".onnx").graph
    answers.append([[node.name, node.op_type, len(node.input), len(node.output)] for node in graph.node])
print(json.dumps(answers))
"""


def operations_of(paths: list[Path], tmp_path: Path) -> None:
    """Hold the operations of our models against those of the vendor's, at every depth."""
    asked = [(str(path), level) for path in paths for level in (-1, 0, 1, 2, 3, -2)]
    # The vendor's has no answer for a model that is not taken apart.
    asked = [(path, level) for path, level in asked if level != 0 or "modelName" not in Path(path).read_text()]
    for path, _ in asked:
        os.chmod(path, 0o640)
    for (path, level), answer in zip(asked, vendor(CONVERTER, asked, tmp_path), strict=True):
        module.atb_json_to_onnx(path, level)
        graph = onnx.load(Path(path).with_suffix(".onnx")).graph
        assert [[node.name, node.op_type, len(node.input), len(node.output)] for node in graph.node] == answer, (path, level)


# L17
def test_operations_are_those_of_its_converter(tmp_path: Path) -> None:
    with tarfile.open(ROOT / "tests/golden/msit/g2_tensor.tar.gz") as archive:
        archive.extractall(tmp_path)
    nested = tmp_path / "L_0.json"
    nested.write_text(json.dumps(NESTED))
    operations_of([nested, *tmp_path.glob("g2_tensor/*/*/*/*.json")], tmp_path)


# L17
@NEEDS_TORCH
def test_its_converter_takes_our_topologies(tmp_path: Path) -> None:
    paths = list(dumped(tmp_path, "out", 0).glob("*/*/*.json"))
    operations_of([path for path in paths if path.parent.parent.name in ("layer", "model")], tmp_path)
