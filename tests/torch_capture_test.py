"""What a captured PyTorch program's dump holds, against torch's own numbers; the traps that were met while the capture was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import tensortap
from torch_support import INPUT, OUTPUT, Captured, capture, plain

UNWRITTEN = 32

TRAINING = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
images, labels = torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(5):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex(), *(p.sum().item().hex() for p in model.parameters()))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    done = capture(tmp_path_factory.mktemp("trained"), TRAINING, options=["--full"])
    assert done.code == 0, done.err
    return done


def test_losses_and_weights_are_the_same_bits_with_and_without(trained: Captured, tmp_path: Path) -> None:
    assert trained.out == plain(tmp_path, TRAINING)
    assert trained.dump.run["lost"] == 0


def test_steps_are_those_of_the_optimizer(trained: Captured) -> None:
    convolutions = trained.dump.of_type("convolution", OUTPUT)
    assert convolutions["step"].tolist() == [0, 1, 2, 3, 4]


def test_ops_say_module_line_phase_and_forward_op(trained: Captured) -> None:
    ops = {op["name"]: op for op in trained.dump.ops.values()}
    forward = ops["Sequential.0/convolution"]
    assert forward["module"] == "Sequential.0"
    assert forward["source"] == "program.py:9"
    assert [one["name"] for one in forward["inputs"]][:3] == ["input", "0.weight", "0.bias"]
    backward = ops["Sequential.0/ConvolutionBackward0/convolution_backward"]
    assert backward["module"] == "Sequential.0"
    assert backward["source"] == "program.py:9"
    assert backward["attributes"]["forward"] == "Sequential.0/convolution"
    phases = {trained.dump.ops[int(row["op"])]["name"]: int(row["phase"]) for row in trained.dump.rows}
    assert phases["Sequential.0/convolution"] == 1
    assert phases["Sequential.0/ConvolutionBackward0/convolution_backward"] == 2
    assert phases["Adam.step/addcdiv_"] == 3


LAYOUTS = """
import json, sys, torch
torch.manual_seed(0)
def make(dtype):
    values = torch.randn(4, 6, 8) * 3
    if dtype == torch.bool: return values > 0
    if dtype.is_complex: return torch.complex(values, values.flip(0)).to(dtype)
    return values.to(dtype)
LAYOUTS = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.transpose(0, 2),
    "permuted": lambda t: t.permute(1, 2, 0),
    "sliced": lambda t: t[1:3, ::2],
    "offset": lambda t: t[2],
    "reversed_columns": lambda t: t.flip(2),
    "expanded": lambda t: t[:, :1].expand(4, 6, 8),
    "single": lambda t: t[1, 2, 3],
    "empty": lambda t: t[:0],
    "overlapping": lambda t: t.as_strided((3, 4), (2, 1)),
}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
expected = []
for dtype in DTYPES:
    for name, layout in LAYOUTS.items():
        x = layout(make(dtype))
        torch.ops.aten.abs.default(x)
        wide = x.double()
        expected.append(dict(dtype=str(dtype), layout=name, numel=x.numel(), min=wide.min().item() if x.numel() else None,
            max=wide.max().item() if x.numel() else None, mean=wide.mean().item() if x.numel() else None,
            l2=wide.norm().item(), zero=int((wide == 0).sum())))
