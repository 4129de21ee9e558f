"""The overflow trigger on PyTorch programs: the operators that made NaN or Inf, with what they read as they read it."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_support import INPUT, OUTPUT, PYTHON, Captured, TorchDump, capture

CHILD = Path(__file__).parent / "torch/overflow_child.py"
HAS_DATA = 1


def watch(folder: Path, program: str | Path, **config: Any) -> Captured:
    """Run a program under the trigger."""
    settings = {"trigger": "overflow", "payload": "full", "slots": ["in", "out"], **config}
    (folder / "config.json").write_text(json.dumps(settings))
    return capture(folder, program, options=["--config", str(folder / "config.json")])


def executions(dump: TorchDump) -> list[dict[str, Any]]:
    """Return what was kept of each execution, in order, as the reference has it."""
    ops, data = dump.ops, np.memmap(dump.folder / "tensors.npz", np.uint8, "r")
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    for row in dump.rows:
        op = ops[int(row["op"])]
        overload = (op["attributes"] or {}).get("overload", "")
        name = f"{op['domain']}::{op['type'].removeprefix(op['domain'] + '.')}.{overload}".removesuffix(".")
        key = tuple(int(row[field]) for field in ("op", "step", "call", "phase"))
        kept = found.setdefault(key, {"op": name, "reads": [], "makes": []})
        assert row["flags"] & HAS_DATA or row["numel"] == 0, name
        begin, size = int(row["data_offset"]), int(row["data_bytes"])
        kept["reads" if row["slot_kind"] == INPUT else "makes"].append(
            (int(row["slot_index"]), int(row["element"]), data[begin : begin + size].tobytes())
        )
    return list(found.values())


def alike(kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out detaching, of which torch itself does more under a dispatch mode, and hides that of torch.tensor()."""
    return [one for one in kept if one["op"] not in ("aten::detach", "aten::detach_")]


@pytest.fixture(scope="module", params=["makers", "all"])
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], Captured]:
    """Give what torch itself says, and the capture."""
    folder = tmp_path_factory.mktemp("overflow")
    reference = folder / "reference"
    subprocess.run([PYTHON, CHILD, reference, request.param], check=True, timeout=240)
    expected = pickle.loads(reference.read_bytes())
    assert isinstance(expected, list)
    done = watch(folder, CHILD, overflow_ops=request.param)
    assert done.code == 0, done.err
    return expected, done


OVERWRITTEN = """
import numpy, torch
for fill in (0.0, numpy.nan, numpy.inf):
    memory = torch.from_numpy(numpy.full(3, fill, numpy.float32))
    torch.div(torch.ones(3), torch.zeros(3), out=memory)
    torch.from_numpy(numpy.full(3, fill, numpy.float32)).copy_(torch.ones(3))
"""


# M10
def test_the_old_content_of_an_output_argument_makes_no_difference(tmp_path: Path) -> None:
    done = watch(tmp_path, OVERWRITTEN)
    kept = executions(done.dump)
    assert [one["op"] for one in kept] == ["aten::div.out"] * 3
    values = [np.frombuffer(next(raw for slot, _, raw in one["reads"] if slot == 2), np.float32)[0] for one in kept]
    assert np.array_equal(values, [0, np.nan, np.inf], equal_nan=True)


# A13, M10
def test_what_is_kept_are_the_operators_that_torch_itself_finds(compared: tuple[list[dict[str, Any]], Captured]) -> None:
    expected, done = compared
    assert [one["op"] for one in alike(executions(done.dump))] == [one["op"] for one in alike(expected)]
    assert len(expected) > 25


def test_what_they_read_and_made_is_bit_for_bit_the_same(compared: tuple[list[dict[str, Any]], Captured]) -> None:
    expected, done = compared
    for kept, wanted in zip(alike(executions(done.dump)), alike(expected), strict=True):
        assert [one[:2] for one in kept["reads"]] == [one[:2] for one in wanted["reads"]], kept["op"]
        assert [one[:2] for one in kept["makes"]] == [one[:2] for one in wanted["makes"]], kept["op"]
        are_tensors = [one[2] is not None for one in wanted["reads"]]
        for read, is_tensor, expected_read in zip(kept["reads"], are_tensors, wanted["reads"], strict=True):
            assert not is_tensor or read == expected_read, kept["op"]
        assert kept["makes"] == wanted["makes"], kept["op"]


