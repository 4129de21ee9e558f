"""The ONNX models of the corpus of compare_faults.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 24


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
        """Add a constant unless it exists."""
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
        if fault == "masked":
            mask[:] = -1e9  # float16 has no such number
        scores = self.node("Add", [scores, self.number(f"{at}.mask", mask)], f"/{at}/mask/Add")
        # Up to operator set 12, the axis is another one by default.
        axis = {} if self.fault == "default_axis" and fault else {"axis": 1 if fault == "softmax_axis" else -1}
        scores = self.node("Softmax", [scores], f"/{at}/Softmax", **axis)
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
        if self.opset < 18:
            x = self.node("ReduceMean", [x], "/mean/ReduceMean", axes=[1], keepdims=0)
        else:
            x = self.node("ReduceMean", [x, self.number("mean_axes", [1], np.int64)], "/mean/ReduceMean", keepdims=0)
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
        elif self.fault == "large":  # more than float16 holds, in between
            self.weights["enc.1.up.w"] *= np.float32(5e4)
            self.weights["enc.1.up.b"] *= np.float32(5e4)
            self.weights["enc.1.down.w"] /= np.float32(5e4)


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


def looked_up(fault: str = "") -> onnx.ModelProto:
    """Bins of the inputs look up rows of a table. The fault computes the bins in 8 bits."""
    random = np.random.default_rng(5)
    whole = TensorProto.INT8 if fault == "overflow" else TensorProto.INT32
    weights = {"steps": np.float32(199), "table": random.standard_normal((200, 16)), "w": random.standard_normal((16, 16)) / 4}
    nodes = [
        helper.make_node("Mul", ["x", "steps"], ["scaled"], name="/bins/Mul"),
        helper.make_node("Cast", ["scaled"], ["whole"], name="/bins/low/Cast", to=TensorProto.INT32),
        helper.make_node("Cast", ["whole"], ["stored"], name="/bins/stored/Cast", to=whole),
        helper.make_node("Cast", ["stored"], ["bins"], name="/bins/high/Cast", to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "bins"], ["rows"], name="/table/Gather", axis=0),
        helper.make_node("MatMul", ["rows", "w"], ["projected"], name="/projected/MatMul"),
        helper.make_node("Softmax", ["projected"], ["y"], name="/Softmax", axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "looked_up",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 9, 16])],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


SAFE = (0.03, 0.03, 0.03, 0.03)


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Every ONNX model of the corpus, with the name that runs call it by."""
    for fault in ["", *ONNX_FAULTS]:
        made = Onnx(fault).model()
        yield f"net{fault and '-'}{fault}", made
        yield f"half{fault and '-'}{fault}", halved(made)
    yield "net-seed", Onnx(seed=7).model()
    for opset in (13, 18):
        yield f"net-opset{opset}", Onnx(opset=opset).model()
    for opset in (12, 13):
        yield f"axis-opset{opset}", Onnx("default_axis", opset=opset).model()
    for fault in ("large", "masked"):
        made = Onnx(fault).model()
        yield f"net-{fault}", made
        yield f"half-{fault}", halved(made)
    yield "bins", looked_up()
    yield "bins-overflow", looked_up("overflow")
    yield "q-float", quantised(lambda number: SAFE[number], quantise=False)
    yield "q-float-seed", quantised(lambda number: SAFE[number], quantise=False, seed=11)
    yield "q-good", quantised(lambda number: SAFE[number])
    yield "q-good-seed", quantised(lambda number: SAFE[number], seed=11)
    yield "q-fine", quantised(lambda number: SAFE[number] * 0.95)
    for bad in range(4):
        scales = [SAFE[number] / 10 if number == bad else SAFE[number] for number in range(len(SAFE))]
        yield f"q-bad{bad}", quantised(scales.__getitem__)
    yield "q-weight", quantised(lambda number: SAFE[number], fault="weight")
    yield "q-padding", quantised(lambda number: SAFE[number], fault="padding")
