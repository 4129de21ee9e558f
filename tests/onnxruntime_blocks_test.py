"""Images and weights that ONNX Runtime keeps in blocks of channels: dumps have the author's channels, order and names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import COMMAND
from cli_support import tensortap as command

onnx = pytest.importorskip("onnx")
import tensortap  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

pytestmark = pytest.mark.skipif(not api.RUNTIMES.is_dir() or not COMMAND.exists(), reason="no runtimes: run ./dev setup")
Array = npt.NDArray[Any]
AROUND = {"pads": [1, 1, 1, 1]}
RELEASES = ["1.19.2", api.NEWEST]


def noise(*shape: int) -> Array:
    return (np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape) * 0.2 + 0.05).astype(np.float32)


def conv(read: str, made: str, *weights: str, **more: Any) -> Any:
    return helper.make_node("Conv", [read, *weights], [made], name=f"node_{made}", **more)


def node(kind: str, read: Sequence[str], made: str, **more: Any) -> Any:
    return helper.make_node(kind, list(read), [made], name=f"node_{made}", **more)


FIRST = conv("x", "c1", "w1", "b1", **AROUND)  # 3 channels to 20: no block is full
W1 = {"w1": noise(20, 3, 3, 3), "b1": noise(20)}
POOL = {"kernel_shape": [2, 2], "strides": [2, 2]}
NORMAL = {"scale": noise(20), "bias": noise(20), "mean": noise(20), "var": np.abs(noise(20)) + np.float32(0.5)}
NODES: dict[str, tuple[list[Any], dict[str, Array]]] = {
    "two": ([FIRST, conv("c1", "y", "w2", "b2")], {**W1, "w2": noise(20, 20, 1, 1), "b2": noise(20)}),
    "one channel each": ([FIRST, conv("c1", "y", "w2", "b2", group=20, **AROUND)], {**W1, "w2": noise(20, 1, 3, 3), "b2": noise(20)}),
    "groups": (
        [conv("x", "c1", "w1", **AROUND), conv("c1", "y", "w2", group=4, **AROUND)],
        {"w1": noise(64, 3, 3, 3), "w2": noise(64, 16, 3, 3)},
    ),
    "whole blocks": ([conv("x", "c1", "w1"), conv("c1", "y", "w2")], {"w1": noise(16, 3, 3, 3), "w2": noise(32, 16, 3, 3)}),
    "sum": (
        [
            FIRST,
            node("Relu", ["c1"], "r1"),
            conv("r1", "c2", "w2", "b2", **AROUND),
            node("Add", ["c2", "r1"], "s"),
            node("Relu", ["s"], "y"),
        ],
        {**W1, "w2": noise(20, 20, 3, 3), "b2": noise(20)},
    ),
    "pools": (
        [
            FIRST,
            node("MaxPool", ["c1"], "p1", **POOL),
            conv("p1", "c2", "w2"),
            node("AveragePool", ["c2"], "p2", **POOL),
            node("GlobalAveragePool", ["p2"], "g"),
            conv("g", "y", "w3"),
        ],
        {**W1, "w2": noise(36, 20, 1, 1), "w3": noise(12, 36, 1, 1)},
    ),
    "concat": (
        [conv("x", "c1", "w1"), conv("x", "c2", "w2"), node("Concat", ["c1", "c2"], "cc", axis=1), conv("cc", "y", "w3")],
        {"w1": noise(32, 3, 3, 3), "w2": noise(16, 3, 3, 3), "w3": noise(12, 48, 1, 1)},
    ),
    "elementwise": (
        [
            FIRST,
            conv("x", "c2", "w2", "b1", **AROUND),
            node("Mul", ["c1", "c2"], "m"),
            node("Tanh", ["m"], "t"),
            conv("t", "c3", "w3"),
            node("Sigmoid", ["c3"], "sig"),
            node("Mul", ["c3", "sig"], "y"),
        ],
        {**W1, "w2": noise(20, 3, 3, 3), "w3": noise(28, 20, 1, 1)},
    ),
    "resize": (
        [
            FIRST,
            node("Resize", ["c1", "", "sizes"], "r", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
            conv("r", "y", "w2"),
        ],
        {**W1, "w2": noise(24, 20, 1, 1), "sizes": np.array([1, 1, 2, 2], np.float32)},
    ),
    "norm before": (
        [FIRST, node("BatchNormalization", ["c1", *NORMAL], "n"), conv("n", "y", "w2")],
        {**W1, **NORMAL, "w2": noise(5, 20, 1, 1)},
    ),
    "norm after": (
        [FIRST, node("Relu", ["c1"], "r"), node("BatchNormalization", ["r", *NORMAL], "y")],
        {**W1, **NORMAL},
    ),
    "shared weight": ([FIRST, conv("c1", "c2", "w2", "b1", **AROUND), conv("c2", "y", "w2", **AROUND)], {**W1, "w2": noise(20, 20, 3, 3)}),
    "broadcast": (
        [
            FIRST,
            node("GlobalAveragePool", ["c1"], "g"),
            conv("g", "c2", "w2"),
            node("Sigmoid", ["c2"], "sig"),
            node("Mul", ["c1", "sig"], "m"),
            node("Add", ["m", "sig"], "s"),
            conv("s", "y", "w3"),
        ],
        {**W1, "w2": noise(20, 20, 1, 1), "w3": noise(12, 20, 1, 1)},
    ),
    # 8 channels are less than a block of most machines: convolutions read them without blocks.
    "residual": (
        [
            conv("x", "c1", "w1", **AROUND),
            conv("c1", "d", "w2", group=32, strides=[2, 1], **AROUND),
            conv("d", "p", "w3"),
            conv("p", "e", "w4"),
            node("Relu", ["e"], "r"),
            conv("r", "f", "w2", group=32, **AROUND),
            conv("f", "g", "w3"),
            node("Add", ["p", "g"], "s"),
            conv("s", "y", "w4"),
        ],
        {"w1": noise(32, 3, 3, 3), "w2": noise(32, 1, 3, 3), "w3": noise(8, 32, 1, 1), "w4": noise(32, 8, 1, 1)},
    ),
    "many in": ([node("Concat", ["x", "x", "x", "x"], "many", axis=1), conv("many", "y", "w1")], {"w1": noise(21, 12, 3, 3)}),
}


def build(nodes: list[Any], weights: dict[str, Array], shape: Sequence[int | str] = (2, 3, 12, 10)) -> Any:
    shown = sorted({name for one in nodes for name in one.output} - {name for one in nodes for name in one.input})
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, list(shape))],
        [helper.make_tensor_value_info(name, 1, None) for name in shown],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def evaluate(model: Any, x: Array) -> dict[str, Array]:
    """Compute every value of the author's graph with onnx alone."""
    everything = onnx.ModelProto.FromString(model.SerializeToString())
    del everything.graph.output[:]
    names = [name for one in model.graph.node for name in one.output]
    everything.graph.output.extend(helper.make_tensor_value_info(name, 1, None) for name in names)
    return dict(zip(names, ReferenceEvaluator(everything).run(None, {"x": x}), strict=True))


