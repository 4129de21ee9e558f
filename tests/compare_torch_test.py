"""A PyTorch program beside the same network on ONNX Runtime, and beside itself with another weight and another type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli_support import tensortap as command
from onnx import TensorProto, helper, numpy_helper
from torch_support import PYTORCH_LIBRARY, capture

tensortap = pytest.importorskip("tensortap", reason="the module is not built")
pytestmark = pytest.mark.skipif(not PYTORCH_LIBRARY.exists(), reason="the PyTorch source is not built")

PROGRAM = """
import sys
import numpy
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(12, 24)
        self.act = torch.nn.Tanh()
        self.second = torch.nn.Linear(24, 12)
    def forward(self, x):
        return self.second(self.act(self.first(x)))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 3)
        self.block = Block()
    def forward(self, x):
        return self.block(self.conv(x).flatten(2)[:, :, :12])

torch.manual_seed(0)
torch.set_num_threads(1)
weights = numpy.load("weights.npz")
net = Net().eval()
net.load_state_dict({name: torch.from_numpy(weights[name]) for name in weights.files if name != "x"})
x = torch.from_numpy(weights["x"])
if "half" in sys.argv:
    net, x = net.bfloat16(), x.bfloat16()
with torch.no_grad():
    net(x)
"""


def made_weights() -> dict[str, Any]:
    random = np.random.default_rng(11)
    shapes = {
        "conv.weight": (6, 3, 3, 3),
        "conv.bias": (6,),
        "block.first.weight": (24, 12),
        "block.first.bias": (24,),
        "block.second.weight": (12, 24),
        "block.second.bias": (12,),
        "x": (2, 3, 7, 7),
    }
    return {name: (random.standard_normal(shape) / 3).astype(np.float32) for name, shape in shapes.items()}


def save_as_onnx(weights: dict[str, Any], path: Path) -> None:
    """Write the network as exporters do: nodes with the paths of their modules."""
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], name="/conv/Conv"),
        helper.make_node("Reshape", ["c", "sizes"], ["f"], name="/Reshape"),
        helper.make_node("Slice", ["f", "from", "to", "axis"], ["s"], name="/Slice"),
        helper.make_node("MatMul", ["s", "first"], ["m1"], name="/block/first/MatMul"),
        helper.make_node("Add", ["m1", "block.first.bias"], ["a1"], name="/block/first/Add"),
        helper.make_node("Tanh", ["a1"], ["t"], name="/block/act/Tanh"),
        helper.make_node("MatMul", ["t", "second"], ["m2"], name="/block/second/MatMul"),
        helper.make_node("Add", ["m2", "block.second.bias"], ["y"], name="/block/second/Add"),
    ]
    given = {name: value for name, value in weights.items() if name != "x" and value.ndim != 2}
    given |= {"first": weights["block.first.weight"].T.copy(), "second": weights["block.second.weight"].T.copy()}
    numbers = {"sizes": [0, 0, -1], "from": [0], "to": [12], "axis": [2]}
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 7, 7])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 6, 12])],
        [numpy_helper.from_array(value, name) for name, value in given.items()]
        + [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in numbers.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def run_torch(folder: Path, weights: dict[str, Any], *arguments: str) -> Path:
    folder.mkdir()
    np.savez(folder / "weights.npz", **weights)
    done = capture(folder, PROGRAM, *arguments, options=["--full", "--quiet"])
    assert done.code == 0, done.err
    return done.dump.folder


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_torch(tmp_path_factory.mktemp("right") / "run", made_weights())


# M26
def test_a_pytorch_program_is_compared_with_the_same_network_on_onnx_runtime(right: Path, tmp_path: Path) -> None:
    weights = made_weights()
    save_as_onnx(weights, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", weights["x"])
    done = command("run", tmp_path / "net.onnx", "--full", "--as-written", "--input", f"x={tmp_path / 'x.npy'}", "--out", tmp_path / "onnx")
    assert done.code == 0, done.err
    both = tensortap.compare(right, tmp_path / "onnx")
    partners = {row["b"].partition(":")[0]: row for row in both if not row["given"]}
    for name, family in (
        ("/conv/Conv", "convolution"),
        ("/block/first/Add", "view"),
        ("/block/act/Tanh", "tanh"),
        ("/block/second/Add", "view"),
    ):
        assert name in partners, sorted(partners)
        assert partners[name]["a"].rpartition("/")[2].startswith((family, "addmm", "add")), partners[name]["a"]
        assert partners[name]["rule"] in ("scope", "topology", "statistics", "content")
        assert partners[name]["error"] < 1e-5
    assert both.summary["verdicts"]["non-finite"] == 0


def test_another_weight_is_found_in_the_module_that_has_it(right: Path, tmp_path: Path) -> None:
    weights = made_weights()
    weights["block.second.weight"][3, 5] += 1
    both = tensortap.compare(run_torch(tmp_path / "run", weights), right)
    assert not both.within_tolerance
    differing = [row["b"] for row in both.differing if not row["given"]]
    assert differing
    # Loading it hands it on.
    assert all(name.startswith(("Net.block.second/", "copy_:", "lift_fresh:")) for name in differing), differing
    assert "Net.block.second/addmm:out0" in differing
    assert both.summary["paired"] == both.summary["values_a"] == both.summary["values_b"]


def test_a_narrower_type_is_within_what_its_rounding_allows(right: Path, tmp_path: Path) -> None:
    both = tensortap.compare(run_torch(tmp_path / "run", made_weights(), "half"), right)
    made = [row for row in both.differing if row["dtype_a"] == "bfloat16"]
    assert made
    assert both.within_tolerance, [(row["b"], row["error"], row["tolerance"]) for row in made if row["verdict"] == "different"]
    assert all(row["narrowed"]["dtype"] == "bfloat16" for row in made if row["dtype_b"] == "float32" and "narrowed" in row)
    assert both.summary["paired"] >= 0.9 * both.summary["values_b"]


# Two programs that name and divide the same computation otherwise; the argument is the scale of the second.
ATTENTIONS = """
import sys, torch
torch.manual_seed(0)
weights = [torch.randn(32, 32) / 6 for _ in range(4)]
x = torch.randn(6, 32)
class Separate(torch.nn.Module):
    def forward(self, x):
        q, k, v = ((x @ weight).view(1, 6, 4, 8).transpose(1, 2) for weight in weights[:3])
        return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(6, 32) @ weights[3]
