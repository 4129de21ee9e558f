"""How `tensortap run` comes by its inputs: ranges, the use of an input, one file for all, custom operators, entries of the session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from case_table import each_row
from cli_support import BUILD, Done, tensortap
from onnx import TensorProto, helper, numpy_helper

CUSTOM_OPS = BUILD / "tests" / "libcrashing_op_library.so"
WORDS = 30522
"""The height of the table of words."""
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
Array = npt.NDArray[Any]
OTHER_TYPES = {
    "BFLOAT16": ml_dtypes.bfloat16,
    "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
    "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "FLOAT8E5M2": ml_dtypes.float8_e5m2,
    "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}


def info(name: str, kind: int, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def save(
    path: Path, nodes: list[onnx.NodeProto], inputs: list[Any], outputs: list[Any], weights: dict[str, Array] | None = None, opset: int = 17
) -> Path:
    """Save a model that also gives its inputs out as seen_NAME."""
    seen = [helper.make_node("Identity", [given.name], [f"seen_{given.name}"]) for given in inputs]
    shown = [
        info(f"seen_{given.name}", given.type.tensor_type.elem_type, [d.dim_value for d in given.type.tensor_type.shape.dim])
        for given in inputs
    ]
    kept = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes + seen, "g", inputs, outputs + shown, kept)
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("test.crash", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8 if opset < 19 else 10), str(path))
    return path


def run(model: Path, *words: str | Path) -> Done:
    place = [] if "--out" in words else ["--out", "d"]
    return tensortap("run", model, "--save-outputs", "o", "--json", *place, *words, cwd=model.parent)


def seen(model: Path, name: str) -> Array:
    loaded: Array = np.load(model.parent / "o" / f"seen_{name}.npy")
    return loaded


def how(done: Done) -> dict[str, str]:
    return {given["name"]: given["how"] for given in done.object["inputs"]}


def open_dims(path: Path) -> Path:
    """Save a model of three inputs whose dimensions have names, two of them the same."""
    inputs = [info("a", FLOAT, ["N", 3]), info("b", FLOAT, [2, "N"]), info("c", FLOAT, ["N", "M"])]
    nodes = [helper.make_node("MatMul", ["b", "a"], ["y"]), helper.make_node("MatMul", ["b", "c"], ["z"])]
    return save(path, nodes, inputs, [info("y", FLOAT, [2, 3]), info("z", FLOAT, [2, "M"])])


@each_row(
    ("words", "n", "m"),
    [
        ((), 1, 16),
        (("--dim", "N=6"), 6, 16),
        (("--dim", "b.1=4"), 4, 16),
        (("--input", "b=b7.npy"), 7, 16),
        (("--input", "c=c59.npy"), 5, 9),
        (("--input", "c=c59.npy", "--dim", "M=9"), 5, 9),
    ],
)
def test_a_dimension_with_a_name_has_one_size_in_all_inputs(words: tuple[str, ...], n: int, m: int, tmp_path: Path) -> None:
    model = open_dims(tmp_path / "m.onnx")
    np.save(tmp_path / "b7.npy", np.ones((2, 7), np.float32))
    np.save(tmp_path / "c59.npy", np.ones((5, 9), np.float32))
    done = run(model, *words)
    assert done.code == 0, done.err
    assert [seen(model, name).shape for name in "abc"] == [(n, 3), (2, n), (n, m)]


@each_row("words", [("--input", "b=b7.npy", "--dim", "N=6"), ("--input", "b=b7.npy", "--input", "c=c59.npy")])
def test_two_sizes_of_one_dimension_are_refused_where_an_input_is_made(words: tuple[str, ...], tmp_path: Path) -> None:
    model = open_dims(tmp_path / "m.onnx")
    np.save(tmp_path / "b7.npy", np.ones((2, 7), np.float32))
    np.save(tmp_path / "c59.npy", np.ones((5, 9), np.float32))
    done = run(model, *words)
    assert done.code == 2, done.out
    assert 'input "a"' in done.err and '"N"' in done.err and '7 by input "b"' in done.err


def plain(path: Path) -> Path:
    """Save a model of a float input, an integer one and a byte one, none of which shows what it is for."""
    inputs = [info("x", FLOAT, [200]), info("n", INT64, [200]), info("b", TensorProto.UINT8, [200])]
    return save(path, [helper.make_node("Neg", ["x"], ["y"])], inputs, [info("y", FLOAT, [200])])


def embedding(path: Path) -> Path:
    """Save what transformers begin with: words through Cast and Unsqueeze, types, a mask, and a table by place."""
    rng = np.random.default_rng(3)
    weights = {
        "words": rng.standard_normal((WORDS, 4)).astype(np.float32),
        "types": rng.standard_normal((2, 4)).astype(np.float32),
        "places": rng.standard_normal((4, 7)).astype(np.float32),
        "axes": np.array([0]),
        "shape": np.array([1, 64]),
        "one": np.float32(1),
    }
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["wide"], to=INT64),
        helper.make_node("Unsqueeze", ["wide", "axes"], ["row"]),
        helper.make_node("Reshape", ["row", "shape"], ["flat"]),
        helper.make_node("Gather", ["words", "flat"], ["found"], name="/embeddings/word_embeddings/Gather"),
        helper.make_node("Gather", ["types", "token_types"], ["kind"], name="/embeddings/type_embeddings/Gather"),
        helper.make_node("Gather", ["places", "position"], ["place"], name="by_column", axis=1),
        helper.make_node("Cast", ["mask"], ["weight"], to=FLOAT),
        helper.make_node("Sub", ["one", "weight"], ["hidden"]),
    ]
    inputs = [
        info("input_ids", TensorProto.INT32, [64]),
        info("token_types", INT64, [64]),
        info("position", INT64, [64]),
        info("mask", INT64, [64]),
    ]
    outputs = [info("found", FLOAT, [1, 64, 4]), info("kind", FLOAT, [64, 4]), info("place", FLOAT, [4, 64]), info("hidden", FLOAT, [64])]
    return save(path, nodes, inputs, outputs, weights)


# ---- ranges


def test_a_range_for_all_made_inputs_and_one_of_its_own(tmp_path: Path) -> None:
    model = plain(tmp_path / "m.onnx")
    done = run(model, "--range", "0:200", "--range", "x=-2.5:1e3")
    assert done.code == 0, done.err
    x, n, b = (seen(model, name) for name in "xnb")
    assert x.min() >= -2.5
    assert x.max() <= 1000
    assert x.max() - x.min() > 500
    for numbers in (n, b):
        assert numbers.min() >= 0
        assert numbers.max() <= 200
        assert len(np.unique(numbers)) > 50
    assert how(done) == {"x": "uniform -2.5..1000", "n": "0..200", "b": "0..200"}
    assert [given["made"] for given in done.object["inputs"]] == [True, True, True]
    assert "n [200]: made, 0..200, seed 0" in done.err


@each_row(
    ("kind", "low", "high"),
    [
        ("FLOAT16", -3.0, 70.0),
        ("BFLOAT16", -3.0, 70.0),
        ("DOUBLE", 1e300, 1.5e300),
        ("FLOAT", -0.25, -0.125),
        ("INT8", -128, -100),
        ("UINT16", 65000, 65535),
        ("INT64", -9223372036854775808, 9223372036854775807),
        ("UINT64", 18446744073709551610, 18446744073709551615),
        ("BOOL", 1, 1),
        ("FLOAT8E4M3FN", -3.0, 70.0),
        ("FLOAT8E4M3FNUZ", 0.5, 200.0),
        ("FLOAT8E5M2", -50000.0, 50000.0),
        ("FLOAT8E5M2FNUZ", -0.25, 0.125),
    ],
)
def test_every_type_keeps_to_its_range(kind: str, low: float, high: float, tmp_path: Path) -> None:
    number = getattr(TensorProto, kind)
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [info("x", number, [300])], [info("y", number, [300])], opset=21)
    done = run(model, "--range", f"{low}:{high}")
    assert done.code == 0, done.err
    values = seen(model, "x")
    if kind in OTHER_TYPES:  # NumPy has no name for them, so the file has their bits
        values = np.frombuffer(values.tobytes(), OTHER_TYPES[kind]).astype(np.float32)
    numbers = [value.item() for value in values.ravel()]
    assert min(numbers) >= low
    assert max(numbers) <= high
    assert low == high or len(set(numbers)) > 3


@each_row(
    ("words", "message"),
    [
        (["--range", "m=0:1"], r'a range for "m": the model has no such input. Its inputs are x, n, b.'),
        (["--range", "5:1"], "--range 5:1: LOW is greater than HIGH"),
        (["--range", "0:inf"], "--range 0:inf: LOW and HIGH must be finite numbers"),
        (["--range", "nan:1"], "--range nan:1: LOW and HIGH must be finite numbers"),
        (["--range", "x=3"], "--range x=3: write it as NAME=LOW:HIGH or LOW:HIGH"),
        (["--range", "b=0:256"], 'input "b": 0..256 is out of range for uint8, which holds 0..255'),
        (["--range=-1:1"], 'input "b": -1..1 is out of range for uint8, which holds 0..255; give this input a range of its own'),
        (["--range", "n=0.25:0.75"], 'input "n": no whole number lies in 0.25..0.75, and int64 holds no others'),
        (["--range", "x=0:1", "--input", "x=x.npy"], 'input "x" is given, so a range for it changes nothing'),
    ],
)
def test_a_wrong_range_is_named(words: list[str], message: str, tmp_path: Path) -> None:
    model = plain(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(200, np.float32))
    done = run(model, *words)
    assert done.code == 2
    assert message in done.err


# ---- use


def test_integers_that_choose_rows_of_a_table_are_numbers_of_its_rows(tmp_path: Path) -> None:
    model = embedding(tmp_path / "m.onnx")
    done = run(model, "--verify")
    assert done.code == 0, done.err
    ids, types, position, mask = (seen(model, name) for name in ("input_ids", "token_types", "position", "mask"))
    assert ids.min() >= 0
    assert WORDS / 2 < ids.max() < WORDS
    assert set(types.tolist()) == {0, 1}
    assert set(position.tolist()) == set(range(7))
    assert set(mask.tolist()) == {0, 1}
    assert how(done) == {
        "input_ids": '0..30521 from the height of Gather "/embeddings/word_embeddings/Gather"',
        "token_types": '0..1 from the height of Gather "/embeddings/type_embeddings/Gather"',
        "position": '0..6 from the height of Gather "by_column"',
        "mask": "0 or 1",
    }
    assert 'input_ids [64]: made, 0..30521 from the height of Gather "/embeddings/word_embeddings/Gather", seed 0' in done.err


def test_a_range_of_the_user_goes_before_the_use(tmp_path: Path) -> None:
    model = embedding(tmp_path / "m.onnx")
    done = run(model, "--range", "input_ids=5:6")
    assert done.code == 0, done.err
    assert set(seen(model, "input_ids").tolist()) == {5, 6}


def test_a_table_of_one_row_and_one_inside_a_branch_and_elements_are_seen(tmp_path: Path) -> None:
    branch = helper.make_graph(
        [helper.make_node("Gather", ["table", "inner"], ["got"], name="inside")], "then", [], [info("got", FLOAT, [16, 2])]
    )
    other = helper.make_graph(
        [helper.make_node("Gather", ["table", "inner"], ["none"], name="outside")], "else", [], [info("none", FLOAT, [16, 2])]
    )
    nodes = [
        helper.make_node("Gather", ["single", "only"], ["first"], name="of_one"),
        helper.make_node("If", ["flag"], ["chosen"], then_branch=branch, else_branch=other),
        helper.make_node("GatherND", ["table", "pairs"], ["points"], name="points"),
        helper.make_node("GatherElements", ["wide", "columns"], ["picked"], name="elements", axis=-1),
    ]
    inputs = [info("only", INT64, [16]), info("inner", INT64, [16]), info("flag", TensorProto.BOOL, []), info("pairs", INT64, [16, 2])]
    inputs.append(info("columns", INT64, [1, 16]))
    outputs = [info("first", FLOAT, [16, 2]), info("chosen", FLOAT, [16, 2]), info("points", FLOAT, [16]), info("picked", FLOAT, [1, 16])]
    weights = {"single": np.ones((1, 2), np.float32), "table": np.ones((9, 2), np.float32), "wide": np.ones((1, 5), np.float32)}
    model = save(tmp_path / "m.onnx", nodes, inputs, outputs, weights)
    done = run(model)
    assert done.code == 0, done.err
    assert set(seen(model, "only").tolist()) == {0}
    assert 2 < seen(model, "inner").max() <= 8
    assert set(seen(model, "pairs").ravel().tolist()) == {0, 1}, "the second number of a pair is a column"
    assert 1 < seen(model, "columns").max() <= 4


def test_the_runtimes_own_embedding_is_known(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    tables = {"words": (50, 8), "places": (16, 8), "kinds": (3, 8)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in tables.items()}
    weights |= {"gamma": np.ones(8, np.float32), "beta": np.zeros(8, np.float32)}
    node = helper.make_node(
        "EmbedLayerNormalization", ["ids", "types", *weights, "mask"], ["y", "lengths"], name="embed", domain="com.microsoft"
    )
    kinds = TensorProto.INT32
    inputs = [info("ids", kinds, [1, 16]), info("types", kinds, [1, 16]), info("mask", kinds, [1, 16])]
    model = save(tmp_path / "m.onnx", [node], inputs, [info("y", FLOAT, [1, 16, 8])], weights)
    done = run(model)
    assert done.code == 0, done.err
    assert how(done) == {
        "ids": '0..49 from the height of EmbedLayerNormalization "embed"',
        "types": '0..2 from the height of EmbedLayerNormalization "embed"',
        "mask": "0 or 1",
    }
    assert seen(model, "ids").max() > 10


# ---- files


def test_one_file_holds_all_inputs(tmp_path: Path) -> None:
    model = plain(tmp_path / "m.onnx")
    rng = np.random.default_rng(4)
    given = {
        "x": rng.standard_normal(200).astype(np.float32),
        "n": rng.integers(-9, 9, 200),
        "b": rng.integers(0, 256, 200).astype(np.uint8),
    }
    np.savez(tmp_path / "inputs.npz", **given)
    done = run(model, "--input", "inputs.npz")
    assert done.code == 0, done.err
    for name, array in given.items():
        np.testing.assert_array_equal(seen(model, name), array)
    assert how(done) == dict.fromkeys("xnb", "inputs.npz")
    assert [given["made"] for given in done.object["inputs"]] == [False, False, False]
    assert "n [200]: inputs.npz" in done.err
    np.save(tmp_path / "n.npy", np.full(200, 7))
    done = run(model, "--input", "inputs.npz", "--input", "n=n.npy", "--out", "e")
    assert (done.code, how(done)["n"]) == (0, "n.npy")
    assert set(seen(model, "n").tolist()) == {7}


@each_row(
    ("change", "message"),
    [
        ({"n": None}, 'inputs.npz: no member "n", which the model takes. Members: b, x.'),
        ({"nn": np.zeros(200)}, 'inputs.npz: the model has no input "nn". Its inputs are x, n, b.'),
        ({"n": np.zeros(200)}, 'inputs.npz: input "n" must be int64 [200], but is float64 [200].'),
    ],
)
def test_a_missing_an_unknown_and_a_wrong_member_are_named(change: dict[str, Array | None], message: str, tmp_path: Path) -> None:
    model = plain(tmp_path / "m.onnx")
    members = {"b": np.zeros(200, np.uint8), "n": np.zeros(200, np.int64), "x": np.zeros(200, np.float32), **change}
    np.savez(tmp_path / "inputs.npz", **{name: array for name, array in members.items() if array is not None})
    done = run(model, "--input", "inputs.npz")
    assert done.code == 2
    assert message in done.err
    done = run(model, "--input", "m.onnx")
    assert done.code == 2


def test_a_file_of_one_array_must_say_which_input_it_is(tmp_path: Path) -> None:
    model = plain(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(200, np.float32))
    done = run(model, "--input", "x.npy")
    assert done.code == 2
    assert "--input x.npy: write it as NAME=x.npy; only an npz holds inputs by their names" in done.err


def test_an_output_that_its_input_does_not_take_is_named_before_a_step_begins(tmp_path: Path) -> None:
    nodes = [helper.make_node("Concat", ["x", "x"], ["y"], axis=0)]
    model = save(tmp_path / "m.onnx", nodes, [info("x", FLOAT, [3])], [info("y", FLOAT, [6])])
    done = run(model, "--carry", "y=x", "--runs", "3")
    assert done.code == 2
    assert 'carrying output "y": input "x" must be float32 [3], but is float32 [6].' in done.err
    assert "dump: d" in done.err
    assert json.loads((tmp_path / "d" / "run.json").read_text())["steps"] == {"seen": 1, "captured": 1}


# ---- custom operators, entries of the session


@pytest.mark.skipif(not CUSTOM_OPS.exists(), reason="crashing_op_library is not built")
def test_a_model_with_custom_operators_runs_under_capture(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("Fragile", ["r", "b"], ["y"], name="own", domain="test.crash"),
    ]
    model = save(tmp_path / "m.onnx", nodes, [info("x", FLOAT, [5]), info("b", FLOAT, [5])], [info("y", FLOAT, [5])])
    without = run(model)
    assert without.code == 2
    assert "Fragile" in without.err
    done = run(model, "--custom-ops", CUSTOM_OPS, "--verify", "--full", "--range", "x=-1:1")
    assert done.code == 0, done.err
    assert done.object["identical"] is True
    assert done.object["executed_nodes_equal"] is True
    y = np.load(tmp_path / "o" / "y.npy")
    np.testing.assert_array_equal(y, np.maximum(seen(model, "x"), 0) + seen(model, "b"))
    kept = tensortap("show", tmp_path / "d", "own:out0", "--json")
    assert kept.object["values"] == y.tolist()
    explained = tensortap("explain", "--model", model, "--custom-ops", CUSTOM_OPS, "--types", "Fragile", "--json")
    assert explained.object["ops"] == ["own"]
    wrong = run(model, "--custom-ops", "nowhere.so", "--out", "e")
    assert wrong.code == 2
    assert "custom operators: no such library: nowhere.so" in wrong.err
    (tmp_path / "text.so").write_text("no library")
    wrong = run(model, "--custom-ops", "text.so", "--out", "e")
    assert wrong.code == 2
    assert "custom operators of text.so" in wrong.err


def test_entries_of_the_session_reach_the_runtime(tmp_path: Path) -> None:
    """Flushing numbers too small for the exponent is off unless the entry asks for it, which shows in the result."""
    nodes = [helper.make_node("Mul", ["x", "x"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [info("x", FLOAT, [4])], [info("y", FLOAT, [4])])
    np.save(tmp_path / "x.npy", np.full(4, 1e-20, np.float32))
    words = ["--input", "x=x.npy", "--threads", "1", "--verify"]
    assert run(model, *words).code == 0
    assert np.load(tmp_path / "o" / "y.npy").min() > 0
    done = run(model, *words, "--session-config", "session.set_denormal_as_zero=1", "--out", "e")
    assert done.code == 0, done.err
    assert np.load(tmp_path / "o" / "y.npy").max() == 0


@each_row(
    ("entry", "message"),
    [
        (
            "session.load_model_format=ORT",
            'session config: "session.load_model_format" cannot be set: capturing needs its own value for it',
        ),
        ("session.save_model_format=ORT", 'session config: "session.save_model_format" cannot be set'),
        ("nothing", "--session-config nothing: write it as KEY=VALUE"),
    ],
)
def test_entries_that_capturing_sets_are_refused(entry: str, message: str, tmp_path: Path) -> None:
    done = run(plain(tmp_path / "m.onnx"), "--session-config", entry)
    assert done.code == 2
    assert message in done.err
