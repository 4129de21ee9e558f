"""Every example of every `--help` is run as it stands, in a folder that has what the examples name."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from cli_support import COMMAND, tensortap
from onnx import TensorProto, helper, numpy_helper

FINE, FOUND, USAGE, FAILED = 0, 1, 2, 3
SEEN = re.compile(r"^  ([a-z][a-z-]*)  ", re.MULTILINE)


def commands() -> list[str]:
    """Give the commands that `tensortap --help` lists."""
    done = tensortap("--help")
    assert done.code == FINE, done.err
    return SEEN.findall(done.out)


def examples_of(command: str) -> list[str]:
    """Give the examples of a command, without what is said of them."""
    text = tensortap(command, "--help", environment={"COLUMNS": "120"}).out
    lines = text[text.index("Examples:") :].splitlines()[1:]
    return [re.split(r"\s{2,}", line[2:])[0] for line in lines if re.match(r"  \S", line)]


def convolution(path: Path) -> None:
    """Save a model with ops of the names that the examples have."""
    rng = np.random.default_rng(1)
    weights = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in (("w", (4, 1, 3, 3)), ("v", (4, 4, 3, 3)), ("m", (4, 4)), ("g", (64, 2)))
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="/layer1/conv1/Conv", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "v"], ["b"], name="Conv_3", pads=[1, 1, 1, 1]),
        helper.make_node("MatMul", ["b", "m"], ["c"], name="/encoder/MatMul"),
        helper.make_node("LayerNormalization", ["c", "scale"], ["n"], name="norm", axis=-1),
        helper.make_node("Flatten", ["n"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "g"], ["y"], name="head"),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in (*weights.items(), ("scale", np.ones(4, np.float32)))]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def run_model(out: Path, *words: str) -> None:
    done = tensortap("run", "model.onnx", "--optimize", "none", "--runs", "6", "--out", out, *words, cwd=out.parent)
    assert done.code == FINE, done.err


def name_modules(dump: Path) -> None:
    """Give ops the modules and lines that those of a PyTorch program have."""
    lines = []
    for line in (dump / "ops.jsonl").read_text().splitlines():
        op = json.loads(line)
        op["module"] = "Net.layers.3.attn" if op["name"] == "Conv_3" else "Net.decoder" if op["name"] == "norm" else ""
        op["source"] = "train.py:41"
        lines.append(json.dumps(op))
    (dump / "ops.jsonl").write_text("\n".join(lines) + "\n")
    manifest = json.loads((dump / "run.json").read_text())
    del manifest["files"]  # the file of the ops is another one now; older dumps say nothing of their files
    (dump / "run.json").write_text(json.dumps(manifest))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder that each example gets a copy of."""
    folder = tmp_path_factory.mktemp("examples")
    convolution(folder / "model.onnx")
    array = np.random.default_rng(2).standard_normal((1, 1, 4, 4)).astype(np.float32)
    np.save(folder / "x.npy", array)
    np.savez(folder / "inputs.npz", x=array)
    for name in ("dump", "new", "old", "old_nudged", "first", "second"):
        run_model(folder / name, "--full")
    for name in ("dump", "new", "old", "old_nudged"):
        name_modules(folder / name)
    for rank in range(8):
        shutil.copytree(folder / "first", folder / f"job/rank_{rank}")
    run_model(folder / "tree_of_ge", "--full", "--layout", "ge")
    (time_folder,) = [one for one in (folder / "tree_of_ge").iterdir() if one.name.isdigit()]
    time_folder.rename(folder / "20260102030405")
    data = next(one for one in (folder / "20260102030405").rglob("Conv.*") if one.name.split(".")[-1].isdigit())
    shutil.copy(data, folder / "Conv2D.conv1.3.0.1763668800000000")
    np.save(folder / "Add.a.0.0.1763668800000000.output.0.npy", array)
    (folder / "rules.txt").write_text(".* 1e-3 1e-3\n")
    (folder / "names.txt").write_text("n\tn\n")
    (folder / "dump.json").write_text(json.dumps({"out": "dump"}))
    (folder / "capture.json").write_text(json.dumps({"include": [{"type": "Conv"}]}))
    (folder / "onnxruntime-1.25").mkdir()
    (folder / "onnxruntime-1.25/lib").symlink_to(Path(onnxruntime.__file__).parent / "capi")
    (folder / ".zfunc").mkdir()
    (folder / ".config/fish/completions").mkdir(parents=True)
    for program in ("program", "bin/python", "bin/torchrun"):
        (folder / program).parent.mkdir(exist_ok=True)
        (folder / program).write_text("#!/bin/sh\nexit 0\n")
        (folder / program).chmod(0o755)
    return folder