class Fused(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.weight, self.scale = torch.cat(weights[:3], 1), scale
    def forward(self, x):
        parts = [part.transpose(0, 1)[None] for part in (x @ self.weight).view(6, 3, 4, 8).unbind(1)]
        made = torch.nn.functional.scaled_dot_product_attention(*parts, scale=self.scale)
        return made[0].transpose(0, 1).reshape(6, 32) @ weights[3] * 1.0
with torch.no_grad():
    (Fused(float(sys.argv[1])) if len(sys.argv) > 1 else Separate())(x)
"""


def test_programs_whose_results_have_no_partner_are_not_called_equal(tmp_path: Path) -> None:
    dumps = {}
    for name, arguments in (("reference", []), ("wrong", ["0.2"])):
        (tmp_path / name).mkdir()
        done = capture(tmp_path / name, ATTENTIONS, *arguments, options=["--full", "--quiet", "--ops", "(Separate|Fused).*"])
        assert done.code == 0, done.err
        dumps[name] = done.dump.folder
    both = tensortap.compare(dumps["wrong"], dumps["reference"])
    assert not both.within_tolerance
    done = command("compare", dumps["wrong"], dumps["reference"])
    assert done.code in (1, 3), done.out
    assert "equal" not in done.out.splitlines()[0]
    if done.code == 3:
        assert both.summary["results_a"]["open"] > 0
        assert [one for one in both.unpaired if one["open_end"]]


MOVES = """
import torch
torch.manual_seed(0)
x = torch.randn(64, 300)
y = (x * 1.5)[:, ::2].transpose(0, 1).contiguous()
print(torch.nn.functional.gelu(y).max())
"""


def test_sums_of_a_processor_with_other_instructions_are_no_difference(tmp_path: Path) -> None:
    dumps = {}
    for name in ("scalar", "best"):
        (tmp_path / name).mkdir()
        done = capture(tmp_path / name, MOVES, environment={"TENSORTAP_SIMD": "scalar"} if name == "scalar" else {})
        assert done.code == 0, done.err
        dumps[name] = done.dump
    if dumps["best"].run["statistics_kernel"] == "scalar":
        pytest.skip("this processor has no others")
    assert dumps["scalar"].rows["l2"].tolist() != dumps["best"].rows["l2"].tolist()
    done = command("compare", dumps["scalar"].folder, dumps["best"].folder)
    assert done.code == 0, done.out
    assert "nothing differs in the statistics" in done.out
    changed = capture(tmp_path / "scalar", MOVES.replace("1.5", "1.5001"), options=["--out", "changed"])
    done = command("compare", dumps["scalar"].folder, changed.dump.folder.parent / "changed")
    assert "nothing differs" not in done.out


# Two sentences that go on by a word at a time; the arguments are whether keys and values are kept, and what is added to positions.
DECODER = """
import sys, torch
torch.manual_seed(0)
cached, shift = sys.argv[1] == "cached", int(sys.argv[2])
words, (wq, wk, wv, wo) = torch.randn(20, 16), (torch.randn(16, 16) / 4 for _ in range(4))
kept = None
class Decoder(torch.nn.Module):
    def forward(self, ids):
        global kept
        past = 0 if kept is None else kept[0].shape[1]
        positions = torch.arange(ids.shape[1]) + (past + shift * (past > 0))
        if not cached and not ((positions[1:] - positions[:-1]) == 1).all():
            raise ValueError("packed")
        x = torch.nn.functional.embedding(ids, words) + positions.float()[:, None] / 10
        q, k, v = ((x.flatten(0, 1) @ matrix).view(2, -1, 16) for matrix in (wq, wk, wv))
        if kept is not None:
            k, v = torch.cat([kept[0], k], 1), torch.cat([kept[1], v], 1)
        kept = (k, v) if cached else None
        mask = torch.full((q.shape[1], k.shape[1]), float("-inf")).triu(1 + past)
        y = (torch.bmm(q, k.transpose(1, 2)) + mask).softmax(-1)
        return x + (torch.bmm(y, v).flatten(0, 1) @ wo).view(2, -1, 16)
decoder, ids = Decoder(), torch.randint(0, 20, (2, 9), generator=torch.Generator().manual_seed(1))
with torch.no_grad():
    for length in (5, 6, 7, 8, 9):
        decoder(ids[:, length - 1:length] if cached and length > 5 else ids[:, :length])
"""


def test_decoding_with_a_cache_is_what_decoding_without_one_is(tmp_path: Path) -> None:
    dumps = {}
    for name, arguments in (("cached", ["cached", "0"]), ("shifted", ["cached", "1"]), ("whole", ["whole", "0"])):
        (tmp_path / name).mkdir()
        done = capture(tmp_path / name, DECODER, *arguments, options=["--full", "--quiet"])
        assert done.code == 0, done.err
        dumps[name] = done.dump.folder
    same = command("compare", dumps["cached"], dumps["whole"])
    assert same.code == 0, same.out
    other = command("compare", dumps["shifted"], dumps["whole"])
    assert other.code == 1, other.out
    assert re.search(r"first in Decoder/(arange|add)", other.out), other.out
