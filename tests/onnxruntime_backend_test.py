"""onnx's own backend tests: every model that a release runs plain, it runs captured with the same bits."""

from __future__ import annotations

import collections
import subprocess
from pathlib import Path

import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import BUILD

onnx = pytest.importorskip("onnx")
PROGRAM = BUILD / "tests" / "backend_suite_program"
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
MODELS = 1905

pytestmark = pytest.mark.skipif(not PROGRAM.exists() or not api.RUNTIMES.is_dir(), reason="not built, or no runtimes: run ./dev setup")


def run_all(version: str, style: str) -> tuple[collections.Counter[str], int, int, list[str]]:
    """Run all models; a crash of the runtime costs the one that it crashed on."""
    todo = [str(path.parent) for path in sorted(DATA.glob("*/*/model.onnx"))]
    assert len(todo) == MODELS
    counts: collections.Counter[str] = collections.Counter()
    taps, compared, bad = 0, 0, []
    while todo:
        done = subprocess.run(
            [PROGRAM, api.runtime(version), style], input="\n".join(todo) + "\n", capture_output=True, text=True, check=False
        )
        lines = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") >= 4]
        for result, line_taps, line_compared, folder, why in lines:
            counts[result] += 1
            taps += int(line_taps)
            compared += int(line_compared)
            if result not in ("same", "plain fails"):
                bad.append(f"{folder}: {result}: {why}")
        if len(lines) < len(todo):
            bad.append(f"{todo[len(lines)]}: crashed: {done.stderr[-200:]}")
        todo = todo[len(lines) + 1 :]
    return counts, taps, compared, bad


# The least that must run: fewer means that something of ours is in the way.
@each_row(
    ("version", "style", "least"),
    [("1.31.1", "side", 1732), ("1.25.1", "side", 1723), ("1.19.2", "side", 973), ("1.31.1", "alias", 1732)],
)
def test_all_models_that_run_plain_run_captured_with_the_same_bits(
    version: str, style: str, least: int, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, taps, compared, bad = run_all(version, style)
    with capsys.disabled():
        print(f"\nonnx backend tests, {version}, {style} taps: {dict(counts)}, {taps} taps, {compared} values compared")
    assert bad == []
    assert counts["same"] >= least
