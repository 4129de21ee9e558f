"""``tensortap run`` under MindSpore's dump configs: the trees that come out, read by NumPy and the csv module alone, and read back."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import resource
import stat
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import COMMAND, Done, nonfinite_model, save, small_model, tensortap
from onnx import TensorProto, helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


def write_config(folder: Path, e2e: dict[str, Any] | None = None, **changes: Any) -> Path:
    common = {
        "dump_mode": 0,
        "path": str(folder / "dumps").replace(".", "_"),
        "net_name": "Net",
        "iteration": "all",
        "input_output": 0,
        "kernels": [],
        "support_device": [0],
        "op_debug_mode": 0,
    }
    file = folder / "cfg.json"
    file.write_text(json.dumps({"common_dump_settings": {**common, **changes}, "e2e_dump_settings": {"enable": True, **(e2e or {})}}))
    return file


def run(folder: Path, model: Path, *words: str | Path, code: int = 0, **settings: Any) -> tuple[Path, Done]:
    """Run a model under a config; give the folder of the rank."""
    config = write_config(folder, settings.pop("e2e", None), **settings)
    done = tensortap("run", model, *words, environment={"MINDSPORE_DUMP_CONFIG": str(config)}, cwd=folder)
    assert done.code == code, done.err
    return Path(json.loads(config.read_text())["common_dump_settings"]["path"]) / "rank_0", done


def fields(file: Path) -> dict[str, str]:
    """Split the name of a tensor file from the right, as MindSpore's own tools do."""
    stem, dtype = file.name.removesuffix(".npy").rsplit(".", 1)
    rest = stem.rsplit(".", 6)
    kind, _, op = rest[0].partition(".")
    return {"type": kind, "op": op, "time": rest[3], "io": rest[4], "slot": rest[5], "format": rest[6], "dtype": dtype}


def tensors(iteration: Path) -> dict[tuple[str, str, int], np.ndarray[Any, Any]]:
    found = {}
    for file in iteration.glob("*.npy"):
        name = fields(file)
        key = (name["op"] if name["type"] != "Parameter" else f"Parameter {name['op']}", name["io"], int(name["slot"]))
        assert key not in found
        found[key] = np.load(file)
    return found


