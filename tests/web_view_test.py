"""The page of the web view in a real browser: Node.js scripts of web/tests drive Debian's Chromium."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from cli_support import ROOT

NODE = Path(os.environ.get("TENSORTAP_TEST_NODE") or "no node")
CHROMIUM = Path(os.environ.get("TENSORTAP_TEST_CHROMIUM") or "/usr/bin/chromium")
PICTURES = ROOT / "build" / "web_screenshots"
PATIENCE = 600

pytestmark = [
    pytest.mark.timeout(PATIENCE + 60),
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"the browser of the web view's tests is not there: {CHROMIUM}"),
    pytest.mark.skipif(
        not (NODE.exists() and (ROOT / "web/node_modules/playwright-core").exists()), reason="Node.js or playwright-core is not there"
    ),
]


def scenarios(script: str, *arguments: str | Path) -> dict[str, str | None]:
    """Run a script of web/tests; give what was wrong in each of its scenarios, or None."""
    command = [str(NODE), str(ROOT / "web/tests" / script), str(PICTURES), *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["name"]: result["problem"] for result in results}


def test_the_page_shows_made_answers_of_every_size_and_kind() -> None:  # B13
    results = scenarios("made_scenarios.ts")
    assert len(results) >= 11
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
