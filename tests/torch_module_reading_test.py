"""Captured modules beside other captures, and dumps in folders read by modules, for torch and as tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from cli_support import package_alone
from torch_support import PYTHON, capture, run_program

ADAPTERS = {"HOME": os.environ.get("HOME", "")}  # those in the user's cache
NET = """
import json, sys, torch, tensortap
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net, x = Net(), torch.randn(2, 4)
"""

FOLDER = """
with tensortap.capture(net.bfloat16(), modules="layers.1, layers.2", full=True, out="there") as cap:
    net(x.bfloat16()).sum().backward()
    net(x.bfloat16())
dump = tensortap.open("there")
read = dump.tensor("layers.1", step=1)
errors = []
for call in (lambda: dump.tensor("layers.7"), lambda: dump.module("nope"), lambda: dump.tensor("layers.1:out0", slot="in0"),
             lambda: dump.tensor("layers.1", as_="jax")):
    try: call()
    except tensortap.Error as error: errors.append(str(error))
read.add_(1)  # its own memory
print(json.dumps(dict(
    names=dump.names(), memory=cap.names(), ended=cap.report["complete"], errors=errors,
    same=[torch.equal(dump.tensor("layers.1", step=1), cap["layers.1@1"]), str(read.dtype)],
    numpy=[dump.tensor("layers.2", as_="numpy").flags.writeable, dump.tensor(0, as_="numpy").dtype.itemsize],
    module=dump.module("layers").names(), of=list(dump.by_module()), item=torch.equal(dump.module("layers.2")["out0"], cap["layers.2"]))))
"""


def test_a_folder_that_is_asked_for_is_a_dump_read_by_modules(tmp_path: Path) -> None:
    done = run_program(tmp_path, NET + FOLDER, **ADAPTERS)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert answers["names"] == ["Net.layers.1:out0", "Net.layers.2:out0", "Net.layers.1:out0@1", "Net.layers.2:out0@1"]
    assert answers["memory"][:4] == ["layers.1:out0", "layers.2:out0", "layers.2:grad0", "layers.1:grad0"]
    assert answers["ended"] is True
    assert answers["same"] == [True, "torch.bfloat16"]
    assert answers["numpy"] == [False, 2], "mapped and read-only"
    assert answers["module"] == answers["names"]
    assert answers["of"] == ["Net.layers.1", "Net.layers.2"]
    assert answers["item"]
    unknown, module, twice, library = answers["errors"]
    assert "layers.7" in unknown
    assert module == "there are no records of a module 'nope'. Modules with records: Net.layers.1, Net.layers.2"
    assert twice == "'layers.1:out0' names slot out0, and the argument slot is in0: give one of them"
    assert library == "as_ is 'jax': it must be 'torch' or 'numpy'"


BESIDE = """
with tensortap.capture({}, out="ops", payload="stats") as folder:
    inside = repr(folder)
    with tensortap.capture(net, full=True) as cap:
        net(x).sum().backward()
print(json.dumps([folder.dump.names(), len(cap), inside, repr(folder), "<table>" in folder._repr_html_()]))
"""


def test_copies_are_no_operators_of_another_capture(tmp_path: Path) -> None:
    done = run_program(tmp_path, NET + BESIDE, **ADAPTERS)
    assert done.returncode == 0, done.stderr
    names, kept, inside, ended, table = json.loads(done.stdout)
    alone = run_program(
        tmp_path, NET + BESIDE.replace("ops", "alone").replace("full=True", "modules=torch.nn.Linear, memory=1"), **ADAPTERS
    )
    assert names == json.loads(alone.stdout)[0]
    assert not [name for name in names if "clone" in name or "_to_copy" in name or "copy_" in name]
    assert kept == 8
    assert inside == "<tensortap.Capture running: the dump can be read after the block>"
    assert ended.startswith("<tensortap.Capture ended: <tensortap.Dump 'ops': ")
    assert table


def test_under_exec_the_modules_are_captured_and_the_dump_is_as_without(tmp_path: Path) -> None:
    program = NET + (
        "with tensortap.capture(net, full=True) as cap:\n    y = net(x)\n    print(torch.equal(cap['Net'], y), len(cap))\n"
        "with tensortap.capture({}) as whole: pass\nprint(repr(whole))\n"
    )
    done = capture(tmp_path, program, environment={"PYTHONPATH": str(package_alone(tmp_path))})
    assert done.code == 0, done.err
    assert done.out == "True 4\n<tensortap.Capture ended: the dump is that of tensortap exec>\n"
    assert not [op for op in done.dump.ops.values() if op["type"] in ("clone", "_to_copy", "copy_")]


TABLES = """
sys.path.append(sys.argv[1])
with tensortap.capture(net, modules="layers.*", slots="in,out,grad") as cap:
    net(x).sum().backward()
    table = cap.to_pandas()
wanted = net.layers[0](x)
row = table[(table.op == "layers.0") & (table.slot == "out0")].iloc[0]
print(json.dumps(dict(columns=list(table.columns), rows=len(table), kinds=sorted(set(table.slot)), phases=sorted(set(table.phase)),
    mean=abs(float(row["mean"]) - wanted.mean().item()) < 1e-6, absmax=float(row["absmax"]) == wanted.abs().max().item(),
    module=cap.module("layers.1").to_pandas().slot.tolist())))
"""


def test_records_are_a_table_of_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    version = "import sys; print(*sys.version_info[:2])"
    theirs = subprocess.run([PYTHON, "-c", version], capture_output=True, text=True, check=True).stdout.split()
    if [int(part) for part in theirs] != list(sys.version_info[:2]):
        pytest.skip("the tests' pandas is for another Python")
    program = (NET + TABLES).replace("sys.argv[1]", repr(sysconfig.get_paths()["purelib"]))
    done = run_program(tmp_path, program)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert answers["columns"][:9] == ["op", "type", "slot", "step", "call", "phase", "element", "dtype", "shape"]
    assert answers["rows"] == 9
    assert answers["kinds"] == ["grad0", "in0", "out0"]
    assert answers["phases"] == ["backward", "forward"]
    assert answers["mean"] and answers["absmax"]
    assert answers["module"] == ["in0", "out0", "grad0"]


GRADIENTS = """
class Halves(torch.nn.Module):
    def forward(self, x):
        return {"a": x.chunk(2, 1), "b": x * 2, "n": torch.arange(3)}
halves, leaf = Halves(), x.clone().requires_grad_()
given = []
handle = halves.register_forward_hook(lambda m, a, out: [given.append(t) or t.retain_grad() for t in (*out["a"], out["b"])] and None)
with tensortap.capture(halves, full=True) as cap:
    out = halves(leaf)
    (out["a"][0].sum() + 3 * out["a"][1].pow(2).sum() + out["b"].exp().sum()).backward()
names = ["Halves:grad0[0]", "Halves:grad0[1]", "Halves:grad1"]
same = [torch.equal(cap[name], tensor.grad) for name, tensor in zip(names, given)]
from torch.utils.checkpoint import checkpoint
with tensortap.capture(net, modules="layers.1", full=True) as cap:
    checkpoint(net, x.clone().requires_grad_(), use_reentrant=True).sum().backward()
try: cap["layers.1:grad0"]
except tensortap.Error as error: reason = str(error)
print(json.dumps([sorted(cap.names()), same, reason, repr(cap)]))
"""


def test_gradients_of_several_outputs_and_those_that_no_hook_sees(tmp_path: Path) -> None:
    done = run_program(tmp_path, NET + GRADIENTS)
    assert done.returncode == 0, done.stderr
    names, same, reason, said = json.loads(done.stdout)
    assert same == [True, True, True]
    assert names == ["layers.1:out0"]
    why = "a reentrant checkpoint has gradients in its second run only; use_reentrant=False shows them"
    assert reason == f"there is no record 'layers.1:grad0'. Of layers.1:grad0, 1 record not kept: {why}"
    assert f"1 not kept: {why}, first layers.1:grad0" in said
