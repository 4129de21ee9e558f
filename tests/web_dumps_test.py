"""The page of the web view before dumps of real programs: the facts that it must show are NumPy's."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_api as api
import pytest
from cli_support import COMMAND, ROOT, NativeDump, package_alone, tensortap
from onnxruntime_models_test import REAL
from torch_support import PYTHON
from web_support import PATIENCE, needs_browser, scenarios

DIGITS = Path("examples/train_digits.py")
OUTPUT = 0


def row_of(dump: NativeDump, name: str, step: int = 0) -> int:
    """Give the number of the first record that an op wrote in a step."""
    op = next(number for number, op in dump.ops.items() if op["name"] == name)
    rows = dump.rows
    return int(np.flatnonzero((rows["op"] == op) & (rows["step"] == step) & (rows["slot_kind"] == OUTPUT))[0])


def digits_facts(folder: Path) -> dict[str, Any]:
    """Capture the training whose loss becomes NaN, from the project's folder: there its lines are found."""
    words = [COMMAND, "exec", "--quiet", "--out", folder / "digits", "--", PYTHON, DIGITS]
    environment = {**os.environ, "PYTHONPATH": str(package_alone(folder))}
    subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    dump = NativeDump(folder / "digits")
    rows = dump.rows
    line, text = next((number, line) for number, line in enumerate((ROOT / DIGITS).read_text().splitlines(), 1) if "torch.rsqrt" in line)
    inverse_root = next(op["name"] for op in dump.ops.values() if op["type"] == "rsqrt")
    return {
        "dump": str(dump.folder),
        "origin": "Digits.norm/RsqrtBackward0/pow",
        "source": f"{DIGITS}:{line}",
        "text": text.strip(),
        "nonFinite": int(np.count_nonzero(rows["nan"] + rows["pos_inf"] + rows["neg_inf"])),
        "curve": {"op": inverse_root, "record": row_of(dump, inverse_root, 10)},
    }


def demo_facts(folder: Path) -> dict[str, Any]:
    """Capture a model with all its tensors; find the largest value of one by NumPy."""
    path, inputs = REAL["magika"]
    np.save(folder / "bytes.npy", inputs["bytes"])
    done = tensortap("run", api.model(path), "--input", f"bytes={folder / 'bytes.npy'}", "--full", "--quiet", "--out", folder / "demo")
    assert done.code == 0, done.err
    dump = NativeDump(folder / "demo")
    name = next(op["name"] for op in dump.ops.values() if op["name"].endswith("ApplyActivation_1/AddV2"))
    values = np.load(dump.folder / "tensors.npz")[f"{name}:out0"]
    place = [int(part) for part in np.unravel_index(int(np.argmax(values)), values.shape)]
    return {"dump": str(dump.folder), "record": row_of(dump, name), "largest": place, "value": float(values.max())}


@needs_browser
@pytest.mark.skipif(not api.MODELS.is_dir(), reason="no models: run ./dev setup")
def test_the_page_shows_dumps_of_real_programs(tmp_path: Path) -> None:  # B13
    facts = {
        "command": str(COMMAND),
        "digits": digits_facts(tmp_path),
        "demo": demo_facts(tmp_path),
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    results = scenarios("dump_scenarios.ts", tmp_path / "facts.json")
    assert len(results) >= 11
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
