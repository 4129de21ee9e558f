"""Measures DumpData files and writes docs/overhead_dump_data.md.

It measures writing, beside the native layout and beside dd, and converting to NumPy files.

usage: dump_data.py [--rounds N] [--mebibytes N] [--output FILE]; TENSORTAP_COMMAND as ./dev sets it.

Everything is wall time of whole commands, run in turn, each round in the opposite order of the last; medians. Memory for the page cache is
touched before each, since the first touch of a virtual machine's memory takes longer than the work. The conversions are compared with a
copy by NumPy alone, which reads each file's elements and saves them as npy.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parent.parent
SMALL_FILES = 1000


def tensortap(*words: str | Path) -> None:
    """Run the command; its failure ends the benchmark."""
    command = [os.environ["TENSORTAP_COMMAND"], *(str(word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stderr}")


def large_dump(folder: Path, mebibytes: int) -> Path:
    """Make a native dump of one tensor of this size."""
    elements = mebibytes << 18
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [value("x", TensorProto.FLOAT, [elements])],
        [value("y", TensorProto.FLOAT, [elements])],
    )
    model = folder / "identity.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(model))
    dump = folder / "large"
    tensortap("run", model, "--tensors", "--types", "Identity", "--as-written", "--keep-free", "0", "--out", dump)
    return dump


def small_tree(folder: Path) -> Path:
    """Make a tree of DumpData files of 4 KiB each: a header of one output, then its elements."""
    tree = folder / "small"
    tree.mkdir()
    elements = np.arange(1024, dtype=np.float32).tobytes()
    output = b"\x08\x01\x10\x02" + b"\x1a\x04\x0a\x02\x80\x08" + b"\x30\x80\x20"  # float32, ND, shape [1024], size 4096
    for number in range(SMALL_FILES):
        stamp = 1763668800000000 + number
        header = b"\x0a\x032.0" + b"\x10" + varint(stamp) + b"\x1a" + varint(len(output)) + output
        (tree / f"Add.op_{number}.{number}.0.{stamp}").write_bytes(struct.pack("<Q", len(header)) + header + elements)
    return tree


def varint(number: int) -> bytes:
    """Write a number as protobuf does."""
    text = b""
    while number > 127:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def copy_by_numpy(source: Path, target: Path) -> None:
    """Save each file's elements as npy, knowing where they begin."""
    target.mkdir()
    for file in sorted(path for path in source.rglob("*") if re.fullmatch(r"\.\d{16}", path.suffix)):
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
        np.save(target / f"{file.name}.npy", np.fromfile(file, np.float32, offset=8 + length))


def touch_memory(mebibytes: int) -> None:
    """Use memory and let it go, so that the page cache of the next work need not wait for the host of a virtual machine to give it."""
    np.empty(mebibytes << 20, np.uint8).fill(1)


def seconds(work: Callable[[Path], None], folder: Path, mebibytes: int) -> float:
    """Time one piece of work that makes a folder or file of up to this size, and remove that."""
    target = folder / "made"
    touch_memory(3 * mebibytes)
    begin = time.perf_counter()
    work(target)
    taken = time.perf_counter() - begin
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    return taken


def medians(works: dict[str, Callable[[Path], None]], folder: Path, rounds: int, mebibytes: int) -> dict[str, float]:
    """Run all in turn."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        order = list(works) if number % 2 == 0 else list(reversed(works))
        for name in order:
            times[name].append(seconds(works[name], folder, mebibytes))
    return {name: statistics.median(values) for name, values in times.items()}


def dd(source: Path, target: Path) -> None:
    """Copy a file as dd does."""
    subprocess.run(["dd", f"if={source}", f"of={target}", "bs=1M", "status=none"], check=True)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of each figure (5)")
    parser.add_argument("--mebibytes", type=int, default=1024, help="of the large tensor (1024)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/overhead_dump_data.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump, tree = large_dump(folder, arguments.mebibytes), small_tree(folder)
        tensortap("convert", dump, folder / "ge", "--to", "ge")
        large = folder / "ge"
        writing = medians(
            {
                "layout ge": lambda target: tensortap("convert", dump, target, "--to", "ge"),
                "native layout": lambda target: tensortap("convert", dump, target, "--to", "tap"),
                "dd": lambda target: dd(dump / "tensors.npz", target),
            },
            folder,
            arguments.rounds,
            arguments.mebibytes,
        )
        reading = medians(
            {
                "large, convert": lambda target: tensortap("convert", large, target, "--to", "npy"),
                "large, NumPy": lambda target: copy_by_numpy(large, target),
                "small, convert": lambda target: tensortap("convert", tree, target, "--to", "npy"),
                "small, NumPy": lambda target: copy_by_numpy(tree, target),
            },
            folder,
            arguments.rounds,
            arguments.mebibytes,
        )
    size = arguments.mebibytes / 1024
    lines = [
        "# What DumpData files cost",
        "",
        "Made by `./dev bench --dump-data`; the figures are not edited. Wall time of whole commands, medians of runs in turn, on a virtual",
        f"machine of {os.cpu_count()} cores. Memory for the page cache was touched before each run: where it was not, whichever came",
        "first, dd included, took up to ten times as long.",
        "",
        f"| {size:g} GiB in one tensor, from a native dump | GiB/s | to dd |",
        "|---|---|---|",
        *(f"| {name} | {size / taken:.2f} | {writing['dd'] / taken:.2f} |" for name, taken in writing.items()),
        "",
        f"| to npy | one file of {size:g} GiB | {SMALL_FILES} files of 4 KiB |",
        "|---|---|---|",
        *(
            f"| {words} | {size / reading[f'large, {by}']:.2f} GiB/s | {SMALL_FILES / reading[f'small, {by}']:.0f} files/s |"
            for by, words in (("convert", "`tensortap convert`"), ("NumPy", "NumPy, told where the elements begin"))
        ),
        "",
        "msaccucmp, the real system's converter, is not in the table: its wheel lacks libascend_dump_parser.so, which reads the headers.",
    ]
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
