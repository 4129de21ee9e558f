"""Calls of PyTorch programs made again from what was recorded of them."""

from __future__ import annotations

import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import package_alone, tensortap
from torch_support import PYTHON, capture

CNN = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(2)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1); self.norm = nn.BatchNorm2d(8)
        self.deep = nn.Conv2d(8, 16, 3, stride=2, groups=2)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True); self.fc = nn.Linear(16, 10)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        x = F.silu(self.deep(x)).flatten(2).transpose(1, 2)
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
        a, _ = self.attention(x, x, x, attn_mask=mask)
        x = torch.cat([x + a, x.flip(1)], 1).mean(1)
        return self.fc(x).softmax(-1).clamp(min=1e-6, max=float("inf")).log()
net = Net()
for train in (True, False):
    net.train(train)
    x = torch.randn(2, 3, 16, 16).to(memory_format=torch.channels_last)
    with torch.set_grad_enabled(train):
        loss = -(net(x)[:, 3] * 2).sum() / 3
    if train:
        loss.backward()
print(loss.item())
"""
GPT = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(2)
class Block(nn.Module):
    def __init__(self, d=32, heads=4):
        super().__init__()
        self.heads = heads
        self.n1 = nn.LayerNorm(d); self.qkv = nn.Linear(d, 3 * d); self.out = nn.Linear(d, d)
        self.n2 = nn.LayerNorm(d); self.up = nn.Linear(d, 4 * d); self.down = nn.Linear(4 * d, d); self.drop = nn.Dropout(0.1)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        x = x + self.drop(self.out(a))
        return x + self.down(F.gelu(self.up(self.n2(x))))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32); self.place = nn.Parameter(torch.zeros(12, 32))
        self.blocks = nn.ModuleList(Block() for _ in range(2)); self.head = nn.Linear(32, 50)
    def forward(self, ids):
        x = self.embed(ids) + self.place[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(x)
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, foreach=FOREACH)
for step in range(3):
    ids = torch.randint(0, 50, (4, 12))
    loss = F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad(); loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0); optimizer.step()
    print(loss.item())
"""
BF16 = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(2)
net = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 8)).to(torch.bfloat16)
head = nn.Conv1d(1, 4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
for step in range(3):
    x = torch.randn(6, 24, dtype=torch.bfloat16)
    y = net(x)
    with torch.autocast("cpu", torch.bfloat16):
        z = head(y.float().unsqueeze(1)).amax(2) @ torch.ones(4, 2)
    loss = F.mse_loss(z.float().sum(1), torch.arange(6.0)) + y.float().pow(2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
print(loss.item(), (x.double() * float("inf")).isnan().sum().item())
"""
# What no replay can give, in these programs.
SKIPPED = (
    "random numbers, whose generator is not recorded",
    "memory as the allocator gives it",
    "it reads memory that nothing was written to",
    "it gives the program a number and no tensor",
)


def replay(folder: Path, dump: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "tensortap._replay", str(dump), *arguments],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PYTHONPATH": str(package_alone(folder))},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def lines_of(done: subprocess.CompletedProcess[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    *lines, summary = [json.loads(line) for line in done.stdout.splitlines()]
    return lines, summary["summary"]


def made(folder: Path, program: str, *options: str) -> Path:
    done = capture(folder, program, options=["--full", *options])
    assert done.code == 0, done.err
    return folder / "dump"


def rewritten(dump: Path, change: Any) -> None:
    """Change the lines of ops.jsonl."""
    lines = [json.loads(line) for line in (dump / "ops.jsonl").read_text().splitlines()]
    for line in lines:
        change(line)
    (dump / "ops.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("program", "least"),
    [(CNN, 90), (GPT.replace("FOREACH", "False"), 1300), (GPT.replace("FOREACH", "True"), 500), (BF16, 200)],
    ids=["cnn with attention", "gpt block", "gpt block, foreach", "bfloat16"],
)
def test_every_deterministic_call_gives_the_same_bits(tmp_path: Path, program: str, least: int) -> None:
    done = replay(tmp_path, made(tmp_path, program), "--json")
    lines, summary = lines_of(done)
    assert [line for line in lines if line["outcome"] == "differs"] == []
    assert [line for line in lines if line["outcome"] == "not replayed" and line["reason"] not in SKIPPED] == []
    assert summary["equal"] >= summary["ops"] >= least
    assert (summary["differing"], summary["kernels"], summary["threads"]) == (0, [], 2)
    assert sum(one["count"] for one in summary["reasons"]) == summary["not_replayed"]
    assert summary["not_replayed"] + summary["outputs"] == len(lines)
    assert (done.returncode, done.stderr) == (0, "")


def test_arguments_that_change_from_step_to_step_are_those_of_the_call(tmp_path: Path) -> None:
    dump = made(tmp_path, GPT.replace("FOREACH", "False"))
    names = {op["id"]: op["type"] for op in map(json.loads, (dump / "ops.jsonl").read_text().splitlines())}
    first = {op["type"]: op["attributes"] for op in map(json.loads, (dump / "ops.jsonl").read_text().splitlines())}
    told: dict[int, set[float]] = {}
    for line in map(json.loads, (dump / "calls.jsonl").read_text().splitlines()):
        if names[line["op"]] == "addcdiv_":
            told.setdefault(line["step"], set()).add(line["arguments"]["value"])
    # -lr / (1 - beta1^t) of Adam, t counted from 1; the first step is the op's own.
    expected = {step: {-1e-3 / (1 - 0.9 ** (step + 1))} for step in (1, 2)}
    assert told == expected
    assert math.isclose(first["addcdiv_"]["value"], -1e-3 / (1 - 0.9), rel_tol=1e-12)
    copy, tree, back = tmp_path / "copy", tmp_path / "tree", tmp_path / "back"
    for source, target, *options in ((dump, copy, "tap", "--steps", "1-2"), (dump, tree, "mindspore"), (tree, back, "tap")):
        done = tensortap("convert", source, target, "--to", *options)
        assert done.code == 0, done.err
    kept = (dump / "calls.jsonl").read_text().splitlines()
    assert (copy / "calls.jsonl").read_text().splitlines() == [line for line in kept if json.loads(line)["step"] > 0]
    assert (back / "calls.jsonl").read_text().splitlines() == kept
    for converted in (copy, tree, back):
        _, summary = lines_of(replay(tmp_path, converted, "--json"))
        assert (summary["differing"], summary["equal"] > 500) == (0, True), converted.name
    (dump / "calls.jsonl").unlink()
    _, summary = lines_of(replay(tmp_path, dump, "--json"))
    assert summary["differing"] > 50, "it is these that make the calls again"


def test_everything_that_is_no_tensor_is_kept(tmp_path: Path) -> None:
    dump = made(
        tmp_path,
        """
        import torch
        g = torch.Generator().manual_seed(7)
        a = torch.full((2, 3), float("-inf"), dtype=torch.float64)
        b = torch.arange(1, 10, 2, dtype=torch.int16)
        c = a.to(torch.bfloat16).to(torch.float32, memory_format=torch.contiguous_format)
        d = torch.ones(130).split([1] * 130)
        e = torch.rand(3, generator=g)
        f = b * True
        h = (torch.ones(2, dtype=torch.complex64) * (1 + 2j)).add(1, alpha=1j)
        i = torch.ones(4).nan_to_num(nan=float("nan"), posinf=1e300)
        j = torch.ones(4) * 9007199254740993
        k = torch.div(torch.ones(2), 3, rounding_mode="floor")
        l = torch.zeros(1, 2).expand(5, 2).sum((0, 1), keepdim=True)
        """.replace("\n        ", "\n"),
    )
    ops = {op["type"]: op["attributes"] for op in map(json.loads, (dump / "ops.jsonl").read_text().splitlines())}
    full = {key: value for key, value in ops["full"].items() if key not in ("layout", "device", "pin_memory")}
    assert full == {"size": [2, 3], "fill_value": "-inf", "dtype": "Double", "intended_inf": True}
    assert (ops["arange"]["start"], ops["arange"]["end"], ops["arange"]["step"], ops["arange"]["dtype"]) == (1, 10, 2, "Short")
    assert (ops["_to_copy"]["dtype"], ops["_to_copy"].get("memory_format")) in [("BFloat16", None), ("Float", "Contiguous")]
    assert ops["split_with_sizes"]["split_sizes"] == [1] * 130
    assert ops["rand"]["generator"] == {"not_kept": "a generator of random numbers"}
    assert ops["add"] == {"overload": "Tensor", "other": 1, "alpha": {"complex": [0.0, 1.0]}}
    assert ops["nan_to_num"] == {"nan": "nan", "posinf": 1e300}
    assert ops["div"] == {"overload": "Tensor_mode", "other": 3, "rounding_mode": "floor"}
    assert ops["sum"] == {"overload": "dim_IntList", "dim": [0, 1], "keepdim": True}
    lines, _ = lines_of(replay(tmp_path, dump, "--json"))
    assert [line for line in lines if line["outcome"] == "differs"] == []
    multiplied = [line for line in lines if line["function"] == "aten::mul.Tensor"]
    assert [line["outcome"] for line in multiplied] == ["equal"] * 3


def test_a_difference_is_found_and_measured(tmp_path: Path) -> None:
    program = "import torch\ntorch.manual_seed(0)\nx = torch.randn(4, 8)\ny = torch.layer_norm(x, [8], eps=1e-3)\nz = x + 2\n"
    dump = made(tmp_path, program)

    def another_eps(op: dict[str, Any]) -> None:
        if op["type"] == "native_layer_norm":
            op["attributes"]["eps"] = 1e-2

    rewritten(dump, another_eps)
    done = replay(tmp_path, dump, "--json")
    lines, _ = lines_of(done)
    assert done.returncode == 1
    differing = [line for line in lines if line["outcome"] == "differs"]
    assert {line["function"] for line in differing} == {"aten::native_layer_norm"}
    assert [line["record"] for line in differing] == ["native_layer_norm:out0", "native_layer_norm:out2"], "not the mean"
    rows = np.load(dump / "records.npy")
    x, out = (np.load(dump / "tensors.npz"), differing[0])
    values = next(x[name] for name in x.files if x[name].shape == (4, 8)).astype(np.float64)
    centred = values - values.mean(1, keepdims=True)
    one, other = (centred / np.sqrt(values.var(1, keepdims=True) + eps) for eps in (1e-3, 1e-2))
    assert out["max_abs"] == pytest.approx(np.abs(one - other).max(), rel=1e-3)
    assert out["relative_l2"] == pytest.approx(np.linalg.norm(one - other) / np.linalg.norm(one), rel=1e-3)
    assert out["first_differing"] == [0, 0]
    assert out["compared"] == 32
    assert len(rows) > 0
    shown = replay(tmp_path, dump)
    assert shown.returncode == 1
    assert "2 differ" in shown.stdout and "native_layer_norm" in shown.stdout
    reading, writing = os.pipe()
    os.close(reading)
    for output in ([], ["--json"]):
        words = [PYTHON, "-m", "tensortap._replay", dump, *output]
        left = subprocess.run(
            words,
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(package_alone(tmp_path))},
            text=True,
            check=False,
        )
        assert (left.returncode, left.stderr) == (1, ""), "a reader that goes away changes no exit code"
    os.close(writing)


def test_one_call_becomes_a_program_of_its_own(tmp_path: Path) -> None:
    dump = made(tmp_path, GPT.replace("FOREACH", "True"))
    for op, name in (("Net.blocks.0.qkv/addmm@1", "addmm"), ("AdamW.step/_foreach_addcdiv_@2", "foreach"), ("Net/cross_entropy", "none")):
        done = replay(tmp_path, dump, op, "--emit", f"{name}.py")
        if name == "none":
            assert done.returncode == 2
            assert "no op of the dump is called 'Net/cross_entropy'" in done.stderr
            continue
        assert done.returncode == 0, done.stderr
        program = tmp_path / f"{name}.py"
        assert len(program.read_text().splitlines()) <= 60
        ran = subprocess.run([PYTHON, "-W", "error", str(program)], capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "equal" in ran.stdout and "differs" not in ran.stdout
        again = replay(tmp_path, dump, op, "--emit", f"{name}.py")
        assert (again.returncode, f"{name}.py exists already" in again.stderr) == (2, True)
    program = tmp_path / "addmm.py"
    program.write_text(program.read_text().replace("arguments = [in0", "arguments = [in0 + 1"))
    ran = subprocess.run([PYTHON, str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, "differs" in ran.stdout) == (1, True)


CUT = """
import torch
torch.set_num_threads(1)
x = torch.arange(24.0).reshape(4, 6)
y = torch.tensor([0.0, 0, 0, 1, 0, 0])
torch.add(x, y, alpha=2)
a, b = torch.arange(10.0).reshape(2, 5), torch.arange(15.0).reshape(3, 5)
torch.addmm(torch.ones(3), a, b.t(), alpha=2)
torch.layer_norm(x, [6], eps=1e-3)
"""
# What is left of each tensor: where it begins, and how much.
PARTS = {
    "add": {"in0": ([0, 3], [1, 1]), "in1": ([3], [1]), "out0": ([0, 3], [1, 1])},
    "addmm": {"in0": ([0], [1]), "in1": ([0, 0], [1, 5]), "in2": ([0, 0], [5, 1]), "out0": ([0, 0], [1, 1])},
    "native_layer_norm": {"in0": ([0, 0], [1, 6]), "out0": ([0, 0], [1, 6]), "out1": ([0, 0], [1, 1]), "out2": ([0, 0], [1, 1])},
}


def test_a_call_is_cut_down_to_what_differs(tmp_path: Path) -> None:
    dump = made(tmp_path, CUT)
    for op in PARTS:
        equal = replay(tmp_path, dump, op, "--minimize", "--emit", "none.py")
        assert (equal.returncode, "every bit comes out equal" in equal.stdout) == (0, True), equal.stderr
    assert not (tmp_path / "none.py").exists()

    def other_numbers(op: dict[str, Any]) -> None:
        op["attributes"] = {**(op["attributes"] or {}), **({"alpha": 3} if op["type"].startswith("add") else {"eps": 1e-1})}

    rewritten(dump, other_numbers)
    for op, parts in PARTS.items():
        done = replay(tmp_path, dump, op, "--minimize", "--json", "--emit", f"{op}.py")
        assert done.returncode == 1, done.stderr
        told = json.loads(done.stdout)
        assert {one["slot"]: (one["first"], one["count"]) for one in told["tensors"]} == parts
        assert told["differing"] > 0
        arrays = np.load(tmp_path / f"{op}.npz")
        assert {name: arrays[name].size for name in arrays.files} == {name: math.prod(count) for name, (_, count) in parts.items()}
        ran = subprocess.run([PYTHON, str(tmp_path / f"{op}.py")], capture_output=True, text=True, timeout=120, check=False)
        assert (ran.returncode, "differs" in ran.stdout) == (1, True), ran.stderr
        again = replay(tmp_path, dump, op, "--minimize", "--emit", f"{op}.py")
        assert (again.returncode, again.stdout, "exists already" in again.stderr) == (2, "", True)
    shown = replay(tmp_path, dump, "add", "--minimize")
    assert "in0           [1,1] from [0,3] on, of [4,6]" in shown.stdout
    assert "1 of 1 elements of out0, by 1 at most" in shown.stdout


def test_what_a_dump_may_not_ask_for_is_not_run(tmp_path: Path) -> None:
    program = "import torch\nx = torch.ones(4) + 1\nz = torch.zeros(3)\n"
    dump = made(tmp_path, program)
    target = tmp_path / "mine"

    def hostile(op: dict[str, Any]) -> None:
        if op["type"] == "zeros":
            op["attributes"] = {"size": [1 << 60]}
        if op["type"] == "add":
            op |= {"type": "from_file", "attributes": {"filename": str(target), "shared": True, "size": 4}}

    rewritten(dump, hostile)
    (dump / "calls.jsonl").write_bytes(b'\xff\n{"op": 0}\n[]\n' + b"[" * 100000 + b"\n")
    done = replay(tmp_path, dump, "--json")
    lines, _ = lines_of(done)
    reasons = {line["function"]: line.get("reason") for line in lines}
    assert reasons["aten::zeros"] == "its size is not that of what it made"
    assert reasons["aten::from_file"] == "from_file: what it does depends on more than the elements of its inputs"
    assert not target.exists()
    assert "4 lines of calls.jsonl cannot be read" in done.stderr


def test_calls_of_another_device_run_here_and_it_is_said(tmp_path: Path) -> None:
    dump = made(tmp_path, "import torch\nx = torch.zeros(3, device='cpu') + 1\ny = torch.ones(3, device='meta')\n")

    def elsewhere(op: dict[str, Any]) -> None:
        if op["type"] == "zeros":
            op["attributes"]["device"] = "cuda:1"

    rewritten(dump, elsewhere)
    manifest = json.loads((dump / "run.json").read_text())
    (dump / "run.json").write_text(json.dumps({**manifest, "source": "pytorch 1.13.1"}))
    done = replay(tmp_path, dump, "--json")
    lines, summary = lines_of(done)
    outcomes = {line["type"]: line["outcome"] for line in lines}
    assert outcomes["zeros"] == outcomes["add"] == "equal"
    assert summary["differing"] == 0
    assert "the program ran on cuda:1, and its calls are replayed on the cpu" in done.stderr
    assert "the dump was made by pytorch 1.13.1, this is pytorch" in done.stderr


def test_a_dump_that_does_not_know_what_changed_says_so(tmp_path: Path) -> None:
    dump = made(tmp_path, "import torch\nfor size in (2, 3):\n    x = torch.zeros(size) + size\n")
    known = replay(tmp_path, dump)
    assert (known.returncode, known.stderr) == (0, "")
    manifest = json.loads((dump / "run.json").read_text())
    del manifest["runtime"]
    (dump / "run.json").write_text(json.dumps(manifest))
    (dump / "calls.jsonl").unlink()
    done = replay(tmp_path, dump)
    assert done.returncode == 1
    assert "the dump is converted or of an earlier version" in done.stderr
    assert "the dump does not say how many threads torch had" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nowhere"], 3, "nowhere"),
        (["dump", "ad"], 2, "no op of the dump is called 'ad'; near it: add"),
        (["dump", "add@7"], 3, "the dump has no record of such a call"),
        (["dump", "--emit", "x.onnx"], 2, "--emit takes one op"),
        (["dump", "add", "--emit", "x.onnx"], 2, "a program FILE.py is written"),
        (["dump", "--minimize"], 2, "--minimize takes one op"),
        (["dump", "add", "--minimize", "--emit", "x.onnx"], 2, "a program FILE.py is written"),
        (["dump", "ones", "--minimize", "--runtime"], 2, "unrecognized arguments: --runtime"),
        (["dump", "--threads", "0"], 2, "--threads 0: from 1 to 4096"),
        (["dump", "--fast"], 2, "unrecognized arguments: --fast"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_one_sentence(tmp_path: Path, arguments: list[str], code: int, sentence: str) -> None:
    made(tmp_path, "import torch\nx = torch.ones(4) + 1\n")
    done = replay(tmp_path, tmp_path / arguments[0], *arguments[1:])
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x.onnx").exists()


def test_the_command_starts_it_in_the_python_that_is_named(tmp_path: Path) -> None:
    made(tmp_path, "import torch\nx = torch.ones(4) + 1\n")
    done = tensortap("replay", tmp_path / "dump", "--runtime", PYTHON, "--json")
    assert done.code == 0, done.err
    assert done.out == replay(tmp_path, tmp_path / "dump", "--json").stdout
    refused = tensortap("replay", tmp_path / "dump", "--runtime", PYTHON, "--custom-ops", "x.so")
    assert refused.code == 2
    assert "are for dumps of ONNX Runtime" in refused.err
    assert tensortap("replay", tmp_path / "dump", "--runtime", "/nowhere/python").code == 2


def test_a_python_without_torch_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    words = [PYTHON, "-m", "tensortap._replay", "dump"]
    path = f"{tmp_path}:{package_alone(tmp_path)}"
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "has no torch: no torch here" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_statistics_alone_cannot_be_replayed(tmp_path: Path) -> None:
    done = capture(tmp_path, "import torch\nx = torch.ones(4) + 1\n", options=["--stats"])
    assert done.code == 0, done.err
    assert not (tmp_path / "dump/calls.jsonl").exists()
    replayed = replay(tmp_path, tmp_path / "dump")
    assert replayed.returncode == 3
    assert "the dump has statistics of a tensor and not its elements" in replayed.stdout


def test_run_json_tells_of_the_groups_and_placements_of_a_job(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "pair = dist.new_group([0, 1], backend='gloo'); alone = dist.new_group([1])\n"
        "x = torch.ones(3) * dist.get_rank()\n"
        "dist.all_reduce(x, group=pair); y = x + 1\n"
        "for group in (pair, None): dist.broadcast(x, 0, group=group)\n"
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor\n"
        "mesh = init_device_mesh('cpu', (2,), mesh_dim_names=('tp',))\n"
        "def shard(name, module, mesh):\n"
        "    for key, value in list(module.named_parameters(recurse=False)):\n"
        "        placed = distribute_tensor(value, mesh, [Shard(0) if key == 'weight' else Replicate()])\n"
        "        module.register_parameter(key, torch.nn.Parameter(placed))\n"
        "net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())\n"
        "distribute_module(net, mesh, shard)\n"
        "net(DTensor.from_local(torch.ones(3, 8), mesh, [Replicate()]))\n"
        "dist.destroy_process_group()\n"
    )
    done = capture(
        tmp_path, Path("-m"), "torch.distributed.run", "--nproc-per-node=2", "--master-port=29731", str(program), options=["--full"]
    )
    assert done.code == 0, done.err
    for rank in (0, 1):
        dump = tmp_path / f"dump/rank_{rank}"
        runtime = json.loads((dump / "run.json").read_text())["runtime"]
        shared = {"mesh": [2], "mesh_dims": ["tp"], "count": 1}
        assert [(one["parameters"], {key: one[key] for key in shared}) for one in runtime["placements"]] == [
            (["Sequential.0.weight"], shared),
            (["Sequential.0.bias"], shared),
        ]
        assert [one["placements"][0][0] for one in runtime["placements"]] == ["S", "R"], "Shard(dim=0), or S(0)"
        groups = runtime["process_groups"]
        assert [(group["backend"], group["rank"], group["ranks"]) for group in groups[:2]] == [("gloo", rank, [0, 1])] * 2
        assert len({group["name"] for group in groups}) == len(groups)
        assert [group["ranks"] for group in groups[2:]] == ([[1]] if rank == 1 else [])
        assert runtime["job"] == {"rank": rank, "local_rank": rank, "group_rank": 0, "world_size": 2, "local_world_size": 2}
        ops = {op["id"]: op for op in map(json.loads, (dump / "ops.jsonl").read_text().splitlines())}
        collectives = {op["name"]: op for op in ops.values() if op["domain"] == "c10d"}
        reduced, sent = (collectives[name]["attributes"]["process_group"] for name in ("c10d.allreduce_", "c10d.broadcast_"))
        assert reduced == sent == {"not_kept": "a process group", "name": groups[1]["name"]}
        calls = [json.loads(line) for line in (dump / "calls.jsonl").read_text().splitlines()]
        told = [call["arguments"]["process_group"]["name"] for call in calls if ops[call["op"]]["name"] == "c10d.broadcast_"]
        assert told == [groups[0]["name"]], "the second call of this line is for all ranks"
        lines, summary = lines_of(replay(tmp_path, dump, "--json"))
        assert summary["differing"] == 0
        assert {line["reason"] for line in lines if line["function"].startswith("c10d::")} == {"a collective, which needs the other ranks"}
