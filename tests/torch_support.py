"""What the tests of captured PyTorch programs share: running one, and reading its dump with NumPy alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cli_support import COMMAND, LIBRARIES, NativeDump, package_alone

PYTHON = os.environ.get("TENSORTAP_TEST_PYTHON") or sys.executable
PYTORCH_LIBRARY = LIBRARIES / "libtensortap_pytorch.so"
OUTPUT, INPUT = 0, 1


def run_program(folder: Path, text: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the text of a program with the tests' torch, in a folder, with the package; `options` come before the program's name."""
    (folder / "program.py").write_text(text)
    return subprocess.run(
        [PYTHON, *options, "program.py"],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PYTHONPATH": str(package_alone(folder)), **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@dataclass(frozen=True)
class TorchDump(NativeDump):
    """The files of one process's dump."""

    def of_type(self, op_type: str, slot_kind: int | None = None) -> npt.NDArray[Any]:
        """Return the records of all ops of a type."""
        wanted = [number for number, op in self.ops.items() if op["type"] == op_type]
        rows = self.rows[np.isin(self.rows["op"], wanted)]
        return rows if slot_kind is None else rows[rows["slot_kind"] == slot_kind]

    def calls(self, step: int | None = None) -> list[str]:
        """Name every execution, "aten::add.Tensor", in order."""
        ops, seen, names = self.ops, set(), []
        for row in self.rows:
            if step is not None and row["step"] != step:
                continue
            key = (int(row["op"]), int(row["step"]), int(row["call"]), int(row["phase"]))
            if key in seen:
                continue
            seen.add(key)
            op = ops[int(row["op"])]
            overload = (op["attributes"] or {}).get("overload", "")
            name = op["type"].removeprefix(op["domain"] + ".")
            names.append(f"{op['domain']}::{name}.{overload}".removesuffix("."))
        return names


@dataclass(frozen=True)
class Captured:
    """How a captured program ended."""

    code: int
    out: str
    err: str
    dump: TorchDump


def end_all(process: subprocess.Popen[str]) -> str:
    """End a program and its children, which would go on and slow everything else down; gives what they wrote to standard error."""
    left: Any = ""
    # The workers of a launcher are in separate sessions: it ends them when it is asked to end.
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sent)
            return process.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired as still:
            left = still.stderr or ""
        except ProcessLookupError:
            break
    return left.decode(errors="replace") if isinstance(left, bytes) else str(left)


def capture(
    folder: Path,
    program: str | Path,
    *arguments: str,
    options: Sequence[str] = (),
    environment: dict[str, str] | None = None,
    timeout: float = 240,
) -> Captured:
    """Run a program under `tensortap exec`: a path, or the text of one."""
    if isinstance(program, str):
        text, program = program, folder / "program.py"
        program.write_text(text)
    out = folder / "dump"
    words = [str(COMMAND), "exec", "--out", str(out), *options, "--", PYTHON, str(program), *arguments]
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the program still ran after {timeout:.0f} s; until then it said:\n{end_all(process)}") from None
    return Captured(process.returncode, printed, said, TorchDump(out))


def plain(folder: Path, program: str, *arguments: str) -> str:
    """Run the text of a program without capture and return what it prints."""
    path = folder / "program.py"
    path.write_text(program)
    done = subprocess.run([PYTHON, str(path), *arguments], cwd=folder, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout
