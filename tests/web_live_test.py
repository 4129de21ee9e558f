"""The page of the web view before a program that runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cli_support import COMMAND, small_model
from serve_live_test import wait_for_capture
from web_support import needs_browser, scenarios


@needs_browser
def test_the_page_watches_a_program_and_tells_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # B13
    (tmp_path / "runtime").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))  # other captures of this user may run
    small_model(tmp_path / "m.onnx")
    words = [str(COMMAND), "run", "m.onnx", "--runs", "1000000000", "--out", "dump"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, cwd=tmp_path, env=os.environ, stdout=quiet, stderr=quiet) as program:
        try:
            wait_for_capture(tmp_path / "dump", {})
            results = scenarios("live_scenarios.ts", COMMAND, tmp_path / "dump", str(program.pid))
        finally:
            program.kill()
    assert len(results) == 1
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
