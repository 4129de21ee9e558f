"""The trees that the real MindSpore left, opened at every level; every tensor and every statistic against what was recorded beside them."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND
from cli_support import tensortap as command

tensortap = pytest.importorskip("tensortap", reason="the module is not built")
pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

GOLDEN = Path(__file__).resolve().parent / "golden/mindspore"
TREES = sorted(path.name.removesuffix(".tar.gz") for path in (GOLDEN / "trees").glob("*.tar.gz"))
STATISTICS = sorted(path.name for path in (GOLDEN / "statistic").glob("*.statistic.csv"))
NUMPY_NAMES = {
    "|b1": "bool", "|i1": "int8", "|u1": "uint8", "<i2": "int16", "<u2": "uint16", "<i4": "int32", "<u4": "uint32",
    "<i8": "int64", "<u8": "uint64", "<f2": "float16", "<f4": "float32", "<f8": "float64", "<E2": "bfloat16",
}  # fmt: skip


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    for tree in TREES:
        with tarfile.open(GOLDEN / "trees" / f"{tree}.tar.gz") as archive:
            archive.extractall(folder / f"unpacked-{tree}")
    return folder


def dump_folder(unpacked: Path, tree: str) -> Path:
    """Find the folder that holds rank_0."""
    (rank,) = (unpacked / f"unpacked-{tree}").glob("**/rank_0")
    return rank.parent


def copy_of(unpacked: Path, tree: str, target: Path) -> Path:
    shutil.copytree(dump_folder(unpacked, tree), target)
    for path in target.glob("**/*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return target


def recorded(tree: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / "trees" / f"{tree}.tensors.jsonl").read_text().splitlines()]


def rows_by_file(dump: Any) -> dict[str, int]:
    return {dump._core.file(row): row for row in range(len(dump))}


def check_values(dump: Any, row: int, tensor: dict[str, Any]) -> None:
    data = dump._core.data(row)
    assert hashlib.md5(bytes(data[2])).hexdigest() == tensor["md5"]
    array = np.asarray(dump[dump._core.name(row)])
    assert str(array.dtype) == NUMPY_NAMES[tensor["descr"]]
    values = array.astype(np.float64).ravel()
    assert values.size == tensor["count"]
    assert [int(np.isnan(values).sum()), int(np.isposinf(values).sum()), int(np.isneginf(values).sum()), int((values == 0).sum())] == [
        tensor[name] for name in ("nan", "pinf", "ninf", "zero")
    ]
    finite = values[np.isfinite(values)]
    if finite.size:
        assert (finite.max(), finite.min()) == (tensor["finite_max"], tensor["finite_min"])
        assert math.isclose(finite.mean(), tensor["finite_mean"], rel_tol=1e-9, abs_tol=1e-300)
    first = [float(value) for value in tensor["first"]]
    np.testing.assert_array_equal(values[: len(first)], first)


@each_row("tree", TREES)
def test_every_tensor_is_as_recorded(unpacked: Path, tree: str) -> None:
    dump = tensortap.open(dump_folder(unpacked, tree))
    assert dump.layout == "mindspore"
    assert dump.problems == []
    tensors = recorded(tree)
    rows = rows_by_file(dump)
    assert len(dump) == len(tensors) == len(rows)
    first = min(tensor["us"] for tensor in tensors)
    for tensor in tensors:
        row = rows[tensor["file"]]
        record = dump.records[row]
        op = dump.ops[int(record["op"])]
        assert (int(record["rank"]), int(record["slot_index"])) == (tensor["rank"], tensor["slot"])
        assert int(record["step"]) == (0 if tensor["iteration"] == "constants" else tensor["iteration"])
        assert int(record["slot_kind"]) == (1 if tensor["io"] == "input" else 0)
        assert int(record["time_ns"]) == (tensor["us"] - first) * 1000
        assert op.type == tensor["op_type"] if tensor["op_type"] != "Parameter" else op.type in ("Input", "Initializer")
        assert record["shape"][: record["dims_count"]].tolist() == tensor["shape"]
        assert int(record["bytes"]) == tensor["bytes"]
        check_values(dump, row, tensor)


@each_row("tree", TREES)
def test_full_names_are_those_of_the_graph(unpacked: Path, tree: str) -> None:
    folder = dump_folder(unpacked, tree)
    dump = tensortap.open(folder)
    listed = set()
    for order in (folder / "rank_0/execution_order").glob("ms_execution_order_*"):
        listed |= {line.rsplit("-op", 1)[0] for line in order.read_text().splitlines()[1:]}
    for op in dump.ops:
        if op.type not in ("Input", "Initializer"):
            assert op.name.rsplit("-op", 1)[0].removeprefix("1/") in listed
    names = {op.name for op in dump.ops}
    assert len(names) == len(dump.ops)


def test_file_and_name_agree_on_the_number_of_an_op(unpacked: Path) -> None:
    dump = tensortap.open(dump_folder(unpacked, "2.10.0-train"))
    for row in range(len(dump)):
        op = dump.ops[int(dump.records[row]["op"])]
        if op.type not in ("Input", "Initializer"):
            assert f"-{op.name.rsplit('-', 1)[1]}." in dump._core.file(row)
    # Listed as -op1 in the graph's files, -op0 in the names of the tensors.
    assert "Gradients/Default/network-WithLossCell/_backbone-LeNet/conv2-Conv2d/Grad_Conv2D/Conv2DBackpropFilter-op0" in {
        op.name for op in dump.ops
    }


@each_row("tree", TREES)
def test_every_level_opens_with_the_same_names(unpacked: Path, tree: str) -> None:
    top = dump_folder(unpacked, tree)
    tensors = recorded(tree)
    whole = tensortap.open(top)
    names = {dump_file: whole._core.name(row) for dump_file, row in rows_by_file(whole).items()}
    several_graphs = len({tensor["graph"] for tensor in tensors}) > 1
    levels = {top, top.parent, top / "rank_0"}
    for tensor in tensors:
        path = top / tensor["file"]
        levels |= {path.parent, path.parent.parent, path.parent.parent.parent}
    for level in sorted(levels):
        dump = tensortap.open(level)
        assert dump.layout == "mindspore"
        assert dump.problems == []
        base = max(level, top, key=lambda path: len(path.parts))
        expected = {tensor["file"]: tensor for tensor in tensors if (top / tensor["file"]).is_relative_to(base)}
        rows = rows_by_file(dump)
        assert len(rows) == len(dump) == len(expected)
        for file, tensor in expected.items():
            row = rows[str((top / file).relative_to(base))]
            assert int(dump.records[row]["rank"]) == tensor["rank"]
            if not several_graphs:
                assert dump._core.name(row) == names[file]


def test_names_without_graph_files_are_the_cleaned_ones(unpacked: Path, tmp_path: Path) -> None:
    iteration = tmp_path / "copied" / "7"
    shutil.copytree(dump_folder(unpacked, "2.7.0-add") / "rank_0/Net/0/0", iteration)
    dump = tensortap.open(iteration)
    assert sorted(dump) == ["Default_Add-op0:in0@7", "Default_Add-op0:in1@7", "Default_Add-op0:out0@7", "x:out0@7", "y:out0@7"]
    assert {op.type for op in dump.ops} == {"Add", "Initializer"}


def test_execution_order_gives_names_where_the_graph_is_missing(unpacked: Path, tmp_path: Path) -> None:
    tree = copy_of(unpacked, "2.10.0-train", tmp_path / "tree")
    shutil.rmtree(tree / "rank_0/graphs")
    dump = tensortap.open(tree)
    assert "Default/network-WithLossCell/_backbone-LeNet/conv1-Conv2d/Conv2D-op0" in {op.name for op in dump.ops}


def test_inputs_lead_to_their_producers(unpacked: Path) -> None:
    dump = tensortap.open(dump_folder(unpacked, "2.10.0-multi"))
    ops = {op.name: op for op in dump.ops}

    def producers(name: str) -> list[tuple[str, int]]:
        return [(dump.ops[one.producer].name, one.producer_slot) if one.producer is not None else ("", 0) for one in ops[name].inputs]

    assert producers("Default/MatMul-op0")[:2] == [("x", 0), ("my.weight/w", 0)]
    # Through the nodes that take tuples apart.
    assert producers("Default/Sub-op0") == [("Default/Split-op0", 0), ("Default/Split-op0", 1)]
    assert (ops["x"].type, ops["my.weight/w"].type) == ("Input", "Initializer")
    assert ops["Default/TopK-op0"].source == "multi.py:22"


def test_executions_of_a_loop_are_told_apart(unpacked: Path) -> None:
    dump = tensortap.open(dump_folder(unpacked, "2.10.0-ctrl"))
    files: dict[tuple[str, str, int, int], list[int]] = {}
    for tensor in recorded("2.10.0-ctrl"):
        files.setdefault((tensor["op_name"], tensor["io"], tensor["slot"], tensor["iteration"]), []).append(tensor["us"])
    repeated = {key: sorted(times) for key, times in files.items() if len(times) > 1}
    assert repeated
    rows = rows_by_file(dump)
    for tensor in recorded("2.10.0-ctrl"):
        key = (tensor["op_name"], tensor["io"], tensor["slot"], tensor["iteration"])
        if key in repeated:
            assert int(dump.records[rows[tensor["file"]]]["call"]) == repeated[key].index(tensor["us"])


def test_find_walks_to_where_nan_begins(unpacked: Path) -> None:
    done = command("find", dump_folder(unpacked, "2.0.0-nan"), "--json")
    assert done.code == 1
    text = json.dumps(done.object)
    assert "Default/RealDiv-op8" in text
    assert "Default/Exp-op11" in text


def test_ls_and_show_take_a_tree(unpacked: Path) -> None:
    folder = dump_folder(unpacked, "2.10.0-longname")
    rows = command("ls", folder, "--json").objects
    assert len(rows) == 9
    mapped = [row for row in rows if row["file"].split("/")[-1][0].isdigit()]
    assert len(mapped) == 2
    shown = command("show", folder, f"{mapped[0]['op']}:{mapped[0]['slot']}")
    assert shown.code == 0
    assert mapped[0]["file"] in shown.out


# What a column of statistic.csv becomes; "Negative Zero Count" counts the elements below zero.
COLUMNS = {
    "Max Value": "max", "Min Value": "min", "Avg Value": "mean", "L2Norm Value": "l2", "Count": "count",
    "Negative Zero Count": "negative", "Positive Zero Count": "positive", "NaN Count": "nan", "Negative Inf Count": "neg_inf",
    "Positive Inf Count": "pos_inf", "Zero Count": "zero",
}  # fmt: skip


def check_statistics(dump: Any, row: int, line: dict[str, str]) -> None:
    record = dump.records[row]
    for title, field in COLUMNS.items():
        if title in line:
            expected = float(line[title])
            assert float(record[field]) == expected or (math.isnan(expected) and math.isnan(record[field])), (title, line)
    if "MD5" in line:
        assert bytes(record["digest"][:16]).hex() == line["MD5"]
        assert int(record["digest_kind"]) == 2


@each_row("with_tensors", [True, False])
@each_row("table", STATISTICS)
def test_statistics_are_read_and_joined(unpacked: Path, tmp_path: Path, table: str, *, with_tensors: bool) -> None:
    tree, graph, iteration, *_ = table.rsplit(".", 4)
    copied = copy_of(unpacked, tree, tmp_path / "tree")
    (folder,) = copied.glob(f"rank_0/*/{graph.removeprefix('graph')}/{iteration.removeprefix('iter')}")
    before = len(tensortap.open(folder))
    shutil.copy(GOLDEN / "statistic" / table, folder / "statistic.csv")
    if not with_tensors:
        for path in folder.glob("*.npy"):
            path.unlink()
    dump = tensortap.open(folder)
    assert dump.problems == []
    lines = list(csv.DictReader((GOLDEN / "statistic" / table).read_text().splitlines()))
    assert len(dump) == len(lines) == before
    rows = {}
    first = min(int(line["Timestamp"]) for line in lines)
    for row in range(len(dump)):
        record = dump.records[row]
        key = (int(record["time_ns"]) // 1000 + first, int(record["slot_kind"]), int(record["slot_index"]))
        rows[key] = row
    for line in lines:
        row = rows[int(line["Timestamp"]), 1 if line["IO"] == "input" else 0, int(line["Slot"])]
        check_statistics(dump, row, line)
        op = dump.ops[int(dump.records[row]["op"])]
        assert line["Op Type"] in (op.type, "Parameter")
        if "/" in line["Op Name"]:
            assert op.name.removeprefix("1/") == line["Op Name"]
        shape = [int(part) for part in line["Shape"].strip("()[]").split(",") if part]
        assert dump.records[row]["shape"][: dump.records[row]["dims_count"]].tolist() == shape
        assert ("npy" in dump._core.file(row)) == with_tensors


def test_damage_is_said_and_the_rest_is_read(unpacked: Path, tmp_path: Path) -> None:
    tree = copy_of(unpacked, "2.10.0-multi", tmp_path / "tree")
    folder = tree / "rank_0/Net/0/0"
    files = sorted(folder.glob("*.npy"))
    whole = len(files)
    files[0].write_bytes(b"")
    files[1].write_bytes(files[1].read_bytes()[:60])
    files[2].write_bytes(files[2].read_bytes()[:-1])
    files[3].write_bytes(b"\x00" + files[3].read_bytes()[1:])
    files[4].rename(folder / "renamed.npy")
    (folder / "123456.npy").write_bytes(files[5].read_bytes())
    for number in range(3000):
        (folder / f"foreign{number}.txt").write_text("x")
    os.mkfifo(folder / "Add.Default_Add-op9.0.0.17.output.0.DefaultFormat.Float32.npy")
    (tree / "rank_0/loop").symlink_to(tree)
    (tree / "rank_0/Net/0/loop").symlink_to("..")
    deep = tree / "rank_0/Net/0/0" / "/".join(["d"] * 100)
    deep.mkdir(parents=True)
    dump = tensortap.open(tree)
    assert len(dump) == whole - 4
    text = "\n".join(dump.problems)
    for word in (files[0].name, files[1].name, files[2].name, files[3].name, "123456.npy", "3002 entries", "op9"):
        assert word in text
    assert len(dump.problems) < 20
    lost = [row for row in range(len(dump)) if "cut" in text and files[2].name in dump._core.file(row)]
    with pytest.raises(tensortap.Error, match="cut short"):
        dump._core.data(lost[0])


def test_an_asynchronous_tree_is_read(tmp_path: Path) -> None:
    for step in (3, 4):
        for rank in (0, 1):
            folder = tmp_path / "dump" / str(step) / f"2024060112000{step}" / str(rank) / "graph_a" / "1" / "0"
            folder.mkdir(parents=True)
            np.save(folder / "Conv2D.Default_conv1_Conv2D-op1.12.7.171.output.0.NCHW.float32.npy", np.full((2, 3), step + rank, np.float32))
            (folder / "Add.Default_Add-op3.12.7.171").write_bytes(b"\x10")
    dump = tensortap.open(tmp_path / "dump")
    assert dump.layout == "mindspore"
    assert sorted((int(row["step"]), int(row["rank"])) for row in dump.records) == [(3, 0), (3, 1), (4, 0), (4, 1)]
    assert len(dump.problems) == 4
    assert all("left out among npy files" in problem for problem in dump.problems)
    for row, name in enumerate(dump):
        assert np.asarray(dump[name])[0, 0] == dump.records[row]["step"] + dump.records[row]["rank"]


def test_ranks_have_names_of_their_own(unpacked: Path, tmp_path: Path) -> None:
    tree = copy_of(unpacked, "2.7.0-add", tmp_path / "tree")
    shutil.copytree(tree / "rank_0", tree / "rank_11")
    for path in (tree / "rank_11").glob("Net/0/0/Parameter.x.*"):
        np.save(path, np.full((2, 3), 11, np.float32))
    dump = tensortap.open(tree)
    assert sorted({int(rank) for rank in dump.records["rank"]}) == [0, 11]
    assert len(set(dump)) == len(dump) == 10
    assert np.asarray(dump["rank_11/x:out0"])[0, 0] == 11


def test_a_graph_file_that_is_cut_costs_no_names(unpacked: Path, tmp_path: Path) -> None:
    tree = copy_of(unpacked, "2.10.0-train", tmp_path / "tree")
    (graph,) = (tree / "rank_0/graphs").glob("*.pb")
    graph.write_bytes(graph.read_bytes()[:5000])
    dump = tensortap.open(tree)
    assert len(dump.problems) == 1
    assert "damaged" in dump.problems[0]
    assert "Default/network-WithLossCell/_backbone-LeNet/conv1-Conv2d/Conv2D-op0" in {op.name for op in dump.ops}


# M23
def test_tensors_of_many_dimensions_keep_their_shape(unpacked: Path, tmp_path: Path) -> None:
    tree = copy_of(unpacked, "2.7.0-add", tmp_path / "tree")
    (iteration,) = tree.glob("rank_0/*/0/0")
    value = np.arange(6, dtype=np.float32).reshape((1,) * 29 + (2, 1, 3))
    np.save(iteration / "Reshape.Default_Reshape-op9.0.0.1.output.0.DefaultFormat.float32.npy", value)
    dump = tensortap.open(tree)
    assert dump.problems == []
    (name,) = (name for name in dump if "Reshape" in name)
    np.testing.assert_array_equal(dump[name], value)
    assert dump.record(name)["shape"] == list(value.shape)
    assert list(value.shape) in dump.to_pandas()["shape"].tolist()
    listed = [record for record in command("ls", tree, "--json").objects if record["shape"] == list(value.shape)]
    assert len(listed) == 1
