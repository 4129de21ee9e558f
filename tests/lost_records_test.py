"""What is lost is said, with its reason and its exit code; and who may read what the commands make."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
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

MODES = {"private": (0o700, 0o600), "shared": (0o755, 0o644)}


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


def test_a_limit_is_no_failure_and_says_how_many(model: Path, tmp_path: Path) -> None:
    words: list[str | Path] = ["run", model, "--full", "--runs", "500", "--max-bytes", "100000"]
    done = tensortap(*words, "--out", tmp_path / "a", "--json")
    assert done.code == 0, done
    (loss,) = done.object["losses"]
    assert (loss["reason"], loss["kind"]) == ("limit: max_bytes", "limit")
    assert loss["count"] == done.object["lost"] > 0
    assert f"lost: {loss['count']} limit: max_bytes (" in done.err
    assert sum(path.stat().st_blocks * 512 for path in (tmp_path / "a").iterdir()) <= 100_000
    assert tensortap(*words, "--strict", "--out", tmp_path / "b").code == 1


def modes_of(folder: Path) -> set[tuple[str, int]]:
    found = {("folder", stat.S_IMODE(folder.stat().st_mode))}
    for path in folder.rglob("*"):
        found.add(("folder" if path.is_dir() else "file", stat.S_IMODE(path.stat().st_mode)))
    return found


@each_row("mode", ["private", "shared"])
def test_who_may_read_a_dump_and_what_is_made_of_it(mode: str, model: Path, tmp_path: Path) -> None:
    folder, file = MODES[mode]
    before = os.umask(0o022)
    try:
        words: list[str | Path] = [] if mode == "private" else ["--mode", mode]
        done = tensortap("run", model, "--full", "--runs", "3", "--save-outputs", tmp_path / "outputs", *words, "--out", tmp_path / "dump")
        assert done.code == 0, done
        assert modes_of(tmp_path / "dump") == {("folder", folder), ("file", file)}
        assert modes_of(tmp_path / "outputs") == {("folder", 0o700), ("file", 0o600)}
        (tmp_path / "dump/run.json").unlink()
        archive = tmp_path / "dump/tensors.npz"
        os.truncate(archive, archive.stat().st_size * 2 // 3)
        assert tensortap("repair", tmp_path / "dump").code == 0
        assert (tmp_path / "dump/run.json").exists()
        assert modes_of(tmp_path / "dump") == {("folder", folder), ("file", file)}
        converted = tensortap("convert", tmp_path / "outputs", tmp_path / "converted", "--to", "dump_data")
        assert converted.code == 0, converted
        assert modes_of(tmp_path / "converted") == {("folder", 0o700), ("file", 0o600)}
    finally:
        os.umask(before)


def test_a_wrong_mode_is_refused(model: Path, tmp_path: Path) -> None:
    done = tensortap("run", model, "--mode", "secret", "--out", tmp_path / "dump")
    assert done.code == 2
    assert "private" in done.err and "shared" in done.err
    assert not (tmp_path / "dump").exists()


HALVES = """
import torch
x = torch.zeros(4, dtype=torch.complex32)
y = torch.view_as_real(x)
z = torch.ones(3) + 1
"""


def test_what_nothing_can_keep_is_said_with_its_reason_and_is_no_failure(tmp_path: Path) -> None:
    done = capture(tmp_path, HALVES)
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
