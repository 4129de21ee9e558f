"""What the tests of the page share: Node.js scripts of web/tests drive Debian's Chromium."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import ROOT

NODE = Path(os.environ.get("TENSORTAP_TEST_NODE") or "no node")
CHROMIUM = Path(os.environ.get("TENSORTAP_TEST_CHROMIUM") or "/usr/bin/chromium")
PICTURES = ROOT / "build" / "web_screenshots"
PATIENCE = 600


def needs_browser(test: Callable[..., None]) -> Callable[..., None]:
    """Skip without a browser, and give it time otherwise."""
    there = CHROMIUM.exists() and NODE.exists() and (ROOT / "web/node_modules/playwright-core").exists()
    skipped = pytest.mark.skipif(not there, reason=f"not there: {CHROMIUM}, Node.js or playwright-core")
    return skipped(pytest.mark.timeout(PATIENCE + 60)(test))


def scenarios(script: str, *arguments: str | Path) -> dict[str, str | None]:
    """Run a script of web/tests; give what was wrong in each of its scenarios, or None."""
    command = [str(NODE), str(ROOT / "web/tests" / script), str(PICTURES), *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["name"]: result["problem"] for result in results}
