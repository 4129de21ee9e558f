"""Which NaN and Inf of a PyTorch program matter, over a table of programs: harmless ones raise no alarm, broken ones name op and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import ROOT, tensortap
from torch_support import OUTPUT, Captured, TorchDump, capture

PROGRAMS = ROOT / "tests/torch"


def marked(program: Path, word: str) -> set[tuple[str, int]]:
    """Read the ops that the comments of a program name, with their lines."""
    found = set()
    for number, line in enumerate(program.read_text().splitlines(), 1):
        if match := re.search(rf"# {word}: (\S+)$", line):
            found.add((match[1], number))
    return found


def program_of(path: Path, line: int) -> str:
    """Name the function of a table that a line belongs to."""
    names = [match[1] for text in path.read_text().splitlines()[:line] if (match := re.match(r"def (\w+)", text))]
    return names[-1]


def begun(origin: dict[str, Any]) -> tuple[str, int]:
    """Give the op and the line that an origin names."""
    begin = origin["chain"][-1]
    return begin["type"], int((begin["source"] or ":0").rsplit(":", 1)[1])


def found_in(dump: TorchDump) -> tuple[int, dict[str, Any]]:
    done = tensortap("find", dump.folder, "--limit", "1000", "--json")
    assert (done.code == 1) == (done.object["first_nonfinite"] is not None or bool(done.object["unwritten"]))
    return done.code, done.object


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], str]:
    done = capture(tmp_path_factory.mktemp("harmless"), PROGRAMS / "harmless_programs.py")
    assert done.code == 0, done.err
    return *found_in(done.dump), done.err


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], str]:
    done = capture(tmp_path_factory.mktemp("broken"), PROGRAMS / "broken_programs.py")
    assert done.code == 0, done.err
    return *found_in(done.dump), done.err


def test_harmless_programs_raise_no_alarm(harmless: tuple[int, dict[str, Any], str]) -> None:
    code, report, err = harmless
    alarms = [
        (program_of(PROGRAMS / "harmless_programs.py", begun(one)[1]), begun(one)) for one in report["origins"] if not one["harmless"]
    ]
    assert not alarms
    assert report["seen"] is None
    assert report["first_nonfinite"] is None
    assert code == 0
    assert "none in what the program saw" in err


def test_harmless_origins_are_listed_all_the_same(harmless: tuple[int, dict[str, Any], str]) -> None:
    listed = {begun(one) for one in harmless[1]["origins"] if one["harmless"]}
    assert not marked(PROGRAMS / "harmless_programs.py", "harmless") - listed


def test_broken_programs_name_op_and_line(broken: tuple[int, dict[str, Any], str]) -> None:
    code, report, _ = broken
    path = PROGRAMS / "broken_programs.py"
    expected = marked(path, "broken")
    assert len(expected) >= 15
    alarms = {begun(one) for one in report["origins"] if not one["harmless"]}
    assert {(program_of(path, line), op) for op, line in expected - alarms} == set()
    assert {(program_of(path, line), op) for op, line in alarms - expected} == set()
    assert code == 1


COMPILED = """
import torch
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
compiled = torch.compile(model)
x = torch.randn(6, 8)
for _ in range(3):
    waste = [torch.empty(count) for count in (24, 48, 64, 96, 128) for _ in range(20)]
    for one in waste:
        one.numpy()[:] = float("nan")  # without an operator
    del waste, one
    optimizer.zero_grad()
    loss = compiled(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    loss.item()
"""


def test_buffers_of_a_compiled_program_raise_no_alarm(tmp_path: Path) -> None:
    done = capture(tmp_path, COMPILED)
    assert done.code == 0, done.err
    code, report = found_in(done.dump)
    assert report["first_nonfinite"] is None, report["seen"]
    assert (code, len(report["not_captured"])) == (3, 1)
    # The old content of memory that Inductor reuses does not count as a value.
    products = done.dump.of_type("mm", OUTPUT)
    assert np.isfinite(products["mean"]).all()


SHARDED = """
import torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
torch.manual_seed(0); torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 4))
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
for _ in range(2):
    waste = [torch.empty(count) for count in (64, 68, 128, 144, 212) for _ in range(20)]
    for one in waste:
        one.numpy()[:] = float("nan")  # without an operator
    del waste, one
    optimizer.zero_grad()
    loss = model(torch.randn(6, 8)).pow(2).mean()
    loss.backward()
    optimizer.step()
    loss.item()
