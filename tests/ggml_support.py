"""What the tests of programs over ggml share: models that they write, released packages, a program over ggml's own interface."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
import tensortap as reader
from cli_support import COMMAND, ROOT, tensortap

PYTHON = os.environ.get("TENSORTAP_TEST_GGML", "")
"""A Python with the released packages over ggml."""
PROGRAMS = ROOT / "tests" / "programs"


def packages() -> Path:
    """Give the folder of the packages."""
    return next((Path(PYTHON).parent.parent / "lib").glob("python3*")) / "site-packages"


def run(*words: str | Path, before: tuple[str, ...] = (), folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with other words in front of it."""
    line = [*before, *map(str, words)]
    environment = {**os.environ, "HOME": str(folder)}
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600)


def write_model(path: Path, *words: str, writer: str = "ggml_model.py") -> Path:
    """Have a program of tests/programs write a model."""
    done = run(PYTHON, PROGRAMS / writer, path, *words, folder=path.parent)
    assert done.returncode == 0, done.stderr
    return path


@dataclass(frozen=True)
class GgmlDump:
    """A dump that was written by `tensortap exec`."""

    folder: Path
    printed: str
    errors: str

    @property
    def run(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "run.json").read_text())
        return loaded

    @property
    def ops(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "ops.jsonl").read_text().splitlines()]

    def op(self, name: str) -> dict[str, Any]:
        return next(op for op in self.ops if op["name"] == name)

    def records(self, *query: str) -> list[dict[str, Any]]:
        """List records, with weights."""
        return tensortap("ls", self.folder, "--json", *query).listed

    def holds(self, name: str) -> bool:
        """Whether there is an output of this op in the first step."""
        return f"{name}:out0" in reader.open(self.folder)

    def value(self, name: str, step: int = 0) -> npt.NDArray[Any]:
        """Give the output of an op as NumPy has it."""
        loaded: npt.NDArray[Any] = reader.open(self.folder)[f"{name}:out0" + (f"@{step}" if step > 0 else "")]
        return loaded


def capture(folder: Path, *words: str | Path, options: tuple[str, ...] = ()) -> GgmlDump:
    """Run a program under `tensortap exec`; it must end well."""
    dump = folder / "dump"
    done = run(*words, before=(str(COMMAND), "exec", "--no-torch", "--out", str(dump), *options, "--"), folder=folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return GgmlDump(dump, done.stdout, done.stderr)


def lines_of_program(text: str) -> list[str]:
    """Keep what the program itself printed."""
    return [
        line
        for line in text.splitlines()
        if line.startswith(("generated ", "computed ", "first ", "second ", "direct ", "told ", "asked "))
    ]
