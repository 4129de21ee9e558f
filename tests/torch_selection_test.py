"""Selections by module, the same in each command and in Python, on the dump of a PyTorch program; and what has no records."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import Done, tensortap
from torch_support import PYTHON, PYTORCH_LIBRARY, capture, run_program

pytestmark = pytest.mark.skipif(not PYTORCH_LIBRARY.exists(), reason="the PyTorch source is not built")

PROGRAM = """
import torch
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.mlp = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.mlp(torch.softmax(self.attn(x), -1))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(3))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net = Net()
with torch.no_grad():
    for _ in range(3):
        net(torch.ones(2, 4))
"""


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selection")
    done = capture(folder, PROGRAM, options=["--full", "--quiet"])
    assert done.code == 0, done.err
    return folder / "dump"


def modules(done: Done) -> set[str]:
    """Name the modules of the listed records."""
    return {record["op"].partition("/")[0] for record in done.objects}


@each_row("glob", ["layers.1", "Net.layers.1", "layers.1.*,layers.1", "*.1", "layers.?.attn"])
def test_modules_are_chosen_by_their_path_in_the_model(dump: Path, glob: str) -> None:
    wanted = (
        {f"Net.layers.{layer}.attn" for layer in range(3)} if "?" in glob else {f"Net.layers.1{part}" for part in ("", ".attn", ".mlp")}
    )
    assert modules(tensortap("ls", dump, "--modules", glob, "--json")) == wanted
    written = tensortap("export", dump, "--modules", glob, "--out", dump.parent / re.sub(r"\W", "_", glob), "--json").object
    assert written["records"] == len(tensortap("ls", dump, "--modules", glob, "--json").objects)
    pairs = tensortap("compare", dump, dump, "--modules", glob, "--last", "1", "--json").objects
    assert {one["b"].partition("/")[0] for one in pairs if "b" in one and "unpaired" not in one} == wanted
    assert {one["step_b"] for one in pairs if "step_b" in one} == {2}


def test_an_unknown_module_is_no_all_clear_in_any_command(dump: Path) -> None:
    for words in (
        ("ls", dump),
        ("show", dump),
        ("find", dump, "--trends"),
        ("find", dump, "--watch", "tensor_overflow"),
        ("compare", dump, dump),
        ("export", dump, "--out", dump.parent / "unknown"),
    ):
        done = tensortap(*words, "--modules", "layers.1.atn")
        assert done.code == 2 and 'Did you mean "layers.1.attn"' in done.err, (words, done)


def test_python_takes_the_same_selections(dump: Path, tmp_path: Path) -> None:
    program = """
import json, sys, tensortap
dump = tensortap.open(sys.argv[1])
def error(call):
    try: call()
    except tensortap.Error as problem: return [problem.code, str(problem)]
print(json.dumps(dict(
    rows=[dump.record(int(row))["row"] for row in dump.select(modules="layers.1", types=["softmax", "addmm"], last=2, slots="out")],
    old=dump.select(op="softmax", step=[0, 2]).tolist() == dump.select(ops="softmax", steps="0,2").tolist(),
    both=error(lambda: dump.select(op="a", ops="b")), last=error(lambda: dump.select(last=0)),
    none=[error(lambda: dump.select(**words)) for words in (dict(modules="layers.9"), dict(ops="sofmax", where="nan > 0"), dict(steps=9))],
    empty=dump.select(ops="softmax", where="nan > 0").tolist(),
    watch=[tensortap.find(dump, watch="tensor_all_zero", modules="layers.1", last=1)["watchpoints"][0]["checked"],
           error(lambda: tensortap.find(dump.path, watch="tensor_all_zero", types="sofmax"))],
    trends=error(lambda: tensortap.find(dump, trends=True, modules="layers.9")),
)))
"""
    done = run_program(tmp_path, program.replace("sys.argv[1]", repr(str(dump))))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    wanted = ("ls", dump, "--modules", "layers.1", "--types", "softmax,addmm", "--last", "2", "--slots", "out", "--json")
    assert told["rows"] == [record["row"] for record in tensortap(*wanted).objects] and told["rows"]
    assert told["old"] is True and told["empty"] == []
    assert told["both"] == ["invalid_argument", "op and ops are the same: give one of them"]
    assert told["last"] == ["invalid_argument", "last 0: the least is 1"]
    codes, sentences = zip(*told["none"], strict=True)
    assert set(codes) == {"not_found"}
    assert 'no module is, or lies in, "layers.9"' in sentences[0] and 'Did you mean "_softmax"?' in sentences[1]
    assert sentences[2] == 'no record is of step "9": the dump has steps 0 to 2'
    watched = tensortap("find", dump, "--watch", "tensor_all_zero", "--modules", "layers.1", "--last", "1", "--json").object
    assert told["watch"][0] == watched["watchpoints"][0]["checked"] > 0
    assert told["watch"][1][0] == told["trends"][0] == "not_found"


def test_a_capture_takes_modules_and_says_what_it_did_not_look_at(tmp_path: Path) -> None:
    chosen = capture(tmp_path, PROGRAM, options=["--modules", "layers.*.attn", "--types", "addmm"])
    assert chosen.code == 0, chosen.err
    assert modules(tensortap("ls", tmp_path / "dump", "--json")) == {f"Net.layers.{layer}.attn" for layer in range(3)}
    assert "non-finite  none seen" in chosen.err
    for option, wrong in (("--modules", "layers.1.atn"), ("--ops", "NoSuch")):
        folder = tmp_path / option.strip("-")
        folder.mkdir()
        nothing = capture(folder, PROGRAM, options=[option, wrong])
        assert "matches no op" in nothing.err and "none seen" not in nothing.err, nothing.err
        found = tensortap("find", folder / "dump")
        assert found.code != 0 and "no NaN" not in found.out, found
    both = tensortap("exec", "--modules", "a", "--ops", "b", "--", PYTHON, "-c", "pass")
    assert both.code == 2 and "--modules: exclude --ops" in both.err, both