json.dump(expected, open(sys.argv[1], "w"))
"""


def test_statistics_are_torchs_own_for_every_dtype_and_layout(tmp_path: Path) -> None:
    import json

    done = capture(tmp_path, LAYOUTS, str(tmp_path / "expected.json"), options=["--types", "abs"])
    assert done.code == 0, done.err
    expected = json.loads((tmp_path / "expected.json").read_text())
    rows = done.dump.of_type("abs", INPUT)
    assert len(rows) == len(expected) == 90
    for row, wanted in zip(rows, expected, strict=True):
        assert row["numel"] == wanted["numel"], wanted
        assert row["zero"] == wanted["zero"], wanted
        if wanted["numel"] == 0:
            continue
        for name in ("min", "max", "mean", "l2"):
            assert row[name] == pytest.approx(wanted[name], rel=1e-6, abs=1e-6), wanted


WRITES = """
import json, sys, torch
torch.manual_seed(0)
expected = []
def note(x): expected.append(x.double().sum().item() / x.numel())
x = torch.randn(100, 100)
x.data.add_(1); note(x)
torch._foreach_add_([x], 1.0); note(x)
x.index_put_((torch.tensor([3]),), torch.tensor(500.0)); note(x)
torch.add(x, 1, out=x); note(x)
x[:10].zero_(); note(x)
x.t().mul_(2); note(x)
json.dump(expected, open(sys.argv[1], "w"))
"""


def test_values_after_writes_are_the_new_ones_though_equal_contents_are_measured_once(tmp_path: Path) -> None:
    import json

    program = WRITES.replace("def note(x):", "def note(x):\n    torch.ops.aten.neg.default(x)\n   ")
    done = capture(tmp_path, program, str(tmp_path / "expected.json"))
    assert done.code == 0, done.err
    expected = json.loads((tmp_path / "expected.json").read_text())
    means = done.dump.of_type("neg", INPUT)["mean"]
    assert means.tolist() == pytest.approx(expected, rel=1e-6)


def test_batch_norm_writes_its_running_statistics_undeclared(tmp_path: Path) -> None:
    program = """
import torch
torch.manual_seed(0)
norm = torch.nn.BatchNorm1d(20000)
x = torch.randn(8, 20000) + 1
for _ in range(3):
    norm(x)
    torch.ops.aten.neg.default(norm.running_mean)
    print(norm.running_mean.double().mean().item())
"""
    done = capture(tmp_path, program)
    expected = [float(line) for line in done.out.split()]
    assert done.dump.of_type("neg", INPUT)["mean"].tolist() == pytest.approx(expected, rel=1e-6)


def test_unwritten_memory_raises_no_alarm(tmp_path: Path) -> None:
    program = """
import numpy, torch
for size in (10, 1000, 100000):
    junk = numpy.full(size, 1e30, numpy.float32)
    junk[:] = numpy.nan
    del junk
    torch.nn.Linear(size // 10, 10)
    x = torch.empty(size)
    x.fill_(1)
mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4, dtype=torch.bool).tril(-1), float("-inf"))
mask.softmax(0)
"""
    done = capture(tmp_path, program)
    assert done.code == 0
    # The mask is intended, and softmax makes numbers of it.
    assert "\nnon-finite  none" in done.err, done.err


def test_a_tensor_made_of_python_numbers_is_written_memory(tmp_path: Path) -> None:
    done = capture(tmp_path, "import torch\nx = torch.tensor([1.0, 2.0, 6.0])\ny = x + 1\n")
    added = done.dump.of_type("add", INPUT)
    assert added[added["slot_index"] == 0]["mean"].tolist() == pytest.approx([3.0])


def test_a_scalar_of_the_programs_own_is_written_whatever_the_memory_held(tmp_path: Path) -> None:
    program = """
import torch
for _ in range(50):
    zeros = [torch.zeros(()) for _ in range(20)]
    del zeros
    (torch.tensor(0.0) + 1).item()
"""
    done = capture(tmp_path, program)
    for op_type, kind in (("lift_fresh", INPUT), ("lift_fresh", OUTPUT), ("add", INPUT)):
        rows = done.dump.of_type(op_type, kind)
        assert len(rows) >= 50
        assert not (rows["flags"] & UNWRITTEN).any(), op_type


FAILING_LOOKUPS = """
import contextlib, torch
table = torch.nn.Embedding(10, 4)
for lookup in (
    lambda: table(torch.tensor([[1, 2], [3, 12]])),
    lambda: torch.zeros(3, 4)[torch.tensor([0, 2]), torch.tensor([-4, 4])],
    lambda: torch.nn.functional.nll_loss(torch.zeros(2, 5), torch.tensor([4, 5])),
):
    with contextlib.suppress(Exception):
        lookup()
    torch.ones(1)
