"""What comes back of a dump that went through other trees, and what other tools read of one: their own packages are the judges."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import onnxruntime_api as api
import pytest
import tensortap as reader
from case_table import each_row
from cli_support import COMMAND, ROOT, save, small_model, tensortap
from dump_data_support import CLASSES, make_file
from onnx import TensorProto, helper, numpy_helper
from onnxruntime_models_test import REAL
from safetensors import deserialize, safe_open

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

TREES = ("mindspore", "ge", "msit")
TYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16", "U32": "uint32",
    "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
Array = npt.NDArray[Any]
# Polygraphy takes the folder tests/torch for PyTorch, so that it runs elsewhere.
READ_POLYGRAPHY = """
import sys, numpy as np
from polygraphy.comparator import Comparator, RunResults
from polygraphy.json import load_json
folder, *others = sys.argv[1:]
results = RunResults.load(folder + "/results.json")
(runner, iterations), = results.items()
found = {f"{runner}/{i}/{name}": array for i, outputs in enumerate(iterations) for name, array in outputs.items()}
for i, inputs in enumerate(load_json(folder + "/inputs.json")):
    found.update({f"inputs/{i}/{name}": array for name, array in inputs.items()})
np.savez("found.npz", **found)
for other in others:
    print("equal" if Comparator.compare_accuracy(RunResults([*results.lst, *RunResults.load(other + "/results.json").lst])) else "differ")
