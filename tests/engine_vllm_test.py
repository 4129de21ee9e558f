"""vLLM in its default mode under `tensortap exec`: `./dev test --engines` brings it.

The engine compiles its model with its own backends and runs it in a subprocess of the program.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from cli_support import COMMAND, tensortap

PYTHON = os.environ.get("TENSORTAP_TEST_VLLM", "")
PROGRAM = Path(__file__).parent / "programs" / "vllm_generates.py"

pytestmark = pytest.mark.skipif(not PYTHON, reason="vLLM is brought by ./dev test --engines alone")


def generated(folder: Path, *before: str) -> list[str]:
    """Run the program, and give the lines of what the engine generated."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "PATH": f"{Path(PYTHON).parent}:{os.environ['PATH']}",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    words = [*before, PYTHON, str(PROGRAM), str(folder / "model")]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
    return [line for line in done.stdout.splitlines() if line.startswith("generated ")]


def test_an_engine_that_compiles_ahead_of_time_generates_what_it_does_without_capture(tmp_path: Path) -> None:
    expected = generated(tmp_path)
    assert len(expected) == 3
    assert generated(tmp_path, str(COMMAND), "exec", "--out", str(tmp_path / "dump"), "--") == expected
    runs = [json.loads(file.read_text()) for file in (tmp_path / "dump").rglob("run.json")]
    reasons = [entry["reason"] for run in runs for entry in run["ops"]["not_captured"]]
    # The engine kills its processes, at times before they have written their reports.
    if len(runs) == len(list((tmp_path / "dump").rglob("records.npy"))):
        assert any("fused" in reason for reason in reasons), "the kernels of compiled graphs are not captured"
    found = tensortap("find", tmp_path / "dump")
    assert found.code in (0, 3), found.out
    assert "NaN" not in found.out.splitlines()[0] or "no NaN" in found.out.splitlines()[0], found.out
