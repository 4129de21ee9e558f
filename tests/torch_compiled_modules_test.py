"""Modules of functions that `torch.compile` made: the operations of msit's tree are those of the program as it was written."""

from __future__ import annotations

from pathlib import Path

from cli_support import tensortap
from torch_rounds_test import captured, operations, rounds
from torch_support import PYTHON, plain

DECODER = """
import sys, torch, torch.nn as nn
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
    def forward(self, x):
        return self.norm(torch.relu(self.inner(x))) + x
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(10, 8)
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.head = nn.Linear(8, 10)
    def forward(self, tokens):
        x = self.embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
torch.manual_seed(0)
decoder = Decoder().eval()
"""
WAYS = {
    "eager": "run = decoder",
    "whole": "run = torch.compile(decoder)",
    "layers": "[one.compile() for one in decoder.layers]; run = decoder",
}
GENERATE = """
with torch.no_grad():
    tokens = torch.tensor([[1, 2, 3]])
    for _ in range(3):
        tokens = run(tokens)[:, -1].argmax(-1, keepdim=True)
        print(tokens.tolist())
"""
COUNTERS = """
from torch._dynamo.utils import counters
print(counters["stats"]["unique_graphs"], dict(counters["graph_break"]))
"""
TRAIN = """
decoder.train()
optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
for _ in range(2):
    loss = run(torch.tensor([[1, 2, 3]])).square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(float(loss))
"""
AOT = ("--compile", "aot")


def modules_of(folder: Path, below: str = "") -> dict[str, str]:
    """Give the operations that are modules, by their path below the round."""
    found = {}
    for number, name in operations(folder).items():
        if not name.endswith("Operation"):
            path = f"{below}{number}_{name}"
            found[path] = name
            found |= modules_of(folder / f"{number}_{name}", f"{path}/")
    return found


def test_a_compiled_model_has_the_operations_of_the_eager_one(tmp_path: Path) -> None:  # L15
    skeletons = {}
    for way, line in WAYS.items():
        (tmp_path / way).mkdir()
        done = captured(tmp_path / way, DECODER + line + GENERATE, options=AOT)
        assert "Dynamo" not in done.err
        tids = rounds(tmp_path / way)
        skeletons[way] = {tid: modules_of(tids[tid]) for tid in sorted(tids)}
        layer = next(tids[1].glob("*_Decoder_layer"))
        assert operations(layer)[1] == "ReluOperation" and operations(layer)[3] == "AddOperation"
        assert list(operations(layer / "2_LayerNorm").values()) == ["NativeLayerNormOperation"]
    names = set(skeletons["eager"][0].values())
    assert {"Embedding", "Prefill_layer", "Decoder_layer", "LayerNorm", "Linear"} == names
    assert skeletons["whole"] == skeletons["eager"]
    assert skeletons["layers"] == skeletons["eager"]


def test_what_a_module_inside_of_a_compiled_function_handled_is_said_to_be_missing(tmp_path: Path) -> None:
    done = captured(tmp_path, DECODER + WAYS["whole"] + GENERATE, options=AOT)
    assert "module inside of a compiled function: its operators are captured" in done.err


def test_a_compiled_training_step_has_its_layers(tmp_path: Path) -> None:
    done = captured(tmp_path, DECODER + WAYS["whole"] + TRAIN, options=AOT)
    assert done.out == plain(tmp_path, DECODER + WAYS["whole"].replace("(decoder)", '(decoder, backend="aot_eager")') + TRAIN)
    first = operations(rounds(tmp_path)[0])
    assert list(first.values()).count("Train_layer") == 3
    assert any(name.startswith("Backward_") for name in first.values())


def test_dynamo_traces_what_it_traces_without_a_capture(tmp_path: Path) -> None:
    program = DECODER + WAYS["whole"] + GENERATE + COUNTERS
    expected = plain(tmp_path, program.replace("(decoder)", '(decoder, backend="aot_eager")'))
    assert expected.endswith("{}\n"), "no graph is broken"
    assert captured(tmp_path, program, options=AOT).out == expected
    done = tensortap("exec", "--levels", "op,module", *AOT, "--out", "tap", "--", PYTHON, "program.py", cwd=tmp_path)
    assert done.out == expected, done.err
