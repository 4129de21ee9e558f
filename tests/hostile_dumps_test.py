"""Dumps and tensor files that do harm: links, pipes, devices, files that are cut while they are read, texts that steer a terminal."""

from __future__ import annotations

import importlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import unicodedata
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import BUILD, COMMAND, small_model, tensortap
from dump_data_support import float_output

WRITER = BUILD / "tests/write_dump_program"
pytestmark = pytest.mark.skipif(not COMMAND.exists() or not WRITER.exists(), reason="the command or write_dump_program is not built")

PARTS = ("records.npy", "ops.jsonl", "tensors.npz", "histograms.npy", "run.json")
TIME_LIMIT = 60
# Written by number, so that no editor obeys them: right-to-left override, isolate, mark, C1's CSI, escape, a line feed, a tag.
HOSTILE = "".join(
    chr(code) for code in (0x61, 0x202E, 0x62, 0x2066, 0x200F, 0x61C, 0x9B, 0x33, 0x6D, 0x1B, 0x5B, 0x38, 0x6D, 0x0A, 0xE0041, 0x63)
)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Write a whole dump of two steps."""
    folder = tmp_path / "dump"
    folder.mkdir()
    subprocess.run([WRITER, folder], check=True)
    return folder


@pytest.fixture
def died(tmp_path: Path) -> Path:
    """Write a dump whose program died, so that `repair` has to write into each of its files."""
    folder = tmp_path / "died"
    folder.mkdir()
    subprocess.run([WRITER, folder, "die"], check=True)
    with (folder / "ops.jsonl").open("a") as ops:
        ops.write('{"cut')
    with (folder / "histograms.npy").open("ab") as histograms:
        histograms.write(b"cut")
    return folder


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def module() -> Any:
    return importlib.import_module("tensortap")


# --- links ---------------------------------------------------------------------------------------------------------------------------


def test_repair_mends_this_dump_when_nothing_is_wrong_with_it(died: Path) -> None:
    done = tensortap("repair", died, "--json")
    assert done.code == 0, done.err
    assert {"ops.jsonl", "records.npy", "tensors.npz", "histograms.npy", "run.json"} <= {
        action.split(":")[0] for action in done.object["actions"]
    }


@pytest.mark.parametrize("kind", ["symbolic", "hard", "dangling"])
@pytest.mark.parametrize("part", PARTS)
def test_repair_writes_through_no_link(died: Path, tmp_path: Path, part: str, kind: str) -> None:
    victim = tmp_path / "somebody's file"
    path = died / part
    if path.exists():
        shutil.move(path, victim)
    else:
        victim.write_text("{")
    if kind == "hard":
        os.link(victim, path)
    else:
        path.symlink_to(victim if kind == "symbolic" else tmp_path / "nothing yet")
    before, others = victim.read_bytes(), content_of(died)
    done = tensortap("repair", died)
    assert done.code == 3, done.out + done.err
    assert part in done.err
    assert "link" in done.err
    assert victim.read_bytes() == before
    assert not (tmp_path / "nothing yet").exists()
    assert content_of(died) == others, "nothing is mended of a dump of which a part can not be"


def test_repair_of_a_tree_does_not_leave_it_by_a_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    whole = float_output(np.arange(100, dtype=np.float32))
    (outside / "Conv2D.conv1.3.0.1763668800000000").write_bytes(whole[:-9])
    (outside / ".tensortap-999999999-0").write_bytes(b"x")
    tree = tmp_path / "20251122090000"
    (tree / "0" / "model" / "1").mkdir(parents=True)
    (tree / "0" / "model" / "1" / "0").symlink_to(outside)
    before = content_of(outside)
    done = tensortap("repair", tree)
    assert done.code == 3, done.out + done.err
    assert "link" in done.err
    assert content_of(outside) == before


def test_repair_of_a_tree_cuts_no_file_with_another_name(tmp_path: Path) -> None:
    victim = tmp_path / "somebody's file"
    whole = float_output(np.arange(100, dtype=np.float32))
    victim.write_bytes(whole[:-9])
    folder = tmp_path / "20251122090000" / "0" / "model" / "1" / "0"
    folder.mkdir(parents=True)
    os.link(victim, folder / "Conv2D.conv1.3.0.1763668800000000")
    done = tensortap("repair", tmp_path / "20251122090000")
    assert done.code == 3, done.out + done.err
    assert victim.read_bytes() == whole[:-9]
    assert [path.name for path in folder.iterdir()] == ["Conv2D.conv1.3.0.1763668800000000"]


@pytest.mark.parametrize("below", ["rank_0", "rank_0/.dump_metadata"])
def test_a_layout_writes_through_no_folder_that_is_a_link(dump: Path, tmp_path: Path, below: str) -> None:
    outside, target = tmp_path / "outside", tmp_path / "target"
    outside.mkdir()
    (target / below).parent.mkdir(parents=True)
    (target / below).symlink_to(outside)
    done = tensortap("convert", dump, target, "--to", "mindspore")
    assert done.code == 3, done.out + done.err
    assert "link" in done.err
    assert not any(outside.iterdir())


def test_convert_appends_to_no_link(tmp_path: Path) -> None:
    victim, target = tmp_path / "somebody's file", tmp_path / "target"
    victim.write_text("theirs\n")
    target.mkdir()
    (target / "mapping.csv").symlink_to(victim)
    source = tmp_path / ("Conv2D." + "a" * 240)
    source.write_bytes(float_output(np.arange(3, dtype=np.float32)))
    done = tensortap("convert", source, target, "--to", "npy")
    assert done.code == 3
    assert victim.read_text() == "theirs\n"


def test_convert_leaves_its_target_by_no_name(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "123").write_bytes(float_output(np.arange(3, dtype=np.float32)))
    (source / "mapping.csv").write_text(f"123,{tmp_path}/away.conv1.3.0.1763668800000000\n")
    tensortap("convert", source, tmp_path / "target", "--to", "msnpy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


# --- pipes and devices -----------------------------------------------------------------------------------------------------------------


def put_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def put_device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [put_pipe, put_device])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("command", [("ls",), ("show", "/graph/float32:out0"), ("find",), ("repair",)])
def test_a_pipe_or_device_keeps_no_command_waiting(dump: Path, part: str, command: tuple[str, ...], put: Any) -> None:
    put(dump / part)
    done = tensortap(command[0], dump, *command[1:], timeout=TIME_LIMIT)
    assert done.code in (0, 1, 2, 3)
    if part in ("records.npy", "ops.jsonl", "run.json") or command[0] == "repair":
        assert "is a pipe" in done.err or "is a device" in done.err or "link" in done.err


@pytest.mark.parametrize("put", [put_pipe, put_device])
def test_a_pipe_or_device_is_no_config_no_input_and_no_model(tmp_path: Path, put: Any) -> None:
    model, odd = small_model(tmp_path / "model.onnx"), tmp_path / "odd.npy"
    put(odd)
    for words in (
        ("run", model, "--config", odd, "--out", tmp_path / "out"),
        ("run", model, "--input", f"x={odd}", "--out", tmp_path / "out"),
        ("run", odd, "--out", tmp_path / "out"),
        ("explain", odd, "--model", model),
        ("convert", odd, tmp_path / "out", "--to", "npz"),
    ):
        done = tensortap(*words, timeout=TIME_LIMIT)
        assert done.code in (2, 3), words
        assert "is a pipe" in done.err or "is a device" in done.err, (words, done.err)


def test_a_device_is_not_replaced_by_what_a_command_writes(tmp_path: Path) -> None:
    pipe = tmp_path / "summary"
    os.mkfifo(pipe)
    done = tensortap("exec", "--summary", pipe, "--out", tmp_path / "out", "--", "true", timeout=TIME_LIMIT)
    assert pipe.is_fifo()
    assert "is a pipe" in done.err


@pytest.mark.parametrize("part", PARTS)
def test_a_pipe_keeps_python_not_waiting(dump: Path, part: str) -> None:
    put_pipe(dump / part)
    program = (
        "import sys, tensortap\n"
        "dump = tensortap.open(sys.argv[1])\n"
        "print(dump.problems)\n"
        "try:\n    print(dump.manifest, dump.ops, dump.records, dump[0], dump.histogram(0))\n"
        "except (tensortap.Error, IndexError) as error:\n    print('error', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, dump], capture_output=True, text=True, timeout=TIME_LIMIT, check=True)
    assert "is a pipe" in done.stdout or part == "histograms.npy"


def test_a_pipe_is_no_config_of_python(tmp_path: Path) -> None:
    pipe = tmp_path / "config.json"
    os.mkfifo(pipe)
    with pytest.raises(module().Error, match="is a pipe"):
        module().run(small_model(tmp_path / "model.onnx"), {}, config=pipe, out=tmp_path / "out")
    pipe.unlink()
    pipe.write_bytes(b'{"version": \xff}')
    with pytest.raises(module().Error, match="UTF-8"):
        module().run(small_model(tmp_path / "model.onnx"), {}, config=pipe, out=tmp_path / "out")


# --- files that are cut while they are read --------------------------------------------------------------------------------------------


def test_a_command_says_which_file_was_cut_under_it(dump: Path) -> None:
    rows = np.repeat(np.load(dump / "records.npy"), 1000)  # more than is copied, and more lines than a pipe takes
    np.save(dump / "records.npy", rows)
    with subprocess.Popen([COMMAND, "ls", dump], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None
        command.stdout.read(1)  # it writes, and waits for us
        os.truncate(dump / "records.npy", 8192)
        _, errors = command.communicate(timeout=TIME_LIMIT)
    assert command.returncode == 3, errors
    assert b"records.npy: became shorter while it was being read" in errors
    assert errors.count(b"\n") == 1


def test_python_gets_an_error_for_a_file_that_was_cut(dump: Path) -> None:
    opened = module().open(dump)
    first = opened["/graph/float32:out0"].copy()
    os.truncate(dump / "records.npy", 1024)
    os.truncate(dump / "ops.jsonl", 1)
    np.testing.assert_array_equal(opened["/graph/float32:out0"], first)
    assert int(opened.records["step"].max()) == 1, "rows were read when the dump was opened"
    os.truncate(dump / "tensors.npz", 100)
    with pytest.raises(module().Error, match=r"tensors\.npz: was cut"):
        opened["/graph/float64:out0"]


# --- texts that steer a terminal -------------------------------------------------------------------------------------------------------


def steering(text: str) -> set[str]:
    """Find what a terminal obeys: control characters, formats but for joiners, and separators of lines and paragraphs."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\n\t\u200c\u200d"}


