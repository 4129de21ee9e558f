"""Losses are reported with their reason and an exit code; limits and modes are in tests/command/run_test.cc."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND, Done, save, small_model, tensortap
from onnx import helper, numpy_helper
from torch_support import capture


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small_model(tmp_path / "model.onnx")


def large_model(path: Path) -> Path:
    """Save a model whose value has four megabytes."""
    shape = numpy_helper.from_array(np.array([1000, 1000], np.int64), "shape")
    return save([helper.make_node("Expand", ["x", "shape"], ["y"], name="expand_1")], path, shape=(1, 1), initializers=[shape])


def limited(bytes_: int) -> Callable[[], None]:
    """Make what sets `ulimit -f` in a child, where SIGXFSZ does what it does to every program."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))

    return limit


def run_limited(bytes_: int, *words: str | Path) -> Done:
    done = subprocess.run([str(COMMAND), *map(str, words)], capture_output=True, text=True, preexec_fn=limited(bytes_), check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@each_row("change", ["rename", "remove"])
def test_a_dump_that_is_gone_is_a_failure(change: str, model: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    words = [str(COMMAND), "run", str(model), "--runs", "30000", "--json", "--out", str(dump)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (dump / "records.npy").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        # Out of the way first: a file may come into it while it is removed.
        dump.rename(tmp_path / "away")
        if change == "remove":
            subprocess.run(["rm", "-rf", str(tmp_path / "away")], check=True)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 3, err
    assert "removed or renamed" in err
    report = json.loads(out)
    assert "removed or renamed" in report["error"]
    assert report["records"] == 0
    assert report["lost"] >= 1
    assert "records     0, " in err


def test_a_file_that_is_removed_meanwhile_ends_run_with_3(model: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    words = [str(COMMAND), "run", str(model), "--runs", "30000", "--full", "--json", "--out", str(dump)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (dump / "tensors.npz").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        (dump / "tensors.npz").unlink()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 3, err
    assert "was removed by another program" in err
    (loss,) = json.loads(out)["losses"]
    assert (loss["reason"], loss["kind"]) == ("a file of the dump was removed while running", "failure")
    assert loss["examples"] == ["tensors.npz"]
    assert loss["count"] > 1000


def test_a_write_that_failed_ends_run_with_3_and_its_reason(tmp_path: Path) -> None:
    large_model(tmp_path / "model.onnx")
    done = run_limited(3 << 20, "run", tmp_path / "model.onnx", "--full", "--out", tmp_path / "dump", "--json")
    assert done.code == 3, done
    assert "lost: 1 write failed: file too large: ulimit -f (expand_1:out0)" in done.err
    losses = {loss["reason"]: loss for loss in done.object["losses"]}
    assert losses["write failed: file too large: ulimit -f"]["kind"] == "failure"
    assert done.object["lost"] == sum(loss["count"] for loss in losses.values()) > 0
    rows = np.load(tmp_path / "dump/records.npy")
    assert len(rows) == done.object["records"] > 0


BITS = """
import torch
x = torch.zeros(4, dtype=torch.uint8).view(torch.bits8)
y = x.view(torch.uint8)
z = torch.ones(3) + 1
"""


def test_what_nothing_can_keep_is_said_with_its_reason_and_is_no_failure(tmp_path: Path) -> None:
    done = capture(tmp_path, BITS)
    assert done.code == 0, done.err
    (loss,) = done.dump.run["losses"]
    assert (loss["reason"], loss["kind"]) == ("unknown element type", "unsupported")
    assert f"lost: {loss['count']} unknown element type (" in done.err
    assert "none lost" not in done.err


GONE = """
import os, torch
x = torch.ones(3) + 1
os.rename("dump", "away")
x = x + 1
"""


@each_row("strict", [False, True])
def test_a_program_keeps_its_exit_code_when_its_dump_is_gone(strict: bool, tmp_path: Path) -> None:
    done = capture(tmp_path, GONE, options=["--strict"] if strict else [])
    assert done.code == (1 if strict else 0), done.err
    assert "removed or renamed while the program ran" in done.err
    assert "none lost" not in done.err


TAKEN = """
import os, sys, time, torch
how, file = sys.argv[1], os.path.join("dump", sys.argv[2])
x = torch.ones(3) + 1
while not os.path.exists(file) or os.path.getsize(file) == 0:
    time.sleep(0.01)
    x = x + 1
if how == "removed":
    os.remove(file)
elif how == "replaced":
    open("other", "w").write("x" * 100_000)
    os.replace("other", file)
else:
    os.truncate(file, 0)
x = x + 1
print("alive")
"""


@each_row(
    "how, file, strict",
    [
        ("removed", "records.npy", True),
        ("removed", "tensors.npz", False),
        ("removed", "ops.jsonl", True),
        ("replaced", "tensors.npz", True),
        ("cut", "tensors.npz", True),
        ("cut", "ops.jsonl", False),
    ],
)
def test_a_file_that_is_taken_away_meanwhile_is_a_loss_with_its_reason(how: str, file: str, strict: bool, tmp_path: Path) -> None:
    done = capture(tmp_path, TAKEN, how, file, options=["--full", *(["--strict"] if strict else [])])
    assert done.code == (1 if strict else 0), done.err
    assert done.out == "alive\n"
    assert f"a file of the dump was {how} while running ({file}" in done.err
    assert "none lost" not in done.err
    found = tensortap("find", tmp_path / "dump")
    assert found.code == 3, found
    assert found.out.startswith("incomplete dump"), found


LIMITED = """
import resource, signal, torch
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
y = torch.ones(3) + 1
resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))
for _ in range(20):
    y = torch.ones(100_000) * 2
print("alive")
"""


@each_row("strict", [False, True])
def test_a_program_outlives_its_limit_for_files_and_the_loss_is_said(strict: bool, tmp_path: Path) -> None:
    done = capture(tmp_path, LIMITED, options=["--full", *(["--strict"] if strict else [])])
    assert done.code == (1 if strict else 0), done.err
    assert done.out == "alive\n"
    assert "write failed: file too large: ulimit -f (" in done.err


def test_a_dump_that_a_limit_cut_clears_nothing_that_it_left_out(model: Path, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    config = tmp_path / "cut.json"
    config.write_text(json.dumps({"out": str(cut), "limits": {"max_records": 1}}))
    assert tensortap("run", model, "--out", whole).code == 0
    ran = tensortap("run", model, "--config", config)
    assert ran.code == 0
    assert "not known: 4 tensors not looked at, or only in part; none in what was looked at" in ran.err + ran.out
    found = tensortap("find", whole)
    assert (found.code, found.out.splitlines()[0]) == (0, "no NaN and no Inf")
    found = tensortap("find", cut)
    assert found.code == 3
    assert found.out.splitlines()[0] == "no NaN and no Inf in the records that were kept"
    assert "that a limit of the capture left out" in found.out
    assert json.loads(tensortap("find", cut, "--json").out)["left_out"] > 0
