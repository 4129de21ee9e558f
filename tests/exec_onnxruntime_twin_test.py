"""Runs of a program that are not captured go to a session without taps: under --steps and under a budget."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import ROOT, save, small_model
from exec_onnxruntime_support import MODEL, Dump, compare, run_captured, run_plain, write_program
from exec_support import compile_c
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")

NEEDS_MODELS = pytest.mark.skipif(not api.MODELS.is_dir() or not api.RUNTIMES.is_dir(), reason="no models or runtimes: run ./dev setup")
FIVE_RUNS = MODEL + "for number in range(5): show(session.run(None, {'x': feed('float32', (2, 3), number)}))\n"
OTHER_WAYS = {
    "named arguments": "session.run(output_names=['y'], input_feed={'x': x})",
    "values of the runtime": "[v.numpy() for v in session.run_with_ort_values(['y'], {'x': ort.OrtValue.ortvalue_from_numpy(x)})]",
}
WITH_TAPS = {
    "a binding": (
        MODEL + "for _ in range(5):\n"
        "    b = session.io_binding(); b.bind_cpu_input('x', x); b.bind_output('y')\n"
        "    session.run_with_iobinding(b); show(b.copy_outputs_to_cpu())\n",
        " (with a binding, or in a thread of the runtime's)",
    ),
    "a profile": (
        "options = ort.SessionOptions(); options.enable_profiling = True\n"
        "session = ort.InferenceSession('model.onnx', options)\n"
        "for _ in range(5): show(session.run(None, {'x': feed('float32', (2, 3))}))\n",
        " (the program has the runtime write a profile, which is of one session)",
    ),
}


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(ROOT / "tests/exec_onnxruntime_program.c", tmp_path_factory.mktemp("c") / "program", "-w", "-ldl", "-lpthread")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_model(tmp_path / "model.onnx")
    return tmp_path


def notes_on_runs(dump: Dump) -> list[str]:
    notes: list[str] = dump.run["notes"]
    return [note for note in notes if note.startswith("runs that are not captured")]


def test_steps_that_were_not_asked_for_run_without_taps(folder: Path) -> None:
    _, dump = compare(write_program(folder, FIVE_RUNS), options=["--steps", "1-2"])
    assert dump.steps() == [1, 2]
    assert dump.run["steps"] == {"seen": 5, "captured": 2}
    assert notes_on_runs(dump) == ["runs that are not captured: 3 used a session without taps"]


def test_sessions_that_come_and_go_have_their_own_twins(folder: Path) -> None:
    # The address of a session that is gone may be that of the next one.
    coming = "for number in range(8):\n    session = ort.InferenceSession('model.onnx')\n"
    runs = "    for _ in range(2): show(session.run(None, {'x': feed('float32', (2, 3), number)}))\n    del session\n"
    _, dump = compare(write_program(folder, coming + runs), options=["--steps", "3"])
    assert dump.steps() == [3]
    assert dump.run["steps"] == {"seen": 16, "captured": 1}
    assert notes_on_runs(dump) == ["runs that are not captured: 15 used a session without taps"]


def test_the_twin_of_a_model_with_large_weights_is_made_in_silence(tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.random.default_rng(7).standard_normal((3, 40000)).astype(np.float32), "w")
    save([helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul_1")], tmp_path / "model.onnx", initializers=[weights])
    captured, dump = compare(write_program(tmp_path, FIVE_RUNS), options=["--steps", "1-2"])
    assert notes_on_runs(dump) == ["runs that are not captured: 3 used a session without taps"]
    assert "already exists" not in captured.err, "the runtime prints this for an entry that is set twice"


def test_without_a_limit_there_is_one_session(folder: Path) -> None:
    _, dump = compare(write_program(folder, FIVE_RUNS))
    assert dump.steps() == [0, 1, 2, 3, 4]
    assert notes_on_runs(dump) == []


def test_a_budget_takes_the_first_run_and_counts_all(folder: Path) -> None:
    program = write_program(folder, MODEL + "for size in [2, 3] * 100: show(session.run(None, {'x': feed('float32', (2, 3), size)}))\n")
    _, dump = compare(program, options=["--budget", "3%"])
    governor = dump.run["governor"]
    assert governor["seen"] == 200
    assert governor["captured"] == len(dump.steps())
    assert dump.steps()[0] == 0
    assert governor["captured"] < 200
    assert notes_on_runs(dump) == [f"runs that are not captured: {200 - governor['captured']} used a session without taps"]
    assert governor["measured_by"]["plain_steps"] > 0


@each_row("call", OTHER_WAYS.values())
def test_every_way_to_run_has_the_twin(call: str, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    _, dump = compare(write_program(tmp_path, MODEL + f"for _ in range(3): show({call})\n"), options=["--steps", "1"])
    assert dump.steps() == [1]
    assert notes_on_runs(dump) == ["runs that are not captured: 2 used a session without taps"]


@each_row("program, reason", WITH_TAPS.values())
def test_what_a_twin_can_not_run_stays_with_the_taps(program: str, reason: str, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    _, dump = compare(write_program(tmp_path, program), options=["--steps", "1"])
    assert dump.steps() == [1]
    assert notes_on_runs(dump) == [f"runs that are not captured: 4 the session with taps{reason}"]


def test_random_numbers_come_in_the_order_of_the_plain_program(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["r"], name="random_1", seed=3.0),
        helper.make_node("Add", ["x", "r"], ["y"], name="add_1"),
    ]
    save(nodes, tmp_path / "model.onnx")
    _, dump = compare(write_program(tmp_path, FIVE_RUNS), options=["--steps", "1,3"])
    assert dump.steps() == [1, 3]
    assert notes_on_runs(dump) == ["runs that are not captured: 3 the session with taps (RandomNormalLike draws random numbers)"]


def test_a_refused_run_leaves_its_step_to_the_next(folder: Path) -> None:
    program = write_program(
        folder,
        MODEL + "for _ in range(4):\n"
        "    try: session.run(None, {'x': np.zeros((2, 7), np.float32)})\n"
        "    except Exception as error: print(type(error).__name__)\n"
        "    show(session.run(None, {'x': x}))\n",
    )
    _, dump = compare(program, options=["--steps", "1-2"])
    assert dump.steps() == [1, 2]
    assert dump.run["steps"] == {"seen": 4, "captured": 2}
    assert notes_on_runs(dump) == ["runs that are not captured: 2 used a session without taps"]


def test_an_op_that_fails_in_a_run_without_taps_is_named(tmp_path: Path) -> None:
    shape = numpy_helper.from_array(np.array([4, 2], np.int64), "shape")
    nodes = [helper.make_node("Neg", ["x"], ["n"], name="neg_1"), helper.make_node("Reshape", ["n", "shape"], ["y"], name="reshape_1")]
    save(nodes, tmp_path / "model.onnx", shape=("n", 4), initializers=[shape])
    program = write_program(
        tmp_path,
        "session = ort.InferenceSession('model.onnx')\n"
        "for size in (2, 3, 2):\n"
        "    try: show(session.run(None, {'x': np.ones((size, 4), np.float32)}))\n"
        "    except Exception as error: print(type(error).__name__)\n",
    )
    _, dump = compare(program, options=["--steps", "0"])
    assert dump.run["steps"] == {"seen": 3, "captured": 1}
    assert dump.run["failed_op"]["name"] == "reshape_1"
    assert notes_on_runs(dump) == ["runs that are not captured: 2 used a session without taps"]


@each_row(
    ("version", "words", "twin", "taps"),
    [("1.31.1", "", 4, 0), ("1.19.2", "", 4, 0), ("1.31.1", "binding", 0, 4), ("1.31.1", "threads", 22, 0), ("1.31.1", "twice", 10, 0)],
)
@NEEDS_MODELS
def test_a_c_program_has_one_too(version: str, words: str, twin: int, taps: int, c_program: Path, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    library = Path(api.runtime(version)) / f"libonnxruntime.so.{version}"
    arguments = [c_program, library, "model.onnx", "x", "float", "2x3", "y", "6", *words.split()]
    plain = run_plain(*arguments, cwd=tmp_path)
    captured = run_captured(*arguments, cwd=tmp_path, options=["--steps", "1,3"])
    assert plain.returncode == captured.code == 0, captured.err
    assert sorted(captured.out.splitlines()) == sorted(plain.stdout.splitlines())
    dump = Dump(tmp_path / "dump")
    assert dump.steps() == [1, 3]
    parts = [f"{twin} used a session without taps"] if twin > 0 else []
    parts += [f"{taps} the session with taps (with a binding, or in a thread of the runtime's)"] if taps > 0 else []
    assert notes_on_runs(dump) == ["runs that are not captured: " + ", ".join(parts)]