"""


def polygraphy(folder: Path, *arguments: str | Path) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def dtype_called(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name)) if name not in np.sctypeDict else np.dtype(name)


def read_safetensors(path: Path) -> dict[str, Array]:
    """Every tensor of a file as the package `safetensors` takes it apart."""
    tensors = {}
    for name, found in deserialize(path.read_bytes()):
        tensors[name] = np.frombuffer(found["data"], dtype_called(TYPES[found["dtype"]])).reshape(found["shape"])
    with safe_open(str(path), "np") as opened:
        assert set(opened.keys()) == set(tensors)
    return tensors


def run(model: Path, out: Path, *options: str | Path) -> Path:
    done = tensortap("run", model, "--full", "--runs", "2", "--slots", "in,out", "--out", out, *options)
    assert done.code == 0, done.err
    return out


def convert(source: Path, target: Path, to: str, *codes: int) -> dict[str, Any]:
    done = tensortap("convert", source, target, "--to", to, "--json")
    assert done.code in (codes or (0,)), done.err
    return done.object


def records(dump: Path) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if key not in ("file", "row")} for one in tensortap("ls", dump, "--json").objects]


def values(dump: Path, folder: Path) -> dict[str, Array]:
    """Every tensor of a dump by its file and name."""
    convert(dump, folder, "safetensors")
    return {f"{path.stem}/{name}": array for path in folder.glob("*.safetensors") for name, array in read_safetensors(path).items()}


def same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def many_types_model(path: Path) -> Path:
    """Save a model whose values have many element types, no dimensions, no elements, and names that no tree has."""
    types = {
        "f16": TensorProto.FLOAT16, "f64": TensorProto.DOUBLE, "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "b": TensorProto.BOOL,
        "i64": TensorProto.INT64, "bf16": TensorProto.BFLOAT16, "f8": TensorProto.FLOAT8E4M3FN, "f85": TensorProto.FLOAT8E5M2,
    }  # fmt: skip
    nodes = [helper.make_node("Cast", ["x"], [name], name=f"/net.0/to {name}", to=number) for name, number in types.items()]
    nodes += [
        helper.make_node("ReduceSum", ["x"], ["sum"], name="/net.0/sum", keepdims=0),
        helper.make_node("Compress", ["x", "none"], ["nothing"], name="/net.0/nothing", axis=0),
        helper.make_node("Relu", ["x"], ["y"], name="/net.0/relu"),
    ]
    outputs = [helper.make_tensor_value_info(name, number, None) for name, number in types.items()]
    outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("sum", "nothing", "y")]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 5])],
        outputs,
        [numpy_helper.from_array(np.zeros(3, bool), "none")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), str(path))
    return path


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dumps")
    return {
        "small": run(small_model(folder / "small.onnx"), folder / "small"),
        "types": run(many_types_model(folder / "types.onnx"), folder / "types"),
    }


def assert_comes_back(before: Path, after: Path, folder: Path, trees: set[str]) -> None:
    """Compare everything that the dumps report for each record, in order, and values where the trees can store them."""
    first, last = records(before), records(after)
    changed = {"bfloat16", "float8_e4m3fn", "float8_e5m2"} if trees & {"mindspore"} else set()
    known = {(one["op"], one["slot"], one["step"]) for one in first}
    last = [one for one in last if (one["op"], one["slot"], one["step"]) in known]  # msit's tree has inputs of every op
    assert [(one["op"], one["slot"], one["step"]) for one in last] == [(one["op"], one["slot"], one["step"]) for one in first]
    for one, other in zip(first, last, strict=True):
        if one["dtype"] not in changed:
            assert one == other
    here, there = values(before, folder / "here"), values(after, folder / "there")
    lost = {name for name in here if name not in there}
    if trees & {"msit"}:
        lost = {name for name in lost if not name.startswith("weights/") and not name.endswith("/x")}
    assert {name for name in lost if here[name].size > 0 and here[name].dtype.name not in changed} == set()
    assert [name for name in here if name in there and here[name].dtype.name not in changed and not same(here[name], there[name])] == []


# M25, B1
@each_row("first", TREES)
@each_row("second", TREES)
@each_row("name", ["small", "types"])
def test_nothing_is_lost_between_any_two_trees(name: str, first: str, second: str, dumps: dict[str, Path], tmp_path: Path) -> None:
    # 3: a type that the tree cannot store.
    convert(dumps[name], tmp_path / "first", first, 0, 3)
    convert(tmp_path / "first", tmp_path / "second", second, 0, 3)
    convert(tmp_path / "second", tmp_path / "last", "tap")
    assert_comes_back(dumps[name], tmp_path / "last", tmp_path, {first, second})


# M25, B1
@pytest.mark.skipif(not api.MODELS.is_dir(), reason="no models: run ./dev setup")
@each_row("layout", TREES)
@each_row("name", ["magika", "silero"])
def test_nothing_of_a_real_model_is_lost(name: str, layout: str, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    np.savez(tmp_path / "inputs.npz", **inputs)
    dump = run(Path(api.model(path)), tmp_path / "dump", "--input", tmp_path / "inputs.npz")
    convert(dump, tmp_path / "tree", layout)
    convert(tmp_path / "tree", tmp_path / "last", "tap")
    first, last = records(dump), records(tmp_path / "last")
    if layout == "msit":
        known = {(one["op"], one["slot"], one["step"]) for one in first}
        last = [one for one in last if (one["op"], one["slot"], one["step"]) in known]
    assert last == first
    lines = [map(json.loads, (folder / "ops.jsonl").open()) for folder in (dump, tmp_path / "last")]
    edges = [[(one["name"], one["inputs"]) for one in ops] for ops in lines]
    assert edges[0] == edges[1][: len(edges[0])]


@each_row("layout", TREES)
def test_a_tree_alone_has_its_own_names(layout: str, dumps: dict[str, Path], tmp_path: Path) -> None:
    told = convert(dumps["small"], tmp_path / "tree", layout)
    assert {"statistics", "names"} <= {loss["kind"] for loss in told["losses"] if loss["kept_beside"]}
    assert any(".tensortap/origin" in note for note in told["notes"])
    shutil.rmtree(tmp_path / "tree/.tensortap/origin")
    assert "warning" not in tensortap("ls", tmp_path / "tree").err
    alone = records(tmp_path / "tree")
    softmax = next(one for one in alone if one["type"].startswith("Softmax") and one["slot"] == "out0")
    assert (softmax["op"] == "softmax_1") == (layout == "ge")
    assert softmax.get("std") is None


@each_row("layout", ["mindspore", "ge"])
def test_a_tree_that_was_added_to_is_read_as_it_is(layout: str, dumps: dict[str, Path], tmp_path: Path) -> None:
    convert(dumps["small"], tmp_path / "tree", layout)
    again = convert(dumps["small"], tmp_path / "tree", layout)
    assert any("do not come back" in note for note in again["notes"])
    read = tensortap("ls", tmp_path / "tree")
    assert read.code == 0
    assert "added since" in read.err
    assert len(records(tmp_path / "tree")) > len(records(dumps["small"]))


def test_damage_beside_a_tree_ends_in_no_crash(dumps: dict[str, Path], tmp_path: Path) -> None:
    convert(dumps["small"], tmp_path / "tree", "ge")
    origin = tmp_path / "tree/.tensortap/origin"
    rng = np.random.default_rng(3)
    for name in ("run.json", "ops.jsonl", "records.npy"):
        whole = (origin / name).read_bytes()
        begin = 4096 if name == "records.npy" else 0
        for _ in range(12):
            damaged = bytearray(whole)
            for at in rng.integers(begin, len(whole), 4):
                damaged[at] = rng.integers(256)
            (origin / name).write_bytes(bytes(damaged))
            assert tensortap("ls", tmp_path / "tree", "--json").code in (0, 3)
        (origin / name).write_bytes(whole[: len(whole) // 2])
        assert tensortap("ls", tmp_path / "tree", "--json").code in (0, 3)
        (origin / name).write_bytes(whole)
    # Manifests of another tree, and of ops that do not exist.
    told = json.loads((origin / "run.json").read_text())
    for tree in (3, {}, {"layout": "mindspore", "files": []}, {"layout": "ge", "files": [[3]] * 5}, {"layout": "ge", "files": [["x"]]}):
        (origin / "run.json").write_text(json.dumps({**told, "tree": tree}))
        assert len(tensortap("ls", tmp_path / "tree", "--json").objects) == 8


def test_types_that_a_tree_has_no_place_for_are_told(dumps: dict[str, Path], tmp_path: Path) -> None:
    told = convert(dumps["types"], tmp_path / "tree", "mindspore", 3)
    types = {loss["what"]: loss["records"] for loss in told["losses"] if loss["kind"] == "types"}
    assert types == {"bfloat16": 2, "float8_e4m3fn": 2, "float8_e5m2": 2}
    assert not any(loss["kept_beside"] for loss in told["losses"] if loss["kind"] == "types")


def test_the_table_of_the_documents_is_the_commands() -> None:
    assert tensortap("convert", "--losses").out in (ROOT / "docs/convert.md").read_text()


# M15
def test_asynchronous_trees_of_a_framework_are_read(dumps: dict[str, Path], tmp_path: Path) -> None:
    """MindSpore leaves TIME/DEVICE/MODEL/ID/STEP, through AscendCL the same below a folder of the step, or files in DEVICE."""
    convert(dumps["small"], tmp_path / "engine", "ge")
    shutil.rmtree(tmp_path / "engine/.tensortap")
    expected = {(one["op"], one["slot"], one["step"]): one["max"] for one in records(tmp_path / "engine") if one["type"] != "Initializer"}
    assert {step for _, _, step in expected} == {0, 1}
    (time,) = (path.name for path in (tmp_path / "engine").iterdir())
    shutil.rmtree(tmp_path / "engine" / time / ".tensortap")
    for step in ("0", "1"):
        whole, bare = tmp_path / "graph" / step / time / "0/small/1", tmp_path / "kernels" / step / time / "0"
        for target in (whole / step, bare):
            shutil.copytree(tmp_path / "engine" / time / "0/small/1" / step, target)
    for tree in ("graph", "kernels"):
        (tmp_path / tree / "acl_dump_0.json").write_text("{}")
        done = tensortap("ls", tmp_path / tree)
        assert done.code == 0
        assert "warning" not in done.err
        found = {(one["op"], one["slot"], one["step"]): one["max"] for one in records(tmp_path / tree) if one["type"] != "Initializer"}
        assert found == expected, tree


@pytest.mark.parametrize("to", (*TREES, "tap"))
def test_each_rank_of_a_dump_has_its_records(to: str, tmp_path: Path) -> None:
    wanted = {(rank, step): np.array([rank, step], np.float32) for rank in (0, 3) for step in (0, 1)}
    for (rank, step), value in wanted.items():
        message = CLASSES["DumpData"](version="2.0", dump_time=1767323045000000, op_name="a")
        message.output.add(data_type=1, format=2, size=value.nbytes).shape.dim.extend(value.shape)
        folder = tmp_path / f"before/20260102030405/{rank}/m/1/{step}"
        folder.mkdir(parents=True)
        (folder / f"Add.a.0.0.176732304500000{step}").write_bytes(make_file(message, [value.tobytes()]))
    convert(tmp_path / "before", tmp_path / "after", to)
    for with_origin in (True, False):
        after = reader.open(tmp_path / "after")
        assert not after.problems
        found = {(record["rank"], record["step"]): after[row] for row in range(len(after)) for record in [after.record(row)]}
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            np.testing.assert_array_equal(found[key], value)
        if with_origin and to != "tap":
            shutil.rmtree(tmp_path / "after/.tensortap/origin")


# M25
def test_safetensors_are_read_by_their_own_package(dumps: dict[str, Path], tmp_path: Path) -> None:
    told = convert(dumps["types"], tmp_path / "out", "safetensors")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "step_0.safetensors", "step_1.safetensors", "weights.safetensors"
    ]  # fmt: skip
    found = read_safetensors(tmp_path / "out/step_1.safetensors")
    x = found["x"]
    assert same(found["y"], np.maximum(x, 0))
    assert same(found["bf16"], x.astype(ml_dtypes.bfloat16))
    assert same(found["f8"], x.astype(ml_dtypes.float8_e4m3fn))
    assert same(found["i64"], x.astype(np.int64))
    assert found["sum"].shape == ()
    assert found["nothing"].shape == (0, 5)
    assert same(read_safetensors(tmp_path / "out/weights.safetensors")["none"], np.zeros(3, bool))
    assert told["converted"] == len(records(dumps["types"]))
    shown = tensortap("ls", tmp_path / "out/step_1.safetensors", "--json").objects
    assert {one["op"] for one in shown} == set(found)


def test_large_steps_become_parts_with_an_index(dumps: dict[str, Path], tmp_path: Path) -> None:
    convert(dumps["types"], tmp_path / "whole", "safetensors")
    done = tensortap("convert", dumps["types"], tmp_path / "out", "--to", "safetensors", "--part-bytes", 100)
    assert done.code == 0, done.err
    index = json.loads((tmp_path / "out/step_0.safetensors.index.json").read_text())
    parts = sorted(path.name for path in (tmp_path / "out").glob("step_0-*.safetensors"))
    assert len(parts) > 2
    assert parts[0] == f"step_0-00001-of-{len(parts):05}.safetensors"
    assert set(index["weight_map"].values()) == set(parts)
    whole = read_safetensors(tmp_path / "whole/step_0.safetensors")
    assert index["metadata"]["total_size"] == sum(array.nbytes for array in whole.values())
    assert set(index["weight_map"]) == set(whole)
    for name, part in index["weight_map"].items():
        assert same(read_safetensors(tmp_path / "out" / part)[name], whole[name])


# M25
def test_polygraphy_reads_and_compares_its_results(dumps: dict[str, Path], tmp_path: Path) -> None:
    other = run(small_model(tmp_path / "small.onnx"), tmp_path / "other", "--as-written")
    for name, dump in (("a", dumps["small"]), ("b", other)):
        convert(dump, tmp_path / name, "polygraphy")
    different = run(small_model(tmp_path / "small.onnx"), tmp_path / "different", "--seed", "5")
    convert(different, tmp_path / "c", "polygraphy")
    told = polygraphy(tmp_path, "-c", READ_POLYGRAPHY, "a", "b", "c")
    assert [line for line in told.splitlines() if line in ("equal", "differ")] == ["equal", "differ"]
    found = np.load(tmp_path / "found.npz")
    session = ort.InferenceSession(str(tmp_path / "small.onnx"))
    for step in range(2):
        assert same(session.run(["y"], {"x": found[f"inputs/{step}/x"]})[0], found[f"small/{step}/y"])
    assert {"x", "y"} <= {name.split("/")[-1] for name in found}
    shown = polygraphy(tmp_path, Path(sys.executable).parent / "polygraphy", "inspect", "data", "a/results.json")
    assert "y [dtype=float32, shape=(2, 4)]" in shown


def test_a_single_file_of_polygraphy_is_called_as_asked(dumps: dict[str, Path], tmp_path: Path) -> None:
    convert(dumps["types"], tmp_path / "results.json", "polygraphy")
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    (tmp_path / "inputs.json").write_text("[]")
    polygraphy(tmp_path, "-c", READ_POLYGRAPHY, ".")
    assert np.load(tmp_path / "found.npz")["types/1/bf16"].dtype == np.float32


# M25
def test_test_data_sets_hold_what_the_model_got_and_gave(dumps: dict[str, Path], tmp_path: Path) -> None:
    convert(dumps["types"], tmp_path / "out", "onnx")
    model = onnx.load(str(dumps["types"].parent / "types.onnx"))
    session = ort.InferenceSession(str(dumps["types"].parent / "types.onnx"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["test_data_set_0", "test_data_set_1"]
    for folder in (tmp_path / "out").iterdir():
        tensors = {path.stem: onnx.load_tensor(str(path)) for path in folder.iterdir()}
        inputs = {tensor.name: numpy_helper.to_array(tensor) for stem, tensor in tensors.items() if stem.startswith("input_")}
        assert set(inputs) == {"x"}
        outputs = {tensor.name: numpy_helper.to_array(tensor) for stem, tensor in tensors.items() if stem.startswith("output_")}
        assert set(outputs) == {value.name for value in model.graph.output}
        expected = session.run(["y", "sum", "f16", "i8", "nothing"], inputs)
        assert all(same(array, outputs[name]) for name, array in zip(("y", "sum", "f16", "i8", "nothing"), expected, strict=True))
        assert same(outputs["bf16"], inputs["x"].astype(ml_dtypes.bfloat16))


def form_of(node_data: Any) -> dict[str, Any]:
    """List the members of one graph's node data, with the types of what is in them."""
    results = [sorted((key, type(value).__name__) for key, value in result.items()) for result in node_data["results"].values()]
    stops = [sorted((key, type(value).__name__) for key, value in stop.items()) for stop in node_data["gradient"]]
    return {"results": {tuple(one) for one in results}, "gradient": {tuple(one) for one in stops}, "thresholds": node_data["thresholds"]}


