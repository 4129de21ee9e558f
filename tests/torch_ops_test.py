"""The operators that are captured are those that a TorchDispatchMode sees, except for what the mode itself changes."""

from __future__ import annotations

import ast
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from case_table import each_row
from cli_support import tensortap
from torch_support import OUTPUT, PYTHON, PYTORCH_LIBRARY, TorchDump, capture

CHILD = Path(__file__).parent / "torch/compare_ops_child.py"
UNDECLARED = CHILD.with_name("undeclared_writes_child.py")
PROGRAMS = [
    line.split("(")[0].removeprefix("def ")
    for line in (CHILD.parent / "op_programs.py").read_text().splitlines()
    if line.startswith("def ") and line.endswith("() -> Step:")
]
# A mode sees these and torch without a mode does not run them: it makes profiler scopes into operators, detaches what autograd saves, adds
# gradients out of place, copies views.
MADE_BY_THE_MODE = {
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit._RecordFunction",
    "aten::detach",
    "aten::add.Tensor",
    "aten::view",
}
# Their counterparts without a mode, and memory that torch allocates below the key of modes.
WITHOUT_A_MODE = {"aten::add_.Tensor", "aten::_reshape_alias", "aten::empty.memory_format"}
# Early end of a recomputation: an exception in the autograd part of the operator, which never gets to the mode.
ENDED_BY_EXCEPTION = {"checkpointing": {"aten::addmm"}}
# In inference mode autograd's decompositions do not run before the mode sees the composites.
COMPOSITES_SEEN_BY_THE_MODE = {
    "aten::layer_norm",
    "aten::linear",
    "aten::matmul",
    "aten::softmax.int",
    "aten::reshape",
    "aten::cross_entropy_loss",
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[TorchDump, dict[str, Any]]:
    """Run all programs once."""
    folder = tmp_path_factory.mktemp("ops")
    seen = folder / "seen.json"
    done = capture(folder, CHILD, str(PYTORCH_LIBRARY), str(seen), options=["--describe"])
    assert done.code == 0, done.err
    return done.dump, json.loads(seen.read_text())


def test_the_programs_are_at_least_sixteen() -> None:
    assert len(PROGRAMS) >= 16


@each_row("program", PROGRAMS)
def test_captured_ops_are_those_of_a_dispatch_mode(compared: tuple[TorchDump, dict[str, Any]], program: str) -> None:
    dump, seen = compared
    by_mode = Counter(seen[program]["ops"])
    captured = Counter(dump.calls(seen[program]["step"]))
    assert captured, "nothing was captured"
    only_mode, only_ours = by_mode - captured, captured - by_mode
    if program == "inference":
        assert set(only_mode) <= COMPOSITES_SEEN_BY_THE_MODE
        assert not any(name in captured for name in COMPOSITES_SEEN_BY_THE_MODE)
        return
    assert set(only_mode) <= MADE_BY_THE_MODE
    assert set(only_ours) <= WITHOUT_A_MODE | ENDED_BY_EXCEPTION.get(program, set())


def test_linear_is_one_op_with_what_it_calls_hidden(compared: tuple[TorchDump, dict[str, Any]]) -> None:
    dump, seen = compared
    calls = dump.calls(seen["no_grad"]["step"])
    assert calls.count("aten::addmm") == 1
    assert "aten::linear" not in calls
    assert "aten::as_strided" not in calls


def test_no_operator_of_torch_writes_undeclared_but_those_that_are_known() -> None:
    done = subprocess.run([PYTHON, str(UNDECLARED)], capture_output=True, text=True, timeout=900, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["samples"] > 1000
    assert found["writes"] == ["aten::native_batch_norm running_mean", "aten::native_batch_norm running_var"]


STRIDES = """
import torch
torch.set_num_threads(1)
x = torch.arange(24.0).reshape(2, 3, 4)
made = {"t": x[0].t(), "expand": x[0, 0].expand(3, 4), "as_strided": torch.as_strided(x, (2, 2), (5, 2), 1), "relu": x.relu(),
        "clone": torch.ones(1, 2, 3, 4).clone(memory_format=torch.channels_last), "slice": torch.ones(2, 3, 4)[:, ::2, 1:]}
print({name: list(one.stride()) if not one.is_contiguous() else None for name, one in made.items()})
"""


def test_records_have_the_strides_that_torch_gives(tmp_path: Path) -> None:
    done = capture(tmp_path, STRIDES, options=["--full"])
    assert done.code == 0, done.err
    expected = ast.literal_eval(done.out.strip().splitlines()[-1])
    assert expected["t"] == [1, 4]
    for op_type, strides in expected.items():
        row = done.dump.of_type(op_type, OUTPUT)[-1]
        assert row["strided"] == (strides is not None), op_type
        assert row["strides"][: row["dims_count"]].tolist() == (strides or [0] * row["dims_count"]), op_type
    listed = tensortap("ls", str(done.dump.folder), "--type", "t", "--slot", "out", "--json")
    assert [json.loads(line)["strides"] for line in listed.out.splitlines()] == [[1, 4]]
