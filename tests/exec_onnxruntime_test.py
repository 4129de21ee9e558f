"""`tensortap exec` on programs that use ONNX Runtime: the same results as without, every op seen, whatever they do with their sessions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import COMMAND, ROOT, Done, nonfinite_model, save, small_model, tensortap
from exec_onnxruntime_support import MODEL, Dump, compare, run_captured, run_plain, write_program
from exec_support import compile_c
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")
NEEDS_MODELS = pytest.mark.skipif(not api.MODELS.is_dir() or not api.RUNTIMES.is_dir(), reason="no models or runtimes: run ./dev setup")
MAGIKA = "magika/magika/models/standard_v3_3/model.onnx"
OCR = "rapidocr/rapidocr/models/"
REAL = {
    "magika": (MAGIKA, {"bytes": ("int32", (1, 2048))}),
    "silero": (
        "silero_vad/silero_vad/data/silero_vad.onnx",
        {"input": ("float32", (1, 576)), "state": ("float32", (2, 1, 128)), "sr": ("int64", ())},
    ),
    "basic_pitch": (
        "basic_pitch/basic_pitch/saved_models/icassp_2022/nmp.onnx",
        {"serving_default_input_2:0": ("float32", (1, 43844, 1))},
    ),
    "ocr_cls": (OCR + "ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": ("float32", (1, 3, 48, 192))}),
    "ocr_rec": (OCR + "PP-OCRv6_rec_small.onnx", {"x": ("float32", (1, 3, 48, 320))}),
    "smart_turn": (
        "pipecat_ai/pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        {"input_features": ("float32", (1, 80, 800))},
    ),
}


# ---- Python


@NEEDS_MODELS
@each_row("name", REAL)
def test_a_real_model_gives_the_same_bits_and_the_records_that_tensortap_run_gives(name: str, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    program = write_program(
        tmp_path,
        f"inputs = {inputs!r}\n"
        f"session = ort.InferenceSession({api.model(path)!r})\n"
        "fed = {name: feed(*kind) for name, kind in inputs.items()}\n"
        "np.savez('inputs.npz', **{name.replace(':', '_'): array for name, array in fed.items()})\n"
        "for _ in range(2): show(session.run(None, fed))\n",
    )
    captured, dump = compare(program)
    assert "nothing was captured" not in captured.err
    assert "uncaptured" not in captured.err
    assert dump.steps() == [0, 1]
    with np.load(tmp_path / "inputs.npz") as saved:
        given = {key: saved[key.replace(":", "_")] for key in inputs}
    words: list[str | Path] = []
    for number, (key, array) in enumerate(given.items()):
        np.save(tmp_path / f"{number}.npy", array)
        words += ["--input", f"{key}={tmp_path / f'{number}.npy'}"]
    done = tensortap("run", api.model(path), *words, "--out", tmp_path / "own", "--json", "--runtime", python_runtime(), cwd=tmp_path)
    assert done.code == 0, done.err
    own = Dump(tmp_path / "own")
    assert dump.statistics() == own.statistics()
    assert dump.statistics(1) == own.statistics()
    assert sorted((op["name"], op["type"], str(op["originals"])) for op in dump.ops.values()) == sorted(
        (op["name"], op["type"], str(op["originals"])) for op in own.ops.values()
    )


@cache
def python_runtime() -> str:
    """Give the folder of the library that belongs to Python's own ONNX Runtime."""
    import onnxruntime

    return str(Path(onnxruntime.__file__).parent / "capi")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    small_model(tmp_path / "model.onnx")
    yield tmp_path


WAYS_TO_RUN = {
    "run": "show(session.run(None, {'x': x}))",
    "chosen outputs": "show(session.run(['y'], {'x': x}))",
    "ort values": "show(v.numpy() for v in session.run_with_ort_values(['y'], {'x': ort.OrtValue.ortvalue_from_numpy(x)}))",
    "binding": (
        "b = session.io_binding(); b.bind_cpu_input('x', x); b.bind_output('y')\n"
        "session.run_with_iobinding(b); show(b.copy_outputs_to_cpu())"
    ),
    "async": (
        "import threading; done = threading.Event(); kept = []\n"
        "session.run_async(None, {'x': x}, lambda results, _, error: (kept.extend(results), done.set()), None)\n"
        "done.wait(20); show(kept)"
    ),
    "below the class": "show(session._sess.run(['y'], {'x': x}, None))",
}


