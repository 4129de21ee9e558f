"""The parts of the demo that are about its model: magika says what kind of file something is.

usage: magika_demo.py prepare MODEL_FOLDER FILE INPUT.npy     the model's input for a file
       magika_demo.py answer MODEL_FOLDER OUTPUT.npy          the model's output in words
       magika_demo.py open DUMP                               a dump opened with nothing but NumPy
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WHITE_SPACE = b" \t\n\r\v\f"


def read_config(model_folder: Path) -> dict[str, Any]:
    """Read the model's own description of its input and its labels."""
    config: dict[str, Any] = json.loads((model_folder / "config.min.json").read_text())
    return config


def model_input(content: bytes, config: dict[str, Any]) -> npt.NDArray[np.int32]:
    """Turn a file's content into the model's input: the bytes of its beginning, then those of its end, each padded to its length.

    White space at the very beginning and the very end does not count; padding comes after the beginning and before the end.
    """
    block, padding = config["block_size"], config["padding_token"]
    first = content[:block].lstrip(WHITE_SPACE)[: config["beg_size"]]
    last = content[-block:].rstrip(WHITE_SPACE)
    last = last[max(0, len(last) - config["end_size"]) :]
    values = np.full((1, config["beg_size"] + config["end_size"]), padding, np.int32)
    values[0, : len(first)] = list(first)
    if last:
        values[0, -len(last) :] = list(last)
    return values


def answer(scores: npt.NDArray[np.float32], config: dict[str, Any]) -> str:
    """Put the model's output into words: the most probable kind, then the next two."""
    labels = config["target_labels_space"]
    best = np.argsort(scores[0])[::-1][:3]
    others = ", ".join(f"{labels[kind]} {scores[0][kind]:.2g}" for kind in best[1:])
    return f"{labels[best[0]]} (probability {scores[0][best[0]]:.4f}; then {others})"


def open_with_numpy(dump: Path) -> list[str]:
    """Open a dump without tensortap: its rows are one structured array, its tensors an archive that NumPy reads."""
    records = np.load(dump / "records.npy", mmap_mode="r")
    tensors = np.load(dump / "tensors.npz")
    members = [tensors[name] for name in tensors.files]
    largest = records["absmax"][np.isfinite(records["absmax"])].max()
    return [
        f"records.npy: {len(records)} rows of {len(records.dtype.names)} columns; the largest finite value of all is {largest:.6g}",
        f"tensors.npz: {len(members)} tensors, {sum(member.nbytes for member in members):,} bytes; the last one is {tensors.files[-1]}",
    ]


def main() -> int:
    """Do what the command line says."""
    match sys.argv[1:]:
        case ["prepare", folder, file, target]:
            np.save(target, model_input(Path(file).read_bytes(), read_config(Path(folder))))
        case ["answer", folder, output]:
            print(answer(np.load(output), read_config(Path(folder))))
        case ["open", dump]:
            print("\n".join(open_with_numpy(Path(dump))))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