# B13
def test_node_data_has_the_form_of_model_explorer_and_the_values_of_numpy(dumps: dict[str, Path], tmp_path: Path) -> None:
    """tests/golden/model_explorer was written by the classes of the package ai-edge-model-explorer 0.1.34."""
    nodes = [helper.make_node("Reciprocal", ["x"], ["r"], name="/net/r"), helper.make_node("Relu", ["r"], ["y"], name="/net/y")]
    model = save(nodes, tmp_path / "model.onnx")
    dump = tmp_path / "dump"
    np.save(tmp_path / "x.npy", np.array([[1, 2, -4], [8, 0.5, 0.25]], np.float32))
    assert tensortap("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--full", "--out", dump).code == 0
    golden = ROOT / "tests/golden/model_explorer"
    for graph, file in ((None, "graph_node_data.json"), ("main", "model_node_data.json")):
        recorded = json.loads((golden / file).read_text())
        done = tensortap("convert", dump, tmp_path / "heat.json", "--to", "model-explorer", *(("--graph", graph) if graph else ()))
        assert done.code == 0, done.err
        written = json.loads((tmp_path / "heat.json").read_text())
        assert (graph in written) == (graph in recorded)
        written, recorded = (written[graph], recorded[graph]) if graph else (written, recorded)
        assert set(written) <= set(recorded)
        form, known = form_of(written), form_of(recorded)
        assert form["results"] <= known["results"]
        assert (form["gradient"], form["thresholds"]) == (known["gradient"], known["thresholds"])
        expected = {"x": 8, "r": 4, "/net/r": 4, "y": 4, "[value] x": 8}
        assert {key: written["results"][key]["value"] for key in expected} == expected


