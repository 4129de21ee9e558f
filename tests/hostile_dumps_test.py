"""Files that do harm to Python, to a process with limits, or to an archive; all others are in tests/command/hostile_files_test.cc."""

from __future__ import annotations

import importlib
import io
import os
import resource
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


def module() -> Any:
    return importlib.import_module("tensortap")


def put_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def test_a_device_is_not_replaced_by_what_a_command_writes(tmp_path: Path) -> None:
    pipe = tmp_path / "summary"
    os.mkfifo(pipe)
    done = tensortap("exec", "--summary", pipe, "--out", tmp_path / "out", "--", "true", timeout=TIME_LIMIT)
    assert pipe.is_fifo()
    assert "is a pipe" in done.err


def test_a_pipe_keeps_python_not_waiting(dump: Path) -> None:
    program = (
        "import os, sys, tensortap\n"
        "for part in sys.argv[2:]:\n"
        "    path = os.path.join(sys.argv[1], part)\n"
        "    os.rename(path, path + '.kept')\n"
        "    os.mkfifo(path)\n"
        "    dump = tensortap.open(sys.argv[1])\n"
        "    said = [dump.problems]\n"
        "    try:\n        said += [dump.manifest, dump.ops, dump.records, dump[0], dump.histogram(0)]\n"
        "    except (tensortap.Error, IndexError) as error:\n        said.append(error)\n"
        "    print(part, 'is a pipe' in str(said))\n"
        "    os.replace(path + '.kept', path)\n"
    )
    words = [sys.executable, "-c", program, dump, *PARTS]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIME_LIMIT, check=True)
    told = dict(line.split() for line in done.stdout.splitlines())
    assert told == {**dict.fromkeys(PARTS, "True"), "histograms.npy": told["histograms.npy"]}


def test_a_pipe_is_no_config_of_python(tmp_path: Path) -> None:
    pipe = tmp_path / "config.json"
    os.mkfifo(pipe)
    with pytest.raises(module().Error, match="is a pipe"):
        module().run(small_model(tmp_path / "model.onnx"), {}, config=pipe, out=tmp_path / "out")
    pipe.unlink()
    pipe.write_bytes(b'{"version": \xff}')
    with pytest.raises(module().Error, match="UTF-8"):
        module().run(small_model(tmp_path / "model.onnx"), {}, config=pipe, out=tmp_path / "out")


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
    assert errors.count(b"error:") == 1


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


def steering(text: str) -> set[str]:
    """Find what a terminal obeys: control characters, formats except for joiners, and separators of lines and paragraphs."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\n\t\u200c\u200d"}


def test_names_in_an_archive_become_plain_file_names(tmp_path: Path) -> None:
    arrays = {f"x{HOSTILE}": np.arange(3), "x/../../y": np.arange(4), "same_name": np.arange(5), "same\nname": np.arange(6)}
    np.savez(tmp_path / "in.npz", **arrays)
    done = tensortap("convert", tmp_path / "in.npz", tmp_path / "out", "--to", "npy")
    assert done.code == 0, done.err
    made = sorted((tmp_path / "out").iterdir())
    assert sorted(np.load(path).size for path in made) == [3, 4, 5, 6], "no array is lost to another's name"
    assert not steering("".join(path.name for path in made))
    assert not any("\n" in path.name for path in made)


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
    # The members are streams of deflate that zipfile stored as they are: mark them as deflated in their headers.
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