dist.destroy_process_group()
"""


def test_gathered_parameters_raise_no_alarm(tmp_path: Path) -> None:
    done = capture(tmp_path, SHARDED)
    assert done.code == 0, done.err
    code, report = found_in(done.dump)
    assert report["first_nonfinite"] is None, report["seen"]
    assert code == 0


UNWRITTEN = """
import torch, torch.nn.functional as F
torch.manual_seed(0)
waste = [torch.full((size,), 1e3) for size in (16, 64, 128) for _ in range(20)]; del waste
x = torch.randn(2, 16)
layer = torch.nn.Linear(16, 8)
cache = torch.empty(2, 4, 8)
for length in range(4):
    cache[:, length] = layer(x)
    cache[:, : length + 1].sum().item()
torch.mm(x, torch.randn(16, 8), out=torch.empty(2, 8)).sum().item()
torch.zeros_like(torch.empty(3, 3)).sum().item()
torch.empty(8).normal_().sum().item()
torch.empty(4, 4).index_fill_(0, torch.arange(4), 1.0).sum().item()
torch.empty(0).sum().item()
torch.empty(16, 8).view(8, 16).t().clone()
loaded = torch.nn.Parameter(torch.empty(16, 8)).to(torch.float64)
loaded.data.copy_(torch.zeros(16, 8))
loaded.sum().item()
(x @ torch.nn.Parameter(torch.empty(16, 8))).sum().item()  # unwritten: mm
torch.empty(16).double().mul(2).sum().item()  # unwritten: mul
torch.empty(16).add_(1).sum().item()  # unwritten: add_
"""
PARTS = """
import torch, torch.nn.functional as F
waste = [torch.full((size,), 1e3) for size in (8, 10, 16, 32, 64) for _ in range(20)]; del waste
losses = torch.empty(10)
for i in range(9):
    losses[i] = float(i)
losses.mean().item()  # unwritten: mean
F.mse_loss(losses, torch.zeros(10)).item()  # unwritten: mse_loss
losses[9] = 1.0
losses.mean().item()
rows = torch.empty(4, 8)
rows[:2] = 1.0
rows[:2].sum().item()
rows[2:].mul(2).sum().item()  # unwritten: mul
(torch.tensor([1.0, 1.0, 0.0, 0.0]) @ rows).sum().item()
rows.masked_fill(torch.arange(4)[:, None] > 1, 0.0).sum().item()
F.pad(rows, (1, 1)).clone()
rows.sum(1)[:2].sum().item()
rows.index_copy_(0, torch.tensor([2, 3]), torch.ones(2, 8))
rows.sum().item()
for fill in (
    lambda t: t.t()[3:].copy_(torch.ones(13, 4)),
    lambda t: t[1:].numpy().fill(1.0),
    lambda t: t.scatter_(0, torch.tensor([[1] * 16, [2] * 16, [3] * 16]), 1.0),
    lambda t: t.__setitem__((torch.tensor([1, 2, 3]),), 1.0),
    lambda t: torch.add(torch.ones(3, 16), 1, out=t[1:]),
    lambda t: t.view(-1).as_strided((48,), (1,), 16).uniform_(),
    lambda t: [row.fill_(1.0) for row in torch.split(t, 1)[:0:-1]],
):
    filled = torch.empty(4, 16)
    filled[0] = 1.0
    fill(filled)
    filled.sum().item()