def assert_shows(record: dict[str, Any], held: Array, expected: Array) -> None:
    assert held.shape == expected.shape == tuple(record["shape"])
    np.testing.assert_allclose(held, expected, rtol=1e-4, atol=1e-5)
    statistics = [record["min"], record["max"], record["mean"], record["zero"]]
    wanted = [held.min(), held.max(), held.mean(dtype=np.float64), np.count_nonzero(held == 0)]
    np.testing.assert_allclose(statistics, wanted, rtol=1e-5, atol=1e-9)


def checked(dump: Any, values: dict[str, Array], weights: dict[str, Array]) -> list[str]:
    """Hold every record of a dump against the author's values and weights. Give the names of the weights that were held."""
    found = []
    ops = {op.name: op for op in dump.ops}
    for name in dump:
        op = ops[dump.record(name)["op"]]
        if op.type == "Initializer":
            if op.name in weights:
                np.testing.assert_array_equal(dump[name], weights[op.name])
                found.append(op.name)
        elif op.originals:
            assert_shows(dump.record(name), dump[name], values[op.originals[-1].name.removeprefix("node_")])
    return found


@each_row("version", RELEASES)
@each_row("name", NODES)
def test_dumps_have_the_authors_images_and_weights(name: str, version: str, tmp_path: Path) -> None:
    nodes, weights = NODES[name]
    model = build(nodes, weights)
    x = noise(2, 3, 12, 10)
    result = tensortap.run(
        model.SerializeToString(), {"x": x}, out=tmp_path / "d", payload="full", slots="in,out", runtime=api.runtime(version), keep_free=0
    )
    found = checked(result.dump, evaluate(model, x), weights)
    assert not [op.name for op in result.dump.ops if op.type == "Initializer" and op.name.startswith("reorder")]
    if not name.startswith("norm"):
        assert set(weights) - {"sizes"} <= set(found)
    read = {one.name for op in result.dump.ops if op.type == "Conv" for one in op.inputs[1:3]}
    assert not [one for one in read if one.startswith("reorder")]


