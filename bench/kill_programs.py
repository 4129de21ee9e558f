"""Kills captured programs at random moments and counts the rows that are missing afterwards; there should be none.

usage: kill_programs.py {onnx,torch} [--kills N] [--seed N] [--keep MODE...] [--signal NAME...]; TENSORTAP_COMMAND and, for torch,
TENSORTAP_TEST_PYTHON as ./dev sets them.

The program runs under `tensortap exec`, with the modes and signals in turn, and counts its finished steps in memory that it shares with
this one. After each kill the dump is read by `ls` as it was left, then mended and read with NumPy. Both must have every op of every
finished step. A row that was to have values has them or says that they are missing, and `repair` counts these. Exit code 1 when that is
not so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PROGRESS = 20
LONGEST_LIFE = 0.5
"""Seconds from the first finished step to the kill, at most."""
LONGEST_START = 600.0
MODES = ("full", "tensors", "stats")
SIGNALS = ("KILL", "ABRT", "SEGV", "TERM")
HAS_DATA, DATA_LOST, UNWRITTEN = 1, 2, 32
COUNT = """
import os, sys
import numpy as np
shared = np.memmap(sys.argv[1], np.int64, "r+", shape=2)
shared[0] = os.getpid()
def finished():
    shared[1] += 1
"""
PROGRAMS = {
    "onnx": """
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[2])
x = np.ones((2, 3), np.float32)
while True:
    session.run(None, {"x": x})
    finished()
""",
    "torch": """
import torch
x = torch.ones(64)
while True:
    y = (x * 2) + 1
    finished()
""",
}


@dataclass(frozen=True)
class Killed:
    """What one kill left."""

    finished: int
    """Steps that the program had finished."""
    listed: int
    """Rows that `ls` found in the dump as it was left."""
    mended: int
    """Rows in records.npy after `repair`."""
    fewest: int
    """How often the op ran that has the fewest rows, of those that every step runs."""
    silent: int
    """Rows without their values and without the flag for missing values, in runs that ask for values."""
    without: int
    """Rows with the flag for missing values."""
    told: int
    """Values that `repair` says are lost."""

    @property
    def loses_none(self) -> bool:
        """Whether the dump has every row of every finished step, and for each row its value or a report of the loss."""
        return self.fewest >= self.finished and self.mended == self.listed and self.silent == 0 and self.without == self.told


def save_model(path: Path) -> None:
    """Save a model of three small ops."""
    import onnx
    from onnx import TensorProto, helper

    nodes = [helper.make_node(kind, [given], [made]) for kind, given, made in (("Abs", "x", "a"), ("Exp", "a", "b"), ("Sqrt", "b", "y"))]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def start(kind: str, mode: str, folder: Path) -> tuple[subprocess.Popen[bytes], np.memmap[tuple[int], np.dtype[np.int64]]]:
    """Start a program under `exec`; give it and what it shares: its process number and its finished steps."""
    (folder / "program.py").write_text(COUNT + PROGRAMS[kind])
    if kind == "onnx":
        save_model(folder / "model.onnx")
    shared = np.memmap(folder / "shared", np.int64, "w+", shape=2)
    python = os.environ.get("TENSORTAP_TEST_PYTHON", sys.executable) if kind == "torch" else sys.executable
    program = [python, "program.py", "shared", "model.onnx"]
    command = [os.environ["TENSORTAP_COMMAND"], "exec", "--quiet", "--keep-free", "0", f"--{mode}", "--out", "dump", "--", *program]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
    return process, shared


def read(dump: Path, mode: str, finished: int) -> Killed:
    """Read what is left of a dump, repair it and read it again."""
    command = os.environ["TENSORTAP_COMMAND"]
    lines = subprocess.run([command, "ls", str(dump), "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    listed = sum("step" in json.loads(line) for line in lines)  # one line is about the dump
    told = json.loads(subprocess.run([command, "repair", str(dump), "--json"], capture_output=True, check=True).stdout)
    rows = np.load(dump / "records.npy")
    ops = {op["id"]: op["type"] for op in map(json.loads, (dump / "ops.jsonl").read_text().splitlines())}
    first_outputs = rows[(rows["slot_kind"] == 0) & (rows["slot_index"] == 0)]
    # Once before the loop, by both kinds of programs.
    counts = [int(np.sum(first_outputs["op"] == op)) for op, kind in ops.items() if kind not in ("Input", "Initializer", "ones")]
    without = int(np.sum((rows["flags"] & DATA_LOST) != 0))
    silent = 0 if mode == "stats" else int(np.sum((rows["flags"] & (HAS_DATA | DATA_LOST | UNWRITTEN)) == 0))
    return Killed(finished, listed, len(rows), min(counts, default=0), silent, without, told["tensors_lost"])


def kill_once(kind: str, mode: str, by: str, life: float) -> Killed:
    """Kill a program so many seconds after its first finished step. Raises RuntimeError when it does not come that far."""
    with tempfile.TemporaryDirectory(prefix="tensortap-kill-") as name:
        folder = Path(name)
        process, shared = start(kind, mode, folder)
        try:
            deadline = time.monotonic() + LONGEST_START
            while shared[1] == 0:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the program did not start: {(folder / 'said').read_text(errors='replace')[-300:]}")
                time.sleep(0.001)
            time.sleep(life)
            os.kill(int(shared[0]), signal.Signals[f"SIG{by}"])
            process.wait()
        finally:
            # A program that is left writes until the disk is full.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return read(folder / "dump", mode, int(shared[1]))


def main() -> int:
    """Kill and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(PROGRAMS))
    parser.add_argument("--kills", type=int, default=200, help="how many programs to kill (200)")
    parser.add_argument("--seed", type=int, default=5, help="of the moments (5)")
    parser.add_argument("--keep", nargs="+", choices=MODES, default=list(MODES), help="what is kept, in turn (all)")
    parser.add_argument("--signal", nargs="+", choices=SIGNALS, default=list(SIGNALS), help="what ends the program, in turn (all)")
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    steps, bad, without = 0, 0, 0
    turns = [(mode, by) for mode in arguments.keep for by in arguments.signal]
    for number in range(arguments.kills):
        mode, by = turns[number % len(turns)]
        killed = kill_once(arguments.kind, mode, by, moments.random() * LONGEST_LIFE)
        steps += killed.finished
        without += killed.without
        if not killed.loses_none:
            bad += 1
            print(f"kill {number} of --{mode} by {by}: {killed}", flush=True)
        if (number + 1) % PROGRESS == 0:
            print(f"{number + 1} kills, {steps} finished steps, {bad} dumps that lack a row", file=sys.stderr, flush=True)
    print(
        f"{arguments.kind}: {arguments.kills} kills, {steps} finished steps, {bad} dumps that lack a row or do not report their losses; "
        f"{without} values were on their way"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
