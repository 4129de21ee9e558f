"""The tree of `msit llm dump` and its .bin files: dumps of the real library read and written back, single files, ours."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
import tensortap as module
from case_table import each_row
from cli_support import ROOT, small_model, tensortap
from onnx import TensorProto, helper

GOLDEN = ROOT / "tests/golden/msit"
TREES = ["g2_tensor", "g2_stats"]
DUMP = "msit_dump_20251120_200000"
NUMBERS = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9, "uint64": 10,
    "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27, "float8_e5m2": 35, "float8_e4m3fn": 36,
    "float8_e8m0fnu": 37,
}  # fmt: skip


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    for tree in TREES:
        with tarfile.open(GOLDEN / f"{tree}.tar.gz") as archive:
            archive.extractall(folder)
    return folder


def files_below(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob(pattern) if path.is_file()}


def header_of(file: bytes) -> dict[str, str]:
    text = file.partition(b"$End=1\n")[0].decode()
    return dict(line.split("=") for line in text.splitlines())


def save_graph(path: Path, graph: onnx.GraphProto) -> None:
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def numbers_of(dump: Any, row: int) -> npt.NDArray[Any]:
    values = dump[row]
    return values.astype(np.float32) if values.dtype == ml_dtypes.bfloat16 else values


# L15 L16
def test_every_tensor_of_a_real_dump_is_what_the_library_was_given(unpacked: Path) -> None:
    truth = np.load(unpacked / "g2_tensor/truth.npz")
    folder = unpacked / "g2_tensor" / DUMP
    dump = module.open(folder)
    assert dump.layout == "msit" and dump.problems == []
    files = {str(path.relative_to(folder / "tensors")) for path in (folder / "tensors").rglob("*.bin")}
    assert len(dump) == len(files) > 0
    for row in range(len(dump)):
        name = dump._core.file(row).removeprefix("tensors/")
        files.remove(name)
        values = numbers_of(dump, row)
        assert values.dtype == truth[name].dtype and values.shape == truth[name].shape, name
        assert values.tobytes() == truth[name].tobytes(), name
    assert not files


# L3 L15 L16
def test_statistics_of_a_real_dump_are_those_of_the_tensors(unpacked: Path) -> None:
    truth = np.load(unpacked / "g2_stats/truth.npz")
    dump = module.open(unpacked / "g2_stats" / DUMP)
    assert dump.problems == []
    measured = 0
    for row in range(len(dump)):
        record = dump.record(dump._core.name(row))
        values = truth[record["file"].removeprefix("tensors/")]
        assert record["shape"] == list(values.shape)
        if values.dtype == bool:
            assert record["max"] is None and record["l2"] is None
            continue
        measured += 1
        wide = values.astype(np.float64)
        expected = [wide.max(), wide.min(), wide.mean(), np.sqrt((wide**2).sum())]
        np.testing.assert_allclose([record["max"], record["min"], record["mean"], record["l2"]], expected, atol=5e-7)
    assert measured > 100


def test_operations_have_the_ids_rounds_and_parents_of_their_folders(unpacked: Path) -> None:
    dump = module.open(unpacked / "g2_tensor" / DUMP)
    ops = {op.name: op for op in dump.ops}
    assert ops["LinearOperation_1_0"].type == "LinearOperation"
    assert ops["LinearOperation_1_0"].attributes == {"transposeB": True, "hasBias": False}
    record = dump.record("Decoder_layer_1:out0")
    assert record["step"] == 0 and record["file"].endswith("0/1_Decoder_layer/after/outtensor0.bin")
    names = [dump._core.name(row) for row in range(len(dump))]
    inner = [
        names.index(name) for name in ("Decoder_layer_1:in0", "LinearOperation_1_0:in0", "LinearOperation_1_0:out0", "Decoder_layer_1:out0")
    ]
    assert inner == sorted(inner)
    assert {record["step"] for record in map(module.open(unpacked / "g2_stats" / DUMP).record, [0, -1])} == {0, 1}


# L3 L16
@each_row("tree", TREES)
def test_real_dumps_are_written_back_byte_for_byte(unpacked: Path, tree: str, tmp_path: Path) -> None:
    done = tensortap("convert", unpacked / tree / DUMP, tmp_path / "out", "--to", "msit")
    assert done.code == 0, done.err
    tensors = Path(DUMP) / "tensors"
    real, ours = files_below(unpacked / tree / tensors), files_below(tmp_path / "out" / tensors)
    # The library also writes the parameters of operations in rounds of which no tensor was asked for.
    rounds = {Path(name).parts[1] for name in real if name.endswith(".bin")}
    assert ours == {name: content for name, content in real.items() if Path(name).parts[1] in rounds}
    assert len(ours) > 80


def test_every_level_of_a_dump_opens_with_the_same_names(unpacked: Path, tmp_path: Path) -> None:
    top = unpacked / "g2_tensor"
    whole = module.open(top / DUMP)
    names = {dump_file: whole._core.name(row) for row in range(len(whole)) for dump_file in [whole._core.file(row)]}
    for level in (
        "",
        "tensors",
        "tensors/0_22349",
        "tensors/0_22349/0",
        "tensors/0_22349/0/1_Decoder_layer",
        "tensors/0_22349/0/4_LmHead/after",
    ):
        part = module.open(top / DUMP / level)
        found = {str(Path(level) / part._core.file(row)): part._core.name(row) for row in range(len(part))}
        assert found == {name: value for name, value in names.items() if name.startswith(level)}, level
    (tmp_path / "out").mkdir()
    (tmp_path / "out/other").symlink_to(top / DUMP)
    assert len(module.open(tmp_path / "out/other")) == len(whole)
    assert len(module.open(top)) == len(whole)


# L16
@each_row("name", list(NUMBERS))
def test_files_of_every_type_are_what_numpy_expects(name: str, tmp_path: Path) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name)) if name not in np.sctypeDict else np.dtype(name)
    data = np.random.default_rng(7).integers(0, 2 if name == "bool" else 256, (3, 5 * dtype.itemsize), np.uint8)
    array = data.view(dtype)
    text = f"$Version=1.0\n$Object.Count=1\n$Object.Length={array.nbytes}\nformat=2\ndtype={NUMBERS[name]}\ndims=3,5\n"
    file = f"{text}$Object.data=0,{array.nbytes}\n$End=1\n".encode() + array.tobytes()
    (tmp_path / "x.bin").write_bytes(file)
    dump = module.open(tmp_path / "x.bin")
    assert dump.layout == "msit_bin" and dump[0].dtype == dtype and dump[0].tobytes() == array.tobytes()
    # To a tree of ours and back: the same file.
    assert tensortap("convert", tmp_path / "x.bin", tmp_path / "again", "--to", "msit_bin").code == 0
    assert (tmp_path / "again/x.bin").read_bytes() == file
    assert tensortap("convert", tmp_path / "x.bin", tmp_path / "y.npy", "--to", "npy").code == 0
    saved = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(saved, array.astype(saved.dtype))


def test_one_file_is_shown_without_a_record(unpacked: Path, tmp_path: Path) -> None:
    tensors = unpacked / "g2_tensor" / DUMP / "tensors/0_22349/0/0_WordEmbedding"
    shown = tensortap("show", tensors / "after/outtensor0.bin", "--json")
    assert shown.code == 0, shown.err
    truth = np.load(unpacked / "g2_tensor/truth.npz")["0_22349/0/0_WordEmbedding/after/outtensor0.bin"]
    assert shown.object["values"] == truth.tolist()
    assert tensortap("convert", tensors / "after/outtensor0.bin", tmp_path / "x.npy", "--to", "npy").code == 0
    assert np.array_equal(np.load(tmp_path / "x.npy"), truth)
    statistics = unpacked / "g2_stats" / DUMP / "tensors/0_22377/0/0_WordEmbedding/before/intensor0.bin"
    described = tensortap("show", statistics)
    assert described.code == 0 and "max 9.75" in described.out and "not recorded" in described.out
    np.save(tmp_path / "a.npy", truth)
    assert tensortap("show", tmp_path / "a.npy", "--json").object["values"] == truth.tolist()
    assert "name one" in tensortap("show", unpacked / "g2_tensor" / DUMP).err


@each_row(
    ("file", "words"),
    [
        (b"", "no line $End="),
        (b"$Version=1.0\n", "no line $End="),
        (b"dtype=0\ndims=2\na=b=c\n$End=1\n12345678", "line 3 is not NAME=VALUE"),
        (b"dtype=0\ndims=2\n$End=1\n1234567", "7 are there"),
        (b"dtype=0\ndims=9223372036854775807,4\n$End=1\n", "overflows"),
        (b"dtype=0\ndims=-1\n$End=1\n1234", "no shape"),
        (b"dims=1\n$End=1\n1234", "no line dtype="),
        (b"$Object.data=18446744073709551615,4\ndtype=0\ndims=1\n$End=1\n1234", "0 are there"),
        (b"$Object.Count=0\ndtype=0\ndims=1\n$End=1\n", "holds no values"),
        (b"dtype=0\ndims=" + b"1," * 40 + b"1\n$End=1\n1234", "dimensions"),
        (b"a=b\n" * 8001 + b"dtype=0\ndims=1\n$End=1\n1234", "no line $End="),
    ],
)
def test_damaged_files_are_told_and_none_crashes(file: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(file)
    done = tensortap("convert", tmp_path / "x.bin", tmp_path / "out", "--to", "npy")
    assert done.code == 3 and words in done.err, done.err


def test_what_an_onnx_model_did_becomes_such_a_tree(tmp_path: Path) -> None:
    weights = np.arange(6, dtype=np.float32).reshape(3, 2)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "first"), helper.make_node("Relu", ["h"], ["y"], "second")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [2, 3]), ("y", [2, 2]))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [helper.make_tensor("w", TensorProto.FLOAT, (3, 2), weights.ravel())])
    save_graph(tmp_path / "m.onnx", graph)
    x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    np.save(tmp_path / "x.npy", x)
    common = ["run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--runs", 2, "--optimize", "none"]
    done = tensortap(*common, "--tensors", "--layout", "msit", "--slots", "in,out", "--out", tmp_path / "live")
    assert done.code == 0, done.err
    assert tensortap(*common, "--tensors", "--out", tmp_path / "tap").code == 0
    assert tensortap("convert", tmp_path / "tap", tmp_path / "made", "--to", "msit").code == 0
    expected = {
        "0_MatMulOperation/before/intensor0.bin": x,
        "0_MatMulOperation/before/intensor1.bin": weights,
        "0_MatMulOperation/after/outtensor0.bin": x @ weights,
        "1_ReluOperation/before/intensor0.bin": x @ weights,
        "1_ReluOperation/after/outtensor0.bin": np.maximum(x @ weights, 0),
    }
    for out in ("live", "made"):
        (process,) = (tmp_path / out).glob("msit_dump_*/tensors/*")
        assert process.name.startswith("0_")
        for step in ("0", "1"):
            files = files_below(process / step, "*.bin")
            assert set(files) == set(expected), out
            for name, array in expected.items():
                head = header_of(files[name])
                assert head["dtype"] == "0" and head["dims"] == ",".join(map(str, array.shape))
                assert files[name].endswith(b"$End=1\n" + array.tobytes()), name
    again = module.open(tmp_path / "live")
    assert again.layout == "msit" and again.problems == []


# L3
def test_descriptions_have_no_data(tmp_path: Path) -> None:
    small_model(tmp_path / "m.onnx")
    assert tensortap("run", tmp_path / "m.onnx", "--describe", "--layout", "msit", "--out", tmp_path / "out").code == 0
    files = files_below(tmp_path / "out", "*.bin")
    assert files
    for content in files.values():
        head = header_of(content)
        assert list(head) == ["$Version", "$Object.Count", "$Object.Length", "format", "dtype", "dims"]
        assert head["$Object.Count"] == head["$Object.Length"] == "0" and content.endswith(b"$End=1\n")


# L11
def test_equal_files_become_relative_links_and_others_do_not(tmp_path: Path) -> None:
    dtypes = [TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT32, TensorProto.FLOAT]
    constants = [[0, 0, 1], [0, 0, 1], [0, 0, 1065353216], [0, 0, 2]]
    nodes = [
        helper.make_node("Add", ["x", f"c{i}"], [f"y{i}"], f"add{i}")
        if dtype == TensorProto.FLOAT
        else helper.make_node("Abs", [f"c{i}"], [f"y{i}"])
        for i, dtype in enumerate(dtypes)
    ]
    outputs = [helper.make_tensor_value_info(f"y{i}", dtype, [3]) for i, dtype in enumerate(dtypes)]
    weights = [helper.make_tensor(f"c{i}", dtype, (3,), constants[i]) for i, dtype in enumerate(dtypes)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])], outputs, weights)
    save_graph(tmp_path / "m.onnx", graph)
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    (tmp_path / "c.json").write_text('{"layout": "msit", "layout_options": {"links": "true"}, "payload": "tensor"}')
    given = ["--input", f"x={tmp_path / 'x.npy'}", "--optimize", "none", "--config", tmp_path / "c.json"]
    done = tensortap("run", tmp_path / "m.onnx", *given, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    files = sorted(tmp_path.glob("out/msit_dump_*/tensors/*/0/*/after/outtensor0.bin"))
    # The second sum equals the first one; the same bits as int32, and another number, do not.
    (link,) = (path for path in files if path.is_symlink())
    target = os.readlink(link)
    assert len(files) == 4 and not Path(target).is_absolute() and link.resolve() in files and link.resolve() != link
    assert link.parent.parent.name.endswith("_AddOperation") and link.resolve().parent.parent.name.endswith("_AddOperation")
    assert link.read_bytes().endswith(np.array([0, 0, 1], np.float32).tobytes())
    before = [path.read_bytes() for path in files]
    (tmp_path / "out").rename(tmp_path / "moved")
    moved = sorted(tmp_path.glob("moved/msit_dump_*/tensors/*/0/*/after/outtensor0.bin"))
    assert [path.read_bytes() for path in moved] == before
    dump = module.open(tmp_path / "moved")
    assert dump.problems == [] and len(dump) == 4


def test_a_file_that_a_second_dump_was_appended_to_gives_its_first_tensor(unpacked: Path, tmp_path: Path) -> None:
    folder = tmp_path / "0_7/0/0_Linear/after"
    folder.mkdir(parents=True)
    file = (unpacked / "g2_tensor" / DUMP / "tensors/0_22349/0/4_LmHead/after/outtensor0.bin").read_bytes()
    (folder / "outtensor0.bin").write_bytes(file * 2)
    (folder / "outtensor1_logits.bin").write_bytes(file + b"\0" * 64)
    (folder / "outtensor2.bin").write_bytes(file[:-1])
    dump = module.open(tmp_path)
    assert len(dump.problems) == 2
    assert any("outtensor0.bin" in line and "appended" in line for line in dump.problems)
    assert any("outtensor2.bin" in line and "cut short" in line for line in dump.problems)
    assert np.array_equal(dump[0], dump[1])
    with pytest.raises(module.Error, match="cut short"):
        dump[2]


def test_pipes_and_loops_of_links_are_no_tensors(tmp_path: Path) -> None:
    folder = tmp_path / "0_7/0/0_Linear/after"
    folder.mkdir(parents=True)
    (folder / "outtensor0.bin").write_bytes(b"dtype=0\ndims=1\n$End=1\n1234")
    os.mkfifo(folder / "outtensor1.bin")
    # Two links in each of thirty folders: a walk along all of them would not end.
    for depth in range(2):
        (tmp_path / f"0_7/0/0_Linear/{depth}_Linear").symlink_to(tmp_path / "0_7/0/0_Linear")
    dump = module.open(tmp_path)
    assert len(dump) == 1
    assert any("outtensor1.bin" in line for line in dump.problems) and any("read already" in line for line in dump.problems)