@each_row("version", RELEASES)
@each_row("name", ["sum", "elementwise", "broadcast", "concat", "residual"])
def test_images_whose_sizes_the_runtime_does_not_know_beforehand(name: str, version: str, tmp_path: Path) -> None:
    """Where it cannot know that two images have one size, the runtime makes the block a dimension, so that its kernels can broadcast."""
    nodes, weights = NODES[name]
    model = build(nodes, weights, ("n", 3, "h", "w"))
    x = noise(2, 3, 12, 10)
    result = tensortap.run(
        model.SerializeToString(), {"x": x}, out=tmp_path / "d", payload="full", slots="in,out", runtime=api.runtime(version), keep_free=0
    )
    checked(result.dump, evaluate(model, x), weights)
    assert not [name for name in result.dump if len(result.dump.record(name)["shape"]) > 4]
    done = command("replay", tmp_path / "d", "--runtime", api.runtime(version), "--json")
    assert done.code == 0, (done.out, done.err)


def test_every_layout_has_the_authors_channels(tmp_path: Path) -> None:
    nodes, weights = NODES["two"]
    model = build(nodes, weights)
    onnx.save(model, str(tmp_path / "m.onnx"))
    x = noise(2, 3, 12, 10)
    np.save(tmp_path / "x.npy", x)
    expected = evaluate(model, x)["c1"]
    for layout in ("tap", "ge", "mindspore", "msit"):
        done = command(
            "run", "m.onnx", "--input", "x=x.npy", "--full", "--layout", layout, "--out", layout, "--keep-free", "0", cwd=tmp_path
        )
        assert done.code == 0, done.err
        dump = tensortap.open(tmp_path / layout)
        held = [dump[name] for name in dump if dump.record(name)["shape"] == [2, 20, 12, 10]]
        assert any(np.allclose(array, expected, rtol=1e-4, atol=1e-5) for array in held), (layout, list(dump))
        assert not [name for name in dump if 24 in dump.record(name)["shape"]]


def test_statistics_and_sketches_are_of_the_authors_channels(tmp_path: Path) -> None:
    onnx.save(build([FIRST], W1), str(tmp_path / "m.onnx"))
    x = noise(2, 3, 12, 10)
    np.save(tmp_path / "x.npy", x)
    expected = evaluate(build([FIRST], W1), x)["c1"]
    words = ["--input", "x=x.npy", "--stats", "--types", "Conv", "--channels", "1", "--keep-free", "0"]
    done = command("run", "m.onnx", *words, "--out", "d", cwd=tmp_path)
    assert done.code == 0, done.err
    dump = tensortap.open(tmp_path / "d")
    (name,) = dump
    record = dump.record(name)
    assert record["shape"] == [2, 20, 12, 10]
    wanted = [expected.min(), expected.max(), expected.mean(), np.count_nonzero(expected == 0)]
    np.testing.assert_allclose([record["min"], record["max"], record["mean"], record["zero"]], wanted, rtol=1e-4)
    sketch = dump.sketch(name)
    np.testing.assert_allclose(sketch.channels.absmax, np.abs(expected).max(axis=(0, 2, 3)), rtol=1e-4)


@each_row("version", RELEASES)
def test_an_image_in_blocks_is_replayed_bit_for_bit(version: str, tmp_path: Path) -> None:
    for name in ("two", "one channel each", "sum", "pools", "elementwise", "broadcast"):
        nodes, weights = NODES[name]
        folder = tmp_path / name.replace(" ", "_")
        tensortap.run(
            build(nodes, weights).SerializeToString(),
            {"x": noise(2, 3, 12, 10)},
            out=folder,
            payload="full",
            slots="in,out",
            runtime=api.runtime(version),
            keep_free=0,
        )
        done = command("replay", folder, "--runtime", api.runtime(version), "--json")
        assert done.code == 0, (name, done.out, done.err)