@each_row("way", WAYS_TO_RUN)
def test_every_way_to_run_is_captured(way: str, tmp_path: Path) -> None:
    folder = small_model(tmp_path / "model.onnx").parent
    program = write_program(folder, MODEL + "\n".join([WAYS_TO_RUN[way]] * 3) + "\n")
    _, dump = compare(program)
    assert dump.steps() == [0, 1, 2]
    assert all(dump.statistics(step) == dump.statistics(0) for step in (1, 2))
    assert {op["type"] for op in dump.ops.values() if op["id"] in set(dump.rows["op"])} >= {"Input", "Softmax"}
    assert dump.run["complete"] is True
    assert dump.run["ops"]["not_captured"] == []


WAYS_TO_MAKE = {
    "bytes": "session = ort.InferenceSession(open('model.onnx', 'rb').read())",
    "a path object": "import pathlib; session = ort.InferenceSession(pathlib.Path('model.onnx'))",
    "providers": "session = ort.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])",
    "a subclass": "class Mine(ort.InferenceSession):\n  pass\nsession = Mine('model.onnx')",
    "options": (
        "options = ort.SessionOptions(); options.intra_op_num_threads = 1\n"
        "options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC\n"
        "options.execution_mode = ort.ExecutionMode.ORT_PARALLEL\n"
        "session = ort.InferenceSession('model.onnx', options)\n"
        "shown = session.get_session_options()\n"
        "print(shown.graph_optimization_level, shown.execution_mode, repr(shown.optimized_model_filepath), shown.enable_profiling)\n"
        "print(options.graph_optimization_level, options.execution_mode, repr(options.optimized_model_filepath))"
    ),
    "providers set later": "session = ort.InferenceSession('model.onnx'); session.set_providers(['CPUExecutionProvider'])",
    "what it tells": (
        "session = ort.InferenceSession('model.onnx')\n"
        "print([(i.name, i.type, i.shape) for i in session.get_inputs() + session.get_outputs()], session.get_providers())\n"
        "print(session.get_modelmeta().graph_name, session.get_modelmeta().producer_name)"
    ),
}


@each_row("way", WAYS_TO_MAKE)
def test_every_way_to_make_a_session_is_captured(way: str, tmp_path: Path) -> None:
    folder = small_model(tmp_path / "model.onnx").parent
    program = write_program(folder, WAYS_TO_MAKE[way] + "\nshow(session.run(None, {'x': feed('float32', (2, 3))}))\n")
    captured, dump = compare(program)
    assert dump.steps() == [0]
    assert "uncaptured" not in captured.err
    assert "[W:" not in captured.err, "the runtime has something to say that it does not say without us"


def test_the_optimised_model_that_a_program_asks_for_has_no_taps(folder: Path) -> None:
    program = write_program(
        folder,
        "options = ort.SessionOptions(); options.optimized_model_filepath = 'optimised.onnx'\n"
        "session = ort.InferenceSession('model.onnx', options)\n"
        "show(session.run(None, {'x': feed('float32', (2, 3))}))\n"
        "show([np.frombuffer(open('optimised.onnx', 'rb').read(), np.uint8)])\n"
        "import os; os.remove('optimised.onnx')\n",
    )
    _, dump = compare(program)
    assert dump.steps() == [0]


def test_a_model_in_the_runtimes_own_format_is_captured(folder: Path) -> None:
    program = write_program(
        folder,
        "options = ort.SessionOptions(); options.optimized_model_filepath = 'own.ort'\n"
        "options.add_session_config_entry('session.save_model_format', 'ORT')\n"
        "show(ort.InferenceSession('model.onnx', options).run(None, {'x': feed('float32', (2, 3))}))\n"
        "data = open('own.ort', 'rb').read(); print(len(data), data[4:8], options.get_session_config_entry('session.save_model_format'))\n"
        "import os; os.rename('own.ort', 'kept.ort')\n"
        "for model in ('kept.ort', data):\n"
        "    show(ort.InferenceSession(model).run(None, {'x': feed('float32', (2, 3))}))\n",
    )
    captured, dump = compare(program)
    assert "uncaptured" not in captured.err
    names = sorted(op["name"] for op in dump.ops.values())
    for part in ("model_kept", "model_memory"):
        own = Dump(folder / "dump" / part)
        assert own.steps() == [0]
        assert {op["type"] for op in own.ops.values()} == {op["type"] for op in dump.ops.values()}, names