def test_no_text_of_a_dump_steers_the_terminal(dump: Path) -> None:
    lines = [json.loads(line) for line in (dump / "ops.jsonl").read_text().splitlines()]
    for line in lines:
        line["name"] = HOSTILE + line["name"]
        line["type"] = HOSTILE
        line["module"] = line["source"] = HOSTILE
    (dump / "ops.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (dump / "run.json").write_text(json.dumps({"program": HOSTILE, "failed_op": {"name": HOSTILE, "type": HOSTILE, "error": HOSTILE}}))
    records = tensortap("ls", dump, "--json").objects
    assert records[0]["op"].startswith(HOSTILE), "JSON gives texts back as they are"
    names = [f"{record['op']}:{record['slot']}" for record in records]
    for words in (
        ["ls"],
        ["ls", "--json"],
        ["show", names[0]],
        ["show", names[-1]],
        ["show", names[0], "--json"],
        ["find"],
        ["find", "--json"],
    ):
        done = tensortap(words[0], dump, *words[1:])
        assert done.out, words
        assert not steering(done.out + done.err), words
    missing = tensortap("show", dump, HOSTILE)
    assert missing.code != 0
    assert not steering(missing.err)


def test_names_in_an_archive_become_plain_file_names(tmp_path: Path) -> None:
    arrays = {f"x{HOSTILE}": np.arange(3), "x/../../y": np.arange(4), "same_name": np.arange(5), "same\nname": np.arange(6)}
    np.savez(tmp_path / "in.npz", **arrays)
    done = tensortap("convert", tmp_path / "in.npz", tmp_path / "out", "--to", "npy")
    assert done.code == 0, done.err
    made = sorted((tmp_path / "out").iterdir())
    assert sorted(np.load(path).size for path in made) == [3, 4, 5, 6], "no array is lost to another's name"
    assert not steering("".join(path.name for path in made))
    assert not any("\n" in path.name for path in made)


# --- files that are made to hurt their readers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["npy", "npz", "bin", "msnpy"])
def test_seventeen_bytes_are_damage(tmp_path: Path, to: str) -> None:
    (tmp_path / "in").write_bytes(bytes.fromhex("01000000000000005a5a5a5ae725e7e710"))
    done = tensortap("convert", tmp_path / "in", tmp_path / "out", "--to", to)
    assert done.code == 3, done.code


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def test_a_bomb_is_refused_before_it_is_inflated(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy(np.zeros(1)) + bytes(2 << 30))
    done = subprocess.run(
        [COMMAND, "convert", tmp_path / "bomb.npz", tmp_path / "out", "--to", "npy"],
        capture_output=True, text=True, check=False, preexec_fn=with_little_memory, timeout=TIME_LIMIT,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "136 bytes by the npy header" in done.stderr
    assert "not decompressed" in done.stderr


def test_more_than_the_machine_has_is_refused(tmp_path: Path) -> None:
    """Many arrays, each as large as its header says, in a small archive."""
    each = 1 << 30
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    header = npy(np.zeros(0, np.uint8)).replace(b"(0,), }" + b" " * len(str(each)), f"({each},), }} ".encode())
    assert len(header) == 128
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    content += zeros * (each >> 24) + b"\x03\x00"
    count = machine // each + 1
    file = tmp_path / "many.npz"
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number}.npy", content)
    # The members are stored streams of deflate: say so in their headers.
    patched = bytearray(file.read_bytes())
    size = (each + 128).to_bytes(4, "little")
    for signature, method, sizes in ((b"PK\x03\x04", 8, 22), (b"PK\x01\x02", 10, 24)):
        at = patched.find(signature)
        while at >= 0:
            patched[at + method] = 8
            patched[at + sizes : at + sizes + 4] = size
            at = patched.find(signature, at + 4)
    file.write_bytes(patched)
    done = tensortap("convert", file, tmp_path / "out", "--to", "npy", timeout=TIME_LIMIT)
    assert done.code == 3, done.err
    assert "of memory that this machine has" in done.err


def test_an_array_that_packs_well_is_no_bomb(tmp_path: Path) -> None:
    zeros = np.zeros((1 << 25,), np.float32)
    np.savez_compressed(tmp_path / "zeros.npz", zeros=zeros)
    assert (tmp_path / "zeros.npz").stat().st_size * 900 < zeros.nbytes
    done = tensortap("convert", tmp_path / "zeros.npz", tmp_path / "out", "--to", "npy")
    assert done.code == 0, done.err
    np.testing.assert_array_equal(np.load(next((tmp_path / "out").iterdir())), zeros)


def test_a_long_header_of_a_packed_array_is_read(tmp_path: Path) -> None:
    """Version 2.0, its header longer than any buffer would be by chance."""
    array = np.arange(7, dtype=np.int16)
    literal = b"{'descr': '<i2', 'fortran_order': False, 'shape': (7,), }" + b" " * 100_000 + b"\n"
    content = b"\x93NUMPY\x02\x00" + len(literal).to_bytes(4, "little") + literal + array.tobytes()
    with zipfile.ZipFile(tmp_path / "in.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    done = tensortap("convert", tmp_path / "in.npz", tmp_path / "out", "--to", "npy")
    assert done.code == 0, done.err
    np.testing.assert_array_equal(np.load(next((tmp_path / "out").iterdir())), array)