"""


def test_a_lookup_that_fails_names_line_index_and_place(tmp_path: Path) -> None:
    done = capture(tmp_path, FAILING_LOOKUPS)
    failed = done.dump.run["failed_op"]
    assert failed["source"] == "program.py:5"
    assert failed["module"] == "Embedding"
    assert "index 12 at [1, 1] of in1 (indices) is outside 0..9" in failed["error"]
    assert "program.py:5" in done.err
    assert "index 12 at [1, 1]" in done.err
    # Three failures, all of which the program caught: the report keeps the first.
    assert done.dump.run["failed_ops"] == 3
    assert failed["caught"] is True
    assert "the program caught it and went on" in done.err
    found = tensortap("find", done.dump.folder)
    assert found.code == 0, found.out
    assert "failed op: Embedding/embedding (embedding), program.py:5, step 0: the operator raised an exception: index 12 at" in found.out


FAILURES = {
    # How the program goes on after `fail()`, which is called in line 5; whether that is a finding.
    "fail()": True,
    "try:\n    fail()\nfinally:\n    torch.save(torch.ones(2) + 1, 'last.pt')": True,
    "import threading\nthread = threading.Thread(target=fail)\nthread.start()\nthread.join()\ntorch.ones(2) + 1": True,
    "try:\n    fail()\nexcept IndexError as error:\n    print(error)": True,  # nothing more of the step ran
    "try:\n    fail()\nexcept IndexError:\n    torch.ones(2) + 1": False,
    "try:\n    fail()\nexcept IndexError:\n    torch.ones(2) + 1\nraise ValueError('of no op')": False,
}


def test_find_names_the_op_that_ended_the_program(tmp_path: Path) -> None:
    wrong = []
    for number, (ending, is_finding) in enumerate(FAILURES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        program = f"import torch\nx = torch.zeros(3)\ndef fail():\n    y = x * 2\n    return y[torch.tensor([1, 7])]\n{ending}\n"
        done = capture(folder, program, options=["--summary", str(folder / "summary.json")])
        found = tensortap("find", done.dump.folder)
        line = next((line for line in found.out.splitlines() if line.startswith("failed op: index (index), program.py:5, step ")), "")
        failed = json.loads((folder / "summary.json").read_text())["failed_op"]
        caught = "the program caught it and went on"
        right = found.code == int(is_finding) and (caught not in line) == is_finding and (caught not in done.err) == is_finding
        if not (right and "index 7 at [1]" in line and failed["caught"] is not is_finding and done.dump.run["failed_op"] == failed):
            wrong.append((ending, found.code, found.out, done.err))
        if ending == "fail()":
            assert failed["exception"].startswith("IndexError: index 7 is out of bounds")
            assert failed["exception"] in line
            assert failed["exception"] in done.err
    assert not wrong


FIRST_OPERATORS = """
import threading, torch
def work():
    torch.full((2,), 2.0)
first = torch.full((2,), float("nan"))
thread = threading.Thread(target=work)
thread.start()
thread.join()
torch.nn.Linear(2, 2)
print((first + 1).sum().item())
"""


def test_the_first_operators_of_a_process_have_lines(tmp_path: Path) -> None:
    done = capture(tmp_path, FIRST_OPERATORS)
    assert all(op["source"] for op in done.dump.ops.values()), {op["name"]: op["source"] for op in done.dump.ops.values()}
    assert [op["source"] for op in done.dump.ops.values() if op["type"] == "full"] == ["program.py:5", "program.py:4"]
    assert "began at    step 0, full (full), program.py:5" in done.err


def test_an_op_that_raises_leaves_what_it_read(tmp_path: Path) -> None:
    program = """
import torch
try:
    torch.randn(3, 4) @ torch.ones(5, 6)
except RuntimeError:
    print("raised")
"""
    done = capture(tmp_path, program, options=["--stats"])
    assert done.out == "raised\n"
    assert done.dump.run["failed_ops"] == 1
    assert done.dump.run["failed_op"]["type"] == "mm"
    failed = done.dump.rows[(done.dump.rows["flags"] & 8) > 0]
    assert failed["shape"][:, :2].tolist() == [[3, 4], [5, 6]]
    assert failed["mean"][1] == 1.0


def test_recomputation_that_ends_early_is_no_failure(tmp_path: Path) -> None:
    program = """