@each_row("path", ["models/big.onnx", "absolute", "link/big.onnx"])
def test_a_model_with_weights_in_a_file_is_captured(path: str, tmp_path: Path) -> None:
    external_model(tmp_path / "models" / "big.onnx")
    (tmp_path / "link").symlink_to(tmp_path / "models")
    given = str(tmp_path / "models" / "big.onnx") if path == "absolute" else path
    program = write_program(
        tmp_path,
        "options = ort.SessionOptions()\n"
        f"for _ in range(2): show(ort.InferenceSession({given!r}, options).run(None, {{'x': feed('float32', (2, 3))}}))\n",
    )
    captured, dump = compare(program)
    assert "uncaptured" not in captured.err
    assert dump.steps() == [0, 1]
    weights = {item.name: numpy_helper.to_array(item, str(tmp_path / "models")) for item in external_graph(tmp_path).initializer}
    of_weight = dump.rows[dump.rows["op"] == next(number for number, op in dump.ops.items() if op["name"] == "w")]
    assert of_weight["max"][0] == weights["w"].max()


def test_a_model_whose_weights_are_given_in_memory_runs_plain(tmp_path: Path) -> None:
    external_model(tmp_path / "models" / "big.onnx")
    program = write_program(
        tmp_path,
        "options = ort.SessionOptions(); weight = ort.OrtValue.ortvalue_from_numpy(feed('float32', (3, 512)))\n"
        "options.add_external_initializers(['w'], [weight])\n"
        "session = ort.InferenceSession(open('models/big.onnx', 'rb').read(), options)\n"
        "show(session.run(None, {'x': feed('float32', (2, 3))}))\n",
    )
    captured, dump = compare(program)
    assert captured.err.count("a model in memory runs uncaptured") == 1
    assert dump.run["ops"]["captured"] == 0
    assert sum(reason["count"] for reason in dump.run["ops"]["not_captured"]) == dump.run["ops"]["expected"]


def external_graph(folder: Path) -> onnx.GraphProto:
    return onnx.load(folder / "models" / "big.onnx", load_external_data=False).graph


def external_model(path: Path) -> Path:
    """Save y = relu(x @ w) with w in a file beside the model."""
    path.parent.mkdir()
    weight = numpy_helper.from_array(np.random.default_rng(3).standard_normal((3, 512)).astype(np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], name="matmul_1"), helper.make_node("Relu", ["m"], ["y"], name="relu_1")]
    save(nodes, path, initializers=[weight])
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_sessions_are_made_by_several_threads_at_the_same_time(folder: Path) -> None:
    nonfinite_model(folder / "other.onnx")
    program = write_program(
        folder,
        "from concurrent.futures import ThreadPoolExecutor\n"
        "options = ort.SessionOptions()\n"
        "def work(number):\n"
        "    session = ort.InferenceSession(('model.onnx', 'other.onnx')[number % 2], options)\n"
        "    return session.run(None, {'x': feed('float32', (2, 3), number) + 3})\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    for outputs in pool.map(work, range(20)): show(outputs)\n",
    )
    _, dump = compare(program)
    other = next((folder / "dump").glob("model_*"))
    assert dump.steps() == list(range(10))
    assert Dump(other).steps() == list(range(10))


@each_row("name", ["quantised", "smart_turn", "silero"])
def test_the_kernels_that_run_are_those_that_ran(name: str, tmp_path: Path) -> None:
    if name != "quantised" and not (api.MODELS.is_dir() and api.RUNTIMES.is_dir()):
        pytest.skip("no models or runtimes: run ./dev setup")
    quantised_model(tmp_path / "quantised.onnx")
    path, inputs = ("quantised.onnx", {"x": ("float32", (2, 3))}) if name == "quantised" else (api.model(REAL[name][0]), REAL[name][1])
    program = write_program(
        tmp_path,
        "options = ort.SessionOptions(); options.enable_profiling = True\n"
        f"session = ort.InferenceSession({path!r}, options)\n"
        f"show(session.run(None, {{name: feed(*kind) for name, kind in {inputs!r}.items()}}))\n"
        "import collections, json\n"
        "events = [event for event in json.load(open(session.end_profiling())) if event['name'].endswith('_kernel_time')]\n"
        "names = collections.Counter(event['args']['op_name'] for event in events)\n"
        "print(sorted((name, count) for name, count in names.items() if name != 'Tap'))\n",
    )
    compare(program)


