"""What the tests of the AscendCL interface share: compiling a program as its user would, running it, the folders of its dumps."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from cli_support import HEADERS, LIBRARIES, ROOT
from onnx import TensorProto, helper

PROGRAMS = ROOT / "tests" / "acl"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def compile_program(
    source: Path, target: Path, *, include: Path = HEADERS, libraries: Path = LIBRARIES, options: list[str] = STRICT
) -> Path:
    """Compile an AscendCL program with nothing but the headers and the library."""
    command = [
        "g++",
        "-std=c++11",
        *options,
        str(source),
        f"-I{include}",
        f"-L{libraries}",
        "-ltensortap_acl",
        "-lpthread",
        "-o",
        str(target),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def run_program(
    program: Path, *arguments: str | Path | int, cwd: Path, libraries: Path = LIBRARIES, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a compiled program with the library on the loader's path."""
    words = [str(program), *(str(argument) for argument in arguments)]
    variables = {**os.environ, "LD_LIBRARY_PATH": str(libraries), **(environment or {})}
    return subprocess.run(words, cwd=cwd, env=variables, capture_output=True, text=True, timeout=120, check=False)


def reference(model: Path, *inputs: npt.NDArray[np.generic]) -> list[npt.NDArray[np.generic]]:
    """Run a model on ONNX Runtime itself."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    outputs: list[npt.NDArray[np.generic]] = session.run(None, dict(zip(names, inputs, strict=True)))
    return outputs


def image_model(path: Path, shape: list[int | str]) -> Path:
    """Save a small convolutional classifier."""
    rng = np.random.default_rng(3)
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4, 3, 3, 3], rng.standard_normal(108).astype(np.float32))
    nodes = [
        helper.make_node("Conv", ["data", "w"], ["c"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu1"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], name="pool1"),
        helper.make_node("Flatten", ["p"], ["f"], name="flatten1"),
        helper.make_node("Softmax", ["f"], ["prob"], name="prob1"),
    ]
    data = helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)
    prob = helper.make_tensor_value_info("prob", TensorProto.FLOAT, [shape[0], 4])
    graph = helper.make_graph(nodes, "classifier", [data], [prob], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def time_folders(folder: Path) -> list[Path]:
    """List the folders that dumps are in, oldest first."""
    return sorted(path for path in folder.iterdir() if re.fullmatch(r"\d{14}", path.name))


def dumped_ops(folder: Path) -> set[str]:
    """List "type.name" of the files below a folder: what stands before the three numbers of a dump file's name."""
    found = set()
    for path in folder.rglob("*"):
        if match := re.fullmatch(r"(.+?\..+?)\.\d+\.\d+\.\d{16}(\.csv)?", path.name):
            found.add(match[1])
    return found