import torch
from torch.utils.checkpoint import checkpoint
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
checkpoint(model, torch.randn(4, 8, requires_grad=True), use_reentrant=False).sum().backward()
"""
    done = capture(tmp_path, program)
    assert done.dump.run["failed_ops"] == 0


SPECIAL = """
import torch
torch.manual_seed(0)
x = torch.randn(4, 4)
x.to_sparse() * 2
torch.nested.nested_tensor([torch.randn(2), torch.randn(3)]) * 2
torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize()
torch.view_as_complex(torch.randn(4, 2)).conj().mul(2)
torch.ones(2, device="meta") + 1
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    torch.ones(2) + 1
class Wrapped(torch.Tensor): pass
x.as_subclass(Wrapped) + 1
torch.func.vmap(torch.func.grad(lambda t: (t * t).sum()))(x)
with torch.inference_mode(): x + 1
x.to_mkldnn().to_dense()
torch.as_strided(x, (3, 3), (1, 1)).sum()
torch.tensor(3.0) + 1
torch.randn([1] * 10) + 1
x.to(torch.float8_e4m3fn).to(torch.float32)
print("done")
"""


def test_special_tensors_are_looked_through_or_counted(tmp_path: Path) -> None:
    done = capture(tmp_path, SPECIAL, options=["--full"])
    assert done.code == 0, done.err
    assert done.out == "done\n"
    reasons = {one["reason"] for one in done.dump.run["ops"]["not_captured"] + done.dump.run["ops"]["partly"]}
    assert "sparse tensor" in reasons
    assert "nested tensor" in reasons
    assert np.isfinite(done.dump.of_type("add", OUTPUT)["mean"]).all()


def test_threads_are_told_apart(tmp_path: Path) -> None:
    program = """
import threading, torch
torch.zeros(1)  # the first operator brings the capture in
def work(size):
    for _ in range(50):
        (torch.full((size,), float(size)) + 1).sum()
