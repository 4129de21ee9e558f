"""Programs under `exec` that are killed lose no row of a finished step; bench/kill_programs.py does the same as often as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import COMMAND
from exec_support import TORCH_PYTHON

sys.path.append(str(Path(__file__).resolve().parent.parent / "bench"))
import kill_programs  # the folder of the bench


@each_row(
    ("kind", "mode", "by", "life"),
    [
        ("onnx", "stats", "KILL", 0.0),
        ("onnx", "full", "KILL", 0.03),
        ("onnx", "full", "TERM", 0.2),
        ("onnx", "tensors", "ABRT", 0.1),
        ("torch", "stats", "TERM", 0.0),
        ("torch", "full", "SEGV", 0.1),
    ],
)
def test_a_killed_program_loses_no_row_and_says_which_values_are_missing(
    kind: str, mode: str, by: str, life: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "onnx":
        pytest.importorskip("onnxruntime")
    elif not TORCH_PYTHON:
        pytest.skip("no torch: run ./dev setup")
    monkeypatch.setenv("TENSORTAP_COMMAND", str(COMMAND))
    killed = kill_programs.kill_once(kind, mode, by, life)
    assert killed.loses_none, killed
    assert killed.finished > 0