# B13
def test_node_data_of_several_steps_has_the_largest_value(dumps: dict[str, Path], tmp_path: Path) -> None:
    convert(dumps["small"], tmp_path / "folder", "model-explorer")
    found = json.loads((tmp_path / "folder/model_explorer.json").read_text())["results"]
    arrays = values(dumps["small"], tmp_path / "values")
    for name in ("x", "w", "y"):
        expected = max(float(np.abs(array).max()) for path, array in arrays.items() if path.split("/")[-1] == name)
        assert found[name]["value"] == pytest.approx(expected)
    assert {one["op"] for one in records(dumps["small"])} <= set(found)


@each_row("to", ["safetensors", "polygraphy", "onnx"])
def test_what_has_no_values_is_refused(to: str, dumps: dict[str, Path], tmp_path: Path) -> None:
    assert tensortap("run", small_model(tmp_path / "m.onnx"), "--out", tmp_path / "statistics").code == 0
    for source in (tmp_path / "statistics", tmp_path / "m.onnx"):
        if to == "safetensors" and source.is_file():
            continue
        done = tensortap("convert", source, tmp_path / "out", "--to", to)
        assert done.code == 2
        assert len(done.err.splitlines()) <= 2
        assert str(source) in done.err
        assert not (tmp_path / "out").exists()
