"""Plants faults of known places in small programs, makes sound pairs beside them, and counts what `tensortap compare` says of each.

A fault is found when the exit code is 1, and named when the culprit stands in the first lines of the answer. Dumps stay in the folder: the
same pairs can be judged again by another command.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHILD = Path(__file__).with_name("compare_torch_child.py")
WIDTH = 24
FIRST_LINES = 6
EXIT_BAR, NAMED_BAR = 0.95, 0.93

# Where the culprit is, by fault of the PyTorch networks.
TRANSFORMER = {
    "weight_element": r"layers\.1\.up\b",
    "bit_flip": r"layers\.1\.attention\.v\b",
    "transposed": r"layers\.1\.attention\.o\b",
    "swapped_axis": r"layers\.1\.attention/(flip|bmm|matmul|expand|clone|_unsafe_view|view)",
    "rotary_base": r"layers\.1\.attention/(pow|div|arange|cos|sin|full)",
    "rotary_sign": r"layers\.1\.attention/(mul|sin|sub|cat)",
    "cache_shift": r"layers\.1\.attention/(add|div|unsqueeze|arange|cos|sin)",
    "missing_scale": r"layers\.1\.attention/(div|add|softmax|_softmax)",
    "mask_shift": r"layers\.1\.attention/(triu|add|full)",
    "softmax_axis": r"layers\.1\.attention/_?softmax",
    "epsilon": r"layers\.1\.norm1\b",
    "gelu": r"layers\.1/gelu",
    "activation": r"layers\.1/(gelu|silu)",
    "dropout": r"layers\.1(\.drop)?/|layers\.1\.drop",
    "skipped_layer": r"layers\.(1|2)\b|layers\.0/add",
    "op_order": r"layers\.1(\.norm1|\.attention)?\b",
    "cast": r"layers\.1(\.up)?/",
    "partial_checkpoint": r"layers\.2\.down\b",
    "untied": r"head",
    "input": r"embedding|words|input",
}
CONVOLUTIONS = {
    "padding": r"second/",
    "layout": r"(permute|clone|view|max_pool2d)",
    "pooling": r"(avg_pool2d|max_pool2d)",
    "saturation": r"sigmoid",
    "statistics": r"norm2",
    "mode": r"norm2",
    "preprocessing": r"first|input|mul|convolution",
}
TRAINING = {
    "decay": r"adamw|optimizer|mul_|foreach|addcdiv",
    "betas": r"adamw|optimizer|mul_|addcmul|foreach|lerp|addcdiv|div|sqrt|pow",
    "rate": r"adamw|optimizer|mul_|foreach|addcdiv|div",
    "smoothing": r"nll|loss|mul|add|sum|mean|div|log_softmax",
    "loss_scale": r"mul|nll|loss",
    "clipping": r"mul_|clamp|norm|foreach|adamw|addcdiv|lerp",
}
BF16_ONLY = (
    "weight_element",
    "transposed",
    "rotary_sign",
    "missing_scale",
    "softmax_axis",
    "gelu",
    "skipped_layer",
    "dropout",
    "op_order",
    "rotary_base",
    "mask_shift",
    "swapped_axis",
    "activation",
    "cache_shift",
    "partial_checkpoint",
    "untied",
)


@dataclass(frozen=True)
class Pair:
    """Two dumps by name; `culprit` is empty for a sound pair."""

    name: str
    a: str
    b: str
    culprit: str = ""


@dataclass
class Corpus:
    """What to run, and what to compare."""

    runs: dict[str, list[str]] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)

    def torch(self, **options: str) -> str:
        """Name the dump of a PyTorch program with these arguments."""
        name = "torch_" + "_".join(f"{key}-{value}" for key, value in options.items())
        self.runs.setdefault(name, ["torch", *(f"{key}={value}" for key, value in options.items())])
        return name

    def onnx(self, model: str, *options: str, runtime: str = "") -> str:
        """Name the dump of a model that runs with these options."""
        name = "_".join(["onnx", model, *(option.strip("-").replace(" ", "") for option in options), runtime]).strip("_")
        self.runs.setdefault(name, ["onnx", model, runtime, *options])
        return name

    def add(self, name: str, a: str, b: str, culprit: str = "") -> None:
        """Add a pair."""
        self.pairs.append(Pair(name, a, b, culprit))


class Onnx:
    """A network of two blocks with a convolution in front; faults are in the second block."""

    def __init__(self, fault: str = "", opset: int = 17, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.fault, self.opset = fault, opset
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Any] = {}

    def weight(self, name: str, *shape: int, spread: float = 0.25, about: float = 0.0) -> str:
        """Add a random weight."""
        self.weights[name] = (about + spread * self.random.standard_normal(shape)).astype(np.float32)
        return name

    def number(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        """Add a constant unless it is there."""
        self.weights.setdefault(name, np.array(value, dtype))
        return name

    def node(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Add a node with one output."""
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}_output"], name=name, **attributes))
        return f"{name}_output"

    def block(self, x: str, at: str, fault: str) -> str:
        """Add attention and what stands behind it."""
        w, scale = self.weight(f"{at}.norm.w", WIDTH, spread=0.1, about=1), self.weight(f"{at}.norm.b", WIDTH)
        h = self.node(
            "LayerNormalization", [x, w, scale], f"/{at}/norm/LayerNormalization", axis=-1, epsilon=1e-2 if fault == "epsilon" else 1e-5
        )
        parts = []
        for part in "qkv":
            y = self.node("MatMul", [h, self.weight(f"{at}.{part}.w", WIDTH, WIDTH)], f"/{at}/{part}/MatMul")
            parts.append(self.node("Add", [y, self.weight(f"{at}.{part}.b", WIDTH)], f"/{at}/{part}/Add"))
        q, k, v = parts
        k = self.node("Transpose", [k], f"/{at}/Transpose", perm=[0, 2, 1])
        scores = self.node("MatMul", [q, k], f"/{at}/scores/MatMul")
        if fault != "missing_scale":
            scores = self.node("Mul", [scores, self.number("scale", 0.2)], f"/{at}/scale/Mul")
        mask = np.triu(np.full((9, 9), -1e4), 2 if fault == "mask_shift" else 1)
        scores = self.node("Add", [scores, self.number(f"{at}.mask", mask)], f"/{at}/mask/Add")
        scores = self.node("Softmax", [scores], f"/{at}/Softmax", axis=1 if fault == "softmax_axis" else -1)
        y = self.node("MatMul", [scores, v], f"/{at}/values/MatMul")
        y = self.node("MatMul", [y, self.weight(f"{at}.o.w", WIDTH, WIDTH)], f"/{at}/o/MatMul")
        x = self.node("Add", [x, y], f"/{at}/Add")
        h = self.node("MatMul", [x, self.weight(f"{at}.up.w", WIDTH, 2 * WIDTH)], f"/{at}/up/MatMul")
        h = self.node("Add", [h, self.weight(f"{at}.up.b", 2 * WIDTH)], f"/{at}/up/Add")
        h = self.gelu(h, at, fault)
        if fault == "cast":
            h = self.node("Cast", [h], f"/{at}/low/Cast", to=TensorProto.FLOAT16)
            h = self.node("Cast", [h], f"/{at}/high/Cast", to=TensorProto.FLOAT)
        y = self.node("MatMul", [h, self.weight(f"{at}.down.w", 2 * WIDTH, WIDTH)], f"/{at}/down/MatMul")
        return x if fault == "skipped" else self.node("Add", [x, y], f"/{at}/Add_1")

    def gelu(self, h: str, at: str, fault: str) -> str:
        """Add the activation, as exporters write it."""
        if fault == "gelu":
            inner = self.node("Mul", [h, self.number("tanh_scale", 1.702)], f"/{at}/act/Mul")
            return self.node("Mul", [h, self.node("Sigmoid", [inner], f"/{at}/act/Sigmoid")], f"/{at}/act/Mul_2")
        inner = self.node("Div", [h, self.number("root", np.sqrt(2.0))], f"/{at}/act/Div")
        inner = self.node("Add", [self.node("Erf", [inner], f"/{at}/act/Erf"), self.number("one", 1.0)], f"/{at}/act/Add")
        half = self.node("Mul", [h, inner], f"/{at}/act/Mul")
        return self.node("Mul", [half, self.number("half", 0.5)], f"/{at}/act/Mul_2")

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        fault = self.fault
        self.number("sizes", [0, WIDTH, -1], np.int64)
        conv = {"pads": [0, 1, 2, 1] if fault == "padding" else [1, 1, 1, 1]}
        x = self.node("Conv", ["x", self.weight("conv.w", WIDTH, 3, 3, 3), self.weight("conv.b", WIDTH)], "/stem/Conv", **conv)
        given = [self.weight("bn.w", WIDTH, spread=0.1, about=1), self.weight("bn.b", WIDTH), self.weight("bn.mean", WIDTH)]
        self.weights["bn.var"] = (0.5 + self.random.random(WIDTH)).astype(np.float32)
        x = self.node("BatchNormalization", [x, *given, "bn.var"], "/stem/BatchNormalization", epsilon=1e-5)
        x = self.node("LeakyRelu", [x], "/stem/LeakyRelu", alpha=0.1 if fault == "alpha" else 0.01)
        x = self.node("MaxPool", [x], "/stem/MaxPool", kernel_shape=[2, 2], strides=[2, 2])
        x = self.node("Reshape", [x, "sizes"], "/stem/Reshape")
        x = self.node("Transpose", [x], "/stem/Transpose", perm=[0, 2, 1])
        for number in range(3):
            x = self.block(x, f"enc.{number}", fault if number == 1 else "")
        x = self.node("ReduceMean", [x], "/mean/ReduceMean", axes=[1], keepdims=0)
        gemm = [x, self.weight("head.w", WIDTH, 10), self.weight("head.b", 10)]
        self.nodes.append(helper.make_node("Gemm", gemm, ["y"], name="/head/Gemm"))
        self.spoil()
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 6, 6])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])],
            [numpy_helper.from_array(value, name) for name, value in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)

    def spoil(self) -> None:
        """Plant a fault of weights."""
        if self.fault == "weight_element":
            self.weights["enc.1.up.w"][3, 5] += 0.5
        elif self.fault == "bit_flip":
            self.weights["enc.1.v.w"].view(np.int32)[4, 7] ^= 1 << 24
        elif self.fault == "transposed":
            self.weights["enc.1.o.w"] = np.ascontiguousarray(self.weights["enc.1.o.w"].T)
        elif self.fault == "statistics":
            self.weights["bn.mean"] += 0.2


