"""Ops of real models run again: every output on the runtime that made it, and which kernels another release changed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import tensortap as command
from onnx import TensorProto, helper, numpy_helper
from onnxruntime_models_test import REAL

tensortap = pytest.importorskip("tensortap", reason="the module is not built")
pytestmark = pytest.mark.skipif(not api.MODELS.is_dir() or not api.RUNTIMES.is_dir(), reason="no models or runtimes: run ./dev setup")


def runtime(version: str) -> Path:
    return next(api.RUNTIMES.glob(f"{version}/libonnxruntime.so.{version}"))


def capture(model: str | Path, inputs: dict[str, Any], out: Path, **options: Any) -> Path:
    tensortap.run(model, inputs, out=out, payload="full", slots="in,out", keep_outputs=False, **options)
    return out


def replay(dump: Path, *words: str | Path, code: int = 0) -> dict[str, Any]:
    done = command("replay", dump, *words, "--json")
    assert done.code == code, done.err
    return done.objects[-1]["summary"]


def outputs_of_ops(dump: Path) -> int:
    ops = {op["id"]: op["type"] for op in map(json.loads, (dump / "ops.jsonl").read_text().splitlines())}
    rows = np.load(dump / "records.npy")
    return sum(row["slot_kind"] == 0 and ops[row["op"]] not in ("Input", "Initializer") for row in rows)


# B11
@each_row("name", REAL)
def test_every_output_of_a_real_model_comes_out_bit_equal(name: str, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    dump = capture(api.model(path), inputs, tmp_path / "dump", runtime=runtime(api.NEWEST))
    summary = replay(dump)
    # A Reshape that the runtime inserts before ops that may broadcast: it computes nothing.
    shows = "it only shows an image in blocks of channels with other dimensions"
    assert {one["reason"] for one in summary["reasons"]} <= {shows}, summary["reasons"]
    assert summary["not_replayed"] == 0 or name == "ocr_cls"
    assert summary["differing"] == 0, summary["kernels"]
    assert summary["equal"] + summary["not_replayed"] == outputs_of_ops(dump)


@each_row("name", REAL)
def test_the_authors_own_graph_replays(name: str, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    dump = capture(api.model(path), inputs, tmp_path / "dump", runtime=runtime(api.NEWEST), as_written=True)
    # Whose kernels depend on their neighbours (docs/replay.md).
    excepted = {"ocr_rec": {"BatchNormalization", "MatMul"}, "ocr_cls": {"BatchNormalization", "GlobalAveragePool"}}.get(name, set())
    summary = replay(dump, code=1 if excepted else 0)
    assert {kernel["type"] for kernel in summary["kernels"]} == excepted
    assert all(kernel["relative_l2"] < 1e-6 for kernel in summary["kernels"])
    assert summary["not_replayed"] == 0, summary["reasons"]


def test_a_runtime_that_others_can_change_is_refused_and_not_replaced(tmp_path: Path) -> None:
    library = tmp_path / "libonnxruntime.so.1.31.1"
    shutil.copyfile(runtime(api.NEWEST), library)
    library.chmod(0o644)
    path, inputs = REAL["magika"]
    dump = capture(api.model(path), inputs, tmp_path / "dump", runtime=library)
    library.chmod(0o664)
    done = command("replay", dump)
    assert done.code == 3, done.out
    assert done.out == ""
    assert str(library) in done.err
    assert "--runtime" in done.err
    # A runtime that the user names is the user's choice, and one that is gone is replaced; a warning reports both.
    named = command("replay", dump, "--runtime", library)
    assert named.code == 0
    ran = command("run", api.model(path), "--runtime", library, "--out", tmp_path / "again")
    assert ran.code == 0
    for done in (named, ran):
        assert f'the runtime was named and is loaded, but other users can write "{library}" (mode 0664)' in done.err
    library.unlink()
    gone = command("replay", dump)
    assert gone.code in (0, 1), gone.err
    assert "the runtime that made the dump is not loaded" in gone.err


def test_sequences_and_optionals_are_made_again(tmp_path: Path) -> None:
    node = helper.make_node
    nodes = [
        node("SplitToSequence", ["x", "sizes"], ["parts"], name="split", axis=0),
        node("SequenceConstruct", ["x", "w"], ["pair"], name="construct"),
        node("SequenceInsert", ["parts", "w", "one"], ["more"], name="insert"),
        node("SequenceErase", ["more", "one"], ["less"], name="erase"),
        node("SequenceAt", ["more", "one"], ["at"], name="at"),
        node("SequenceLength", ["pair"], ["length"], name="length"),
        node("ConcatFromSequence", ["less"], ["joined"], name="concat", axis=0),
        node("Optional", ["joined"], ["maybe"], name="optional"),
        node("OptionalGetElement", ["maybe"], ["got"], name="get"),
        node("Add", ["got", "at"], ["y"], name="add"),
    ]
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    weights = [
        numpy_helper.from_array(np.array([1, 3]), "sizes"),
        numpy_helper.from_array(np.ones((1, 3), np.float32), "w"),
        numpy_helper.from_array(np.array(1), "one"),
    ]
    info = helper.make_tensor_value_info
    outputs = [info("y", TensorProto.FLOAT, None), info("length", TensorProto.INT64, [])]
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [4, 3])], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    dump = capture(tmp_path / "m.onnx", {"x": x}, tmp_path / "dump", runtime=runtime(api.NEWEST))
    summary = replay(dump)
    assert (summary["not_replayed"], summary["differing"]) == (0, 0), summary
    assert summary["equal"] == outputs_of_ops(dump) > len(nodes), "an output for each element"
    emitted = tmp_path / "insert.py"
    done = command("replay", dump, "insert", "--emit", emitted)
    assert done.code == 0, done.err
    assert subprocess.run([sys.executable, emitted], check=False, timeout=300).returncode == 0


# B11: what a comparison of whole runs hides behind inherited error.
@each_row(
    "case", [("magika", {"Sqrt"}), ("basic_pitch", {"Sqrt", "Log"}), ("smart_turn", {"LayerNormalization", "SkipLayerNormalization"})]
)
def test_the_kernels_that_another_release_changed_are_named(case: tuple[str, set[str]], tmp_path: Path) -> None:
    name, changed = case
    path, inputs = REAL[name]
    old = capture(api.model(path), inputs, tmp_path / "old", runtime=runtime("1.19.2"))
    new = capture(api.model(path), inputs, tmp_path / "new", runtime=runtime(api.NEWEST))
    assert replay(old)["differing"] == 0
    summary = replay(old, "--with", new, code=1)
    assert {kernel["type"] for kernel in summary["kernels"]} == changed
    assert summary["not_replayed"] == 0
    assert summary == replay(old, "--runtime", runtime(api.NEWEST), code=1)
    lines = command("compare", old, new, "--replay", "--json").objects
    own = [line for line in lines if "own" in line and line["own"] and line["own"]["outcome"] == "differs"]
    assert {line["type_a"] for line in own} == changed
    assert lines[-1]["summary"]["replay"]["differing"] == summary["differing"]


def test_an_op_becomes_a_program_and_a_model_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path, inputs = REAL["magika"]
    dump = capture(api.model(path), inputs, tmp_path / "dump")
    rows = command("replay", dump, "--json").objects
    op = next(row["op"] for row in rows if row.get("type") == "Sqrt")
    program = tmp_path / "repro.py"
    assert command("replay", dump, op, "--emit", program).code == 0
    assert len(program.read_text().splitlines()) <= 60
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "equal bit by bit" in done.stdout
    again = command("replay", dump, op, "--emit", program)
    assert again.code == 2
    assert "already exists" in again.err
    arrays = dict(np.load(tmp_path / "repro.npz"))
    arrays["output_0"].ravel()[1] += 1
    np.savez(tmp_path / "repro.npz", **arrays)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "1 of " in done.stdout
    model = tmp_path / "op" / "model.onnx"
    assert command("replay", dump, op, "--emit", model).code == 0
    onnx.checker.check_model(onnx.load(model))
    values = [numpy_helper.to_array(onnx.load_tensor(model.parent / "test_data_set_0" / name)) for name in ("input_0.pb", "output_0.pb")]
    assert np.allclose(np.sqrt(values[0]), values[1])
    ran = command("run", model, "--inputs", model.parent / "test_data_set_0", "--out", tmp_path / "ran")
    assert ran.code == 0, ran.err


def odd_attributes(folder: Path) -> Path:
    """Write a model whose attributes JSON does not hold: a tensor, a nested graph that reads from around it, 70 numbers, an infinity."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [70])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    then_branch = helper.make_graph(
        [helper.make_node("Add", ["shifted", "shifted"], ["doubled"])], "then", [], [helper.make_tensor_value_info("doubled", 1, None)]
    )
    else_branch = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["negated"])], "else", [], [helper.make_tensor_value_info("negated", 1, None)]
    )
    nodes = [
        helper.make_node("Constant", [], ["table"], name="table", value=helper.make_tensor("t", 1, [70], np.arange(70) / 7)),
        helper.make_node("Constant", [], ["list"], name="list", value_floats=[float(i) for i in range(70)]),
        helper.make_node("Add", ["x", "table"], ["shifted"], name="shift"),
        helper.make_node("ReduceSum", ["shifted"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Greater", ["sum", "sum"], ["never"], name="compare"),
        helper.make_node("If", ["never"], ["chosen"], name="choose", then_branch=then_branch, else_branch=else_branch),
        helper.make_node("Add", ["chosen", "list"], ["biased"], name="bias"),
        helper.make_node("ThresholdedRelu", ["biased"], ["y"], name="threshold", alpha=float("-inf")),
    ]
    graph = helper.make_graph(nodes, "odd", [x], [y])
    path = folder / "odd.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("way", ["run", "exec"])
def test_attributes_of_every_kind_come_back(way: str, tmp_path: Path) -> None:
    model = odd_attributes(tmp_path)
    x = np.linspace(-1, 1, 70, dtype=np.float32)
    if way == "run":
        dump = capture(model, {"x": x}, tmp_path / "dump", as_written=True)
    else:
        pytest.importorskip("onnxruntime")
        program = tmp_path / "program.py"
        program.write_text(
            "import numpy as np, onnxruntime as ort\n"
            "options = ort.SessionOptions()\n"
            "options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL\n"
            f"session = ort.InferenceSession({str(model)!r}, options)\n"
            "session.run(None, {'x': np.linspace(-1, 1, 70, dtype=np.float32)})\n"
        )
        done = command("exec", "--full", "--slots", "in,out", "--out", tmp_path / "dump", "--", sys.executable, program)
        assert done.code == 0, done.err
        dump = tmp_path / "dump"
    ops = [json.loads(line) for line in (dump / "ops.jsonl").read_text().splitlines()]
    bytes_of = (dump / "attributes.bin").read_bytes()
    kept = {}
    for op in ops:
        for name, value in (op["attributes"] or {}).items():
            if isinstance(value, dict):
                offset, size = value["ref"]
                kept[op["type"], name] = onnx.AttributeProto.FromString(bytes_of[offset : offset + size])
    # Under exec the runtime hands over its own graph, in which a Constant is a weight.
    if way == "run":
        assert ("Constant", "value") in kept
    assert set(kept) >= {("If", "then_branch"), ("If", "else_branch"), ("ThresholdedRelu", "alpha")}
    assert kept["ThresholdedRelu", "alpha"].f == -np.inf
    facts = json.loads((dump / "run.json").read_text())["runtime"]
    assert facts["opset"]["ai.onnx"] == 17
    assert Path(facts["library"]).is_file()
    summary = replay(dump)
    assert summary["not_replayed"] == 0, summary["reasons"]
    assert summary["differing"] == 0, summary["kernels"]
    copy = tmp_path / "copy"
    assert command("convert", dump, copy, "--to", "tap").code == 0
    assert replay(copy)["equal"] == summary["equal"]
