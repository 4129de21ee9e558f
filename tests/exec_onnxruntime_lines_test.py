"""What ONNX Runtime itself prints on stderr is the same under `tensortap exec` as without."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import ROOT
from exec_onnxruntime_support import run_captured, run_plain, write_program
from exec_support import compile_c
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")

PROGRAM = """
import os
options = ort.SessionOptions()
options.log_severity_level, options.logid = LEVEL, "mine"
for _ in range(SESSIONS):
    session = ort.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    os.write(2, b"made\\n")
    x = feed("float32", (1, 3, 8, 8))
    shapes = [np.array([1, 20]), np.array([20, 1])]
    for shape in shapes:
        show(session.run(None, {"x": x, "shape": shape}))
    os.write(2, b"ran\\n")
"""
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} ")
CHANGES = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)? ?(ms|us|seconds)|(thread|tid)[ :=]+\d+", re.IGNORECASE)


def save_model(path: Path, external: bool = False) -> Path:
    """Save a model with an unused weight and an output of another shape than it declares: lines at its making and in its runs."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((20, 3, 3, 3)), "b": rng.standard_normal((20, 8, 8)), "unused": np.zeros(30000)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4, name="conv"),
        helper.make_node("Add", ["c", "b"], ["s"], name="add"),
        helper.make_node("GlobalAveragePool", ["s"], ["g"], name="pool"),
        helper.make_node("Reshape", ["g", "shape"], ["y"], name="reshape"),
    ]
    value = helper.make_tensor_value_info
    inputs = [value("x", onnx.TensorProto.FLOAT, [1, 3, 8, 8]), value("shape", onnx.TensorProto.INT64, [2])]
    outputs = [value("y", onnx.TensorProto.FLOAT, [1, 20])]
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.save(model, path, save_as_external_data=external, location=path.name + ".data", size_threshold=0)
    return path


def lines_of_the_runtime(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if TIME.search(line) or line.startswith(("made", "ran", "session", "environment"))]
    return [CHANGES.sub("#", TIME.sub("", line)) for line in lines]


def compare_lines(folder: Path, *words: str | Path) -> list[str]:
    plain = run_plain(*words, cwd=folder)
    captured = run_captured(*words, cwd=folder)
    assert (captured.code, captured.out) == (plain.returncode, plain.stdout), captured.err
    assert lines_of_the_runtime(captured.err) == lines_of_the_runtime(plain.stderr)
    return lines_of_the_runtime(plain.stderr)


@each_row(
    ("level", "model", "sessions", "count"),
    [
        (0, "'model.onnx'", 1, 40),
        (1, "'model.onnx'", 1, 40),
        (2, "'model.onnx'", 1, 4),
        (2, "open('model.onnx', 'rb').read()", 1, 4),
        (2, "'apart.onnx'", 1, 4),
        (2, "'model.onnx'", 3, 12),
        (1, "'model.onnx'", 2, 80),
        (3, "'model.onnx'", 1, 2),
        (4, "'model.onnx'", 1, 2),
    ],
)
def test_a_python_program_sees_the_lines_of_its_own_session(tmp_path: Path, level: int, model: str, sessions: int, count: int) -> None:
    save_model(tmp_path / "model.onnx")
    save_model(tmp_path / "apart.onnx", external=True)
    text = PROGRAM.replace("LEVEL", str(level)).replace("MODEL", model).replace("SESSIONS", str(sessions))
    lines = compare_lines(tmp_path, sys.executable, write_program(tmp_path, text))
    assert len(lines) >= count
    assert (level > 2) == (not any("unused" in line for line in lines))
    assert (level > 2) == (not any("VerifyOutputSizes" in line for line in lines))


def test_one_that_has_the_optimised_model_written_sees_its_lines_once(tmp_path: Path) -> None:
    save_model(tmp_path / "model.onnx")
    text = PROGRAM.replace("LEVEL", "2").replace("MODEL", "'model.onnx'").replace("SESSIONS", "1")
    program = write_program(tmp_path, text.replace("for _", "options.optimized_model_filepath = 'written.onnx'\nfor _"))
    lines = compare_lines(tmp_path, sys.executable, program)
    assert sum("Serializing optimized model" in line for line in lines) == 1


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(ROOT / "tests/exec_onnxruntime_program.c", tmp_path_factory.mktemp("c") / "program", "-w", "-ldl", "-lpthread")


@pytest.mark.skipif(not api.RUNTIMES.is_dir(), reason="no runtimes: run ./dev setup")
@each_row("version", ["1.31.1", "1.25.1", "1.19.2"])
@each_row(
    "words", ["log=0", "log=1", "log=2", "log=2 twice", "log=2 bytes", "log=3", "log=2 logger", "log=2 function", "log=2 write=w.onnx"]
)
def test_a_c_program_sees_the_lines_of_its_own_session(tmp_path: Path, c_program: Path, version: str, words: str) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="relu")]
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", onnx.TensorProto.FLOAT, [2, 3])], [value("y", onnx.TensorProto.FLOAT, [2, 3])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.zeros(3, np.float32), "unused")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    library = Path(api.runtime(version)) / f"libonnxruntime.so.{version}"
    compare_lines(tmp_path, c_program, library, "model.onnx", "x", "float", "2x3", "y", "2", *words.split())