"""


def unwritten_in(folder: Path, text: str) -> tuple[Captured, dict[str, Any]]:
    """Run a program whose marked lines read what nothing was written to, and give what `find` says of it."""
    program = folder / "unwritten.py"
    program.write_text(text)
    done = capture(folder, program)
    assert done.code == 0, done.err
    code, report = found_in(done.dump)
    assert {(one["type"], int(one["source"].rsplit(":", 1)[1])) for one in report["unwritten"]} == marked(program, "unwritten")
    assert code == 1
    return done, report


def test_memory_that_was_written_in_part_is_known_by_its_parts(tmp_path: Path) -> None:
    done, report = unwritten_in(tmp_path, PARTS)
    assert {one["type"]: one["partly"] for one in report["unwritten"]} == {"mean": True, "mse_loss": True, "mul": False}
    assert "unwritten.py:7) read memory that nothing was written to: step 0, in0, some of its elements" in done.err


def test_ops_that_compute_with_memory_that_nothing_was_written_to_are_named(tmp_path: Path) -> None:
    done, _ = unwritten_in(tmp_path, UNWRITTEN)
    assert "read memory that nothing was written to: step 3, in1" in done.err
    assert "unwritten.py:20) read memory that nothing was written to: step 3, in1" in tensortap("find", done.dump.folder).out


# `exec` and `find` report the same. Infinities that ops only pass on, and those of a mask, matter where they reach a loss.
SAID = {
    "data": "import numpy as np\nx = torch.from_numpy(np.array([1.0, np.inf, 2.0], np.float32))\n(x * 2).sum().item()",
    "loss": "x = torch.randn(2, 4, requires_grad=True)\nm = torch.tensor([True, False, False, False])\n"
    "torch.nn.functional.cross_entropy(x.masked_fill(m, -torch.inf), torch.tensor([0, 1])).backward()",
    "unwritten": "torch.empty(64).mul(2).sum().item()",
    "swallowed": "x = torch.full((4,), 300.0).half()\n(x * (x * x).rsqrt()).sum().item()",
    "mask": "torch.zeros(2).index_fill(0, torch.tensor([1]), -torch.inf).softmax(0).sum().item()",
    "fine": "torch.randn(4).sum().item()",
    # A module packs its memory when it is made, before it is given its weights.
    "packed": "linear = torch.nn.Sequential(torch.nn.Linear(4, 2))\n"
    "torch.ao.quantization.quantize_dynamic(linear, {torch.nn.Linear})(torch.randn(1, 4)).sum().item()",
}


@pytest.mark.parametrize("name", SAID)
def test_exec_and_find_agree(tmp_path: Path, name: str) -> None:
    done = capture(tmp_path, f"import torch\n{SAID[name]}\n")
    code, report = found_in(done.dump)
    fine = "none seen" in done.err or "none in what the program saw" in done.err
    assert (code == 0) == (name in ("mask", "fine", "packed"))
    assert ("first at" in done.err) == (report["first_nonfinite"] is not None)
    assert ("nothing was written to" in done.err) == bool(report["unwritten"])
    if code == 0:
        assert fine
    if name == "swallowed":
        assert "it overflowed in float16, and rsqrt (rsqrt, program.py:3) turned it into 0" in done.err
    if name == "packed":
        assert {op["source"] for op in done.dump.ops.values() if "prepack" in op["type"]} == {"program.py:3"}


def test_under_the_overflow_trigger_find_clears_no_more_than_was_looked_for(tmp_path: Path) -> None:
    program = "import numpy as np\nimport torch\nx = torch.from_numpy(np.array([1.0, np.nan], np.float32))\n(x * 2).sum().item()\n"
    (tmp_path / "config.json").write_text('{"trigger": "overflow"}')
    done = capture(tmp_path, program, options=["--config", tmp_path / "config.json"])
    assert tensortap("find", done.dump.folder).out.splitlines()[0] == "no captured op made NaN or Inf of finite values"


def test_the_words_fit_on_one_screen_and_say_each_thing_once(tmp_path: Path) -> None:
    layers = "import torch\nx = torch.zeros(4)\ny = x / x\n" + "".join(f"y = torch.{op}(y)\n" for op in ["sin", "cos", "exp"] * 20)
    done = capture(tmp_path, layers + "y.sum().item()\n")
    lines = tensortap("find", done.dump.folder).out.splitlines()
    assert lines[0].startswith("first non-finite value: step 0, div (div) out0: 4 NaN, the first at [0], ")
    assert len([line for line in lines if "div" in line and "NaN" in line]) == 1
    assert len(lines) <= 20
    assert len(tensortap("find", done.dump.folder, "--all").out.splitlines()) > 60


def test_the_words_name_the_op_that_made_it_and_what_it_read(tmp_path: Path) -> None:
    program = "import torch\nx = torch.tensor([1.0, 0.0])\ny = (x * float('-inf')).sum().item()\n"
    done = capture(tmp_path, program, options=["--full"])
    assert "began at    step 0, mul (mul), program.py:3" in done.err
    assert "made 1 NaN, 1 -Inf in mul:out0" in done.err
    assert "read mul:in0" in done.err
    (tmp_path / "tensors").mkdir()
    only_tensors = capture(tmp_path / "tensors", program, options=["--tensors"])
    text = tensortap("find", only_tensors.dump.folder).out
    assert "read mul:in0@0: min 0, max 1" in text or "min 0.0, max 1.0" in text


def test_uninitialised_memory_is_said(tmp_path: Path) -> None:
    program = """
import torch
for size in [6, 60, 1000] * 20:
    waste = [torch.empty(size) for _ in range(20)]
    for one in waste:
        one.numpy()[:] = float("nan")  # without an operator
    del waste, one
    torch.empty(size).cos().sum().item()
