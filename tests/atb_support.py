"""What the tests of programs over ATB share: the script that makes the driver call what a real program called, and the driver."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from cli_support import BUILD, LIBRARIES, ROOT

GOLDEN = ROOT / "tests/golden/msit"
DUMP = "msit_dump_20251120_200000"
NUMBERS = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9, "uint64": 10,
    "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27,
}  # fmt: skip


def library(abi: int) -> Path:
    return LIBRARIES / ("libtensortap_atb.so" if abi == 1 else "libtensortap_atb_abi0.so")


def atb_home(abi: int) -> Path:
    return BUILD / f"atb/abi{abi}"


def unpack(tree: str, folder: Path) -> Path:
    with tarfile.open(GOLDEN / f"{tree}.tar.gz") as archive:
        archive.extractall(folder)
    return folder / tree


@dataclass
class Script:
    """Lines for the driver, and the elements of its tensors."""

    lines: list[str] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)

    def say(self, *words: object) -> Script:
        self.lines.append("\t".join(str(word) for word in words))
        return self

    def tensor(self, word: str, values: npt.NDArray[Any], path: str, *, order: int = 2) -> Script:
        offset = len(self.data)
        self.data += values.tobytes()
        dims = ",".join(map(str, values.shape))
        return self.say(word, order, NUMBERS[values.dtype.name], dims, offset, values.nbytes, path)


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str
    pid: int


def write(script: Script, folder: Path) -> list[str]:
    (folder / "script").write_text("\n".join(script.lines))
    (folder / "data").write_bytes(script.data)
    return [str(folder / "script"), str(folder / "data")]


def drive(script: Script, folder: Path, variables: dict[str, str], *, abi: int = 1, preload: Path | None = None) -> Run:
    """Run the driver with the library preloaded, as the real msit starts a program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ATB_")}
    environment = {**kept, "LD_PRELOAD": str(preload or library(abi)), **variables}
    words = [str(atb_home(abi) / "driver"), *write(script, folder)]
    with subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        out, err = program.communicate(timeout=60)
    return Run(program.returncode, out, err, program.pid)


def variables(folder: Path, types: str = "tensor|model", **others: str) -> dict[str, str]:
    """Give the environment of `msit llm dump`, with its defaults."""
    return {
        "ATB_SAVE_TENSOR": "1",
        "ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER": "1",
        "ATB_SAVE_TENSOR_TIME": "1",
        "ATB_SAVE_TENSOR_RANGE": "0,0",
        "ATB_SAVE_CHILD": "1",
        "ATB_SAVE_TENSOR_PART": "2",
        "ATB_DUMP_TYPE": types,
        "ATB_SAVE_TILING": "0",
        "ATB_SAVE_SYMLINK": "0",
        "ATB_OUTPUT_DIR": f"{folder}/",
        "ATB_TIMESTAMP": "20251120_200000",
        **others,
    }


def told_graph(node: dict[str, Any], inputs: list[str], outputs: list[str], own: dict[str, Any] | None = None) -> dict[str, Any]:
    """Turn a graph of a file back into the runtime's form: tensors by their numbers among inputs, outputs, internal ones."""
    internals = node.get("internalTensors", [])
    names = [*inputs, *outputs, *internals]
    told: dict[str, Any] = {"opType": node["opType"], "opName": node["opName"], "inTensorNum": len(inputs), "outTensorNum": len(outputs)}
    if internals:
        told["internalTensorNum"] = len(internals)
    told["param"] = node["param"]
    told.update(own or {})
    if "nodes" in node:
        told["nodes"] = [
            told_graph(
                child,
                child["inTensors"],
                child["outTensors"],
                {
                    "inTensorIds": [names.index(name) for name in child["inTensors"]],
                    "outTensorIds": [names.index(name) for name in child["outTensors"]],
                },
            )
            for child in node["nodes"]
        ]
    return told


def told_model(text: str) -> str:
    """Turn the model's file back into the serving framework's form: nodes without numbers, keys in alphabetical order."""
    model = json.loads(text)
    model["nodes"] = [
        {"inTensors": node["inTensors"], "opName": node["opType"], "outTensors": node["outTensors"]} for node in model["nodes"]
    ]
    return json.dumps(model, separators=(",", ":"), sort_keys=True)


def told_cells(types: str, formats: str, shapes: str, files: str, real: str) -> str:
    """Give the tensors of one side of a table's row as the driver reads them."""
    each = zip(types.split(";"), formats.split(";"), shapes.split(";"), files.split(";"), strict=True)
    return "&".join(f"{a};{b};{c};{d.partition('/tensors/')[2].replace(real, 'PID')}" for a, b, c, d in each)


def headers_of(tree: Path) -> dict[str, dict[str, str]]:
    """Read the header of each tensor, by its path without the round."""
    headers = {}
    for path in tree.rglob("*.bin"):
        if "tensors" not in path.relative_to(tree).parts:
            continue
        lines = path.read_bytes().partition(b"$End=1")[0].decode().splitlines()
        headers["/".join(path.relative_to(tree / DUMP / "tensors").parts[2:])] = dict(line.split("=") for line in lines)
    return headers


