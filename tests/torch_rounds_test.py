"""Modules, operators and rounds of PyTorch programs in msit's tree: who calls whom, ids, phases, and values equal to forward hooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from case_table import each_row
from cli_support import ROOT, Done, package_alone, tensortap
from torch_support import PYTHON

GENERATE = (ROOT / "tests/programs/generate.py").read_text()


def captured(folder: Path, program: str, *arguments: str, options: tuple[str, ...] = ()) -> Done:
    """Capture a program in msit's tree."""
    (folder / "program.py").write_text(program)
    levels = ("--levels", "op,module", "--tensors", "--layout", "msit", "--out", "out")
    environment = {"PYTHONPATH": str(package_alone(folder))}
    done = tensortap("exec", *levels, *options, "--", PYTHON, "program.py", *arguments, cwd=folder, environment=environment)
    assert done.code == 0, done.err
    return done


def rounds(folder: Path) -> dict[int, Path]:
    """Give the folders of the rounds by TID."""
    (process,) = folder.glob("out/msit_dump_*/tensors/*")
    return {int(path.name): path for path in process.iterdir()}


def operations(folder: Path) -> dict[int, str]:
    """Give the types of the operations of a folder by id."""
    return {int(path.name.partition("_")[0]): path.name.partition("_")[2] for path in folder.iterdir() if path.name[0].isdigit()}


def values(file: Path) -> np.ndarray[Any, Any]:
    """Read a float32 tensor."""
    head, _, data = file.read_bytes().partition(b"$End=1\n")
    shape = [int(one) for line in head.split(b"\n") if line.startswith(b"dims=") for one in line[5:].split(b",")]
    return np.frombuffer(data, np.float32).reshape(shape)


ROOTS = ["Embeddings", *3 * ["{}_layer"], "LayerNorm", "Linear", "ArgmaxOperation"]


def test_phases_have_ids_of_their_own_and_rounds_are_counted_in_each(tmp_path: Path) -> None:  # L4, L5, L15
    plain = tensortap("exec", "--quiet", "--steps", "999", "--", PYTHON, "-c", GENERATE, "2", cwd=tmp_path)
    done = captured(tmp_path, GENERATE, "2")
    assert done.out == plain.out, "the tokens are those of the plain run"
    tids = rounds(tmp_path)
    assert sorted(tids) == list(range(6)), "two prefills, and three decode rounds after each"
    prefill = [name.format("Prefill") for name in ROOTS]
    decode = [name.format("Decoder") for name in ROOTS]
    first = operations(tids[0])
    ids = sorted(first)
    assert [first[one] for one in ids[: len(prefill)]] == prefill
    begin = next(one for one in ids if first[one] == "Decoder_layer") - ROOTS.index("{}_layer")
    assert [first[one] for one in range(begin, begin + len(decode))] == decode
    assert operations(tids[1]) | first == first, "an operation keeps its id in every round"
    assert "Prefill_layer" in operations(tids[1]).values()
    assert "Prefill_layer" not in operations(tids[2]).values(), "there are two prompts"


def test_a_layer_holds_its_modules_and_they_hold_their_operators(tmp_path: Path) -> None:
    captured(tmp_path, GENERATE, "1", "2")
    tids = rounds(tmp_path)
    (layer,) = tids[0].glob("1_Prefill_layer")
    assert list(dict(sorted(operations(layer).items())).values()) == [
        "LayerNorm", "Attention", "AddOperation", "LayerNorm", "Sequential", "AddOperation",
    ]  # fmt: skip
    assert list(dict(sorted(operations(layer / "4_Sequential").items())).values()) == ["Linear", "GELU", "Linear"]
    attention = operations(layer / "1_Attention")
    assert attention[0] == "Linear" and "SoftmaxOperation" in attention.values()
    assert not {"ViewOperation", "TransposeOperation", "UnbindOperation"} & set(attention.values()), "views run nothing"
    described = json.loads((layer / "op_param.json").read_text())
    assert described["module"] == "Decoder.layers.0"


