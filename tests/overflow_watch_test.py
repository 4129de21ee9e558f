"""The overflow trigger where ops have graphs, lists or other types, and in a program; the rest is in tests/command/overflow_test.cc."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cli_support import save, tensortap
from onnx import TensorProto, helper, numpy_helper

Values = npt.NDArray[np.float32]
LARGE = np.array([[1, 2, 3], [4, 400, 6]], np.float32)


def watch(tmp_path: Path, model: Path, x: Values, *words: str, **config: Any) -> dict[str, Values]:
    """Run a model under the trigger and give the dumped tensors by the names of their records."""
    np.save(tmp_path / "x.npy", x)
    settings = {"trigger": "overflow", "payload": "full", "slots": ["in", "out"], "out": str(tmp_path / "dump"), **config}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    words = ("--input", f"x={tmp_path / 'x.npy'}", "--config", str(tmp_path / "config.json"), *words)
    done = tensortap("run", model, *words, "--verify", "--json")
    assert done.code == 0, done.err
    assert done.object["identical"] is True
    assert done.object["ops"]["captured"] == done.object["ops"]["expected"], "watched, if not written"
    found: dict[str, Values] = {}
    for record in tensortap("ls", tmp_path / "dump", "--json").objects:
        name = f"{record['op']}:{record['slot']}@{record['step']}#{record['call']}"
        assert name not in found, "a value is written once"
        shown = tensortap(
            "show", tmp_path / "dump", f"{record['op']}:{record['slot']}@{record['step']}#{record['call']}", "--npy", tmp_path / "v.npy"
        )
        assert shown.code == 0, shown.err
        found[name] = np.load(tmp_path / "v.npy")
    return found


def chain(path: Path) -> Path:
    """Save y = -exp(3 x + x), whose exponent the runtime would compute in the memory of its input."""
    three = numpy_helper.from_array(np.float32(3), "three")
    nodes = [
        helper.make_node("Mul", ["x", "three"], ["m"], name="product"),
        helper.make_node("Add", ["m", "x"], ["a"], name="sum"),
        helper.make_node("Exp", ["a"], ["e"], name="exponent"),
        helper.make_node("Neg", ["e"], ["y"], name="negated"),
    ]
    return save(nodes, path, initializers=[three])


def test_a_value_that_some_reader_can_not_show_is_held_for_the_others(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"], name="sum"),
        helper.make_node("SequenceConstruct", ["a", "a"], ["list"], name="list"),
        helper.make_node("Exp", ["a"], ["e"], name="exponent"),
        helper.make_node("ConcatFromSequence", ["list"], ["c"], name="joined", axis=0),
        helper.make_node("Concat", ["e", "c"], ["y"], name="last", axis=0),
    ]
    found = watch(tmp_path, save(nodes, tmp_path / "m.onnx"), LARGE)
    assert sorted(found) == ["exponent:out0@0#0", "sum:out0@0#0"]
    np.testing.assert_array_equal(found["sum:out0@0#0"], LARGE + LARGE)


def loop_model(path: Path) -> Path:
    """Save a Loop of three iterations that multiplies what it carries by itself and adds a value of the graph around it."""
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["carried", "carried"], ["square"], name="square"),
            helper.make_node("Add", ["square", "around"], ["next"], name="next"),
            helper.make_node("Identity", ["condition"], ["go_on"], name="keep"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("condition", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.FLOAT, [2, 3]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 3]),
        ],
    )
    trips = numpy_helper.from_array(np.int64(3), "trips")
    yes = numpy_helper.from_array(np.bool_(True), "yes")
    nodes = [
        helper.make_node("Neg", ["x"], ["around"], name="around"),
        helper.make_node("Loop", ["trips", "yes", "x"], ["y"], name="loop", body=body),
    ]
    return save(nodes, path, initializers=[trips, yes])


def test_the_iteration_that_overflows_is_the_one_that_is_kept(tmp_path: Path) -> None:
    x = np.array([[1, 2, 3], [4, 1e15, 6]], np.float32)
    found = watch(tmp_path, loop_model(tmp_path / "m.onnx"), x)
    names = sorted(name.rsplit("/", 1)[-1] for name in found)
    # No op made the value that a Loop carries: it is under the op that read it. The Loop itself made Inf of its inputs, too.
    assert names == ["loop:out0@0#0", "square:in0@0#1", "square:out0@0#1", "trips:out0@0#0", "x:out0@0#0", "yes:out0@0#0"]
    (carried,) = [value for name, value in found.items() if name.endswith("square:in0@0#1")]
    np.testing.assert_array_equal(carried, x * x - x)


def test_half_precision_is_watched(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], name="half", to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["h"], ["y"], name="single", to=TensorProto.FLOAT),
    ]
    x = np.array([[1, 2, 3], [4, 70000, 6]], np.float32)
    found = watch(tmp_path, save(nodes, tmp_path / "m.onnx"), x)
    assert sorted(found) == ["half:out0@0#0", "x:out0@0#0"]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found["half:out0@0#0"], x.astype(np.float16))


PROGRAM = """
import numpy as np, onnxruntime, sys
session = onnxruntime.InferenceSession(sys.argv[1])
for _ in range(2):
    session.run(None, {"x": np.load(sys.argv[2])})
"""


def test_a_program_that_uses_the_runtime_itself_is_watched_in_the_same_way(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = chain(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", LARGE)
    (tmp_path / "program.py").write_text(PROGRAM)
    config = tmp_path / "acl.json"
    config.write_text(json.dumps({"dump": {"dump_path": str(tmp_path), "dump_debug": "on"}}))
    words = (sys.executable, tmp_path / "program.py", model, tmp_path / "x.npy")
    done = tensortap("exec", "--config", config, "--", *words)
    assert done.code == 0, done.err
    records = tensortap("ls", tmp_path, "--json").objects
    kept = sorted((record["step"], record["type"], record["slot"]) for record in records if record["type"] != "Opdebug")
    assert kept == [(step, "Exp", slot) for step in (0, 1) for slot in ("in0", "out0")]
    shown = tensortap("show", tmp_path, "exponent:in0@1", "--npy", tmp_path / "v.npy")
    assert shown.code == 0, shown.err
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), LARGE * np.float32(3) + LARGE)
