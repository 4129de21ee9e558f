"""What the tests of the command line share: the program, small models, dumps."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TENSORTAP_BUILD") or ROOT / "build/release")
"""The build folder: for the programs that only tests have. What users have comes from the installation under test."""
COMMAND = Path(os.environ.get("TENSORTAP_COMMAND") or BUILD / "src/cli/tensortap")
INSTALLED = next(COMMAND.parent.parent.glob("lib/python3*/site-packages"), None)
PACKAGE = INSTALLED or BUILD / "python"
"""The folder that holds the package `tensortap` of the command."""
LIBRARIES = INSTALLED / "tensortap/lib" if INSTALLED else BUILD
HEADERS = INSTALLED / "tensortap/include" if INSTALLED else ROOT / "include"


def package_alone(folder: Path) -> Path:
    """Make a folder for PYTHONPATH with the package and nothing else of its environment, for the Python of another environment."""
    alone = folder / "package"
    if not alone.exists():
        alone.mkdir()
        (alone / "tensortap").symlink_to(PACKAGE / "tensortap")
    return alone


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The JSON objects on standard output, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The records that `ls --json` lists; the last line for an incomplete dump lists what is missing instead."""
        return [one for one in self.objects if "row" in one]


def tensortap(*arguments: str | Path, cwd: Path | None = None, environment: dict[str, str] | None = None, timeout: float = 120) -> Done:
    words = [str(COMMAND), *(str(argument) for argument in arguments)]
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=timeout, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def save(
    nodes: Sequence[onnx.NodeProto], path: Path, *, shape: Sequence[int | str] = (2, 3), initializers: Sequence[TensorProto] = ()
) -> Path:
    """Save a model with one float input x of `shape` and one float output y."""
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        list(initializers),
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def small_model(path: Path) -> Path:
    """Save y = softmax(relu(x @ w + b)): four ops with different names."""
    rng = np.random.default_rng(7)
    weights = numpy_helper.from_array(rng.standard_normal((3, 4)).astype(np.float32), "w")
    bias = numpy_helper.from_array(rng.standard_normal(4).astype(np.float32), "b")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="matmul_1"),
        helper.make_node("Add", ["m", "b"], ["a"], name="add_1"),
        helper.make_node("Relu", ["a"], ["r"], name="relu_1"),
        helper.make_node("Softmax", ["r"], ["y"], name="softmax_1"),
    ]
    return save(nodes, path, initializers=[weights, bias])


def nonfinite_model(path: Path) -> Path:
    """Save y = exp(1 / x): infinite where x is 0."""
    one = numpy_helper.from_array(np.float32(1), "one")
    nodes = [
        helper.make_node("Div", ["one", "x"], ["d"], name="div_1"),
        helper.make_node("Exp", ["d"], ["y"], name="exp_1"),
    ]
    return save(nodes, path, initializers=[one])


@dataclass(frozen=True)
class NativeDump:
    """The files of one native dump, read with NumPy alone."""

    folder: Path

    @property
    def rows(self) -> npt.NDArray[Any]:
        """All records in the order in which they were seen."""
        return np.sort(np.load(self.folder / "records.npy"), order="sequence")

    @property
    def ops(self) -> dict[int, dict[str, Any]]:
        """What is known of each op, by its id."""
        lines = (self.folder / "ops.jsonl").read_text().splitlines()
        return {op["id"]: op for op in map(json.loads, lines)}

    @property
    def run(self) -> dict[str, Any]:
        """The manifest."""
        manifest: dict[str, Any] = json.loads((self.folder / "run.json").read_text())
        return manifest
