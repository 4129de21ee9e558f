"""A node of ONNX Runtime, an operator of PyTorch and an op of another engine that crash leave what they read, in every tree."""  # A11 M11

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from cli_support import BUILD, COMMAND, Done, save, tensortap
from dump_data_support import parse_file
from onnx import TensorProto, helper, numpy_helper

CUSTOM_OPS = BUILD / "tests" / "libcrashing_op_library.so"
TOY = BUILD / "tests" / "crash_signal_program"
TORCH_PYTHON = os.environ.get("TENSORTAP_TEST_PYTHON", "")
NEEDS_TORCH = pytest.mark.skipif(not TORCH_PYTHON, reason="no Python with torch: run ./dev setup")
SEGMENTATION = 128 + signal.SIGSEGV

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
B = np.array([[-7, 8, 9], [10, 11, 12]], np.float32)
"""B begins with a negative number, of which the op dies."""

SESSION = f"""
import numpy as np, onnxruntime as ort, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
options = ort.SessionOptions()
options.register_custom_ops_library({str(CUSTOM_OPS)!r})
session = ort.InferenceSession("m.onnx", options)
x = np.array({X.tolist()}, np.float32)
b = np.array({B.tolist()}, np.float32)
print(session.run(None, {{"x": x, "b": abs(b)}})[0].sum(), flush=True)
session.run(None, {{"x": x, "b": b}})
"""

OPERATOR = f"""
import ctypes, resource, torch
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

@torch.library.custom_op("crash::fragile", mutates_args=())
def fragile(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if b.flatten()[0] < 0:
        ctypes.string_at(0)
    return a + b

x = torch.tensor({X.tolist()})
b = torch.tensor({B.tolist()})
print(fragile(x.relu(), b.abs()).sum().item(), flush=True)
fragile(x.relu(), b)
"""


def session_program(folder: Path) -> list[str | Path]:
    """Write a program of ONNX Runtime whose second run dies in the op fragile_1, and give the words that start it."""
    pytest.importorskip("onnxruntime")
    if not CUSTOM_OPS.exists():
        pytest.skip("crashing_op_library is not built")
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu_1"),
        helper.make_node("Fragile", ["r", "b"], ["f"], name="fragile_1", domain="test.crash"),
        helper.make_node("Exp", ["f"], ["y"], name="exp_1"),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "b")]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("test.crash", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(folder / "m.onnx"))
    (folder / "program.py").write_text(SESSION)
    return [sys.executable, folder / "program.py"]


def operator_program(folder: Path) -> list[str | Path]:
    """Write a program of PyTorch whose second call of crash::fragile dies."""
    (folder / "program.py").write_text(OPERATOR)
    return [TORCH_PYTHON, folder / "program.py"]


PROGRAMS = [pytest.param(session_program, id="onnxruntime"), pytest.param(operator_program, id="pytorch", marks=NEEDS_TORCH)]


def wait_for(look: Callable[[], Path | None]) -> Path:
    """Ask again until there is something, for a minute at most."""
    for _ in range(6000):
        if (found := look()) is not None:
            return found
        time.sleep(0.01)
    raise TimeoutError


def acl_config(folder: Path, **keys: object) -> Path:
    config = folder / "acl.json"
    config.write_text(json.dumps({"dump": {"dump_path": str(folder / "dump"), **keys}}))
    return config


def shown(dump: Path, record: dict[str, Any]) -> npt.NDArray[np.float32]:
    """Read a record by what `ls` says of it."""
    name = f"{record['op']}:{record['slot']}@{record['step']}" + (f"#{record['call']}" if record["call"] else "")
    done = tensortap("show", dump, name, "--json")
    assert done.code == 0, done.err
    return np.array(done.object["values"], np.float32)


def failed_records(dump: Path) -> tuple[list[dict[str, Any]], Done]:
    done = tensortap("ls", dump, "--json")
    assert done.code == 0, done.err
    return [record for record in done.objects if record.get("failed_op")], done