HOOKS = """
import sys, torch, numpy as np
import program
program.torch.manual_seed(0)
seen, calls = {}, [0]
model = program.Decoder().eval()
made = program.Decoder
program.Decoder = lambda: type("Once", (), {"eval": lambda self: model})()
def hook(name):
    def told(module, args, result):
        one = result[0] if isinstance(result, tuple) else result
        seen[f"{calls[0]}/{name}/in"] = args[0].detach().numpy().copy()
        seen[f"{calls[0]}/{name}/out"] = one.detach().numpy().copy()
        calls[0] += name == ""
    return told
for name, module in model.named_modules():
    module.register_forward_hook(hook(name))
program.main()
np.savez("hooks.npz", **seen)
"""


PARTS = [("", ""), ("0_LayerNorm", ".attention_norm"), ("1_Attention", ".attention"), ("4_Sequential/0_Linear", ".mlp.0")]


def test_values_are_those_of_forward_hooks(tmp_path: Path) -> None:
    captured(tmp_path, GENERATE, "1", "3")
    hooked = tensortap("exec", "--quiet", "--steps", "999", "--", PYTHON, "-c", HOOKS, "1", "3", cwd=tmp_path)
    assert hooked.code == 0, hooked.err
    expected = np.load(tmp_path / "hooks.npz")
    tids = rounds(tmp_path)
    compared = 0
    for call, (tid, layer_type) in enumerate([(0, "Prefill_layer"), (0, "Decoder_layer"), (1, "Decoder_layer")]):
        layers = sorted(tids[tid].glob(f"*_{layer_type}"), key=lambda path: int(path.name.partition("_")[0]))
        for number, layer in enumerate(layers):
            for path, name in PARTS:
                key = f"{call}/layers.{number}{name}"
                np.testing.assert_array_equal(values(layer / path / "before/intensor0.bin"), expected[f"{key}/in"])
                np.testing.assert_array_equal(values(layer / path / "after/outtensor0.bin"), expected[f"{key}/out"])
                compared += 1
    assert compared == 3 * 3 * 4