ONNX_FAULTS = {
    "weight_element": r"enc\.1[./]up",
    "bit_flip": r"enc\.1[./]v\b",
    "transposed": r"enc\.1[./](o\b|Add:)",
    "statistics": r"stem/|bn\.|conv\.",
    "epsilon": r"enc\.1/norm",
    "missing_scale": r"enc\.1/(scale|mask|scores)",
    "mask_shift": r"enc\.1[./]mask",
    "softmax_axis": r"enc\.1/Softmax",
    "gelu": r"enc\.1/act",
    "cast": r"enc\.1/(low|high|down)",
    "skipped": r"enc\.1/(down|Add_1)|enc\.2/norm",
    "padding": r"stem/",
    "alpha": r"stem/",
}


def halved(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with float16 inside; its input and its output stay float32."""
    half = onnx.ModelProto()
    half.CopyFrom(model)
    for number, weight in enumerate(half.graph.initializer):
        value = numpy_helper.to_array(weight)
        if value.dtype == np.float32:
            half.graph.initializer[number].CopyFrom(numpy_helper.from_array(value.astype(np.float16), weight.name))
    for node in half.graph.node:
        node.input[:] = ["x_half" if name == "x" else name for name in node.input]
        node.output[:] = ["y_half" if name == "y" else name for name in node.output]
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
    half.graph.node.insert(0, helper.make_node("Cast", ["x"], ["x_half"], name="/x/Cast", to=TensorProto.FLOAT16))
    half.graph.node.append(helper.make_node("Cast", ["y_half"], ["y"], name="/y/Cast", to=TensorProto.FLOAT))
    return half


def quantised(scale_of: Callable[[int], float], *, seed: int = 3, quantise: bool = True, fault: str = "") -> onnx.ModelProto:
    """Three convolutions, as they are or with quantisers before each."""
    random = np.random.default_rng(seed)
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, Any] = {}

    def quantisers(value: str, number: int) -> str:
        weights[f"s{number}"], weights[f"z{number}"] = np.array(scale_of(number), np.float32), np.array(128, np.uint8)
        around = [f"s{number}", f"z{number}"]
        nodes.append(helper.make_node("QuantizeLinear", [value, *around], [f"{value}_q"], name=f"/Q{number}"))
        nodes.append(helper.make_node("DequantizeLinear", [f"{value}_q", *around], [f"{value}_dq"], name=f"/DQ{number}"))
        return f"{value}_dq"

    x = quantisers("x", 0) if quantise else "x"
    for number in range(3):
        weight = (random.standard_normal((8, 8, 3, 3)) * 0.12).astype(np.float32)
        if fault == "weight" and number == 1:
            weight[2, 3] += 0.6
        if quantise:
            step = np.float32(np.abs(weight).max() / 127)
            weights[f"wq{number}"] = np.clip(np.round(weight / step), -127, 127).astype(np.int8)
            weights[f"ws{number}"], weights[f"wz{number}"] = step, np.array(0, np.int8)
            nodes.append(
                helper.make_node("DequantizeLinear", [f"wq{number}", f"ws{number}", f"wz{number}"], [f"w{number}"], name=f"/DW{number}")
            )
        else:
            weights[f"w{number}"] = weight
        pads = [0, 1, 2, 1] if fault == "padding" and number == 1 else [1] * 4
        nodes.append(helper.make_node("Conv", [x, f"w{number}"], [f"c{number}"], pads=pads, name=f"/layer{number}/conv"))
        x = quantisers(f"c{number}", number + 1) if quantise else f"c{number}"
        nodes.append(helper.make_node("Relu", [x], [f"r{number}"], name=f"/layer{number}/act"))
        x = f"r{number}"
    shape = [1, 8, 8, 8]
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)


SAFE = (0.03, 0.03, 0.03, 0.03)


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Every ONNX model of the corpus, with the name that runs call it by."""
    for fault in ["", *ONNX_FAULTS]:
        made = Onnx(fault).model()
        yield f"net{fault and '-'}{fault}", made
        yield f"half{fault and '-'}{fault}", halved(made)
    yield "net-seed", Onnx(seed=7).model()
    yield "q-float", quantised(lambda number: SAFE[number], quantise=False)
    yield "q-float-seed", quantised(lambda number: SAFE[number], quantise=False, seed=11)
    yield "q-good", quantised(lambda number: SAFE[number])
    yield "q-good-seed", quantised(lambda number: SAFE[number], seed=11)
    yield "q-fine", quantised(lambda number: SAFE[number] * 0.95)
    for bad in range(4):
        yield f"q-bad{bad}", quantised(lambda number, bad=bad: SAFE[number] / 10 if number == bad else SAFE[number])
    yield "q-weight", quantised(lambda number: SAFE[number], fault="weight")
    yield "q-padding", quantised(lambda number: SAFE[number], fault="padding")


def corpus(runtimes: list[str]) -> Corpus:
    """Every pair."""
    made = Corpus()
    for dtype, faults in (("f32", list(TRANSFORMER)), ("bf16", list(BF16_ONLY))):
        right = made.torch(dtype=dtype)
        for fault in faults:
            made.add(f"torch {dtype} {fault}", made.torch(dtype=dtype, fault=fault), right, TRANSFORMER[fault])
    exact = made.torch(dtype="f32")
    for fault in ("missing_scale", "softmax_axis", "rotary_sign", "activation", "skipped_layer", "transposed"):
        made.add(f"torch bf16/f32 {fault}", made.torch(dtype="bf16", fault=fault), exact, TRANSFORMER[fault])
    image = made.torch(network="convolutions", dtype="f32")
    for fault, culprit in CONVOLUTIONS.items():
        made.add(f"torch conv {fault}", made.torch(network="convolutions", dtype="f32", fault=fault), image, culprit)
    trained = made.torch(train="1", threads="1")
    for fault, culprit in TRAINING.items():
        made.add(f"torch train {fault}", made.torch(train="1", threads="1", fault=fault), trained, culprit)
    sound_torch(made)
    for fault, culprit in ONNX_FAULTS.items():
        for a, b in (("--as-written", "--as-written"), ("", ""), ("", "--as-written")):
            name = f"{'written' if a else 'optimised'}/{'written' if b else 'optimised'}"
            made.add(f"onnx f32 {name} {fault}", onnx_run(made, f"net-{fault}", a), onnx_run(made, "net", b), culprit)
        made.add(
            f"onnx f16 written {fault}", onnx_run(made, f"half-{fault}", "--as-written"), onnx_run(made, "half", "--as-written"), culprit
        )
        if fault not in ("cast", "epsilon"):
            made.add(
                f"onnx f16/f32 {fault}", onnx_run(made, f"half-{fault}", "--as-written"), onnx_run(made, "net", "--as-written"), culprit
            )
    for bad in range(1, 4):
        place = rf"/D?Q{bad}\b|layer{bad - 1}/conv"
        made.add(
            f"onnx qdq/float scale {bad}", onnx_run(made, f"q-bad{bad}", "--as-written"), onnx_run(made, "q-float", "--as-written"), place
        )
    for fault in ("weight", "padding"):
        made.add(
            f"onnx qdq/float {fault}",
            onnx_run(made, f"q-{fault}", "--as-written"),
            onnx_run(made, "q-float", "--as-written"),
            r"DW1|layer1|w1|wq1|Q2",
        )
    sound_onnx(made, runtimes)
    return made


def onnx_run(made: Corpus, model: str, option: str, *others: str, runtime: str = "") -> str:
    """Name the dump of a model; `option` may be empty."""
    return made.onnx(model, *([option] if option else []), *others, runtime=runtime)


def sound_torch(made: Corpus) -> None:
    """PyTorch programs that compute the same."""
    for dtype in ("f32", "bf16", "f16"):
        right = made.torch(dtype=dtype)
        for form in ("sdpa", "fused", "manual_gelu"):
            made.add(f"sound torch {dtype} {form}", made.torch(dtype=dtype, form=form), right)
        made.add(f"sound torch {dtype} threads", made.torch(dtype=dtype, threads="2"), right)
        made.add(f"sound torch {dtype} drawn", made.torch(dtype=dtype, init="3"), right)
        made.add(f"sound torch {dtype} seed sdpa", made.torch(dtype=dtype, seed="4", form="sdpa"), made.torch(dtype=dtype, seed="4"))
    for a, b in (("bf16", "f32"), ("f16", "f32"), ("f64", "f32"), ("bf16", "f16"), ("f32", "f64")):
        made.add(f"sound torch {a}/{b}", made.torch(dtype=a), made.torch(dtype=b))
        made.add(f"sound torch {a}/{b} seed", made.torch(dtype=a, seed="4"), made.torch(dtype=b, seed="4"))
        made.add(f"sound torch conv {a}/{b}", made.torch(network="convolutions", dtype=a), made.torch(network="convolutions", dtype=b))
        made.add(f"sound torch {a}/{b} sdpa", made.torch(dtype=a, form="sdpa"), made.torch(dtype=b))
    image = made.torch(network="convolutions", dtype="f32")
    made.add("sound torch conv threads", made.torch(network="convolutions", dtype="f32", threads="2"), image)
    made.add("sound torch conv channels last", made.torch(network="convolutions", dtype="f32", form="channels_last"), image)
    made.add(
        "sound torch conv bf16 threads",
        made.torch(network="convolutions", dtype="bf16", threads="2"),
        made.torch(network="convolutions", dtype="bf16"),
    )
    made.add("sound torch compiled", made.torch(dtype="f32", form="compiled", backend="aot_eager"), made.torch(dtype="f32"))
    trained = made.torch(train="1", threads="1")
    made.add("sound torch train threads", made.torch(train="1", threads="2"), trained)
    made.add("sound torch train drawn", made.torch(train="1", threads="1", init="8"), trained)
    made.add("sound torch train fused", made.torch(train="1", threads="1", form="fused"), trained)
    conv = made.torch(network="convolutions", train="1", threads="1")
    made.add("sound torch train conv threads", made.torch(network="convolutions", train="1", threads="2"), conv)
    made.add("sound torch train conv channels last", made.torch(network="convolutions", train="1", threads="1", form="channels_last"), conv)
    half = made.torch(dtype="bf16", train="1", threads="1")
    made.add("sound torch train bf16 threads", made.torch(dtype="bf16", train="1", threads="2"), half)


def sound_onnx(made: Corpus, runtimes: list[str]) -> None:
    """ONNX models that compute the same."""
    for model in ("net", "half", "net-seed", "q-good", "q-float", *(f"net-{fault}" for fault in ("gelu", "alpha", "skipped"))):
        written = onnx_run(made, model, "--as-written")
        made.add(f"sound onnx {model} optimised/written", onnx_run(made, model, ""), written)
        made.add(f"sound onnx {model} threads", onnx_run(made, model, "--as-written", "--threads 2"), written)
        for runtime in runtimes:
            made.add(f"sound onnx {model} release {runtime}", onnx_run(made, model, "", runtime=runtime), onnx_run(made, model, ""))
    for option in ("", "--as-written"):
        made.add(f"sound onnx f16/f32 {option}", onnx_run(made, "half", option), onnx_run(made, "net", option))
    made.add("sound onnx f16 optimised/f32 written", onnx_run(made, "half", ""), onnx_run(made, "net", "--as-written"))
    made.add("sound onnx qdq/float", onnx_run(made, "q-good", "--as-written"), onnx_run(made, "q-float", "--as-written"))
    made.add("sound onnx qdq/float seed", onnx_run(made, "q-good-seed", "--as-written"), onnx_run(made, "q-float-seed", "--as-written"))
    made.add("sound onnx qdq/qdq scales", onnx_run(made, "q-fine", "--as-written"), onnx_run(made, "q-good", "--as-written"))


@dataclass(frozen=True)
class Places:
    """The commands and folders of a run of the bench."""

    command: Path
    folder: Path
    torch: Path
    runtimes: Path

    def words(self, run: list[str], out: Path) -> list[str]:
        """Return the command line that makes a dump."""
        if run[0] == "torch":
            return [str(self.command), "exec", "--quiet", "--full", "--out", str(out), "--", str(self.torch), str(CHILD), *run[1:]]
        options = [word for option in run[3:] for word in option.split()]
        return [str(self.command), "run", str(self.folder / f"{run[1]}.onnx"), "--quiet", "--full", "--out", str(out), *options]


def capture(places: Places, name: str, run: list[str]) -> str:
    """Make one dump unless it is there; returns what went wrong."""
    out = places.folder / "dumps" / name
    if out.exists():
        return ""
    environment = dict(os.environ)
    if run[0] == "onnx" and run[2]:
        environment["TENSORTAP_ONNXRUNTIME"] = str(next((places.runtimes / run[2]).rglob("libonnxruntime.so*")))
    unfinished = out.with_name(name + ".unfinished")
    subprocess.run(["rm", "-rf", str(unfinished)], check=True)
    done = subprocess.run(places.words(run, unfinished), capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        return f"{name}: {done.stderr[-600:]}"
    unfinished.rename(out)
    return ""


@dataclass(frozen=True)
class Answer:
    """What the command said of a pair."""

    pair: Pair
    code: int
    first: list[str]

    @property
    def named(self) -> bool:
        """Whether the first lines name the culprit."""
        return self.code == 1 and any(re.search(self.pair.culprit, line) for line in self.first)


def first_lines(text: str) -> list[str]:
    """Return the verdict with what stands below it, and the line of the first difference."""
    lines, wanted, kept = text.splitlines(), False, []
    for line in lines:
        title = line[:12].strip()
        if title:
            wanted = title in ("verdict", "first", "different", "agree")
        if wanted:
            kept.append(line)
    return kept[:FIRST_LINES]


def ask(places: Places, judge: Path, pair: Pair) -> Answer:
    """Compare a pair."""
    words = [str(judge), "compare", str(places.folder / "dumps" / pair.a), str(places.folder / "dumps" / pair.b), "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return Answer(pair, done.returncode, first_lines(done.stdout) or done.stderr.splitlines()[:2])


def report(answers: list[Answer], *, everything: bool) -> bool:
    """Print what was found; returns whether the bars hold."""
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        words = answer.pair.name.split()
        groups.setdefault(" ".join(words[: 2 if words[0] != "sound" else 3]), []).append(answer)
    for name, group in groups.items():
        if group[0].pair.culprit:
            found, named = sum(a.code == 1 for a in group), sum(a.named for a in group)
            print(f"{name:24} {len(group):3} faults   found {found:3}   named {named:3}")
        else:
            alarms, silent = sum(a.code == 1 for a in group), sum(a.code not in (0, 1) for a in group)
            print(f"{name:24} {len(group):3} sound    alarms {alarms:2}   no answer {silent}")
    for answer in answers:
        right = answer.named if answer.pair.culprit else answer.code == 0
        if not right or everything:
            print(
                f"\n{answer.pair.name}: exit {answer.code}, wanted {answer.pair.culprit or 'silence'}\n    {answer.pair.a} {answer.pair.b}"
            )
            print("\n".join("    " + line for line in answer.first))
    faults, sound = [a for a in answers if a.pair.culprit], [a for a in answers if not a.pair.culprit]
    found, named = sum(a.code == 1 for a in faults), sum(a.named for a in faults)
    alarms, silent = sum(a.code == 1 for a in sound), sum(a.code not in (0, 1) for a in sound)
    print(f"\nfound {found} of {len(faults)}, named {named}; false alarms {alarms} of {len(sound)}, without an answer {silent}")
    return found >= EXIT_BAR * len(faults) and named >= NAMED_BAR * len(faults) and alarms == 0


def main() -> int:
    """Make what is missing, compare, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", type=Path, required=True, help="the installed command, which makes the dumps")
    parser.add_argument("--judge", type=Path, help="the command that compares them (--command)")
    parser.add_argument("--torch", type=Path, required=True, help="a Python that has torch")
    parser.add_argument("--runtimes", type=Path, required=True, help="folder with a folder for each release of the runtime")
    parser.add_argument("--folder", type=Path, required=True, help="where models and dumps are kept")
    parser.add_argument("-k", dest="only", default="", help="only pairs whose name matches this expression")
    parser.add_argument("--everything", action="store_true", help="print every answer, not only wrong ones")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each pair")
    options = parser.parse_args()
    places = Places(options.command, options.folder, options.torch, options.runtimes)
    (places.folder / "dumps").mkdir(parents=True, exist_ok=True)
    for name, model in models():
        if not (places.folder / f"{name}.onnx").exists():
            onnx.save(model, str(places.folder / f"{name}.onnx"))
    made = corpus(sorted(path.name for path in options.runtimes.iterdir()))
    pairs = [pair for pair in made.pairs if re.search(options.only, pair.name)]
    wanted = {name for pair in pairs for name in (pair.a, pair.b)}
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        failed = [text for text in workers.map(lambda name: capture(places, name, made.runs[name]), sorted(wanted)) if text]
        if failed:
            print("\n".join(failed), file=sys.stderr)
        pairs = [pair for pair in pairs if all((places.folder / "dumps" / side).exists() for side in (pair.a, pair.b))]
        answers = list(workers.map(lambda pair: ask(places, options.judge or options.command, pair), pairs))
    if options.json:
        for answer in answers:
            print(json.dumps({"pair": answer.pair.name, "code": answer.code, "named": answer.named, "first": answer.first}))
    good = report(answers, everything=options.everything) if not options.json else True
    return 0 if good and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
