"""The page of the web view in a real browser: Node.js scripts of web/tests drive Debian's Chromium."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime_api as api
import pytest
from cli_support import COMMAND, ROOT, NativeDump, package_alone, tensortap
from onnx import numpy_helper
from onnxruntime_models_test import REAL
from torch_support import PYTHON

NODE = Path(os.environ.get("TENSORTAP_TEST_NODE") or "no node")
CHROMIUM = Path(os.environ.get("TENSORTAP_TEST_CHROMIUM") or "/usr/bin/chromium")
PICTURES = ROOT / "build" / "web_screenshots"
DIGITS = Path("examples/train_digits.py")
PATIENCE = 600
OUTPUT = 0

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
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["name"]: result["problem"] for result in results}


def test_the_page_shows_made_answers_of_every_size_and_kind() -> None:  # B13
    results = scenarios("made_scenarios.ts")
    assert len(results) >= 11
    assert {name: problem for name, problem in results.items() if problem is not None} == {}


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


def pair_facts(folder: Path) -> dict[str, Any]:
    """Capture a model with a fault in one weight, and without; name the op that reads the weight."""
    path, inputs = REAL["magika"]
    model = onnx.load(api.model(path))
    weights = next(one for one in model.graph.initializer if one.data_type == onnx.TensorProto.FLOAT and np.prod(one.dims) > 10000)
    values = numpy_helper.to_array(weights).copy()
    values.flat[7] += 1
    weights.CopyFrom(numpy_helper.from_array(values, weights.name))
    onnx.save(model, str(folder / "fault.onnx"))
    np.save(folder / "bytes.npy", inputs["bytes"])
    for name, source in (("wrong", folder / "fault.onnx"), ("right", api.model(path))):
        words = ["run", source, "--input", f"bytes={folder / 'bytes.npy'}", "--full", "--slots", "in,out", "--quiet", "--out", folder / name]
        assert tensortap(*words).code == 0
    ops = NativeDump(folder / "right").ops.values()
    born = [op["name"] for op in ops if any(value["name"] == weights.name for value in op["inputs"])]
    assert len(born) == 1, born
    return {"wrong": str(folder / "wrong"), "right": str(folder / "right"), "born": born[0]}


@pytest.mark.skipif(not api.MODELS.is_dir(), reason="no models: run ./dev setup")
def test_the_page_shows_dumps_of_real_programs(tmp_path: Path) -> None:  # B13
    facts = {
        "command": str(COMMAND),
        "digits": digits_facts(tmp_path),
        "demo": demo_facts(tmp_path),
        "pair": pair_facts(tmp_path),
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    results = scenarios("dump_scenarios.ts", tmp_path / "facts.json")
    assert len(results) >= 13
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