threads = [threading.Thread(target=work, args=(size,)) for size in (3, 5, 7, 9)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    done = capture(tmp_path, program)
    assert done.code == 0, done.err
    added = done.dump.of_type("add", OUTPUT)
    assert len(added) == 200
    assert (added["mean"] == added["numel"] + 1).all()
    assert len(np.unique(added["thread"])) == 4


def test_fork_with_busy_threads(tmp_path: Path) -> None:
    program = """
import os, threading, torch
torch.set_num_threads(1)
stop = False
x, y = torch.randn(64, 64), torch.ones(10)
def work():
    while not stop:
        x @ x
# First calls register destructors under a lock of the C library, which a fork can copy while it is taken.
x @ x
y.sum()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
failed = 0
for _ in range(100):
    child = os.fork()
    if child == 0:
        y.sum()
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
stop = True
for thread in threads: thread.join()
print("failed", failed)
"""
    done = capture(tmp_path, program, options=["--types", "sum"])
    assert done.out == "failed 0\n", done.err
    assert done.code == 0
    assert len(done.dump.of_type("sum", OUTPUT)) == 1, "the children are not captured"


def test_data_loader_workers_are_left_alone(tmp_path: Path) -> None:
    program = """
import sys, torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.full((4,), float(i)).sqrt()
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2, multiprocessing_context=method)
        print(sum(batch.sum().item() for batch in loader))
"""
    expected = plain(tmp_path, program)
    done = capture(tmp_path, program)
    assert done.out == expected
    assert done.code == 0, done.err
    assert len(done.dump.of_type("sum", OUTPUT)) == 8
    assert len(done.dump.of_type("sqrt")) == 0


def test_isolated_python(tmp_path: Path) -> None:
    import subprocess

    from cli_support import COMMAND
    from torch_support import PYTHON, TorchDump

    program = tmp_path / "program.py"
    program.write_text("import torch\nm = torch.nn.Linear(2, 2)\nm(torch.ones(1, 2))\n")
    out = tmp_path / "dump"
    done = subprocess.run(
        [COMMAND, "exec", "--out", out, "--", PYTHON, "-I", program], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Linear/addmm" in {op["name"] for op in TorchDump(out).ops.values()}


def test_killed_training_keeps_what_it_had(tmp_path: Path) -> None:
    program = TRAINING.replace(
        "    print(step", "    if step == 3:\n        import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n    print(step"
    )
    done = capture(tmp_path, program)
    assert done.code == 128 + 9
    import json
    import subprocess

    from cli_support import COMMAND

    listed = subprocess.run(
        [COMMAND, "ls", done.dump.folder, "--type", "convolution", "--slot", "out0", "--json"], capture_output=True, text=True, check=False
    )
    *records, state = [json.loads(line) for line in listed.stdout.splitlines()]
    assert [record["step"] for record in records] == [0, 1, 2, 3], listed.stderr
    assert state["dump"]["complete"] is False


ATTRIBUTES = """
import torch
x = torch.arange(6.0).reshape(2, 3)
torch.softmax(x, dim=1)
torch.add(x, x, alpha=0.5)
torch.nn.functional.layer_norm(x, (3,), eps=0.25)
x.sum(dim=[0, 1], dtype=torch.float64)
"""


def test_arguments_that_are_no_tensors_are_attributes(tmp_path: Path) -> None:
    done = capture(tmp_path, ATTRIBUTES)
    attributes = {op["type"]: op["attributes"] for op in done.dump.ops.values()}
    assert attributes["_softmax"]["dim"] == 1
    assert attributes["_softmax"]["half_to_float"] is False
    assert attributes["add"] == {"alpha": 0.5, "overload": "Tensor"}
    assert attributes["native_layer_norm"]["normalized_shape"] == [3]
    assert attributes["native_layer_norm"]["eps"] == 0.25
    assert attributes["sum"]["dim"] == [0, 1]
    assert attributes["sum"]["dtype"] == "Double"


SMALL_TYPES = """
import torch
base = torch.tensor([[0x12, 0x7F, 0xFF], [0x00, 0x01, 0x80]], dtype=torch.uint8)
scales = base.view(torch.float8_e8m0fnu).clone()
fours = base.view(torch.float4_e2m1fn_x2).clone()
scattered = base.t().view(torch.float4_e2m1fn_x2).clone()
parts = torch.tensor([[[1.5, -2.0], [4.0, 0.5]], [[0, 1], [2, 3]]], dtype=torch.float16)
turned = torch.view_as_complex(parts).t()
pairs = turned.clone()
scales.float().numpy().astype("<f8").tofile("scales")
torch.view_as_real(turned).numpy().astype("<f8").tofile("pairs")
"""


def values_of(done: Captured, line: int) -> np.ndarray[Any, Any]:
    """Give what the op `clone` of a line made, as `show` prints it for programs."""
    op = next(op["name"] for op in done.dump.ops.values() if op["source"] == f"program.py:{line}" and op["type"] == "clone")
    shown = tensortap("show", done.dump.folder, f"{op}:out0", "--json").object
    return np.array([float(value) for value in np.array(shown["values"], object).reshape(-1)])


def test_small_and_complex_types_are_captured(tmp_path: Path) -> None:
    done = capture(tmp_path, SMALL_TYPES, options=["--full"])
    assert done.code == 0, done.err
    assert np.array_equal(values_of(done, 4), np.fromfile(tmp_path / "scales"), equal_nan=True)
    # The first of two is in the low bits: e2m1 has 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
    assert values_of(done, 5).tolist() == [1.0, 0.5, -6.0, 6.0, -6.0, -6.0, 0.0, 0.0, 0.5, 0.0, 0.0, -0.0]
    assert np.array_equal(values_of(done, 9), np.fromfile(tmp_path / "pairs")), "the parts of complex32 are a dimension"
    made = done.dump.of_type("clone", OUTPUT)
    types = {"float8_e8m0": 20, "float4_e2m1": 26, "float16": 10}
    shapes = {(int(row["dtype"]), *map(int, row["shape"][: row["dims_count"]])) for row in made}
    assert shapes == {(types["float8_e8m0"], 2, 3), (types["float4_e2m1"], 2, 6), (types["float4_e2m1"], 3, 4), (types["float16"], 2, 2, 2)}
    reasons = [*done.dump.run["ops"]["not_captured"], *done.dump.run["ops"]["partly"]]
    assert "float4 tensor that is not contiguous" in {one["reason"] for one in reasons}
