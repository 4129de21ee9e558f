"""Trees whose names and files hold any bytes, through the Python module: text with replaced characters or tensortap.Error, nothing else."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_table import each_row
from cli_support import small_model

tensortap = pytest.importorskip("tensortap", reason="the module is not built")

GOLDEN = Path(__file__).resolve().parent / "golden/mindspore/trees"
REPLACED = "\N{REPLACEMENT CHARACTER}"


def mindspore_tree(folder: Path) -> Path:
    """Unpack a recorded tree and let its owner write it."""
    with tarfile.open(GOLDEN / "2.10.0-multi.tar.gz") as archive:
        archive.extractall(folder)
    (rank,) = folder.glob("**/rank_0")
    for path in rank.glob("**/*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return rank.parent


def acl_tree(folder: Path, x: np.ndarray[Any, Any]) -> Path:
    (folder / "tree").mkdir()
    config = {"dump": {"dump_path": str(folder / "tree"), "dump_mode": "all", "dump_list": [{}]}}
    tensortap.run(small_model(folder / "m.onnx"), {"x": x}, config=config)
    return folder / "tree"


def rename_all(folder: Path, pattern: str, old: bytes, new: bytes) -> int:
    """Put other bytes into the names of files."""
    files = [os.fsencode(path) for path in folder.glob(pattern)]
    hit = [path for path in files if old in os.path.basename(path)]
    for path in hit:
        os.rename(path, os.path.join(os.path.dirname(path), os.path.basename(path).replace(old, new, 1)))
    return len(hit)


def check_all_text(dump: Any) -> int:
    """Use everything that has text; give how many records have values."""
    json.dumps([dump.problems, dump.names(), dump.manifest, repr(dump), dump.layout]).encode("ascii")
    for problem in dump.problems:
        problem.encode()
    for op in dump.ops:
        repr(op).encode()
    values = 0
    for row, name in enumerate(dump):
        name.encode()
        assert dump.record(name)["slot"]
        assert name in dump
        repr(dump.record(row)).encode()
        try:
            values += dump[name].size > 0
        except tensortap.Error as error:
            str(error).encode()
    str(tensortap.find(dump)).encode()
    return values


def test_names_of_files_in_mindspores_tree(tmp_path: Path) -> None:
    tree = mindspore_tree(tmp_path)
    whole = check_all_text(tensortap.open(tree))
    assert rename_all(tree, "**/*.npy", b"Default_", b"D\xff\xc3_") > 0
    dump = tensortap.open(tree)
    assert check_all_text(dump) == whole
    assert any(REPLACED in name for name in dump)
    assert rename_all(tree, "**/*.npy", b".npy", b"\xed\xa0\x80.npy") > 0
    assert rename_all(tree, "**/*.pb", b".pb", b"\xfe.pb") > 0
    check_all_text(tensortap.open(tree))


@each_row(
    "name", ["statistic.csv", "mapping.csv", "ms_output_trace_code_graph_0.pb", "config.json", "tensortap_run.json", "data_dump.json"]
)
def test_content_of_files_in_mindspores_tree(name: str, tmp_path: Path) -> None:
    tree = mindspore_tree(tmp_path)
    (iteration,) = tree.glob("rank_0/*/0/0")
    folders = {"statistic.csv": iteration, "mapping.csv": iteration, "ms_output_trace_code_graph_0.pb": tree / "rank_0/graphs"}
    target = folders.get(name, tree / "rank_0/.dump_metadata") / name
    for content in (
        b"\xff\xfe,\xc3\n\xa0,\xff\n",
        b'{"a\xff": "\xed\xa0\x80", "tensortap": 1, "losses": ["\xff"]}',
        b"\x0a\x05\xff\xff\xff\xff\xff",
    ):
        target.write_bytes(content)
        try:
            dump = tensortap.open(tree)
        except tensortap.Error as error:
            str(error).encode()
            continue
        check_all_text(dump)


def test_a_broken_tensor_file_is_named_in_the_problems(tmp_path: Path) -> None:
    tree = mindspore_tree(tmp_path)
    broken = sorted(os.fsencode(path) for path in tree.glob("rank_0/*/0/0/*.npy"))[0]
    named = os.path.join(os.path.dirname(broken), b"Add.Bad\xff.0.0.1.output.0.DefaultFormat.Float32.npy")
    with open(named, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00\xff\xff\xff")
    dump = tensortap.open(tree)
    assert any(f"Bad{REPLACED}" in problem for problem in dump.problems)
    check_all_text(dump)


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    tree = mindspore_tree(tmp_path)
    strange = os.path.join(os.fsencode(tmp_path), b"tree\xff")
    os.rename(os.fsencode(tree), strange)
    dump = tensortap.open(os.fsdecode(strange))
    assert check_all_text(dump) > 0
    with pytest.raises(tensortap.Error):
        tensortap.open(os.fsdecode(strange + b"\xfe"))


def test_names_of_files_in_ascendcls_tree(tmp_path: Path) -> None:
    tree = acl_tree(tmp_path, np.ones((2, 3), np.float32))
    whole = check_all_text(tensortap.open(tree))
    assert whole > 0
    shutil.rmtree(next(tree.glob("**/.tensortap")))
    assert rename_all(tree, "**/*.*", b"_", b"\xff\xc3") > 0
    assert check_all_text(tensortap.open(tree)) == whole


def test_names_and_manifest_of_a_native_dump(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    tensortap.run(small_model(tmp_path / "m.onnx"), {"x": np.ones((2, 3), np.float32)}, out=folder, payload="full")
    whole = check_all_text(tensortap.open(folder))
    ops = folder / "ops.jsonl"
    lines = ops.read_text().splitlines()
    first = json.loads(lines[0])
    first["name"] = "bad\udcff" + first["name"]
    ops.write_bytes("\n".join([json.dumps(first), *lines[1:], ""]).encode("ascii"))
    dump = tensortap.open(folder)
    assert check_all_text(dump) == whole
    assert dump.ops[0].name.startswith(f"bad{REPLACED}")
    (folder / "run.json").write_bytes(b'{"tensortap": 1, "program": "\xff')
    try:
        json.dumps(tensortap.open(folder).manifest)
    except tensortap.Error as error:
        str(error).encode()


def test_a_name_that_no_bytes_stand_for_is_an_error(tmp_path: Path) -> None:
    dump = tensortap.open(mindspore_tree(tmp_path))
    with pytest.raises(tensortap.Error):
        dump["\ud800:out0"]
    with pytest.raises(tensortap.Error):
        dump[f"nothing{REPLACED}:out0"]