def test_every_input_and_output_is_the_tensor_that_numpy_computes(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    x = np.array([[1, -2, 3], [0.5, 0, 9]], np.float32)
    np.save(tmp_path / "x.npy", x)
    rank, _ = run(tmp_path, model, "--input", f"x={tmp_path / 'x.npy'}", "--runs", "2")
    rng = np.random.default_rng(7)
    w, b = rng.standard_normal((3, 4)).astype(np.float32), rng.standard_normal(4).astype(np.float32)
    assert sorted(path.name for path in (rank / "Net/0").iterdir()) == ["0", "1"]
    for step in ("0", "1"):
        held = tensors(rank / "Net/0" / step)
        np.testing.assert_array_equal(held["Parameter x", "output", 0], x)
        np.testing.assert_array_equal(held["Parameter w", "output", 0], w)
        softmax = next(key[0] for key in held if "Softmax-op" in key[0])
        scores = held[softmax, "input", 0]
        np.testing.assert_allclose(scores, np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)
        exponent = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(held[softmax, "output", 0], exponent / exponent.sum(axis=1, keepdims=True), rtol=1e-5)


def test_files_and_folders_are_as_the_real_ones(tmp_path: Path) -> None:
    rank, _ = run(tmp_path, small_model(tmp_path / "m.onnx"))
    iteration = rank / "Net/0/0"
    for folder in (rank, rank / "Net", iteration, rank / "graphs"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in iteration.glob("*.npy"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o400
        assert fields(file)["format"] == "DefaultFormat"
        assert fields(file)["dtype"] == "Float32"
        assert file.read_bytes()[:8] == b"\x93NUMPY\x01\x00"
    order = (rank / "execution_order/ms_execution_order_graph_0.csv").read_text().splitlines()
    assert order[0] == "NodeExecutionOrder-FullNameWithScope"
    cleaned = [name.translate(str.maketrans("/\\. ", "____")) for name in order[1:]]
    assert {fields(file)["op"] for file in iteration.glob("*.npy") if not file.name.startswith("Parameter.")} == set(cleaned)
    assert (rank / "execution_order/ms_global_execution_order_graph_0.csv").read_text() == "0\n"
    assert (rank / ".dump_metadata/data_dump.json").read_bytes() == (tmp_path / "cfg.json").read_bytes()
    assert json.loads((rank / ".dump_metadata/config.json").read_text())["device_target"] == "CPU"
    text = (rank / "graphs/ms_output_trace_code_graph_0.ir").read_text()
    assert all(f"# Fullname with scope: ({name})" in text for name in order[1:])


# M7
@pytest.mark.parametrize("categories", [["hash", "md5"], ["md5", "max", "hash:sha1"], ["max", "hash"]])
def test_every_digest_that_is_asked_for_is_there_without_the_data(categories: list[str], tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    found = {}
    for saved in ("full", "statistic"):
        (tmp_path / saved).mkdir()
        rank, done = run(tmp_path / saved, model, "--input", f"x={tmp_path / 'x.npy'}", saved_data=saved, statistic_category=categories)
        assert "stay empty" not in done.err
        iteration = rank / "Net/0/0"
        found[saved] = list(csv.DictReader((iteration / "statistic.csv").read_text().splitlines()))
        values = {fields(file)["time"]: np.load(file).tobytes() for file in iteration.glob("*.npy")}
        assert bool(values) == (saved == "full")
        for row in found["full"] if values else []:
            digests = {"MD5": hashlib.md5(values[row["Timestamp"]]), "SHA1": hashlib.sha1(values[row["Timestamp"]])}
            for column in digests.keys() & row.keys():
                assert row[column] == digests[column].hexdigest(), row
    assert len(found["full"]) == len(found["statistic"]) > 4
    for full, statistic in zip(found["full"], found["statistic"], strict=True):
        assert {**full, "Timestamp": ""} == {**statistic, "Timestamp": ""}


# M7, M8
def test_statistics_are_those_of_numpy_in_the_text_of_mindspore(tmp_path: Path) -> None:
    categories = ["md5", "l2norm", "min", "max", "avg", "count", "negative zero count", "positive zero count", "zero count", "nan count"]
    settings: dict[str, Any] = {"saved_data": "full", "statistic_category": categories}
    rank, _ = run(tmp_path, nonfinite_model(tmp_path / "m.onnx"), **settings)
    iteration = rank / "Net/0/0"
    files = {fields(file)["time"]: file for file in iteration.glob("*.npy")}
    lines = (iteration / "statistic.csv").read_text().splitlines()
    assert lines[0].endswith(
        ",Shape,MD5,L2Norm Value,Min Value,Max Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,Zero Count,NaN Count"
    )
    rows = list(csv.DictReader(lines))
    assert len(rows) == len(files)
    for row, line in zip(rows, lines[1:], strict=True):
        assert line.endswith(",")
        value = np.load(files[row["Timestamp"]])
        wide = value.astype(np.float64)
        assert row["MD5"] == hashlib.md5(value.tobytes()).hexdigest()
        assert row["Max Value"] == f"{wide.max():g}"
        assert row["Min Value"] == f"{wide.min():g}"
        assert float(row["L2Norm Value"]) == pytest.approx(np.sqrt((wide * wide).sum()), rel=1e-5, nan_ok=True)
        assert row["Count"] == str(value.size)
        assert row["Negative Zero Count"] == str((wide < 0).sum())
        assert row["Positive Zero Count"] == str((wide > 0).sum())
        assert row["Zero Count"] == str((wide == 0).sum())
        assert row["Data Size"] == str(value.nbytes)
        assert row["Shape"] == "[" + ",".join(map(str, value.shape)) + "]"


def division_model(path: Path) -> Path:
    """Save y = exp(relu(x) / x) + x: the division makes NaN where x is 0; the ops after it only pass it on."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("Div", ["r", "x"], ["d"], name="divide"),
        helper.make_node("Exp", ["d"], ["e"], name="exponent"),
        helper.make_node("Add", ["e", "x"], ["y"], name="sum"),
    ]
    return save(nodes, path)


# M10
def test_overflow_keeps_every_op_with_nan_in_its_outputs_with_its_inputs(tmp_path: Path) -> None:
    x = np.array([[1, 0, 3], [4, 5, 6]], np.float32)
    np.save(tmp_path / "x.npy", x)
    rank, _ = run(tmp_path, division_model(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", op_debug_mode=3)
    held = {(key[0].rsplit("_", 1)[1].split("-")[0], *key[1:]): value for key, value in tensors(rank / "Net/0/0").items()}
    both = [("input", 0), ("input", 1), ("output", 0)]
    assert sorted(held) == [("Add", *slot) for slot in both] + [("Div", *slot) for slot in both] + [
        ("Exp", "input", 0),
        ("Exp", "output", 0),
    ], "as MindSpore, which looks at outputs alone; the first op makes finite values"
    divided = np.where(x == 0, np.nan, 1).astype(np.float32)
    np.testing.assert_array_equal(held["Div", "output", 0], divided)
    np.testing.assert_array_equal(held["Exp", "input", 0], divided)
    np.testing.assert_allclose(held["Add", "output", 0], np.exp(divided) + x, rtol=1e-6)


def test_overflow_number_limits_the_ops(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    words = ("--input", f"x={tmp_path / 'x.npy'}", "--runs", "4")
    rank, _ = run(tmp_path, division_model(tmp_path / "m.onnx"), *words, op_debug_mode=3, overflow_number=4)
    outputs = {step: sorted(path.name.split(".")[0] for path in (rank / "Net/0" / step).glob("*.output.0.*.npy")) for step in "01"}
    assert outputs == {"0": ["Add", "Div", "Exp"], "1": ["Div"]}, "ops are counted, not files"
    assert not list((rank / "Net/0").glob("[23]/*.npy"))


def test_without_overflow_there_is_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    rank, _ = run(tmp_path, division_model(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", op_debug_mode=3)
    assert not list(rank.rglob("*.npy"))


# M11
def test_exception_keeps_the_inputs_of_the_failing_op(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["a"], name="abs"), helper.make_node("Gather", ["a", "i"], ["y"], name="pick")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("i", TensorProto.INT64, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    model = tmp_path / "m.onnx"
    model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    np.save(tmp_path / "x.npy", np.array([1, -2, 3], np.float32))
    np.save(tmp_path / "i.npy", np.array([7], np.int64))
    inputs = ("--input", f"x={tmp_path / 'x.npy'}", "--input", f"i={tmp_path / 'i.npy'}")
    rank, done = run(tmp_path, model, *inputs, code=3, op_debug_mode=4)
    assert "pick" in done.err
    held = {key[1:]: value for key, value in tensors(rank / "Net/0/0").items() if "Gather-op" in key[0]}
    np.testing.assert_array_equal(held["input", 0], [1, 2, 3])
    np.testing.assert_array_equal(held["input", 1], [7])
    assert len(list(rank.rglob("*.npy"))) == 2


# M9
def test_a_sample_is_the_first_elements(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    rank, _ = run(tmp_path, small_model(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", e2e={"sample_mode": 1, "sample_num": 4})
    held = tensors(rank / "Net/0/0")
    np.testing.assert_array_equal(held["Parameter x", "output", 0], [0, 1, 2, 3])
    assert all(value.size <= 4 for value in held.values())


# M3, M4
def test_iterations_and_kernels_choose(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"dump_mode": 1, "kernels": ["softMAX", "name-regex(Default/.*/Relu-op[0-9]+)", "nobody/Conv-op1"]}
    rank, done = run(
        tmp_path, small_model(tmp_path / "m.onnx"), "--runs", "6", iteration="1|3-4", initial_iteration=1, input_output=2, **settings
    )
    assert sorted(path.name for path in (rank / "Net/0").iterdir()) == ["1", "3", "4"]
    types = {fields(file)["type"] for file in rank.rglob("*.npy")}
    assert "Softmax" in types
    assert types <= {"Softmax", "Relu"}
    assert "nobody/Conv-op1" in done.err + (rank / ".dump_metadata/tensortap_run.json").read_text()


# M24
@pytest.mark.parametrize(
    ("profile", "stem"),
    [
        ("mindspore-2.0", "Softmax.Softmax-op"),
        ("mindspore-2.3.2", "Softmax.Default_softmax_1_Softmax-op"),
        ("mindspore-2.10/gpu", "Softmax.Default_softmax_1_Softmax-op"),
    ],
)
def test_profiles_have_the_names_of_their_version(tmp_path: Path, profile: str, stem: str) -> None:
    rank, _ = run(tmp_path, small_model(tmp_path / "m.onnx"), "--profile", profile, input_output=2)
    names = [file.name for file in (rank / "Net/0/0").glob("Softmax.*.npy")]
    assert len(names) == 1
    assert names[0].startswith(stem)
    assert names[0].endswith("DefaultFormat.float32.npy" if profile.startswith("mindspore-2.10") else "DefaultFormat.npy")
    assert len(tensortap("ls", rank.parent, "--json").objects) == len(list(rank.rglob("*.npy")))


def test_runs_stand_side_by_side_in_one_folder(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    rank, _ = run(tmp_path, model)
    first = {file.name for file in rank.rglob("*.npy")}
    rank, _ = run(tmp_path, model)
    both = {file.name for file in rank.rglob("*.npy")}
    assert first < both
    assert len(both) == 2 * len(first)
    assert (rank / "execution_order/ms_global_execution_order_graph_0.csv").read_text() == "0\n0\n"
    assert {record["call"] for record in tensortap("ls", rank.parent, "--json").objects} >= {0, 1}


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    models = Path(os.environ["TENSORTAP_TEST_MODELS"])
    model = models / "magika/magika/models/standard_v3_3/model.onnx"
    rank, _ = run(tmp_path, model, "--seed", "3", saved_data="full")
    listed = tensortap("ls", rank.parent, "--json").objects
    assert len(listed) == len(list(rank.rglob("*.npy")))
    native = tmp_path / "native"
    assert tensortap("run", model, "--seed", "3", "--full", "--out", native).code == 0
    natives = {
        ("/".join(re.findall("[^/]+", re.sub("[^A-Za-z0-9_/-]", "_", record["op"].replace(".", "/")))), record["slot"]): record
        for record in tensortap("ls", native, "--json").objects
    }
    compared = 0
    for record in listed:
        if not record["slot"].startswith("out") or record["type"] in ("Input", "Initializer"):
            continue
        name = record["op"].removeprefix("Default/").rsplit("/", 1)[0]
        other = natives[name, record["slot"]]
        assert record["shape"] == other["shape"]
        assert f"{record['max']:g}" == f"{other['max']:g}"
        compared += 1
    assert compared == 96


def test_a_folder_that_can_not_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    config = write_config(tmp_path, path=str(tmp_path / "file/below"))
    done = tensortap("run", small_model(tmp_path / "m.onnx"), "--config", config)
    assert done.code in (2, 3)
    assert len(done.err.strip().splitlines()) == 1
    assert "file" in done.err


def test_files_that_find_no_room_are_counted_and_the_run_goes_on(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="relu"), helper.make_node("ReduceMax", ["a"], ["y"], name="largest")]
    model = save(nodes, tmp_path / "m.onnx", shape=(300, 300))
    config = write_config(tmp_path)
    # As if the disk ended after 200,000 bytes of a file; the signal for that stays ignored, as Python has it.
    done = subprocess.run(
        [str(COMMAND), "run", str(model), "--config", str(config)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        restore_signals=False,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 lost" in done.stderr
    assert "file too large: ulimit -f" in done.stderr
    rank = Path(json.loads(config.read_text())["common_dump_settings"]["path"]) / "rank_0"
    assert [fields(file)["type"] for file in rank.rglob("*.npy")] == ["ReduceMax"], "no file that only looks whole"
    report = json.loads((rank / ".dump_metadata/tensortap_run.json").read_text())
    assert sum(loss["count"] for loss in report["losses"]) == 2