def test_options_that_several_sessions_share_do_what_they_did(folder: Path) -> None:
    quantised_model(folder / "quantised.onnx")
    program = write_program(
        folder,
        "options = ort.SessionOptions()\n"
        "for path in ('quantised.onnx', 'model.onnx', 'quantised.onnx'):\n"
        "    session = ort.InferenceSession(path, options)\n"
        "    show(session.run(None, {'x': feed('float32', (2, 3))}))\n",
    )
    _, dump = compare(program)
    assert dump.steps() == [0, 1]  # both sessions of the one model
    own = tensortap("run", folder / "quantised.onnx", "--out", folder / "own", "--runtime", python_runtime(), cwd=folder)
    assert own.code == 0, own.err
    assert sorted(op["type"] for op in dump.ops.values()) == sorted(op["type"] for op in Dump(folder / "own").ops.values())
    assert Dump(folder / "dump/model_model").steps() == [0]


def quantised_model(path: Path) -> Path:
    """Save a product whose input and weight pass through 8 bits."""
    scale, zero = numpy_helper.from_array(np.float32(0.05), "scale"), numpy_helper.from_array(np.uint8(128), "zero")
    weight = numpy_helper.from_array(np.arange(12, dtype=np.uint8).reshape(3, 4) * 20, "weight")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantise"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"], name="dequantise"),
        helper.make_node("DequantizeLinear", ["weight", "scale", "zero"], ["w"], name="dequantise_weight"),
        helper.make_node("MatMul", ["d", "w"], ["m"], name="matmul"),
        helper.make_node("Sigmoid", ["d"], ["s"], name="sigmoid"),
        helper.make_node("MatMul", ["s", "w"], ["n"], name="matmul_2"),
        helper.make_node("Add", ["m", "n"], ["y"], name="add"),
    ]
    return save(nodes, path, initializers=[scale, zero, weight])


def test_each_model_has_a_dump_and_equal_sessions_share_one(folder: Path) -> None:
    nonfinite_model(folder / "other.onnx")
    program = write_program(
        folder,
        "for path in ('model.onnx', 'other.onnx', 'model.onnx', 'other.onnx'):\n"
        "    session = ort.InferenceSession(path)\n"
        "    for _ in range(2): show(session.run(None, {'x': feed('float32', (2, 3)) + 3}))\n",
    )
    captured, dump = compare(program, options=["--summary", "summary.json"])
    assert dump.steps() == [0, 1, 2, 3]
    assert Dump(folder / "dump/model_other").steps() == [0, 1, 2, 3]
    assert sorted(item.name for item in (folder / "dump").iterdir() if item.is_dir()) == ["model_other"]
    summary = json.loads((folder / "summary.json").read_text())
    assert [Path(process["dump"]).name for process in summary["processes"]] == ["dump", "model_other"]
    assert summary["source"].startswith("onnxruntime ")
    assert "records" in captured.err


def test_threads_that_share_a_session_have_steps_of_their_own(folder: Path) -> None:
    program = write_program(
        folder,
        MODEL + "from concurrent.futures import ThreadPoolExecutor\n"
        "feeds = [feed('float32', (2, 3), number) for number in range(60)]\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    for outputs in pool.map(lambda x: session.run(None, {'x': x}), feeds): show(outputs)\n",
    )
    _, dump = compare(program)
    assert dump.steps() == list(range(60))
    first = tensortap("run", folder / "model.onnx", "--out", folder / "one", "--runtime", python_runtime(), cwd=folder)
    assert first.code == 0
    per_step = {step: len([1 for row in dump.rows if row["step"] == step and row["phase"] != 4]) for step in dump.steps()}
    assert set(per_step.values()) == {len(Dump(folder / "one").rows[Dump(folder / "one").rows["phase"] != 4])}
    # An op's output is made from the input of the same step.
    ops = {op["name"]: op["id"] for op in dump.ops.values()}
    rows = dump.rows
    for step in range(60):
        of_step = rows[(rows["step"] == step) & (rows["phase"] != 4)]
        one_input = of_step[of_step["op"] == ops["x"]]
        relu = of_step[of_step["op"] == ops["relu_1"]]
        found = [number for number in range(60) if abs(maximum(number) - one_input["max"][0]) < 1e-12]
        assert len(found) == 1
        assert relu["max"][0] == pytest.approx(expected_relu(folder, found[0]), rel=1e-5)


@cache
def fed(number: int) -> npt.NDArray[np.float32]:
    return np.asarray(np.random.default_rng(number).standard_normal((2, 3)) * 0.5, np.float32)


def maximum(number: int) -> float:
    return float(fed(number).max())