"""
    done = capture(tmp_path, program)
    assert "it worked on memory that nothing was written to" in done.err
    assert "uninitialised memory" in tensortap("find", done.dump.folder).out


LEFT = """
import torch, warnings
library = torch.library.Library("left", "DEF")
for name in ("nothing", "half", "nan"):
    library.define(f"{name}(Tensor x, Tensor(a!) out) -> ()")
library.impl("nothing", lambda x, out: None, "CPU")
library.impl("half", lambda x, out: out.numpy().__setitem__(slice(500), 1.0), "CPU")
library.impl("nan", lambda x, out: out.numpy().fill(float("nan")), "CPU")
def memory():
    given = torch.empty(1000)
    given.numpy()[100:900] = float("nan")  # what the memory held before, without an operator
    return given
x, first, second, third = torch.ones(1000), memory(), memory(), memory()
torch.ops.left.nothing(x, first)
torch.ops.left.half(x, second)
second[:100].sum().item()
"""


def test_what_an_operator_leaves_in_memory_is_not_its_own(tmp_path: Path) -> None:
    """Neither a warm-up that writes nothing nor the padding behind a result is blamed on the operator that was given the memory."""
    code, report = found_in(capture(tmp_path, LEFT).dump)
    assert {(one["chain"][-1]["type"], one["kind"], one["harmless"]) for one in report["origins"]} == {
        ("left.nothing", "uninitialised memory", True),
        ("left.half", "uninitialised memory", True),
    }
    assert code == 0
    for read, kind, op in [("second.sum().item()", "uninitialised memory", "left.half"), ("third.sum().item()", "op", "left.nan")]:
        folder = tmp_path / op
        folder.mkdir()
        code, report = found_in(capture(folder, f"{LEFT}torch.ops.left.nan(x, third)\n{read}\n").dump)
        assert code == 1
        assert (report["seen"]["kind"], report["seen"]["chain"][-1]["type"]) == (kind, op)


PARAMETERS_AND_MASKS = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(4))
        self.register_buffer("mask", torch.full((4, 4), float("-inf")).triu(1))
    def forward(self, s):
        for b in (self.bias, self.mask):
            s = s + b
        return s.softmax(-1)
net = Net()
torch.manual_seed(0); layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
causal = torch.nn.Transformer.generate_square_subsequent_mask(7)
optimizer = torch.optim.SGD([*net.parameters(), *layer.parameters()])
(net(torch.randn(4, 4)).pow(2).mean() + layer(torch.randn(2, 7, 16), src_mask=causal, is_causal=True).pow(2).mean()).backward()
optimizer.step()
"""


def test_names_and_roles_are_those_of_the_call(tmp_path: Path) -> None:
    done = capture(tmp_path, PARAMETERS_AND_MASKS)
    assert done.code == 0, done.err
    code, report = found_in(done.dump)
    assert report["first_nonfinite"] is None, report["seen"]
    assert code == 0
    assert "none in what the program saw" in done.err
    op = next(op["name"] for op in done.dump.ops.values() if op["source"] == "program.py:10")
    shown = [tensortap("show", done.dump.folder, f"{op}:in1#{call}").out for call in (0, 1)]
    assert re.search(r"^value +bias$", shown[0], re.MULTILINE)
    assert "bias" not in shown[1]
    known, parameter = 1, 2
    rows = done.dump.rows
    read = rows[(rows["op"] == next(number for number, one in done.dump.ops.items() if one["name"] == op)) & (rows["slot_kind"] == 1)]
    roles = {(int(row["call"]), int(row["slot_index"])): int(row["value_flags"]) & (known | parameter) for row in read}
    assert roles == {(0, 0): known, (0, 1): known | parameter, (1, 0): known, (1, 1): known}


def test_the_summary_and_find_agree_on_what_is_wrong(tmp_path: Path) -> None:
    """Infinities of a mask raise no alarm while the program runs; their way into a parameter is found afterwards."""
    program = """
import torch
weight = torch.nn.Parameter(torch.zeros(4))
with torch.no_grad():
    weight.masked_fill_(torch.tensor([True, False, False, False]), float("-inf"))
(weight * torch.ones(4)).exp().sum().backward()
"""
    done = capture(tmp_path, program)
    code, report = found_in(done.dump)
    assert done.dump.run["first_nonfinite"] is None
    assert code == 1
    assert report["first_nonfinite"]["type"] == "masked_fill_"
    assert "non-finite  first at step 0, masked_fill_" in done.err
