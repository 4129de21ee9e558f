"""`tensortap find --suspects` proposes the config of a second, full capture."""  # A17

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, save, tensortap
from onnx import helper, numpy_helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Statistics of a model that divides by zero after values grew, with a part that is dead."""
    made = tmp_path_factory.mktemp("suspects")
    constants = [
        numpy_helper.from_array(np.float32([1e5]), "large"),
        numpy_helper.from_array(np.float32([0]), "nothing"),
        numpy_helper.from_array(np.float32([-1e9]), "low"),
    ]
    nodes = [
        helper.make_node("Neg", ["x"], ["n"], name="neg (1)"),
        helper.make_node("Pow", ["n", "two"], ["p"], name="grow"),
        helper.make_node("Mul", ["p", "large"], ["g"], name="net/mul+1"),
        helper.make_node("Min", ["n", "low"], ["m"], name="plain"),
        helper.make_node("Relu", ["m"], ["r"], name="dead"),
        helper.make_node("Ceil", ["r"], ["c"], name="zero"),
        helper.make_node("Div", ["g", "c"], ["d"], name="divide"),
        helper.make_node("Floor", ["d"], ["y"], name="after"),
    ]
    constants.append(numpy_helper.from_array(np.float32([2]), "two"))
    model = save(nodes, made / "model.onnx", shape=[2, 3], initializers=constants)
    np.save(made / "x.npy", np.float32([[1, 2, 3], [4, 5, 6]]))
    done = tensortap("run", model, "--input", f"x={made / 'x.npy'}", "--stats", "--optimize", "none", "--out", made / "dump")
    assert done.code == 0, done
    return made


def test_origins_their_producers_and_dead_outputs_are_suspect(folder: Path) -> None:
    """Every suspect has its reasons; ops that are fine are none."""
    done = tensortap("find", folder / "dump", "--suspects", "--json")
    assert done.code == 1
    found = {one["op"]: " ".join(one["reasons"]) for one in done.object["suspects"]}
    assert "made NaN or Inf of finite values" in found["divide"]
    assert 'made what "divide" read' in found["zero"]
    assert "dead" in found["zero"]
    assert "dead" in found["dead"]
    assert "a thousand times larger" in found["net/mul+1"]
    assert not {"after", "neg (1)", "x"} & set(found)
    assert done.object["config"]["include"] == [one["op"] for one in done.object["suspects"]]


@pytest.mark.parametrize("dialect", ["tensortap", "acl", "mindspore"])
def test_the_config_is_one_that_we_read_and_it_picks_the_suspects(folder: Path, dialect: str) -> None:
    """Explain takes the file, and the ops that it matches are the suspects."""
    path = folder / f"{dialect}.json"
    done = tensortap("find", folder / "dump", "--suspects", "--dialect", dialect, "--config-out", path, cwd=folder)
    assert done.code == 1, done
    assert str(path) in done.out
    suspects = {one["op"] for one in tensortap("find", folder / "dump", "--suspects", "--json").object["suspects"]}
    explained = tensortap("explain", path, "--model", folder / "model.onnx", "--json", cwd=folder)
    assert explained.code == 0, explained
    ops = json.dumps(explained.object["ops"])
    for name in suspects:
        assert json.dumps(name) in ops
    assert '"after"' not in ops


def test_the_second_capture_has_the_tensors(folder: Path) -> None:
    """The proposed config runs and keeps inputs and outputs whole."""
    path = folder / "second.json"
    tensortap("find", folder / "dump", "--suspects", "--config-out", path)
    words = ("--input", f"x={folder / 'x.npy'}", "--optimize", "none", "--out", folder / "second")
    assert tensortap("run", folder / "model.onnx", "--config", path, *words).code == 0
    shown = tensortap("show", folder / "second", "divide:out0")
    assert "inf" in shown.out


def test_nothing_suspect_is_exit_code_0(folder: Path, tmp_path: Path) -> None:
    """No config is proposed and none is written."""
    model = save([helper.make_node("Neg", ["x"], ["y"], name="neg")], tmp_path / "m.onnx")
    assert tensortap("run", model, "--input", f"x={folder / 'x.npy'}", "--out", tmp_path / "dump").code == 0
    done = tensortap("find", tmp_path / "dump", "--suspects", "--config-out", tmp_path / "c.json")
    assert (done.code, (tmp_path / "c.json").exists()) == (0, False)
    assert "no op stands out" in done.out


def test_an_unknown_dialect_is_a_wrong_use(folder: Path) -> None:
    """The dialects that there are stand in the message."""
    done = tensortap("find", folder / "dump", "--suspects", "--dialect", "torch")
    assert done.code == 2
    assert "tensortap, acl and mindspore" in done.err