def expected_relu(folder: Path, number: int) -> float:
    weights = {item.name: numpy_helper.to_array(item) for item in onnx.load(folder / "model.onnx").graph.initializer}
    return float(np.maximum(fed(number) @ weights["w"] + weights["b"], 0).max())


def test_what_is_asked_for_is_captured_and_nothing_else(folder: Path) -> None:
    program = write_program(folder, MODEL + "for _ in range(5): show(session.run(None, {'x': x}))\n")
    _, dump = compare(program, options=["--tensors", "--ops", "relu_1", "--steps", "1-2", "--slots", "out"])
    assert dump.steps() == [1, 2]
    assert {dump.ops[int(row["op"])]["name"] for row in dump.rows} == {"relu_1"}
    with np.load(dump.folder / "tensors.npz") as tensors:
        kept = [tensors[name] for name in tensors.files]
    weights = {item.name: numpy_helper.to_array(item) for item in onnx.load(folder / "model.onnx").graph.initializer}
    x = np.asarray(np.random.default_rng(0).standard_normal((2, 3)) * 0.5, np.float32)
    assert kept
    for tensor in kept:
        np.testing.assert_allclose(tensor, np.maximum(x @ weights["w"] + weights["b"], 0), rtol=1e-5)


def test_a_mindspore_config_drives_it(folder: Path) -> None:
    config = {
        "common_dump_settings": {
            "op_debug_mode": 0, "dump_mode": 0, "path": str(folder / "tree"), "net_name": "Net", "iteration": "0|2", "saved_data": "tensor",
            "input_output": 2, "kernels": [], "support_device": [0],
        },
        "e2e_dump_settings": {"enable": True, "trans_flag": True},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    program = write_program(folder, MODEL + "for _ in range(3): show(session.run(None, {'x': x}))\n")
    plain = run_plain(sys.executable, program, cwd=folder)
    done = tensortap("exec", "--", sys.executable, program, cwd=folder, environment={"MINDSPORE_DUMP_CONFIG": str(folder / "config.json")})
    assert (done.code, done.out) == (0, plain.stdout), done.err
    names = [path.relative_to(folder / "tree").as_posix() for path in (folder / "tree").rglob("*.npy")]
    assert {name.split("/")[3] for name in names if "softmax" in name.lower()} == {"0", "2"}, names


def test_the_summary_names_the_first_value_that_is_not_finite(tmp_path: Path) -> None:
    nonfinite_model(tmp_path / "model.onnx")
    program = write_program(
        tmp_path,
        "session = ort.InferenceSession('model.onnx')\n"
        "for step in range(3): show(session.run(None, {'x': np.full((2, 3), 2 - step, np.float32)}))\n",
    )
    captured, _ = compare(program)
    assert "step 2, div_1 (Div) out0" in captured.err


def test_errors_of_the_program_stay_its_own(folder: Path) -> None:
    (folder / "broken.onnx").write_bytes(b"this is no model at all")
    program = write_program(
        folder,
        MODEL + "def tried(work):\n"
        "    try: work()\n"
        "    except Exception as error: print(type(error).__module__, type(error).__name__, error, error.__context__)\n"
        "tried(lambda: ort.InferenceSession('broken.onnx'))\n"
        "tried(lambda: ort.InferenceSession('not there.onnx'))\n"
        "tried(lambda: ort.InferenceSession(b'nothing'))\n"
        "tried(lambda: ort.InferenceSession(3))\n"
        "tried(lambda: session.run(None, {'z': x}))\n"
        "tried(lambda: session.run(None, {'x': x.astype(np.float64)}))\n"
        "tried(lambda: session.run(None, {'x': np.zeros((2, 7), np.float32)}))\n"
        "show(session.run(None, {'x': x}))\n",
    )
    captured, dump = compare(program)
    assert "uncaptured" not in captured.err
    assert len(dump.steps()) == 1


def test_an_op_that_fails_is_named(tmp_path: Path) -> None:
    shape = numpy_helper.from_array(np.array([4, 2], np.int64), "shape")
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu_1"),
        helper.make_node("Reshape", ["r", "shape"], ["y"], name="reshape_1"),
    ]
    save(nodes, tmp_path / "model.onnx", shape=("n", 4), initializers=[shape])
    program = write_program(
        tmp_path,
        "session = ort.InferenceSession('model.onnx')\n"
        "show(session.run(None, {'x': np.ones((2, 4), np.float32)}))\n"
        "try: session.run(None, {'x': np.ones((3, 4), np.float32)})\n"
        "except Exception as error: print(type(error).__name__, error)\n",
    )
    _, dump = compare(program)
    failed = dump.run["failed_op"]
    assert (failed["name"], failed["type"]) == ("reshape_1", "Reshape")
    assert "Non-zero status code returned while running Reshape node" in failed["error"]


