"""`tensortap exec` on programs whose ONNX models have large weights, or weights that the runtime makes itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from case_table import each_row
from exec_onnxruntime_support import Dump, compare, write_program
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")


def folding_model(path: Path) -> Path:
    """Save y = relu(x @ w) as old exporters wrote it: what w is made of is listed as an input, too, and the runtime folds it."""
    inputs = [helper.make_tensor_value_info("x", 1, [2, 64]), helper.make_tensor_value_info("shape", 7, [2])]
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["w"], "fill", value=numpy_helper.from_array(np.array([0.5], np.float32))),
        helper.make_node("MatMul", ["x", "w"], ["m"], "matmul_1"),
        helper.make_node("Relu", ["m"], ["y"], "relu_1"),
    ]
    weights = [numpy_helper.from_array(np.array([64, 512]), "shape")]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, [2, 512])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=3), path)
    return path


def test_a_model_whose_folded_weights_are_listed_as_inputs_is_captured(tmp_path: Path) -> None:
    folding_model(tmp_path / "model.onnx")
    program = write_program(tmp_path, "show(ort.InferenceSession('model.onnx').run(None, {'x': feed('float32', (2, 64))}))\n")
    captured, dump = compare(program)
    assert "uncaptured" not in captured.err
    assert {"matmul_1", "relu_1"} <= {op["name"] for op in dump.ops.values()}


@each_row("place", ["own", "missing"])
def test_large_weights_leave_nothing_in_the_folder_for_temporary_files(place: str, tmp_path: Path) -> None:
    folding_model(tmp_path / "model.onnx")
    program = write_program(
        tmp_path,
        f"import os; os.makedirs('own', exist_ok=True); os.environ['TMPDIR'] = os.path.abspath({place!r})\n"
        # Where running captures can be found is no concern of this test.
        "os.makedirs('run', exist_ok=True); os.environ['XDG_RUNTIME_DIR'] = os.path.abspath('run')\n"
        "session = ort.InferenceSession('model.onnx'); print(os.listdir('own'))\n"
        "show(session.run(None, {'x': feed('float32', (2, 64))}))\n",
    )
    captured, dump = compare(program)
    assert "uncaptured" not in captured.err
    of_weight = dump.rows[dump.rows["op"] == next(number for number, op in dump.ops.items() if op["name"] == "w")]
    assert (of_weight["min"][0], of_weight["max"][0]) == (0.5, 0.5)


def scaling_model(path: Path, value: float) -> Path:
    """Save y = x @ w with every weight equal."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")],
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 4])],
        [helper.make_tensor_value_info("y", 1, [1, 4])],
        [numpy_helper.from_array(np.full((4, 4), value, np.float32), "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


PROGRAMS = {
    "a file that is written again": "import shutil\n"
    "for name in ('one', 'two', 'one'):\n"
    "    shutil.copy(name + '.onnx', 'model.onnx'); sessions.append(ort.InferenceSession('model.onnx'))\n",
    "bytes": "for name in ('one', 'two', 'one'):\n    sessions.append(ort.InferenceSession(open(name + '.onnx', 'rb').read()))\n",
}


@each_row("text", PROGRAMS)
def test_sessions_with_other_weights_have_dumps_of_their_own(text: str, tmp_path: Path) -> None:
    scaling_model(tmp_path / "one.onnx", 1)
    scaling_model(tmp_path / "two.onnx", 2)
    program = write_program(
        tmp_path,
        f"sessions, kept = [], []\n{PROGRAMS[text]}"
        "for session in sessions: show(session.run(None, {'x': np.ones((1, 4), np.float32)}))\n",
    )
    compare(program, options=["--full", "--slots", "in,out"])
    dumps = [Dump(place.parent) for place in sorted(tmp_path.glob("dump/**/records.npy"))]
    assert len(dumps) == 2
    held = []
    for dump in dumps:
        numbers = {op["name"]: number for number, op in dump.ops.items()}
        of_weight, of_result = (dump.rows[dump.rows["op"] == numbers[name]] for name in ("w", "mm"))
        assert set(of_result["max"]) == {4 * of_weight["max"][0]}, "the weight is what the op read"
        held.append((of_weight["max"][0], len(of_result)))
    assert sorted(held) == [(1, 2), (2, 1)], "equal weights share a dump"


def test_a_session_whose_options_replace_weights_runs_uncaptured_and_says_so(tmp_path: Path) -> None:
    scaling_model(tmp_path / "model.onnx", 1)
    program = write_program(
        tmp_path,
        "twos = ort.OrtValue.ortvalue_from_numpy(np.full((4, 4), 2, np.float32))\n"
        "options = ort.SessionOptions(); options.add_initializer('w', twos)\n"
        "for given in (None, options):\n"
        "    show(ort.InferenceSession('model.onnx', given).run(None, {'x': np.ones((1, 4), np.float32)}))\n",
    )
    captured, dump = compare(program, options=["--full", "--slots", "in,out"])
    assert "runs uncaptured: the program replaces weights of the model (add_initializer)" in captured.err
    assert dump.steps() == [0]
    assert set(dump.rows["max"]) == {1, 4}
