"""Which runs of a program's ONNX Runtime sessions are steps of its dump."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from case_table import each_row
from cli_support import save, small_model, tensortap
from exec_onnxruntime_support import MODEL, compare, write_program
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")

REFUSED = {
    "wrong name": "session.run(None, {'z': x})",
    "wrong shape": "session.run(None, {'x': np.zeros((2, 7), np.float32)})",
    "wrong type": "session.run(None, {'x': x.astype(np.float64)})",
    "missing input": "session.run(None, {})",
    "wrong output": "session.run(['nothing'], {'x': x})",
    "binding without inputs": "session.run_with_iobinding(session.io_binding())",
}


@each_row("call", REFUSED.values())
def test_a_run_that_the_runtime_refuses_is_no_step(call: str, tmp_path: Path) -> None:
    """Nothing ran: neither is it counted, nor does it take the number of a step."""
    small_model(tmp_path / "model.onnx")
    program = write_program(
        tmp_path,
        MODEL + "for _ in range(2):\n"
        f"    try: {call}\n"
        "    except Exception as error: print(type(error).__name__)\n"
        "    show(session.run(None, {'x': x}))\n",
    )
    captured, dump = compare(program)
    assert dump.steps() == [0, 1]
    assert dump.run["steps"] == {"seen": 2, "captured": 2}
    assert ", 2 steps" in captured.err


def test_only_refused_runs_are_no_steps_and_a_run_whose_first_op_fails_is_one(tmp_path: Path) -> None:
    shape = numpy_helper.from_array(np.array([4, 2], np.int64), "shape")
    save(
        [helper.make_node("Reshape", ["x", "shape"], ["y"], name="reshape_1")],
        tmp_path / "model.onnx",
        shape=("n", 4),
        initializers=[shape],
    )
    program = write_program(
        tmp_path,
        "session = ort.InferenceSession('model.onnx')\n"
        "for size in (1, 3):\n"
        "    try: session.run(None, {'x': np.ones((size, 5 if size == 1 else 4), np.float32)})\n"
        "    except Exception as error: print(type(error).__name__)\n",
    )
    _, dump = compare(program)
    assert dump.run["steps"] == {"seen": 1, "captured": 1}, "the first was refused, the second failed in its only op"
    assert dump.run["failed_op"]["name"] == "reshape_1"
    found = tensortap("find", dump.folder)
    assert found.code == 1, "nothing ran after it"
    assert "failed op: reshape_1 (Reshape), step 0: " in found.out
