"""Programs that use ONNX Runtime choose what is captured: `tensortap.set_dump` and its C function, under `tensortap exec`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import COMMAND, LIBRARIES, ROOT, small_model, tensortap
from exec_onnxruntime_support import MODEL, Dump, run_plain, write_program
from exec_support import compile_c
from onnx import numpy_helper

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")
FOR_READERS = 16  # kRecordForReaders
REQUESTED = json.dumps({"trigger": "on-request", "payload": "tensor", "slots": ["in", "out"]})


def mindspore_config(folder: Path, mode: int = 2) -> Path:
    config = {
        "common_dump_settings": {
            "op_debug_mode": 0, "dump_mode": mode, "path": str(folder / "tree"), "net_name": "Net", "iteration": "all",
            "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0],
        },
        "e2e_dump_settings": {"enable": True, "trans_flag": True},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder / "config.json"


def values_of(folder: Path, x: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
    """Compute with NumPy what the model's ops make."""
    weights = {item.name: numpy_helper.to_array(item) for item in onnx.load(folder / "model.onnx").graph.initializer}
    a = x @ weights["w"] + weights["b"]
    r = np.maximum(a, 0)
    e = np.exp(r - r.max(axis=1, keepdims=True))
    return {"x": x, "w": weights["w"], "b": weights["b"], "a": a, "r": r, "y": e / e.sum(axis=1, keepdims=True)}


def files(folder: Path) -> dict[str, npt.NDArray[np.float32]]:
    """Read an iteration's files: "Relu.input.0"."""
    found = {}
    for path in folder.glob("*.npy"):
        words = path.name.split(".")
        found[".".join((words[0], words[-5], words[-4]))] = np.load(path)
    return found


def same(found: dict[str, npt.NDArray[np.float32]], expected: dict[str, npt.NDArray[np.float32]]) -> None:
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, err_msg=name)


# M12
def test_a_mindspore_config_leaves_the_choice_to_a_python_program(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    program = write_program(
        tmp_path,
        "import tensortap\n" + MODEL + "def run(): show(session.run(None, {'x': x}))\n"
        "def tried(*words):\n"
        "    try: tensortap.set_dump(*words)\n"
        "    except ValueError as error: print(error, file=sys.stderr)\n"
        "run()\n"
        "tensortap.set_dump((session, 'relu_1'), enabled=True)\n"
        "run()\n"
        "tensortap.set_dump((session, ['relu_1']), enabled=False)\n"
        "tensortap.set_dump((session, ('Softmax',)))\n"
        "run()\n"
        "tensortap.set_dump(session)\n"
        "run()\n"
        "tensortap.set_dump(session, False)\n"
        "run()\n"
        "tried((session, 'relu_2'))\n"
        "tried((session, 3))\n"
        "tried((session, ''))\n"
        "tried(session, 1)\n",
    )
    plain = run_plain(sys.executable, program, cwd=tmp_path)
    config = mindspore_config(tmp_path)
    done = tensortap("exec", "--", sys.executable, program, cwd=tmp_path, environment={"MINDSPORE_DUMP_CONFIG": str(config)})
    assert (done.code, done.out) == (0, plain.stdout), done.err
    for text in (
        '"relu_2" is no op, no scope and no type of this model, as it runs. Did you mean "relu_1"',
        "a name or a list of names, but got an instance of <class 'int'>",
        "give the session alone",
        'The "enabled" parameter must be bool.',
    ):
        assert text in done.err
    values = values_of(tmp_path, np.asarray(np.random.default_rng(0).standard_normal((2, 3)) * 0.5, np.float32))
    tree = tmp_path / "tree/rank_0/Net/0"
    assert sorted(path.name for path in tree.iterdir() if list(path.glob("*.npy"))) == ["1", "2", "3"]
    # ONNX Runtime runs the two nodes before the last one as one op, which answers to the names of both.
    fused = {f"FusedGemm.input.{number}": values[name] for number, name in enumerate(("x", "w", "b"))} | {"FusedGemm.output.0": values["r"]}
    softmax = {"Softmax.input.0": values["r"], "Softmax.output.0": values["y"]}
    same(files(tree / "1"), fused)
    same(files(tree / "2"), softmax)
    same(files(tree / "3"), fused | softmax)


def test_a_choice_without_its_mode_is_answered_by_a_note(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    program = write_program(tmp_path, "import tensortap\n" + MODEL + "tensortap.set_dump(session)\nshow(session.run(None, {'x': x}))\n")
    config = mindspore_config(tmp_path, mode=0)
    done = tensortap("exec", "--config", config, "--", sys.executable, program, cwd=tmp_path)
    assert "set_dump(), which had no effect" in done.err


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the C program, linked to the library whose function it calls."""
    linked = ["-w", "-DCHOOSES", f"-L{LIBRARIES}", "-ltensortap_onnxruntime", f"-Wl,-rpath,{LIBRARIES}", "-ldl", "-lpthread"]
    return compile_c(ROOT / "tests/exec_onnxruntime_program.c", tmp_path_factory.mktemp("c") / "program", *linked)


CHOICES: dict[str, tuple[str, str, Sequence[str]]] = {
    "an op": ("relu_1", "", ["relu_1"]),
    "a value": ("y", "", ["softmax_1"]),
    "a type": ("Softmax", "", ["softmax_1"]),
    "another spelling": ("softmax1", '1: "softmax1" is no op, no scope and no type of this model, as it runs. Did you mean', []),
    "no session": ("@", "1: this is no session that the program made with ONNX Runtime", []),
}


# M12
@pytest.mark.skipif(not api.RUNTIMES.is_dir(), reason="no runtimes: run ./dev setup")
@each_row(("name", "said", "ops"), CHOICES.values())
def test_a_config_leaves_the_choice_to_a_c_program(name: str, said: str, ops: Sequence[str], program: Path, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text(REQUESTED)
    library = Path(api.runtime(api.NEWEST)) / f"libonnxruntime.so.{api.NEWEST}"
    words = [program, library, "model.onnx", "x", "float", "2x3", "y", "4", f"mark={name}"]
    plain = run_plain(*words, cwd=tmp_path)
    assert plain.returncode == 0, plain.stdout + plain.stderr
    done = tensortap("exec", "--config", "config.json", "--out", "dump", "--", *words, cwd=tmp_path)
    assert done.code == 0, done.err
    hashes = [line for line in done.out.splitlines() if ": " not in line]
    assert hashes == plain.stdout.splitlines()
    assert said in done.out
    dump = Dump(tmp_path / "dump")
    rows = dump.rows[dump.rows["phase"] != 4]
    own = rows[rows["flags"] & FOR_READERS == 0]
    assert sorted({(int(row["step"]), dump.ops[int(row["op"])]["name"]) for row in own}) == [(step, op) for step in (1, 2) for op in ops]
    # The dump contains the inputs of these ops, from the same steps, as their producers made them.
    assert sorted({int(step) for step in rows["step"][rows["flags"] & FOR_READERS != 0]}) == ([1, 2] if ops else [])