def test_nothing_is_lost_and_every_operator_counts(compared: tuple[list[dict[str, Any]], Captured]) -> None:
    _, done = compared
    run = done.dump.run
    assert run["losses"] == []
    left = [reason["examples"] for reason in run["ops"]["not_captured"]]
    assert left == [["Adam.step/_local_scalar_dense"]], "it gives no tensor"
    assert run["trigger"]["fired"] == len(executions(done.dump))


def test_statistics_of_what_was_written_over_are_those_of_what_was_read(compared: tuple[list[dict[str, Any]], Captured]) -> None:
    rows = compared[1].dump.of_type("mul_", INPUT)
    first = rows[rows["slot_index"] == 0][0]
    assert (first["max"], first["pos_inf"]) == (np.float32(200.0) ** 16, 0)


def test_finite_programs_copy_only_what_they_write_over(tmp_path: Path) -> None:
    program = "import torch\nx = torch.ones(512, 512)\nfor _ in range(3):\n    x = (x @ x.t()).softmax(-1) * 2 + x[:, :1]\n{}"
    for name, last, peak in (("pure", "", 0), ("writes", "x.mul_(2)\n", 512 * 512 * 4)):
        folder = tmp_path / name
        folder.mkdir()
        done = watch(folder, program.format(last))
        assert done.code == 0, done.err
        assert len(done.dump.rows) == 0
        assert done.dump.run["pool_peak_bytes"] == peak


def test_a_copy_without_room_is_a_loss_and_keeps_its_statistics(tmp_path: Path) -> None:
    program = "import torch\nx = torch.full((300, 300), 1e30)\nx.mul_(x)\ny = torch.full((300, 300), 1e30)\nz = y * y\n"
    done = watch(tmp_path, program, limits={"pool_bytes": 65536})
    assert done.code == 0, done.err
    (loss,) = done.dump.run["losses"]
    assert (loss["reason"], loss["count"]) == ("memory budget full: statistics only", 2), "mul_ writes over both of its arguments"
    assert [one["max"] for one in done.dump.of_type("mul_", INPUT)] == [np.float32(1e30)] * 2
    kept = done.dump.of_type("mul")
    assert len(kept) == 3 and all(kept["flags"] & HAS_DATA), "what was not written over needs no room"


GONE = """
import torch
library = torch.library.Library("aten", "IMPL")
def eat(x):
    made = torch.full_like(x, float("inf"))
    x.untyped_storage().resize_(0)
    return made
library.impl("neg", eat, "CPU")
x = torch.ones(1000)
torch.neg(x)
"""


def test_what_is_gone_when_the_operator_has_run_is_a_loss(tmp_path: Path) -> None:
    done = watch(tmp_path, GONE)
    assert done.code == 0, done.err
    (loss,) = done.dump.run["losses"]
    assert (loss["reason"], loss["count"]) == ("what the op read is gone since it ran", 1)
    assert len(done.dump.of_type("neg", OUTPUT)) == 1


def test_threads_are_watched_at_the_same_time(tmp_path: Path) -> None:
    program = """
import threading, torch
torch.ones(1) + 1  # the first operator brings the capture in
def work(number):
    x = torch.full((1000,), 1e3 + number)
    for _ in range(20):
        x.mul_(10)
        (x + 1).log()
    x.mul_(1e30)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    done = watch(tmp_path, program)
    assert done.code == 0, done.err
    read = done.dump.of_type("mul_", INPUT)
    read = read[read["slot_index"] == 0]
    assert len(read) == 4
    assert all(np.isfinite(read["max"]))


def test_statistics_alone_are_those_of_what_was_read(tmp_path: Path) -> None:
    done = watch(tmp_path, "import torch\nx = torch.tensor([1.0, 3e38])\nx.mul_(10)\n", payload="statistics", digest="md5")
    assert done.code == 0, done.err
    read = done.dump.of_type("mul_", INPUT)
    assert (read["max"][0], read["flags"][0] & HAS_DATA) == (np.float32(3e38), 0)
    assert any(read["digest"][0])
    assert done.dump.run["losses"] == []
