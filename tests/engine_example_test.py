"""The C example engine runs plain and captured, and its dump is what NumPy computes."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli_support import BUILD


def engine_path() -> Path:
    """Return the built example, or skip."""
    engine = BUILD / "examples" / "engine"
    if not engine.exists():
        pytest.skip("examples/engine is not built")
    return engine


def expected_outputs(step: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute what the engine computes in one step."""
    w = np.array([[1, -1, 2, 0], [0, 1, -2, 1], [1, 1, 1, -1]], np.float32)
    x = np.array([[1, 2, 3], [step, -1, 0.5]], np.float32)
    product = x @ w
    return product, np.maximum(product, 0)


def test_dump_holds_what_the_engine_computed(tmp_path: Path) -> None:
    """The dump contains every op of every step, with data that NumPy agrees with."""
    config = json.dumps({"payload": "full", "out": str(tmp_path / "dump"), "limits": {"keep_free": 0}})
    plain = subprocess.run([engine_path()], capture_output=True, text=True, cwd=tmp_path, check=True)
    captured = subprocess.run([engine_path(), config], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert captured.stdout == plain.stdout
    rows = np.load(tmp_path / "dump" / "records.npy")
    tensors = np.load(tmp_path / "dump" / "tensors.npz")
    assert len(rows) == 6
    for step in range(3):
        product, y = expected_outputs(step)
        suffix = "" if step == 0 else f"@{step}"
        np.testing.assert_array_equal(tensors[f"multiply:out0{suffix}"], product)
        np.testing.assert_array_equal(tensors[f"activate:out0{suffix}"], y)
        row = rows[(rows["step"] == step) & (rows["op"] == 0)][0]
        assert row["min"] == product.min()
        assert row["max"] == product.max()
    manifest = json.loads((tmp_path / "dump" / "run.json").read_text())
    assert manifest["ops"]["captured"] == manifest["ops"]["expected"] == 2
    assert manifest["steps"] == {"seen": 3, "captured": 3}


def test_a_wrong_config_does_not_stop_the_engine(tmp_path: Path) -> None:
    """The engine reports the problem and computes the same."""
    done = subprocess.run([engine_path(), '{"payloda": 1}'], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout == "4 2.5\n"
    assert "payloda" in done.stderr
    assert list(tmp_path.iterdir()) == []