def test_a_model_that_can_not_have_taps_runs_plain_and_is_counted(tmp_path: Path) -> None:
    save(
        [helper.make_node("Relu", ["x"], ["tensortap/y"], name="r"), helper.make_node("Exp", ["tensortap/y"], ["y"])],
        tmp_path / "model.onnx",
    )
    program = write_program(
        tmp_path, "session = ort.InferenceSession('model.onnx')\nshow(session.run(None, {'x': np.ones((2, 3), np.float32)}))\n"
    )
    captured, dump = compare(program, options=["--summary", "summary.json"])
    assert captured.err.count("runs uncaptured") == 1
    assert dump.run["ops"]["captured"] == 0
    assert sum(reason["count"] for reason in dump.run["ops"]["not_captured"]) == dump.run["ops"]["expected"] == 2


def test_children_of_fork_have_dumps_of_their_own(folder: Path) -> None:
    program = write_program(
        folder,
        MODEL + "import os\n"
        "show(session.run(None, {'x': x}))\n"
        "sys.stdout.flush()\n"
        "if os.fork() == 0:\n"
        "    options = ort.SessionOptions(); options.intra_op_num_threads = 1\n"
        "    own = ort.InferenceSession('model.onnx', options)\n"
        "    show(own.run(None, {'x': x})); show(own.run(None, {'x': x}))\n"
        "    sys.stdout.flush(); os._exit(0)  # the runtime has threads, which are not here\n"
        "os.wait()\n"
        "show(session.run(None, {'x': x}))\n",
    )
    _, dump = compare(program)
    assert dump.steps() == [0, 1]
    children = list((folder / "dump").glob("process_*"))
    assert len(children) == 1
    assert tensortap("repair", children[0], cwd=folder).code == 0  # it did not end normally
    assert Dump(children[0]).steps() == [0, 1]


