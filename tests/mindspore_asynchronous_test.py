"""The trees that a MindSpore config of an Ascend without e2e_dump_settings asks for, read by NumPy, protobuf and ourselves."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tensortap as reader
from cli_support import COMMAND, save, tensortap
from dump_data_support import CLASSES, make_file, parse_file
from onnx import helper, numpy_helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

Values = npt.NDArray[np.float32]
X = np.array([[1, -2, 3], [4, 400, -6]], np.float32)
W = np.float32(3)
SCOPED = {"Mul": "Default/block/0/product/Mul-op0", "Exp": "Default/block/0/exponent/Exp-op1", "Neg": "Default/negated/Neg-op2"}
CLEAN = {kind: name.replace("/", "_") for kind, name in SCOPED.items()}
TIME = r"\d{14}"
# Where a release has the files of step 1.
FOLDERS = {
    "2.0": "rank_0/Net/0/1",
    "2.2.15": "rank_0/Net/0/1",
    "2.3.0": TIME + "/0/m/1/1",
    "2.3.2": TIME + "/0/m/1/1",
    "2.4": "1/" + TIME + "/0/m/1/1",
    "2.10": "1/" + TIME + "/0/m/1/1",
}


def wanted() -> dict[tuple[str, str], Values]:
    """Give what every op reads and makes, by type and slot, as NumPy computes it."""
    product = X * W
    with np.errstate(over="ignore"):
        exponent = np.exp(product)
    return {
        ("Mul", "input.0"): X,
        ("Mul", "input.1"): np.asarray(W),
        ("Mul", "output.0"): product,
        ("Exp", "input.0"): product,
        ("Exp", "output.0"): exponent,
        ("Neg", "input.0"): exponent,
        ("Neg", "output.0"): -exponent,
    }


@dataclass(frozen=True)
class Dumped:
    """What a run under a config left."""

    root: Path
    step: Path  # the folder of step 1
    err: str


def dump(tmp_path: Path, release: str, **common: Any) -> Dumped:
    """Run two steps of a model of three ops."""
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["m"], name="block.0/product"),
        helper.make_node("Exp", ["m"], ["e"], name="block.0/exponent"),
        helper.make_node("Neg", ["e"], ["y"], name="negated"),
    ]
    model = save(nodes, tmp_path / "m.onnx", initializers=[numpy_helper.from_array(W, "w")])
    np.save(tmp_path / "x.npy", X)
    root = tmp_path / "dumps"
    settings: dict[str, Any] = {"dump_mode": 0, "path": str(root), "net_name": "Net", "iteration": "0-1", "input_output": 0, "kernels": []}
    settings |= {"support_device": [0], "op_debug_mode": 0} | common
    (tmp_path / "cfg.json").write_text(json.dumps({"common_dump_settings": settings}))
    profile = f"mindspore-{release}/ascend"
    words = ("--input", f"x={tmp_path / 'x.npy'}", "--runs", "2", "--config", tmp_path / "cfg.json", "--profile", profile)
    done = tensortap("run", model, *words)
    assert done.code == 0, done.err
    folders = [path for path in root.rglob("*") if re.fullmatch(FOLDERS[release], str(path.relative_to(root)))]
    assert len(folders) == 1, sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    return Dumped(root, folders[0], done.err)


def same(value: Values, expected: Values) -> None:
    assert value.shape == expected.shape
    np.testing.assert_allclose(value, expected, rtol=1e-6)


def records(dump: Any) -> list[tuple[dict[str, Any], Any]]:
    return [(dump.record(row), dump[row]) for row in range(len(dump))]


def check_own_reader(dumped: Dumped, layout: str, ops: dict[str, str]) -> None:
    """Read the tree back with our own package: both steps, every value."""
    read = reader.open(dumped.root)
    assert read.layout == layout
    assert not read.problems
    found = {}
    for record, value in records(read):
        if record["type"] in ops and record["step"] == 1:
            assert record["op"] == ops[record["type"]]
            found[record["type"], re.sub("(in|out)", r"\1put.", record["slot"])] = value
    assert found.keys() == wanted().keys()
    for key, value in wanted().items():
        same(found[key], value)
    assert {record["step"] for record, _ in records(read)} == {0, 1}


# M13, M15
@pytest.mark.parametrize("release", ["2.0", "2.3.0", "2.4"])
def test_dump_data_files_are_in_the_folders_of_their_release(tmp_path: Path, release: str) -> None:
    dumped = dump(tmp_path, release)
    files = {path.name.split(".")[0]: path for path in dumped.step.iterdir()}
    assert files.keys() == {"Data", "Mul", "Exp", "Neg"}
    for task, (kind, clean) in enumerate(CLEAN.items()):
        assert re.fullmatch(rf"{kind}\.{clean}\.{task}\.0\.\d{{16}}", files[kind].name)
        parsed = parse_file(files[kind])
        assert parsed.message.op_name == SCOPED[kind]
        for io, tensors, payloads in (("input", parsed.message.input, parsed.inputs), ("output", parsed.message.output, parsed.outputs)):
            for slot, (tensor, payload) in enumerate(zip(tensors, payloads, strict=True)):
                value = np.frombuffer(payload, np.float32).reshape(list(tensor.shape.dim))
                same(value, wanted()[kind, f"{io}.{slot}"])
    check_own_reader(dumped, "ge", SCOPED)
    asked = list(dumped.root.glob("acl_dump_0.json"))
    assert len(asked) == (1 if release == "2.4" else 0)
    if asked:
        step = {"dump_list": [], "dump_mode": "all", "dump_op_switch": "on", "dump_path": str(dumped.root / "1")}
        assert json.loads(asked[0].read_text()) == {"dump": step}


# M13, M15
@pytest.mark.parametrize("release", ["2.0", "2.3.2", "2.10"])
def test_npy_files_are_in_the_same_folders(tmp_path: Path, release: str) -> None:
    dumped = dump(tmp_path, release, file_format="npy", saved_data="full")
    scopes = release != "2.0"
    dtype = r"\.Float32" if release == "2.10" else ""
    files = {tuple(re.search(r"^(\w+)\..*\.((?:in|out)put\.\d)\.", path.name).groups()): path for path in dumped.step.glob("*.npy")}  # type: ignore[union-attr]
    assert files.keys() == wanted().keys()
    stems = set()
    for (kind, slot), path in files.items():
        name = CLEAN[kind] if scopes else SCOPED[kind].rsplit("/", 1)[1]
        task = list(SCOPED).index(kind)
        named = re.fullmatch(rf"({kind}\.{name}\.{task}\.0\.\d{{16}})\.{slot}\.ND{dtype}\.npy", path.name)
        assert named, path.name
        stems.add(named[1])
        same(np.load(path), wanted()[kind, slot])
    assert len(stems) == len(SCOPED), "the files of an execution share their beginning"
    with (dumped.step / "statistic.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert {".".join(row[cell] for cell in ("Op Type", "Op Name", "Task ID", "Stream ID", "Timestamp")) for row in rows} == stems
    in_rank = (dumped.root / "rank_0").exists()
    for name in ("graphs", "execution_order", ".dump_metadata"):
        assert (dumped.root / "rank_0" / name).exists() == in_rank
    # The graph files tell scopes; without them the name is that of the files.
    check_own_reader(dumped, "mindspore", SCOPED if in_rank else CLEAN)


# M16, M25
@pytest.mark.parametrize("file_format", ["npy", "bin"])
def test_an_op_that_overflows_is_described_and_found(tmp_path: Path, file_format: str) -> None:
    dumped = dump(tmp_path, "2.4", file_format=file_format, op_debug_mode=3)
    tasks = {path.name.split(".")[0]: path.name.split(".")[2] for path in dumped.step.iterdir()}
    assert tasks.keys() == {"Exp", "Neg", "Opdebug"}, "what an op made counts, whatever it read"
    described = []
    for path in sorted(dumped.step.glob("Opdebug.*")):
        assert re.fullmatch(r"Opdebug\.Node_OpDebug\.\d+\.0\.\d{16}" + (r"\.output\.0\.json" if file_format == "npy" else ""), path.name)
        if file_format == "npy":
            text = json.loads(path.read_text())
            assert list(text) == ["AI Core", "DHA Atomic Add", "L2 Atomic Add"]
            described.append((text["AI Core"]["task_id"], text["AI Core"]["stream_id"]))
        else:
            (block,) = parse_file(path).outputs
            numbers = np.frombuffer(block[24:], np.uint64)
            described.append((int(numbers[2]), int(numbers[1])))
    assert described == [(1, 0), (2, 0)]
    hits = tensortap("find", dumped.root, "--watch", "operator_overflow", "--json").object["watchpoints"][0]["hits"]
    names = SCOPED if file_format == "bin" else CLEAN
    assert {(hit["op"], hit["slot"], hit["step"]) for hit in hits} == {
        (names[kind], "out0", step) for kind in ("Exp", "Neg") for step in (0, 1)
    }
    # A copy of the dump lists them, too.
    copied = tensortap("convert", dumped.root, tmp_path / "copy", "--to", "tap")
    assert copied.code == 0, copied.err
    again = tensortap("find", tmp_path / "copy", "--watch", "operator_overflow", "--json").object["watchpoints"][0]["hits"]
    assert {(hit["op"], hit["slot"], hit["step"]) for hit in again} == {(hit["op"], hit["slot"], hit["step"]) for hit in hits}
    # Without the list the op counts that made it of finite values.
    for path in dumped.root.rglob("Opdebug.*"):
        path.unlink()
    hits = tensortap("find", dumped.root, "--watch", "operator_overflow", "--json").object["watchpoints"][0]["hits"]
    assert {hit["op"] for hit in hits} == {names["Exp"]}


def foreign_file(op_name: str, values: list[Values], time: int = 1763668800000000) -> bytes:
    """Make a DumpData file of outputs, as protobuf writes it."""
    message = CLASSES["DumpData"](version="2.0", dump_time=time, op_name=op_name)
    for value in values:
        output = message.output.add(data_type=1 if value.dtype == np.float32 else 4, format=2, size=value.nbytes)
        output.shape.dim.extend(value.shape)
    return make_file(message, [value.tobytes() for value in values])


def older_block(task: int, stream: int) -> npt.NDArray[np.uint8]:
    """Describe an overflow as older devices do: three places, the state of the third one is at 1040."""
    block = np.zeros(256, np.uint64)
    block[32:38] = [1, stream, task, 0, 0x1000, 0x2000]
    block[130] = 8
    return block.view(np.uint8)


# M15, M16
def test_dump_data_files_of_older_releases_are_read_in_the_folders_of_ranks(tmp_path: Path) -> None:
    first = np.arange(6, dtype=np.float32).reshape(2, 3)
    files = {
        "rank_0/Net/0/3/Conv2D.Conv2D-op12.2.7.1763668800000001": foreign_file("Default/Conv2D-op12", [first]),
        "rank_0/Net/0/3/ReLU.ReLU-op13.3.7.1763668800000002": foreign_file("Default/ReLU-op13", [first + 1]),
        "rank_0/Net/0/3/Opdebug.Node_OpDebug.9.7.1763668800000003": foreign_file("Node_OpDebug", [older_block(3, 7)]),
        "rank_0/Net/1/3/Conv2D.Conv2D-op12.2.7.1763668800000004": foreign_file("Default/Conv2D-op12", [first + 2]),
        "rank_3/Net/0/4/Conv2D.Conv2D-op12.2.7.1763668800000005": foreign_file("Default/Conv2D-op12", [first + 3]),
        "rank_0/debug_files/5/Opdebug.Node_OpDebug.9.7.1763668800000006": foreign_file("Node_OpDebug", [older_block(99, 7)]),
        "rank_0/.dump_metadata/config.json": b'{"device_target":"Ascend","ms_version":"2.2.0"}',
        "rank_0/graphs/ms_output_trace_code_graph_0.pb": b"",
        "rank_0/execution_order/ms_execution_order_graph_0.csv": b"NodeExecutionOrder-FullNameWithScope\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    read = reader.open(tmp_path)
    assert read.layout == "ge"
    assert list(read.problems) == []
    found = {(record["rank"], record["step"], record["op"]): value[0, 0] for record, value in records(read) if record["type"] != "Opdebug"}
    conv = "Default/Conv2D-op12"
    assert found == {(0, 3, conv): 0, (0, 3, "Default/ReLU-op13"): 1, (0, 3, f"Net/1/{conv}"): 2, (3, 4, conv): 3}
    hits = tensortap("find", tmp_path, "--watch", "operator_overflow", "--json").object["watchpoints"][0]["hits"]
    assert [(hit["op"], hit["step"]) for hit in hits] == [("Default/ReLU-op13", 3)]
    for level, rows in (("rank_0", 5), ("rank_0/Net", 4), ("rank_0/Net/1", 1), ("rank_3/Net/0/4", 1)):
        below = reader.open(tmp_path / level)
        assert (below.layout, len(below)) == ("ge", rows), level
    # Converted files beside them are said, and those of constants, too.
    constant = tmp_path / "rank_0/Net/0/constants/Parameter.data-1.0.0.1.output.0.DefaultFormat.npy"
    constant.parent.mkdir()
    np.save(constant, first)
    (problem,) = reader.open(tmp_path).problems
    assert '1 npy file is left out beside DumpData files: "Parameter.data-1' in problem