def test_a_round_that_is_far_away_has_the_ids_of_a_whole_capture(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    captured(tmp_path / "whole", GENERATE, "2")
    captured(tmp_path, GENERATE, "2", options=("--steps", "5"))
    tids = rounds(tmp_path)
    assert set(tids) == {5}
    assert operations(tids[5]) == operations(rounds(tmp_path / "whole")[5])


SKIPPING = """
import torch, torch.nn as nn
class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
    def forward(self, x):
        return torch.relu(self.inner(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(Expert() for _ in range(3))
        self.mix = nn.Linear(4, 4)
    def forward(self, x, chosen):
        for one in chosen:
            x = self.experts[one](x)
        return self.mix(x)
torch.manual_seed(0)
net = Net(){mode}
{context}
    for chosen in ([0], [1, 2], [2]):
        out = net(torch.ones(2, 4), chosen)
        {after}
"""


@each_row(
    "mode,context,after,layer",
    [
        (".eval()", "with torch.no_grad():", "pass", "Prefill_layer"),
        ("", "if True:", "out.sum().backward()", "Train_layer"),
    ],
)
def test_an_expert_that_was_skipped_keeps_the_round_of_the_others(tmp_path: Path, mode: str, context: str, after: str, layer: str) -> None:
    captured(tmp_path, SKIPPING.format(mode=mode, context=context, after=after))
    tids = rounds(tmp_path)
    layers = {tid: sorted(one for one, name in operations(path).items() if name == layer) for tid, path in tids.items()}
    first, second, third = (layers[tid] for tid in range(3))
    assert len(first) == 1 and len(second) == 2 and len(third) == 1
    assert not set(first) & set(second) and third == second[1:], "the same expert has the same id"
    if layer == "Train_layer":
        backward = [name for name in operations(tids[0]).values() if name.startswith("Backward_")]
        assert "Backward_MmOperation" in backward


SAID = """
import torch, torch.nn as nn, tensortap
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
    def forward(self, x):
        return self.inner(x)
net = nn.Sequential(Layer(), Layer()).eval()
with torch.no_grad():
    net(torch.ones(1, 5, 4))
    with tensortap.round(phase="decode"):
        net(torch.ones(1, 3, 4))
    net(torch.ones(1, 1, 4))
    with tensortap.round(phase="prefill"):
        net(torch.ones(1, 1, 4))
try:
    with tensortap.round(phase="encode"):
        pass
except ValueError as error:
    print(error)
"""


def test_a_program_may_say_the_phase(tmp_path: Path) -> None:
    done = captured(tmp_path, SAID)
    assert "phase 'encode' is unknown; valid: prefill, decode, train" in done.out
    found = {tid: operations(path).values() for tid, path in rounds(tmp_path).items()}
    layers = {tid: sorted({name for name in names if name.endswith("_layer")}) for tid, names in found.items()}
    assert layers == {0: ["Decoder_layer", "Prefill_layer"], 1: ["Decoder_layer", "Prefill_layer"]}


def unresolved(node: dict[str, Any], known: set[str]) -> list[str]:
    """List the tensors below an operation that neither it nor those around it have."""
    scope = known | set(node.get("internalTensors", []))
    missing = []
    for child in node.get("nodes", []):
        missing += [name for name in (*child["inTensors"], *child["outTensors"]) if name not in scope]
        missing += unresolved(child, scope)
    return missing


def test_topology_leads_from_operation_to_operation(tmp_path: Path) -> None:  # L17
    config = {
        "tensortap": 1, "payload": "description", "levels": ["op", "module"], "slots": ["in", "out"], "layout": "msit",
        "layout_options": {"topology": "layer,model", "tensors": "false"}, "out": "out",
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "program.py").write_text(GENERATE)
    done = tensortap("exec", "--config", "config.json", "--", PYTHON, "program.py", "1", "3", cwd=tmp_path)
    assert done.code == 0, done.err
    assert not list(tmp_path.glob("out/*/tensors")), "no tensor was asked for"
    documents = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("out/*/*/*/*.json")}
    assert {"Decoder.json", "Decoder_decode.json", "Prefill_layer_1.json", "LayerNorm_4.json"} <= set(documents)
    for name, document in documents.items():
        assert not unresolved(document, {*document.get("inTensors", []), *document.get("outTensors", [])}), name
    nodes = {node["opName"]: node for node in documents["Decoder.json"]["nodes"]}
    assert list(nodes)[1:4] == ["Prefill_layer_1", "Prefill_layer_2", "Prefill_layer_3"]
    assert nodes["Prefill_layer_2"]["inTensors"][0] == nodes["Prefill_layer_1"]["outTensors"][0]
    inside = documents["Prefill_layer_1.json"]
    assert inside["nodes"][-1]["opType"] == "AddOperation" and inside["nodes"][-1]["outTensors"] == [inside["outTensors"][0]]


def topologies(folder: Path) -> dict[str, str]:
    """Read the topologies of a dump by their names."""
    return {path.name: path.read_text() for path in folder.glob("msit_dump_*/*/*/*.json") if path.parent.parent.name in ("layer", "model")}


# L17
def test_topology_is_of_everything_whatever_else_is_kept(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(GENERATE)
    environment = {"PYTHONPATH": str(package_alone(tmp_path))}
    words = ["llm", "dump", "--exec", f"{PYTHON} program.py 1 3", "--type", "tensor", "model"]
    for name, selection in (("whole", []), ("part", ["-ids", "9_0,14", "-er", "1,1"])):
        done = tensortap(*words, *selection, "-o", name, cwd=tmp_path, environment=environment)
        assert done.code == 0, done.err
    whole, part = topologies(tmp_path / "whole"), topologies(tmp_path / "part")
    assert {"Decoder.json", "Decoder_decode.json", "Prefill_layer_1.json"} <= set(whole)
    assert part == whole
    kept = {path.relative_to(tmp_path).parts[4] for path in tmp_path.glob("part/msit_dump_*/tensors/*/*/**/*.bin")}
    assert kept == {"1"}, "tensors are of what was asked for"
