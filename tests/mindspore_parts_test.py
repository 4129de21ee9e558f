"""What a MindSpore dump holds in part, or in another order, and what it says of that."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import COMMAND, package_alone, save, tensortap
from exec_support import TORCH_PYTHON
from onnx import helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")
# One tensor of four dimensions, one of five, and one that is in the usual order.
CHANNELS_LAST = """
import torch
image = torch.arange(24.).reshape(1, 2, 3, 4)
torch.neg(image.to(memory_format=torch.channels_last))
torch.neg(image.reshape(1, 2, 3, 2, 2).to(memory_format=torch.channels_last_3d))
torch.abs(image)
"""


def write_config(folder: Path, *, e2e: dict[str, Any], **changes: Any) -> Path:
    common = {"op_debug_mode": 0, "dump_mode": 0, "path": str(folder / "tree"), "net_name": "Net", "iteration": "all", "input_output": 0}
    config = {"common_dump_settings": {**common, "kernels": [], "support_device": [0], **changes}, "e2e_dump_settings": e2e}
    (folder / "cfg.json").write_text(json.dumps(config))
    return folder / "cfg.json"


# M9
@pytest.mark.parametrize("saved_data", ["tensor", "statistic"])
def test_nothing_is_said_of_the_rest_of_a_sample(saved_data: str, tmp_path: Path) -> None:
    model = save([helper.make_node("Log", ["x"], ["y"])], tmp_path / "m.onnx", shape=(50,))
    values = np.ones(50, np.float32)
    values[40] = -1
    np.save(tmp_path / "x.npy", values)
    for sample_num, said in (
        (10, "not known: 2 tensors not looked at, or only in part; none in what was looked at"),
        (60, "first at step 0"),
    ):
        config = write_config(tmp_path, e2e={"enable": True, "sample_mode": 1, "sample_num": sample_num}, saved_data=saved_data)
        (tmp_path / "cfg.json").write_text(config.read_text().replace('/tree"', f'/tree{sample_num}"'))
        done = tensortap("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--config", config)
        assert said in done.out + done.err, done.out + done.err
        found = tensortap("find", tmp_path / f"tree{sample_num}")
        # A table of statistics says nothing of NaN and Inf.
        assert ("not known: 3 records" in found.out) == (sample_num == 10 or saved_data == "statistic"), found.out
    done = tensortap("run", model, "--describe", "--out", tmp_path / "described")
    assert "not known: 2 tensors not looked at, or only in part; none in what was looked at" in done.err, done.err


# M9 M10
def test_an_overflow_is_looked_for_in_whole_tensors(tmp_path: Path) -> None:
    model = save([helper.make_node("Log", ["x"], ["y"])], tmp_path / "m.onnx", shape=(50,))
    values = np.ones(50, np.float32)
    values[40] = -1
    np.save(tmp_path / "x.npy", values)
    config = write_config(tmp_path, e2e={"enable": True, "sample_mode": 1, "sample_num": 10}, op_debug_mode=3)
    done = tensortap("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--config", config)
    assert '3 looks at whole tensors; "sample_mode" has no effect' in done.err and "1 NaN, the first at [40]" in done.err, done.err
    (path,) = (tmp_path / "tree").rglob("Log.*.output.0.*.npy")
    assert np.load(path).shape == (50,) and np.isnan(np.load(path)[40])


def test_the_time_for_many_names_grows_with_their_number(tmp_path: Path) -> None:
    model = save([helper.make_node("Neg", ["x"], ["y"])], tmp_path / "m.onnx", shape=(2,))
    taken = []
    for count in (5_000, 20_000):
        names = [f"Default/layer{i}/Conv-op{i}" for i in range(count)]
        config = write_config(tmp_path, e2e={"enable": True}, dump_mode=1, kernels=names, path=str(tmp_path / f"tree{count}"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = tensortap("run", model, "--config", config)
        taken.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        assert f"and {count - 3} more" in done.err, done.err
    assert taken[1] < 8 * taken[0], taken


# M14
@pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
@pytest.mark.parametrize("trans_flag", [False, True])
def test_channels_last_stay_in_memory_order_where_nothing_is_turned_back(trans_flag: bool, tmp_path: Path) -> None:
    config = write_config(tmp_path, e2e={"enable": True, "trans_flag": trans_flag}, saved_data="full")
    (tmp_path / "program.py").write_text(CHANNELS_LAST)
    environment = {**os.environ, "MINDSPORE_DUMP_CONFIG": str(config), "PYTHONPATH": str(package_alone(tmp_path))}
    words = [str(COMMAND), "exec", "--", str(TORCH_PYTHON), "program.py"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    image = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    deep = image.reshape(1, 2, 3, 2, 2)
    expected = {
        "neg-op": [("DefaultFormat", -image), ("DefaultFormat", -deep)]
        if trans_flag
        else [("NHWC", -image.transpose(0, 2, 3, 1)), ("NDHWC", -deep.transpose(0, 2, 3, 4, 1))],
        "abs-op": [("DefaultFormat", image)],
    }
    (folder,) = (tmp_path / "tree").glob("rank_0/Net/0/*/")
    for name, arrays in expected.items():
        paths = sorted(folder.glob(f"*{name}*.output.0.*.npy"), key=lambda path: int(path.name.split(".")[4]))
        assert len(paths) == len(arrays), sorted(folder.iterdir())
        for path, (order, array) in zip(paths, arrays, strict=True):
            assert path.name.split(".")[7] == order, path
            np.testing.assert_array_equal(np.load(path), array)
    rows = (folder / "statistic.csv").read_text()
    assert ('"[1,3,4,2]"' in rows) == (not trans_flag), rows


def test_a_damaged_tree_that_nothing_mends_is_not_sent_to_repair(tmp_path: Path) -> None:
    nodes = [helper.make_node("Neg", ["x" if i == 0 else f"v{i}"], [f"v{i + 1}" if i < 7 else "y"]) for i in range(8)]
    model = save(nodes, tmp_path / "m.onnx", shape=(2,))
    done = tensortap("run", model, "--optimize", "none", "--config", write_config(tmp_path, e2e={"enable": True}, input_output=2))
    assert done.code == 0, done.err
    for path in (tmp_path / "tree").rglob("*.npy"):
        path.chmod(0o600)
        path.write_bytes(b"no tensor")
    listed = tensortap("ls", tmp_path / "tree")
    assert "more like these" in listed.err and "repair" not in listed.err, listed.err
    assert tensortap("repair", tmp_path / "tree").code != 0
