"""What the tests of programs under `exec` that use ONNX Runtime share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli_support import Done, NativeDump, tensortap

PLAIN_ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
MODEL = "session = ort.InferenceSession('model.onnx')\nx = feed('float32', (2, 3))\n"
"""The beginning of a program that runs a model of one input."""


@dataclass(frozen=True)
class Dump(NativeDump):
    """The files of one model's dump, read with NumPy alone."""

    def steps(self) -> list[int]:
        rows = self.rows
        return sorted({int(step) for step in rows["step"][rows["phase"] != 4]})

    def statistics(self, step: int = 0) -> dict[tuple[str, int], bytes]:
        """Return what is known of every value of a step, by the op's name and the output's number."""
        ops = self.ops
        columns = ["dtype", "shape", "min", "max", "mean", "l2", "zero", "nan", "pos_inf", "neg_inf"]
        return {
            (ops[int(row["op"])]["name"], int(row["slot_index"])): b"".join(row[name].tobytes() for name in columns)
            for row in self.rows
            if row["step"] == step or row["phase"] == 4
        }


def run_plain(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False, env=PLAIN_ENVIRONMENT
    )


def run_captured(*words: str | Path, cwd: Path, options: Sequence[str | Path] = ()) -> Done:
    return tensortap("exec", "--out", "dump", *options, "--", *words, cwd=cwd)


def write_program(folder: Path, text: str, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text("import hashlib\nimport sys\nimport numpy as np\nimport onnxruntime as ort\n" + HELPERS + text)
    return path


HELPERS = """
def show(values):
    for value in values:
        array = np.asarray(value)
        print(array.dtype, array.shape, hashlib.sha256(array.tobytes()).hexdigest())

def feed(dtype, shape, number=0):
    rng = np.random.default_rng(number)
    if dtype.startswith("int"):
        return np.asarray(rng.integers(0, 200, shape) if shape else 16000, dtype)
    return np.asarray(rng.standard_normal(shape) * 0.5, dtype)
"""


def compare(program: Path, *words: str | Path, options: Sequence[str | Path] = ()) -> tuple[Done, Dump]:
    """Run a Python program plain and captured; both must say the same."""
    folder = program.parent
    plain = run_plain(sys.executable, program, *words, cwd=folder)
    captured = run_captured(sys.executable, program, *words, cwd=folder, options=options)
    assert (captured.code, captured.out) == (plain.returncode, plain.stdout), captured.err
    assert plain.stdout, plain.stderr
    return captured, Dump(folder / "dump")