def test_a_killed_program_leaves_what_it_captured(folder: Path) -> None:
    program = write_program(
        folder, MODEL + "import os, signal\nfor _ in range(3): session.run(None, {'x': x})\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = run_captured(sys.executable, program, cwd=folder)
    assert done.code == 128 + 9
    assert "killed by   SIGKILL" in done.err
    assert "records     11" in done.err  # two weights, and three values of each step
    assert "did not come to its end" in done.err
    assert "how many were lost is unknown" in done.err and "none lost" not in done.err


@each_row("flags", [["-I"], ["-S", "-E"], ["-X", "dev"]])
def test_an_interpreter_with_other_flags_is_captured(flags: list[str], tmp_path: Path) -> None:
    folder = small_model(tmp_path / "model.onnx").parent
    import onnxruntime

    packages = str(Path(onnxruntime.__file__).parents[1])
    program = folder / "program.py"
    program.write_text(
        f"import sys; sys.path.append({packages!r})\nimport numpy as np, onnxruntime as ort\n"
        "print(ort.InferenceSession('model.onnx').run(None, {'x': np.ones((2, 3), np.float32)}))\n"
    )
    plain = run_plain(sys.executable, *flags, program, cwd=folder)
    captured = run_captured(sys.executable, *flags, program, cwd=folder)
    assert (captured.code, captured.out) == (0, plain.stdout), captured.err
    assert Dump(folder / "dump").steps() == [0]


def test_a_program_that_imports_onnxruntime_and_runs_nothing_is_untouched(tmp_path: Path) -> None:
    program = write_program(tmp_path, "print(ort.__version__, ort.InferenceSession.__name__, ort.InferenceSession.run.__doc__[:20])\n")
    plain = run_plain(sys.executable, program, cwd=tmp_path)
    captured = run_captured(sys.executable, program, cwd=tmp_path)
    assert (captured.code, captured.out) == (0, plain.stdout), captured.err
    assert "nothing was captured" in captured.err
    assert not (tmp_path / "dump").exists()


def test_tensortap_itself_is_not_captured_twice(folder: Path) -> None:
    done = run_captured(COMMAND, "run", "model.onnx", "--out", "own", "--json", cwd=folder)
    assert done.code == 0, done.err
    assert not (folder / "dump").exists()
    assert Dump(folder / "own").steps() == [0]


# ---- C


def library_of(version: str) -> Path:
    return Path(api.runtime(version)) / f"libonnxruntime.so.{version}"


@pytest.fixture(scope="module")
def loading(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(ROOT / "tests/exec_onnxruntime_program.c", tmp_path_factory.mktemp("c") / "program", "-w", "-ldl", "-lpthread")


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the same program, linked to the newest library."""
    folder = tmp_path_factory.mktemp("linked")
    (folder / "libonnxruntime.so.1").symlink_to(library_of(api.NEWEST))
    return compile_c(
        ROOT / "tests/exec_onnxruntime_program.c",
        folder / "program",
        "-w",
        "-Wl,--no-as-needed",
        str(folder / "libonnxruntime.so.1"),
        f"-Wl,-rpath,{folder}",
        "-ldl",
        "-lpthread",
    )


def compare_c(program: Path, folder: Path, library: str | Path, *words: str) -> tuple[Done, Dump]:
    arguments = [program, library, api.model(MAGIKA), "bytes", "int32", "1x2048", "target_label", "3", *words]
    plain = run_plain(*arguments, cwd=folder)
    captured = run_captured(*arguments, cwd=folder)
    assert plain.returncode == 0, plain.stdout + plain.stderr
    assert captured.code == 0, captured.err
    assert sorted(captured.out.splitlines()) == sorted(plain.stdout.splitlines()), captured.err
    return captured, Dump(folder / "dump")


@NEEDS_MODELS
@each_row("version", ["1.31.1", "1.25.1", "1.19.2"])
def test_a_c_program_that_loads_the_library_is_captured(version: str, loading: Path, tmp_path: Path) -> None:
    captured, dump = compare_c(loading, tmp_path, library_of(version))
    assert dump.steps() == [0, 1, 2]
    assert dump.run["source"] == f"onnxruntime {version}"
    assert dump.run["ops"]["captured"] == dump.run["ops"]["expected"] > 90
    assert "uncaptured" not in captured.err


@NEEDS_MODELS
def test_a_c_program_that_is_linked_to_the_library_is_captured(linked: Path, tmp_path: Path) -> None:
    _, dump = compare_c(linked, tmp_path, "linked")
    assert dump.steps() == [0, 1, 2]


@NEEDS_MODELS
@each_row(
    ("words", "steps"),
    [("bytes", 3), ("binding", 3), ("threads", 12), ("threads binding", 12), ("twice", 6), ("level=0", 3), ("level=2", 3), ("fork", 4)],
)
def test_what_a_c_program_does_is_captured(words: str, steps: int, loading: Path, tmp_path: Path) -> None:
    _, dump = compare_c(loading, tmp_path, library_of(api.NEWEST), *words.split())
    assert dump.steps() == list(range(steps))
    rows = dump.rows[dump.rows["phase"] != 4]
    assert {int((rows["step"] == step).sum()) for step in range(steps)} == {len(rows) // steps}
    assert dump.run["complete"] is True


@NEEDS_MODELS
def test_a_c_program_with_a_model_with_weights_in_a_file_is_captured(loading: Path, tmp_path: Path) -> None:
    external_model(tmp_path / "models" / "big.onnx")
    arguments = [loading, library_of(api.NEWEST), "models/big.onnx", "x", "float", "2x3", "y", "2"]
    plain = run_plain(*arguments, cwd=tmp_path)
    captured = run_captured(*arguments, cwd=tmp_path)
    assert (captured.code, captured.out) == (0, plain.stdout), captured.err
    assert len(plain.stdout.splitlines()) == 2
    assert "uncaptured" not in captured.err
    assert Dump(tmp_path / "dump").steps() == [0, 1]


@NEEDS_MODELS
def test_a_run_of_a_c_program_that_the_runtime_refuses_stays_refused(loading: Path, tmp_path: Path) -> None:
    captured, dump = compare_c(loading, tmp_path, library_of(api.NEWEST), "bad")
    assert "no such input" in captured.out
    assert dump.steps() == [0, 1]
    assert dump.run["steps"] == {"seen": 2, "captured": 2}


@NEEDS_MODELS
def test_the_optimised_model_of_a_c_program_has_no_taps(loading: Path, tmp_path: Path) -> None:
    compare_c(loading, tmp_path, library_of(api.NEWEST), "level=1", f"write={tmp_path / 'written.onnx'}")
    written = onnx.load(tmp_path / "written.onnx", load_external_data=False)
    assert written.graph.node
    assert not [node.name for node in written.graph.node if node.domain == "tensortap"]


@NEEDS_MODELS
def test_a_c_program_outlives_what_capture_writes_beyond_its_limit_for_files(loading: Path, tmp_path: Path) -> None:
    """The dump and the optimised model that the runtime writes for us cause no SIGXFSZ."""
    # The runtime keeps its own file below HOME or XDG_CACHE_HOME, which grows from run to run.
    limited = 'export HOME="$PWD" XDG_CACHE_HOME="$PWD/.cache" && ulimit -f 2048 && exec "$0" "$@"'
    arguments: list[str | Path] = ["sh", "-c", limited, loading, library_of(api.NEWEST)]
    arguments += [api.model(MAGIKA), "bytes", "int32", "1x2048", "target_label", "3"]
    plain = run_plain(*arguments, cwd=tmp_path)
    captured = run_captured(*arguments, cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert (captured.code, captured.out) == (0, plain.stdout), captured.err


@NEEDS_MODELS
def test_a_second_library_in_a_process_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "two.c").write_text("""
#include <dlfcn.h>
#include <stdio.h>
struct base { const void* (*api)(unsigned); const char* (*version)(void); };
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    void* library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    const struct base* (*get)(void) = (const struct base* (*)(void))dlsym(library, "OrtGetApiBase");
    puts(get()->version());
  }
  return 0;
}
""")
    program = compile_c(tmp_path / "two.c", tmp_path / "two", "-w", "-ldl")
    done = run_captured(program, library_of("1.31.1"), library_of("1.19.2"), library_of("1.31.1"), cwd=tmp_path)
    assert done.out.splitlines() == ["1.31.1", "1.19.2", "1.31.1"]


def test_lookups_of_a_program_give_what_they_gave(tmp_path: Path) -> None:
    (tmp_path / "lookups.c").write_text("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  printf("%d\\n", dlsym(RTLD_DEFAULT, "OrtGetApiBase") == NULL);
  printf("%d\\n", dlerror() != NULL);
  printf("%d\\n", dlsym(dlopen(NULL, RTLD_NOW), "OrtGetApiBase") == NULL);
  printf("%d\\n", dlsym(RTLD_DEFAULT, "PyInit_onnxruntime_pybind11_state") == NULL);
  printf("%d\\n", dlsym(RTLD_DEFAULT, "Orange") == NULL);
  printf("%d\\n", dlsym(RTLD_DEFAULT, "malloc") == (void*)malloc);
  printf("%d\\n", dlsym(RTLD_NEXT, "puts") != NULL);
  return 0;
}
""")
    program = compile_c(tmp_path / "lookups.c", tmp_path / "lookups", "-w", "-ldl")
    plain = run_plain(program, cwd=tmp_path)
    captured = run_captured(program, cwd=tmp_path)
    assert captured.out == plain.stdout == "1\n" * 7


