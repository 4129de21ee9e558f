"""A disk that is full and a records.npy that is cut end no program: its results are right, and every record is in the dump or counted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from case_table import each_row
from cli_support import Done, NativeDump, small_model, tensortap

pytest.importorskip("onnxruntime")
reader = pytest.importorskip("tensortap")
DISK = 24 << 20
"""Bytes of the copy-on-write file system; the one in memory is smaller."""
SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

PROGRAM = """
import os
import sys
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("model.onnx")
x = np.random.default_rng(3).standard_normal((2, 3)).astype(np.float32)
expected = None
right = 0

def run(count):
    global expected, right
    for _ in range(count):
        (y,) = session.run(None, {"x": x})
        expected = y if expected is None else expected
        right += bool(np.array_equal(y, expected))

def fill(folder):
    with open(folder + "/filler", "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                pass

run(1000)
for word in sys.argv[1:]:
    what, _, rest = word.partition("=")
    if what == "fill":
        fill(rest)
    elif what == "free":
        os.unlink(rest + "/filler")
    elif what == "cut":
        path, _, size = rest.partition(":")
        os.truncate(path, int(size))
    run(1000)
print("right", right, float(expected.sum()))
"""
"""Runs the model 1000 times before, between and after what its words say."""


@contextmanager
def mounted(image_or_none: str, *options: str, at: Path) -> Iterator[Path]:
    """Mount a file system for a while; skip where that is not allowed."""
    at.mkdir()
    done = subprocess.run(["mount", *options, image_or_none, str(at)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine does not let us mount a small file system: {done.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


@contextmanager
def small_disk(kind: str, folder: Path) -> Iterator[Path]:
    """Give a small file system: in memory, or btrfs, which writes a block to a new place whenever its content changes."""
    if kind == "tmpfs":
        with mounted("none", "-t", "tmpfs", "-o", "size=6m", at=folder / "disk") as disk:
            yield disk
        return
    make = shutil.which("mkfs.btrfs", path=SBIN)
    if make is None:
        pytest.skip("no mkfs.btrfs: install btrfs-progs")
    image = folder / "image"
    with image.open("wb") as file:
        file.truncate(DISK)
    subprocess.run([make, "--quiet", "--mixed", str(image)], check=True, capture_output=True)
    with mounted(str(image), "-t", "btrfs", "-o", "loop", at=folder / "disk") as disk:
        yield disk


def run_program(folder: Path, dump: Path, *words: str) -> Done:
    """Run the program under `exec`."""
    small_model(folder / "model.onnx")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    done = tensortap("exec", "--out", dump, "--keep-free", "0", "--", sys.executable, program, *words, cwd=folder)
    assert done.out.startswith(f"right {1000 * (1 + len(words))} 2.0"), done
    assert done.code == 0, done
    return done


def records_of(runs: int, folder: Path) -> int:
    """Give how many records so many runs of the model leave where nothing is in the way: from three of them, and weights come once."""
    small_model(folder / "model.onnx")
    assert tensortap("run", folder / "model.onnx", "--runs", "3", "--json", "--out", folder / "healthy").object["lost"] == 0
    loaded = NativeDump(folder / "healthy").rows["phase"] == 4
    assert sum(~loaded) % 3 == 0
    return int(sum(loaded) + sum(~loaded) // 3 * runs)


def expect_readable(dump: Path, records: int) -> None:
    """Read the dump with NumPy, with `ls` and with the Python package: so many records, all of them whole."""
    rows = NativeDump(dump).rows
    assert len(rows) == records
    assert np.all(rows["committed"] == 1)
    assert len(np.unique(rows["sequence"])) == records
    assert len(tensortap("ls", dump, "--json").listed) == records
    assert np.array_equal(np.sort(reader.open(dump).records["sequence"]), rows["sequence"])


@each_row("kind", ["tmpfs", "btrfs"])
def test_run_counts_what_a_full_disk_does_not_take(kind: str, tmp_path: Path) -> None:
    runs = 2 * DISK // 512 // 3
    executed = records_of(runs, tmp_path)
    with small_disk(kind, tmp_path) as disk:
        words = ("--runs", str(runs), "--keep-free", "0", "--verify", "--json", "--out", disk / "dump")
        done = tensortap("run", tmp_path / "model.onnx", *words)
        assert done.code == 3, done
        report = done.object
        assert report["identical"] is True
        assert report["records"] > 0
        assert report["lost"] > 0
        assert report["records"] + report["lost"] == executed
        assert report["lost"] == sum(loss["count"] for loss in report["losses"])
        tensortap("repair", disk / "dump")
        assert len(tensortap("ls", disk / "dump", "--json").listed) == report["records"]


@each_row("kind", ["tmpfs", "btrfs"])
def test_a_program_outlives_a_disk_that_is_full_for_a_while(kind: str, tmp_path: Path) -> None:
    executed = records_of(3000, tmp_path)
    with small_disk(kind, tmp_path) as disk:
        run_program(tmp_path, disk / "dump", f"fill={disk}", f"free={disk}")
        report = json.loads((disk / "dump/run.json").read_text())
        assert report["lost"] > 0
        assert report["records"] + report["lost"] == executed, report["losses"]
        expect_readable(disk / "dump", report["records"])


@each_row("kind", ["tmpfs", "btrfs"])
def test_a_program_outlives_a_disk_that_stays_full(kind: str, tmp_path: Path) -> None:
    with small_disk(kind, tmp_path) as disk:
        done = run_program(tmp_path, disk / "dump", f"fill={disk}")
        assert "none lost" not in done.err
        assert "no space left" in done.err.lower()
        listed = tensortap("ls", disk / "dump", "--json").listed
        assert len(reader.open(disk / "dump").records) == len(listed) > 0
        (disk / "filler").unlink()
        tensortap("repair", disk / "dump")
        report = json.loads((disk / "dump/run.json").read_text())
        assert report["records"] == len(listed)
        expect_readable(disk / "dump", report["records"])


@each_row("sizes", [(0,), (100_003,), (0, 1), (1_000_431, 70_000)])
def test_a_program_outlives_its_records_being_cut(sizes: tuple[int, ...], tmp_path: Path) -> None:
    executed = records_of(1000 * (1 + len(sizes)), tmp_path)
    dump = tmp_path / "dump"
    done = run_program(tmp_path, dump, *(f"cut={dump / 'records.npy'}:{size}" for size in sizes))
    report = json.loads((dump / "run.json").read_text())
    assert report["lost"] > 0
    assert report["records"] + report["lost"] == executed, report["losses"]
    assert "another program made the file shorter" in done.err
    expect_readable(dump, report["records"])