def values_of(array: npt.NDArray[Any], header: dict[str, str]) -> npt.NDArray[Any]:
    return array.astype(ml_dtypes.bfloat16) if header.get("dtype") == "27" else array


class GoldenProgram:
    """The program whose dump a golden tree is, as a script: what it called, in the order of the runtime."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.dump = tree / DUMP
        self.truth = np.load(tree / "truth.npz")
        self.process = next((self.dump / "tensors").iterdir()).name
        self.pid = self.process.partition("_")[2]
        self.headers = headers_of(tree)
        self.script = Script()

    def text(self, *parts: str) -> list[str]:
        path = self.dump.joinpath(*parts)
        return path.read_text().splitlines() if path.exists() else []

    def make(self) -> Script:
        for path in sorted((self.dump / "layer" / self.pid).glob("*.json")):
            layer = json.loads(path.read_text())
            told = told_graph(layer, layer["inTensors"], layer["outTensors"])
            self.script.say("graph", layer["opName"], json.dumps(told, separators=(",", ":")))
        tables = {path.stem.rpartition("_")[2] for path in self.dump.glob(f"*/{self.pid}/*_[0-9]*.*") if path.parent.parent.name != "layer"}
        for count in sorted({key.split("/")[1] for key in self.truth.files} | tables, key=int):
            self.round(count)
        for path in (self.dump / "model" / self.pid).glob("*.json"):
            self.script.say("model", path.stem, told_model(path.read_text()))
        return self.script

    def round(self, count: str) -> None:
        keys = [key for key in self.truth.files if key.split("/")[1] == count]
        folders = list(dict.fromkeys(key.rsplit("/", 2)[0] for key in keys))
        # Parameters that the program reported in rounds whose tensors were not asked for.
        told = sorted((self.dump / "tensors" / self.process / count).rglob("op_param.json"))
        others = [str(path.parent.relative_to(self.dump / "tensors")) for path in told]
        folders += [folder for folder in others if folder not in folders]
        for folder in folders:
            self.operation(folder, count, [key for key in keys if key.rsplit("/", 2)[0] == folder])
        for word, name in [
            ("operation", "operation_io_tensors/{}/operation_tensors_{}.csv"),
            ("kernel", "kernel_io_tensors/{}/kernel_tensors_{}.csv"),
        ]:
            for row in self.text(name.format(self.pid, count))[1:]:
                cells = row.split("|")
                sides = [told_cells(*cells[at : at + 3], cells[file], self.pid) for at, file in ((5, 14), (9, 15))]
                self.script.say(word, count, cells[2], cells[3], *sides)
        for line in self.text(f"cpu_profiling/{self.pid}/operation_statistic_{count}.txt"):
            name, _, times = line.removeprefix("[").partition("]:")
            self.script.say("statistic", count, name, times)

    def operation(self, folder: str, count: str, keys: list[str]) -> None:
        parts = folder.split("/")[2:]
        ids = ",".join(part.partition("_")[0] for part in parts)
        kind = parts[-1].partition("_")[2]
        # For a kernel, the runtime asks with the operation's name.
        owner = parts[-2].partition("_")[2] if kind.endswith("Kernel") else kind
        place = folder.replace(self.process, "0_PID")
        self.script.say("setup", ids, owner, place, count)
        tiling = self.dump / "tiling" / folder / "kernel_tilingdata.bin"
        if tiling.exists():
            content = tiling.read_bytes()
            self.script.say("tiling", len(self.script.data), len(content), f"{place}/kernel_tilingdata.bin")
            self.script.data += content
        for moment in ("before", "after"):
            self.script.say("phase", moment)
            for key in keys:
                if key.split("/")[-2] != moment:
                    continue
                header = self.headers.get("/".join(key.split("/")[2:]), self.like(key))
                self.script.tensor(
                    "tensor", values_of(self.truth[key], header), key.replace(self.process, "0_PID"), order=int(header.get("format", 2))
                )
        param = self.dump / "tensors" / folder / "op_param.json"
        if param.exists():
            self.script.say("param", param.read_text().removesuffix("\n"), f"{place}/op_param.json")

    def like(self, key: str) -> dict[str, str]:
        """Give the header of the same tensor at the other moment, where the tree has that one alone."""
        other = key.replace("/before/", "/after/") if "/before/" in key else key.replace("/after/", "/before/")
        return self.headers.get("/".join(other.split("/")[2:]), {})


def files_of(dump: Path, pid: int | str, root: str) -> dict[str, bytes]:
    """Read all files of a dump but our manifest, without what differs from process to process."""
    files = {}
    for path in dump.rglob("*"):
        name = str(path.relative_to(dump))
        if not path.is_file() or name.startswith(".tensortap/"):
            continue
        content = path.read_bytes()
        if name.endswith(".csv"):
            content = content.replace(root.encode(), b"ROOT").replace(str(pid).encode(), b"PID")
        files[name.replace(str(pid), "PID")] = content
    return files