def exception_files(folder: Path) -> list[Path]:
    return sorted((folder / "dump/extra-info/data-dump/0").glob("*"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_crash_leaves_an_exception_file_in_the_tree_of_ascendcl(program: Any, tmp_path: Path) -> None:
    """The file is where that of an op that fails would be, and another reader finds what NumPy would have in it."""
    (tmp_path / "dump").mkdir()
    config = acl_config(tmp_path, dump_scene="aic_err_norm_dump")
    done = tensortap("exec", "--config", config, "--json", "--", *program(tmp_path), cwd=tmp_path)
    assert done.code == SEGMENTATION, done.err
    (file,) = exception_files(tmp_path)
    op_type, op_name, *numbers = file.name.split(".")
    assert [len(number) for number in numbers][-1:] == [17]
    assert op_type.lower().startswith("fragile") or "fragile" in op_name
    parsed = parse_file(file)
    assert [list(tensor.shape.dim) for tensor in parsed.message.input] == [[2, 3], [2, 3]]
    assert b"".join(parsed.inputs) == np.maximum(X, 0).tobytes() + B.tobytes()
    assert "SIGSEGV" in parsed.message.dfx_message
    assert "SIGSEGV" in done.err and "fragile" in done.err
    assert not list(tmp_path.rglob("crash-*.bin"))
    assert json.loads(done.out.splitlines()[-1])["records"] == 2, "the exception file contains records, too"
    # The crash is settled: nothing is left to repair.
    assert "repair" not in done.err


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_crash_leaves_its_inputs_in_the_native_dump(program: Any, tmp_path: Path) -> None:
    """Readers have them without anything being converted, and name the op and the signal."""
    (tmp_path / "config.json").write_text(json.dumps({"trigger": "exception", "out": "dump", "limits": {"keep_free": 0}}))
    done = tensortap("exec", "--config", "config.json", "--", *program(tmp_path), cwd=tmp_path)
    assert done.code == SEGMENTATION, done.err
    assert "SIGSEGV" in done.err and "fragile" in done.err
    records, listed = failed_records(tmp_path / "dump")
    assert "SIGSEGV" in listed.err and "fragile" in listed.err and "crash-" in listed.err
    values = {record["slot"]: shown(tmp_path / "dump", record) for record in records}
    np.testing.assert_array_equal(values["in0"], np.maximum(X, 0))
    np.testing.assert_array_equal(values["in1"], B)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_crash_leaves_tensor_files_in_the_tree_of_mindspore(program: Any, tmp_path: Path) -> None:
    """NumPy reads the inputs where those of an op that ran would be."""
    config = {"trigger": "exception", "layout": "mindspore", "payload": "tensor", "out": "dump", "limits": {"keep_free": 0}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = tensortap("exec", "--config", "config.json", "--", *program(tmp_path), cwd=tmp_path)
    assert done.code == SEGMENTATION, done.err
    assert not list(tmp_path.rglob("crash-*.bin"))
    inputs = {path.name.split(".input.")[1][0]: np.load(path) for path in tmp_path.glob("dump/rank_0/Net/0/*/*ragile*.input.*.npy")}
    np.testing.assert_array_equal(inputs["0"], np.maximum(X, 0))
    np.testing.assert_array_equal(inputs["1"], B)
    assert "SIGSEGV" in tensortap("ls", tmp_path / "dump").err


def endless_model(path: Path) -> Path:
    """Save a model that counts for hours."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"], name="go_1"),
            helper.make_node("Add", ["sum", "one"], ["more"], name="add_1"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, [2, 3]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("more", TensorProto.FLOAT, [2, 3]),
        ],
    )
    constants = [
        numpy_helper.from_array(np.array(2**60, np.int64), "rounds"),
        numpy_helper.from_array(np.array(True), "yes"),
        numpy_helper.from_array(np.float32(1), "one"),
    ]
    return save([helper.make_node("Loop", ["rounds", "yes", "x"], ["y"], name="loop_1", body=body)], path, initializers=constants)


def test_a_model_that_crashes_under_run_has_somebody_who_writes_its_tree(tmp_path: Path) -> None:
    """`run` waits for itself, so that a signal that ends the model's process leaves a tree and not a crash file."""
    pytest.importorskip("onnxruntime")
    config = acl_config(tmp_path, dump_scene="aic_err_norm_dump")
    words = [str(COMMAND), "run", str(endless_model(tmp_path / "m.onnx")), "--config", str(config)]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as command:
        crash_file = wait_for(lambda: next(tmp_path.glob("dump/crash-*.bin"), None))
        process = int(crash_file.stem.split("-")[1])
        assert process != command.pid
        os.kill(process, signal.SIGABRT)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 128 + signal.SIGABRT
    assert "SIGABRT" in said
    assert not crash_file.exists()
    (report,) = tmp_path.glob("dump/2*/.tensortap/*.json")
    assert json.loads(report.read_text())["crash"]["signal"] == "SIGABRT"
    listed = tensortap("ls", tmp_path / "dump")
    assert listed.code == 0, listed.err