def trees_of_dump_data(folder: Path) -> None:
    (folder / "20260102030405").rename(folder / "dump/20260102030405")


def watched(folder: Path) -> None:
    shutil.rmtree(folder / "dump")
    (folder / "watch.json").write_text(json.dumps({"trigger": "watch", "watchers": ["norm"], "include": ["Conv_3"], "out": "dump"}))
    done = tensortap("run", "model.onnx", "--optimize", "none", "--config", "watch.json", cwd=folder)
    assert done.code == FINE, done.err


# What an example needs besides, by how it begins.
PREPARED: dict[str, Callable[[Path], None]] = {
    "tensortap convert dump/20260102030405": trees_of_dump_data,
    "tensortap watch-diff": watched,
}

# What ends otherwise than with 0, by how it begins, and what it says then: nothing of the kind is on a machine of tests.
OTHERWISE: dict[str, tuple[int, str]] = {
    "tensortap run model.onnx --range -1:1": (USAGE, "ids"),
    "tensortap run model.onnx --custom-ops": (USAGE, "libmy_ops.so"),
    "tensortap set 4711": (USAGE, "4711"),
    "tensortap set dump": (USAGE, "no capture runs"),
    "tensortap find dump --watch": (FOUND, "hits"),
    "tensortap doctor --runtime": (FAILED, "/opt/onnxruntime/lib"),
    "tensortap build-adapter --python": (USAGE, "/opt/venv/bin/python"),
    "tensortap build-adapter --libtorch": (USAGE, "/opt/libtorch"),
}


def starting(table: dict[str, tuple[int, str]], example: str) -> tuple[int, str] | None:
    return next((value for begin, value in table.items() if example.startswith(begin)), None)


def makes_its_dump(example: str) -> bool:
    return example.startswith(("tensortap run", "tensortap exec", "tensortap llm"))


def served(example: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a server until it says where it is."""
    with subprocess.Popen(
        ["bash", "-c", f"exec {example}"], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        line = program.stdout.readline()
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    return subprocess.CompletedProcess(example, program.returncode, line + out, err)


def run_example(example: str, place: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    shutil.copytree(place, folder, symlinks=True)
    if makes_its_dump(example):
        shutil.rmtree(folder / "dump")
    for begin, prepare in PREPARED.items():
        if example.startswith(begin):
            prepare(folder)
    path = f"{folder / 'bin'}:{COMMAND.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(folder), "PATH": path, "XDG_RUNTIME_DIR": str(folder), "COLUMNS": "80"}
    if example.startswith("tensortap serve"):
        return served(example, folder, environment)
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", example], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def problem_of(example: str, place: Path, folder: Path) -> str:
    """Say what is wrong with an example, "" if it works."""
    done = run_example(example, place, folder)
    code, said = starting(OTHERWISE, example) or (FINE, "")
    everything = done.stdout + done.stderr
    if done.returncode != code or said not in everything or "has no option" in everything:
        return f"{example}\n  ended with {done.returncode} instead of {code}:\n{everything}"
    return ""


def test_every_example_of_every_help_works(place: Path, tmp_path: Path) -> None:
    problems = []
    count = 0
    for command in commands():
        for example in examples_of(command):
            count += 1
            problems.append(problem_of(example, place, tmp_path / str(count)))
    assert count > 80
    assert not any(problems), "\n".join(filter(None, problems))


def test_an_example_with_a_wrong_option_is_noticed(place: Path, tmp_path: Path) -> None:
    for number, wrong in enumerate(("tensortap ls dump --no-such", "tensortap show dump Conv_9:out0", "tensortap set 4711 --opps norm")):
        assert problem_of(wrong, place, tmp_path / str(number)), wrong


def test_the_options_of_llm_dump_are_listed() -> None:
    assert "--exec" in tensortap("llm", "dump", "--help").out
