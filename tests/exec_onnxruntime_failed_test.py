"""What an op read that failed in a program of its own with ONNX Runtime is in the dump, and the program notices nothing.

The program runs plainly and under `tensortap exec`; both print the same, also what the runtime says of the failures.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import ROOT, tensortap
from exec_onnxruntime_support import Dump, compare, run_captured, run_plain, write_program
from exec_support import compile_c
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")

WHEN_OPS_FAIL = {"trigger": "exception", "payload": "full"}
FAILED = 8  # of a record's flags
PROGRAM = """
session = ort.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])
x = np.arange(12, dtype=np.float32).reshape(4, 3)
def tried(feeds, options=None):
    try: show(session.run(None, feeds, options))
    except Exception as error: print(type(error).__name__, error)
"""


def save(nodes: list[onnx.NodeProto], path: Path, inputs: str, **weights: npt.NDArray[Any]) -> None:
    """Save a model that gives y: its inputs are x, or x and i."""
    value = helper.make_tensor_value_info
    known = {"x": value("x", onnx.TensorProto.FLOAT, ["n", 3]), "i": value("i", onnx.TensorProto.INT64, ["m"])}
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", [known[name] for name in inputs], [value("y", onnx.TensorProto.FLOAT, None)], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def reshape(path: Path) -> None:
    """Save a model whose op "reshape", which reads a weight, fails where x has other rows than two."""
    nodes = [helper.make_node("Neg", ["x"], ["n"], name="neg"), helper.make_node("Reshape", ["n", "shape"], ["y"], name="reshape")]
    save(nodes, path, "x", shape=np.array([3, 2], np.int64))


def gather(path: Path, *, noisy: bool = False) -> None:
    """Save a model whose op "rows" fails where i is out of range."""
    scaled = "drawn" if noisy else "doubled"
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["doubled"], name="double"),
        helper.make_node("Add", ["i", "one"], ["next"], name="add"),
        helper.make_node("Gather", [scaled, "next"], ["y"], name="rows"),
    ]
    if noisy:
        nodes.insert(1, helper.make_node("RandomNormalLike", ["doubled"], ["drawn"], name="draw", seed=3.0))
    save(nodes, path, "xi", two=np.array(2, np.float32), one=np.array(1, np.int64))


def what_failed(dump: Dump) -> list[tuple[str, int, int, npt.NDArray[Any]]]:
    """Return op, step, slot and values of what ops read that failed."""
    rows = dump.rows
    names, data = dump.ops, (dump.folder / "tensors.npz").read_bytes()
    dtypes = {12: np.float32, 5: np.int64}
    read = []
    for row in rows[(rows["flags"] & FAILED) != 0]:
        begin, size = int(row["data_offset"]), int(row["data_bytes"])
        array = np.frombuffer(data[begin : begin + size], dtypes[int(row["dtype"])]).reshape(row["shape"][: row["dims_count"]])
        read.append((names[int(row["op"])]["name"], int(row["step"]), int(row["slot_index"]), array))
    return read


def lines_of_the_runtime(text: str) -> list[str]:
    """Return what the runtime said on stderr, without times."""
    return [line.partition("[E:")[2] for line in text.splitlines() if "[E:" in line]


@each_row("config", [WHEN_OPS_FAIL, {}])
def test_what_a_failed_op_read_is_kept(tmp_path: Path, config: dict[str, str]) -> None:
    gather(tmp_path / "model.onnx")
    text = "for i in ([0, 1], [2, 7], [1, 2], [9, 0]): tried({'x': x, 'i': np.array(i)})\n"
    program = write_program(tmp_path, PROGRAM + text)
    (tmp_path / "config.json").write_text(json.dumps(config | {"payload": "full"}))
    plain = run_plain(sys.executable, program, cwd=tmp_path)
    captured, dump = compare(program, options=["--config", "config.json"])
    said = lines_of_the_runtime(captured.err)
    assert said == lines_of_the_runtime(plain.stderr) and len(said) == 2, "nothing is said of the runs that are made once more"
    doubled = np.arange(12, dtype=np.float32).reshape(4, 3) * 2
    read = what_failed(dump)
    assert [place for *place, _ in read] == [["rows", 1, 0], ["rows", 1, 1]], "the first time that the op fails"
    assert np.array_equal(read[0][3], doubled) and np.array_equal(read[1][3], [3, 8])
    assert dump.run["failed_ops"] == 2 and dump.run["steps"]["seen"] == 4 and dump.run["notes"] == []
    assert dump.run["failed_op"]["name"] == "rows" and "idx=10" in dump.run["failed_op"]["error"]
    found = tensortap("find", dump.folder)
    assert found.code == 1 and "failed op: rows (Gather), step 3" in found.out


@each_row(("config", "layout"), [(WHEN_OPS_FAIL, "tap"), ({"dump": {"dump_scene": "aic_err_detail_dump", "dump_path": "tree"}}, "ge")])
def test_a_weight_that_it_read_is_kept_too(tmp_path: Path, config: dict[str, Any], layout: str) -> None:
    reshape(tmp_path / "model.onnx")
    program = write_program(tmp_path, PROGRAM + "tried({'x': x[:2]})\ntried({'x': x})\n")
    (tmp_path / "config.json").write_text(json.dumps(config))
    captured, dump = compare(program, options=["--config", "config.json", "--layout", layout])
    assert "nothing was captured" not in captured.err
    shown = tensortap("ls", dump.folder, "--columns", "op,slot,dtype,shape").out.split()
    assert shown[4:] == ["reshape", "in0", "float32", "[4,", "3]", "reshape", "in1", "int64", "[2]"]
    found = tensortap("find", dump.folder)
    assert found.code == 1 and "failed op: reshape (Reshape), step " in found.out


@each_row(
    ("call", "noisy", "reason"),
    [
        ("tried({'x': x, 'i': np.array([9])}, ort.RunOptions())", False, "the program gives its runs options"),
        ("tried({'x': x.tolist(), 'i': np.array([9])})", False, "the program gives its runs Python objects"),
        ("tried({'x': x, 'i': np.array([9])})", True, "RandomNormalLike draws random numbers"),
    ],
)
def test_a_run_that_cannot_be_made_once_more_is_not(tmp_path: Path, call: str, noisy: bool, reason: str) -> None:
    gather(tmp_path / "model.onnx", noisy=noisy)
    (tmp_path / "config.json").write_text(json.dumps(WHEN_OPS_FAIL))
    program = write_program(tmp_path, PROGRAM + f"{call}\n{call}\n")
    captured, dump = compare(program, options=["--config", "config.json"])
    assert "indices element out of data bounds" in captured.out
    assert dump.run["failed_op"]["name"] == "rows" and len(dump.rows) == 0
    (note,) = dump.run["notes"]
    assert note.startswith(f"the inputs of failed ops are not kept, except for weights: {reason}")


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(ROOT / "tests/exec_onnxruntime_program.c", tmp_path_factory.mktemp("c") / "program", "-w", "-ldl", "-lpthread")


@pytest.mark.skipif(not api.RUNTIMES.is_dir(), reason="no runtimes: run ./dev setup")
@each_row(("version", "words"), [("1.31.1", ""), ("1.31.1", "binding"), ("1.19.2", "")])
def test_of_a_c_program_too(tmp_path: Path, c_program: Path, version: str, words: str) -> None:
    reshape(tmp_path / "model.onnx")
    library = Path(api.runtime(version)) / f"libonnxruntime.so.{version}"
    arguments = [c_program, library, "model.onnx", "x", "float", "4x3", "y", "3", *words.split()]
    (tmp_path / "config.json").write_text(json.dumps(WHEN_OPS_FAIL))
    plain = run_plain(*arguments, cwd=tmp_path)
    captured = run_captured(*arguments, cwd=tmp_path, options=["--config", "config.json"])
    assert (captured.code, captured.out) == (plain.returncode, plain.stdout), captured.err
    assert lines_of_the_runtime(captured.err) == lines_of_the_runtime(plain.stderr)
    read = what_failed(Dump(tmp_path / "dump"))
    assert [place for *place, _ in read] == [["reshape", 0, 0], ["reshape", 0, 1]]
    assert read[0][3].shape == (4, 3) and np.array_equal(read[1][3], [3, 2])
