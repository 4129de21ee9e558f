"""Inputs and outputs of `tensortap run` that are not tensors: sequences, optionals, maps, and models without inputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from case_table import each_row
from cli_support import COMMAND, Done, tensortap
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("onnxruntime")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import backend_cases  # of bench/

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
NOT_TENSORS = [
    "test_constant",
    "test_identity_opt",
    "test_identity_sequence",
    "test_loop13_seq",
    "test_loop16_seq_none",
    "test_optional_get_element_optional_sequence",
    "test_optional_get_element_optional_tensor",
    "test_optional_has_element_empty_no_input_optional_input",
    "test_optional_has_element_empty_optional_input",
    "test_optional_has_element_tensor_input",
    "test_sequence_insert_at_back",
    "test_sequence_map_add_2_sequences",
    "test_sequence_map_extract_shapes",
]
"""Backend cases of different kinds, out of the 29 whose inputs are not tensors, or that have none."""


@each_row("name", NOT_TENSORS)
def test_a_backend_case_runs_as_it_does_without_us(name: str) -> None:
    (folder,) = [case for case in backend_cases.cases([name]) if case.name == name]
    expected, why = backend_cases.run_plain(folder)
    assert expected is not None, why
    assert backend_cases.check(str(COMMAND), folder, (expected, why)) == ("same", "")


def sequence_model(path: Path, optional: bool = False) -> Path:
    """Save a model that gives how many tensors a sequence has, and the sequence with one more."""
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    given = helper.make_optional_type_proto(kind) if optional else kind
    nodes = [helper.make_node("OptionalGetElement", ["s"], ["list"])] if optional else [helper.make_node("Identity", ["s"], ["list"])]
    nodes += [
        helper.make_node("SequenceLength", ["list"], ["count"]),
        helper.make_node("SequenceInsert", ["list", "one"], ["longer"], name="insert"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [onnx.ValueInfoProto(name="s", type=given)],
        [helper.make_tensor_value_info("count", INT64, []), onnx.ValueInfoProto(name="longer", type=kind)],
        [numpy_helper.from_array(np.ones(2, np.float32), "one")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return path


def run(model: Path, *words: str | Path) -> Done:
    place = [] if "--out" in words else ["--out", "d"]
    return tensortap("run", model, "--save-outputs", "o", "--full", "--json", "--verify", *place, *words, cwd=model.parent)


@each_row("optional", [False, True])
@each_row("count", [0, 1, 3])
def test_a_sequence_comes_from_a_file_and_its_elements_are_captured(count: int, optional: bool, tmp_path: Path) -> None:
    if optional and count == 0:
        pytest.skip("an optional without elements has no value: OptionalGetElement refuses it")
    model = sequence_model(tmp_path / "m.onnx", optional)
    arrays = [np.arange(place + 1, dtype=np.float32) for place in range(count)]
    proto = numpy_helper.from_list(arrays, "s", onnx.SequenceProto.TENSOR)
    (tmp_path / "s.pb").write_bytes(proto.SerializeToString())
    done = run(model, "--input", "s=s.pb")
    assert done.code == 0, done.err
    assert done.object["identical"] is True
    assert [given["how"] for given in done.object["inputs"]] == ["s.pb"]
    assert np.load(tmp_path / "o" / "count.npy") == count
    for place, array in enumerate([*arrays, np.ones(2, np.float32)]):
        np.testing.assert_array_equal(np.load(tmp_path / "o" / f"longer[{place}].npy"), array)
    records = tensortap("ls", tmp_path / "d", "--type", "Input", "--json").objects
    assert [record["shape"] for record in records] == [[place + 1] for place in range(count)]


def test_a_sequence_comes_from_an_npz_or_is_made(tmp_path: Path) -> None:
    model = sequence_model(tmp_path / "m.onnx")
    np.savez(tmp_path / "s.npz", a=np.zeros(3, np.float32), b=np.ones(1, np.float32))
    done = run(model, "--input", "s=s.npz")
    assert done.code == 0, done.err
    assert np.load(tmp_path / "o" / "count.npy") == 2
    np.testing.assert_array_equal(np.load(tmp_path / "o" / "longer[1].npy"), [1])
    done = run(model, "--out", "e")
    assert done.code == 0, done.err
    assert done.object["inputs"][0]["made"] is True


def test_a_tensor_is_not_taken_for_a_sequence_nor_the_other_way_round(tmp_path: Path) -> None:
    model = sequence_model(tmp_path / "m.onnx")
    (tmp_path / "s.pb").write_bytes(numpy_helper.from_list([np.zeros(2, np.int64), np.ones(2, np.int64)], "s").SerializeToString())
    done = run(model, "--input", "s=s.pb")
    assert done.code == 2
    assert 's.pb: input "s" must be sequence of float32 of any shape, but is int64 [2].' in done.err
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", INT64, [2])],
        [helper.make_tensor_value_info("y", INT64, [2])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(tmp_path / "t.onnx"))
    done = run(tmp_path / "t.onnx", "--input", "x=s.pb")
    assert done.code == 2
    assert 's.pb: input "x" must be int64 [2], but is a list of 2 tensors.' in done.err


@each_row(
    ("keys", "values"),
    [(["a", "c", "d"], np.array([1.5, 2.5, 3.5], np.float32)), (["b"], np.array([2.0], np.float32))],
)
def test_a_map_comes_from_a_file(keys: list[str], values: Any, tmp_path: Path) -> None:
    node = helper.make_node("DictVectorizer", ["m"], ["y"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c", "d"])
    kind = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(FLOAT, []))
    graph = helper.make_graph([node], "g", [onnx.ValueInfoProto(name="m", type=kind)], [helper.make_tensor_value_info("y", FLOAT, [1, 4])])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    model = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), str(model))
    given = onnx.MapProto(name="m", key_type=TensorProto.STRING, string_keys=[key.encode() for key in keys])
    given.values.CopyFrom(numpy_helper.from_list([np.array(value) for value in values], "v"))
    (tmp_path / "m.pb").write_bytes(given.SerializeToString())
    done = run(model, "--input", "m=m.pb")
    assert done.code == 0, done.err
    expected = np.zeros((1, 4), np.float32)
    for key, value in zip(keys, values, strict=True):
        expected[0, "abcd".index(key)] = value
    np.testing.assert_array_equal(np.load(tmp_path / "o" / "y.npy"), expected)
    done = run(model, "--out", "e")
    assert done.code == 2
    assert 'input "m" is a map, which cannot be made up' in done.err


def test_maps_are_put_out_as_keys_and_values_and_empty_values_are_said(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ZipMap", ["x"], ["scores"], domain="ai.onnx.ml", classlabels_int64s=[4, 7]),
        helper.make_node("SequenceEmpty", [], ["nothing"], dtype=FLOAT),
    ]
    scores = helper.make_sequence_type_proto(helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, [])))
    empty = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [2, 2])],
        [onnx.ValueInfoProto(name="scores", type=scores), onnx.ValueInfoProto(name="nothing", type=empty)],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), str(tmp_path / "m.onnx"))
    np.save(tmp_path / "x.npy", np.array([[0.25, 0.75], [1, 0]], np.float32))
    done = run(tmp_path / "m.onnx", "--input", "x=x.npy")
    assert done.code == 0, done.err
    assert done.object["identical"] is True
    for row, expected in enumerate([[0.25, 0.75], [1, 0]]):
        np.testing.assert_array_equal(np.load(tmp_path / "o" / f"scores.keys[{row}].npy"), [4, 7])
        np.testing.assert_array_equal(np.load(tmp_path / "o" / f"scores.values[{row}].npy"), expected)
    assert 'output "nothing" is an empty sequence' in done.object["notes"]


def test_damaged_sequences_are_refused(tmp_path: Path) -> None:
    model = sequence_model(tmp_path / "m.onnx")
    whole = numpy_helper.from_list([np.zeros(9, np.float32), np.ones(5, np.float32)], "s").SerializeToString()
    for length in range(1, len(whole), 3):
        (tmp_path / "s.pb").write_bytes(whole[:length])
        done = run(model, "--input", "s=s.pb", "--out", f"d{length}")
        assert done.code in (0, 2), done.err  # cut between two elements, it is a shorter one
    tensor = TensorProto(data_type=FLOAT, dims=[0]).SerializeToString()
    huge = b"".join(b"\x1a" + bytes([len(tensor)]) + tensor for _ in range(70000))
    (tmp_path / "s.pb").write_bytes(huge)
    done = run(model, "--input", "s=s.pb", "--out", "huge")
    assert done.code == 2
