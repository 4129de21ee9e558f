"""Real models beside themselves: as their authors wrote them, on other releases, with faults planted; and a PyTorch program."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import save
from cli_support import tensortap as command
from onnx import TensorProto, helper, numpy_helper
from onnxruntime_models_test import REAL

tensortap = pytest.importorskip("tensortap", reason="the module is not built")
pytestmark = pytest.mark.skipif(not api.MODELS.is_dir() or not api.RUNTIMES.is_dir(), reason="no models or runtimes: run ./dev setup")

# Without the instructions for sums of 8-bit products (VNNI), ONNX Runtime's sums of such saturate: the optimised graph of a quantised model
# then has other values than its author's.
HAS_VNNI = {"avx512_vnni", "avx_vnni"} & set(Path("/proc/cpuinfo").read_text().split())
MODELS = ("magika", "ocr_det", "ocr_rec", "ocr_cls", "basic_pitch", *(["smart_turn"] if HAS_VNNI else []), "silero", "silero_half")


def runtime(version: str) -> Path:
    return next(api.RUNTIMES.glob(f"{version}/libonnxruntime.so.{version}"))


def capture(model: str | Path, inputs: dict[str, npt.NDArray[Any]], out: Path, **options: Any) -> Any:
    return tensortap.run(model, inputs, out=out, payload="full", slots="in,out", keep_outputs=False, **options).dump


def plain_bits(values: npt.NDArray[Any]) -> bytes:
    """Give what tells a tensor from others whatever the order of its elements; 0 and -0 are one number."""
    return np.sort(values.ravel() + np.zeros((), values.dtype)).tobytes() + str(values.dtype).encode()


def wrong_pairs(both: Any, a: Any, b: Any) -> list[str]:
    """Name the pairs whose value of B has the bits of another value of A."""
    by_bits = defaultdict(set)
    made = [name for name in a if a.ops[a.records[a._core.find(name)]["op"]].type not in ("Input", "Initializer")]
    for name in made:
        values = a[name]
        if values.size > 4 and values.dtype.kind in "fiub":
            by_bits[plain_bits(values)].add(name)
    wrong = []
    for row in both.rows:
        values = b[row["b"]]
        if row["given"] or values.size <= 4 or values.dtype.kind not in "fiub":
            continue
        owners = by_bits.get(plain_bits(values))
        if owners and row["a"] not in owners:
            wrong.append(f"{row['a']} = {row['b']} by {row['rule']}, but {sorted(owners)[0]}")
    return wrong


# B10
@each_row("name", MODELS)
def test_the_authors_values_are_found_in_the_optimised_graph(name: str, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    written = capture(api.model(path), inputs, tmp_path / "written", as_written=True, runtime=runtime(api.NEWEST))
    optimised = capture(api.model(path), inputs, tmp_path / "optimised", runtime=runtime(api.NEWEST))
    both = tensortap.compare(written, optimised)
    summary = both.summary
    assert summary["unpaired_a"]["not explained"] == 0, [one for one in both.unpaired if one["why"] == "not explained"]
    assert summary["unpaired_b"]["not explained"] == 0
    assert wrong_pairs(both, written, optimised) == []
    # What the optimised graph makes and its author's does not: conversions of layout, fused ops that begin in the middle of the author's.
    assert summary["paired"] >= 0.75 * (summary["values_b"] - summary["unpaired_b"]["made by the runtime"])
    assert summary["paired"] + sum(summary["unpaired_b"].values()) == summary["values_b"]
    assert summary["verdicts"]["non-finite"] == 0


def test_one_kernel_that_rounds_in_another_way_is_named_alone(tmp_path: Path) -> None:
    path, inputs = REAL["magika"]
    dumps = [capture(api.model(path), inputs, tmp_path / version, runtime=runtime(version)) for version in ("1.19.2", api.NEWEST)]
    both = tensortap.compare(*dumps)
    assert {born["type"] for born in both.summary["born"]} == {"Sqrt"}
    assert both.summary["inherited"] == len([row for row in both.differing if not row["given"]]) - len(both.summary["born"])
    assert both.within_tolerance
    assert both.summary["paired"] == both.summary["values_a"] == both.summary["values_b"]


@each_row("name", ["magika", "basic_pitch", "ocr_rec"])
@each_row("seed", [0, 1])
def test_a_fault_in_one_weight_is_born_in_the_op_that_reads_it(name: str, seed: int, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    model = onnx.load(api.model(path))
    random = np.random.default_rng(seed)
    floats = [one for one in model.graph.initializer if one.data_type == onnx.TensorProto.FLOAT and np.prod(one.dims) > 64]
    chosen = floats[int(random.integers(len(floats)))]
    weights = numpy_helper.to_array(chosen).copy()
    weights.flat[int(random.integers(weights.size))] *= 1.5
    readers = {node.name for node in model.graph.node if chosen.name in node.input} | {
        output for node in model.graph.node if chosen.name in node.input for output in node.output
    }
    chosen.CopyFrom(numpy_helper.from_array(weights, chosen.name))
    onnx.save(model, str(tmp_path / "fault.onnx"))
    right = capture(api.model(path), inputs, tmp_path / "right", runtime=runtime(api.NEWEST))
    wrong = capture(tmp_path / "fault.onnx", inputs, tmp_path / "wrong", runtime=runtime(api.NEWEST))
    both = tensortap.compare(wrong, right)
    born = both.summary["born"]
    if not [row for row in both.differing if not row["given"]]:
        pytest.skip("the weight makes no difference for this input")
    assert len(born) == 1, born
    op = next(op for op in right.ops if born[0]["b"].startswith(op.name + ":"))
    names = {op.name, *op.outputs, *(original.name for original in op.originals)}
    assert names & readers or chosen.name in {value.name for value in op.inputs}, (names, chosen.name)


# B10
@each_row("name", ["basic_pitch", "ocr_rec", "silero"])
def test_what_differs_between_releases_is_within_the_noise_of_the_last_bit(name: str, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    old = capture(api.model(path), inputs, tmp_path / "old", runtime=runtime("1.19.2"))
    new = capture(api.model(path), inputs, tmp_path / "new", runtime=runtime(api.NEWEST), noise=2)
    both = tensortap.compare(old, new)
    assert both.summary["noise_dumps"] == 2
    assert both.summary["with_noise"] > 0.6 * sum(both.summary["verdicts"].values())
    assert both.within_tolerance
    assert 0 < both.summary["largest_noise_ratio"] <= 1.7, both.summary["largest_noise_ratio"]
    assert {row["verdict"] for row in both.differing if not row["given"]} == {"noise"}
    # Of which program a run of noise is, its place tells: the names of both would fit.
    turned = tensortap.compare(new, old)
    assert turned.summary["largest_noise_ratio"] == pytest.approx(both.summary["largest_noise_ratio"], rel=0.01)
    assert tensortap.compare(old, new, noise=[]).summary["noise_dumps"] == 0
    rules = tensortap.compare(old, new, tolerance=[(".*", 0, 1e-9)])
    assert rules.summary["noise_dumps"] == 0
    assert not rules.within_tolerance
    one, two = (
        {row["b"]: row["noise"] for row in tensortap.compare(old, new, noise=[f"{new.path}/noise{number}"]) if not row["given"]}
        for number in (1, 2)
    )
    assert one != two
    assert np.median([one[name] / two[name] for name in one if one[name] and two[name]]) == pytest.approx(1, abs=0.25)
    done = command("compare", old.path, new.path)
    assert "2 runs of inputs moved by the last bit" in done.out
    done = command("compare", old.path, new.path, "--noise", "none")
    assert "moved" not in done.out


def neighbours(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    return np.nextafter(values, np.float32(-np.inf)), np.nextafter(values, np.float32(np.inf))


def test_noise_moves_inputs_and_the_carried_state_by_their_last_bit(tmp_path: Path) -> None:
    path, inputs = REAL["silero"]
    inputs = {**inputs, "state": np.where(np.arange(128) % 3, inputs["state"], 0)}
    options: dict[str, Any] = {"payload": "full", "slots": "in,out", "carry": {"stateN": "state"}, "runs": 3, "seed": 7}
    first = tensortap.run(api.model(path), inputs, out=tmp_path / "a", noise=2, **options)
    assert first.summary["noise"] == [str(tmp_path / "a" / f"noise{number}") for number in (1, 2)]
    assert len(first.outputs) == 3, "the further runs give no outputs"
    again = tensortap.run(api.model(path), inputs, out=tmp_path / "b", noise=1, **options)
    plain, moved, other, same = (tensortap.open(folder) for folder in (tmp_path / "a", *first.summary["noise"], again.summary["noise"][0]))
    assert list(plain) == list(moved)
    for name in ("input:out0", "state:out0", "input:out0@1", "input:out0@2"):
        down, up = neighbours(plain[name])
        assert np.all(np.where(plain[name] == 0, moved[name] == 0, (moved[name] == down) | (moved[name] == up))), name
        assert not np.array_equal(moved[name], other[name])
        np.testing.assert_array_equal(moved[name], same[name])
    # A value that is carried over moves, too: no op of the step before returned it.
    made = [moved[name] for name in moved if moved[name].dtype == np.float32 and moved[name].shape == (2, 1, 128) and "state" not in name]
    assert made
    for name in ("state:out0@1", "state:out0@2"):
        down, up = neighbours(moved[name])
        near = [np.all((value == down) | (value == up) | ((value == 0) & (moved[name] == 0))) for value in made]
        assert any(near), name
        assert not any(np.array_equal(value, moved[name]) for value in made), name


def test_noise_reaches_a_model_that_converts_its_inputs_to_a_narrower_type(tmp_path: Path) -> None:
    node = helper.make_node
    nodes = [
        node("Reshape", ["x", "shape"], ["flat"], name="reshape"),
        node("Cast", ["flat"], ["half"], name="cast", to=TensorProto.FLOAT16),
        node("Add", ["half", "half"], ["sum"], name="add"),
        node("Cast", ["sum"], ["y"], name="back", to=TensorProto.FLOAT),
    ]
    path = save(nodes, tmp_path / "m.onnx", shape=(4, 50), initializers=[numpy_helper.from_array(np.array([200]), "shape")])
    x = np.random.default_rng(3).standard_normal((4, 50)).astype(np.float32)
    done = tensortap.run(path, {"x": x}, out=tmp_path / "a", payload="full", slots="in,out", noise=1)
    plain, moved = tensortap.open(tmp_path / "a"), tensortap.open(done.summary["noise"][0])
    before, after = (dump["x:out0"].astype(np.float16).view(np.int16).astype(int) for dump in (plain, moved))
    assert set(np.abs(after - before).flat) <= {1, 2}, "one unit of float16, or two where the units double"
    assert np.mean(np.abs(after - before) == 1) > 0.9
    assert np.mean(moved["y:out0"] != plain["y:out0"]) > 0.9


def test_noise_that_cannot_be_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path, inputs = REAL["magika"]
    with pytest.raises(tensortap.Error, match="no input of the model holds floating-point numbers"):
        tensortap.run(api.model(path), inputs, out=tmp_path / "a", payload="full", noise=1)
    assert not (tmp_path / "a").exists()
    done = command("run", api.model(REAL["silero"][0]), "--out", tmp_path / "b", "--noise", "1")
    assert done.code == 2
    assert "--noise: differences are measured on tensors, and none are captured: add --full" in done.err
    assert not (tmp_path / "b").exists()


def test_the_python_answer_is_that_of_the_command(tmp_path: Path) -> None:
    path, inputs = REAL["silero"]
    old = capture(api.model(path), inputs, tmp_path / "old", runtime=runtime("1.19.2"))
    new = capture(api.model(path), inputs, tmp_path / "new", runtime=runtime(api.NEWEST))
    both = tensortap.compare(old, tmp_path / "new")
    done = command("compare", tmp_path / "old", tmp_path / "new", "--json")
    assert done.code == (0 if both.within_tolerance else 1)
    objects = done.objects
    assert [one for one in objects if "a" in one] == both.rows
    assert [one for one in objects if "unpaired" in one] == both.unpaired
    assert objects[-1]["summary"] == both.summary
    table = pytest.importorskip("pandas") and both.to_pandas()
    assert list(table["b"]) == [row["b"] for row in both]
    assert len(table) == len(both)
    assert both.differing[0]["b"] in both._repr_html_()
    assert repr(both).startswith("<tensortap.Comparison: ")
    loose = tensortap.compare(old, new, tolerance=[(".*", 1, 1)], map={both.rows[-1]["a"]: both.rows[-1]["b"]}, steps={0: 0})
    assert loose.summary["rules"]["map"] == 1
    for wrong in ({"map": {"nothing": "x"}}, {"tolerance": [("x", 0, 0)]}, {"steps": "1-0"}):
        with pytest.raises(tensortap.Error) as error:
            tensortap.compare(old, new, **wrong)
        assert error.value.code == "invalid_argument"


def test_the_measures_are_those_of_numpy(tmp_path: Path) -> None:
    path, inputs = REAL["silero"]
    dumps = [capture(api.model(path), inputs, tmp_path / version, runtime=runtime(version)) for version in ("1.19.2", api.NEWEST)]
    both = tensortap.compare(*dumps)
    looked = 0
    for row in both.differing:
        x, y = (dump[row[side]].astype(np.float64).ravel() for dump, side in zip(dumps, ("a", "b"), strict=True))
        if row["order"] or dumps[0][row["a"]].dtype != np.float32:
            continue
        looked += 1
        assert row["relative_l2"] == pytest.approx(np.linalg.norm(x - y) / np.linalg.norm(y), rel=1e-6)
        assert row["max_abs"] == pytest.approx(np.abs(x - y).max(), rel=1e-6)
        assert row["differing"] == np.count_nonzero(x != y)
    assert looked > 3