def test_another_preloaded_library_finds_what_stands_behind_it(tmp_path: Path) -> None:
    (tmp_path / "counter.c").write_text("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static int calls;
int puts(const char* text) {
  int (*next)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "puts");
  return next == puts ? -1 : (++calls, next(text));
}
""")
    counter = compile_c(tmp_path / "counter.c", tmp_path / "counter.so", "-shared", "-ldl")
    (tmp_path / "say.c").write_text('#include <stdio.h>\nint main(void) { return puts("said") < 0; }\n')
    say = compile_c(tmp_path / "say.c", tmp_path / "say", "-fno-builtin")
    done = tensortap("exec", "--quiet", "--", say, cwd=tmp_path, environment={"LD_PRELOAD": str(counter)})
    assert (done.code, done.out) == (0, "said\n")


@each_row("kind", ["address", "thread"])
def test_a_sanitizer_that_looks_its_functions_up_first_gets_them(kind: str, tmp_path: Path) -> None:
    name = f"lib{kind[0]}san.so"
    runtime = run_plain("cc", f"-print-file-name={name}", cwd=tmp_path).stdout.strip()
    if runtime == name:
        pytest.skip(f"no {name}")
    (tmp_path / "say.c").write_text('#include <stdio.h>\nint main(void) { return puts("said") < 0; }\n')
    say = compile_c(tmp_path / "say.c", tmp_path / "say", f"-fsanitize={kind}")
    environment = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"}
    done = tensortap("exec", "--quiet", "--", say, cwd=tmp_path, environment=environment)
    assert (done.code, done.out) == (0, "said\n"), done.err
