"""The page of the web view before two dumps of one model, one of which has a fault in a weight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime_api as api
import pytest
from cli_support import COMMAND, NativeDump, small_model, tensortap
from onnx import numpy_helper
from onnxruntime_models_test import REAL
from web_support import needs_browser, scenarios


def captured_pair(folder: Path) -> tuple[Path, Path, str]:
    """Capture a model with a fault in one weight, and without; name the op that reads the weight."""
    path, inputs = REAL["magika"]
    model = onnx.load(api.model(path))
    weights = next(one for one in model.graph.initializer if one.data_type == onnx.TensorProto.FLOAT and np.prod(one.dims) > 100000)
    values = numpy_helper.to_array(weights).copy()
    values.flat[7] += 1
    weights.CopyFrom(numpy_helper.from_array(values, weights.name))
    onnx.save(model, str(folder / "fault.onnx"))
    np.save(folder / "bytes.npy", inputs["bytes"])
    for name, source in (("wrong", folder / "fault.onnx"), ("right", api.model(path))):
        words = [
            "run",
            source,
            "--input",
            f"bytes={folder / 'bytes.npy'}",
            "--full",
            "--slots",
            "in,out",
            "--quiet",
            "--out",
            folder / name,
        ]
        assert tensortap(*words).code == 0
    reader = next(node.name for node in model.graph.node if weights.name in node.input)
    born = [op["name"] for op in NativeDump(folder / "right").ops.values() if reader in [one["name"] for one in op["originals"] or []]]
    assert len(born) == 1, born
    return folder / "wrong", folder / "right", born[0]


def stranger_of(folder: Path) -> Path:
    """Capture another model, of which nothing is in the dumps of the pair."""
    small_model(folder / "stranger.onnx")
    assert tensortap("run", folder / "stranger.onnx", "--full", "--quiet", "--out", folder / "stranger").code == 0
    return folder / "stranger"


@needs_browser
@pytest.mark.skipif(not api.MODELS.is_dir(), reason="no models: run ./dev setup")
def test_the_page_shows_where_a_difference_is_born(tmp_path: Path) -> None:  # B13
    results = scenarios("pair_scenarios.ts", COMMAND, *captured_pair(tmp_path), stranger_of(tmp_path))
    assert len(results) == 5
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
