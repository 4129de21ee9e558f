"""Small models, each of which ONNX Runtime rewrites in one way that makes it hard to match an executed op with its node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
node = helper.make_node


class Weights:
    """Makes the weights of a model, the same in every run."""

    def __init__(self, dtype: npt.DTypeLike = np.float32) -> None:
        self.random = np.random.default_rng(17)
        self.dtype = dtype
        self.made: list[Any] = []

    def noise(self, name: str, *shape: int) -> None:
        """Add normally distributed values."""
        self.value(name, (self.random.standard_normal(shape) * 0.3).astype(self.dtype))

    def positive(self, *names: str, size: int) -> None:
        """Add values above one half."""
        for name in names:
            self.value(name, (np.abs(self.random.standard_normal(size)) + 0.5).astype(self.dtype))

    def integers(self, name: str, kind: npt.DTypeLike, *shape: int) -> None:
        """Add whole numbers from -100 to 100."""
        self.value(name, self.random.integers(-100, 100, shape).astype(kind))

    def value(self, name: str, array: Any) -> None:
        """Add this very array."""
        self.made.append(numpy_helper.from_array(np.asarray(array), name))

    def quantisation(self, name: str, scale: float, zero: np.generic) -> None:
        """Add a scale and a zero point."""
        self.value(f"{name}_s", np.float32(scale))
        self.value(f"{name}_z", zero)


def graph_model(nodes: list[Any], kind: int, given: list[int], made: list[int], weights: Weights, **more: Any) -> Any:
    """Make a model from x to y."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, given)],
        [helper.make_tensor_value_info("y", kind, made)],
        weights.made,
    )
    imports = [helper.make_opsetid("", 17), *more.pop("imports", [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, **more)


def half_dense() -> Any:
    """Gemm, Pow, Softmax, MatMul and Relu in fp16, which the CPU computes in fp32 between Casts."""
    weights = Weights(np.float16)
    weights.noise("w", 8, 16)
    weights.noise("b", 16)
    weights.value("two", np.float16(2))
    weights.noise("w2", 16, 8)
    nodes = [
        node("Gemm", ["x", "w", "b"], ["g"], "gemm"),
        node("Pow", ["g", "two"], ["p"], "pow"),
        node("Softmax", ["p"], ["s"], "softmax"),
        node("MatMul", ["s", "w2"], ["m"], "mm"),
        node("Relu", ["m"], ["y"], "relu"),
    ]
    return graph_model(nodes, HALF, [4, 8], [4, 8], weights)


def half_convolution() -> Any:
    """Convolution, normalisation and activation in fp16."""
    weights = Weights(np.float16)
    weights.noise("w", 16, 8, 3, 3)
    weights.noise("b", 16)
    weights.positive("scale", "shift", "mean", "var", size=16)
    weights.noise("w2", 10, 16)
    weights.noise("b2", 10)
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "conv"),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"], "bn"),
        node("Relu", ["n"], ["r"], "relu"),
        node("GlobalAveragePool", ["r"], ["g"], "gap"),
        node("Flatten", ["g"], ["f"], "flat"),
        node("Gemm", ["f", "w2", "b2"], ["l"], "gemm", transB=1),
        node("Softmax", ["l"], ["y"], "softmax"),
    ]
    return graph_model(nodes, HALF, [1, 8, 8, 8], [1, 10], weights)


def dense_of_three_dimensions() -> Any:
    """Two times MatMul and Add of three dimensions, which run as Gemm between Reshapes."""
    weights = Weights()
    for name, rows in (("1", 8), ("2", 16)):
        weights.noise(f"w{name}", rows, 16)
        weights.noise(f"b{name}", 16)
    nodes = [
        node("MatMul", ["x", "w1"], ["m1"], "mm1"),
        node("Add", ["b1", "m1"], ["a1"], "add1"),
        node("MatMul", ["a1", "w2"], ["m2"], "mm2"),
        node("Add", ["m2", "b2"], ["a2"], "add2"),
        node("Relu", ["a2"], ["y"], "relu"),
    ]
    return graph_model(nodes, FLOAT, [2, 5, 8], [2, 5, 16], weights)


def transposed_factors() -> Any:
    """Make two products, each of which reads a factor that a node transposes."""
    nodes = [
        node("Relu", ["x"], ["r"], name="relu"),
        node("Transpose", ["r"], ["t"], name="turn1", perm=[0, 2, 1]),
        node("MatMul", ["x", "t"], ["m"], name="mm1"),
        node("Transpose", ["x"], ["u"], name="turn2", perm=[0, 2, 1]),
        node("MatMul", ["u", "m"], ["y"], name="mm2"),
    ]
    return graph_model(nodes, FLOAT, [2, 4, 5], [2, 5, 4], Weights())


def transformer_block() -> Any:
    """Make a dense layer with Gelu, a sum and a normalisation, fused into kernels of ONNX Runtime's own."""
    weights = Weights()
    weights.noise("w", 8, 16)
    weights.noise("b", 16)
    for name, value in (("root", 1.41421356), ("one", 1), ("half", 0.5)):
        weights.value(name, np.float32(value))
    weights.noise("w2", 16, 8)
    for name in ("b2", "ls", "lb"):
        weights.noise(name, 8)
    nodes = [
        node("MatMul", ["x", "w"], ["m"], "mm"),
        node("Add", ["m", "b"], ["a"], "bias"),
        node("Div", ["a", "root"], ["d"], "div"),
        node("Erf", ["d"], ["e"], "erf"),
        node("Add", ["e", "one"], ["e1"], "plus"),
        node("Mul", ["a", "e1"], ["g"], "times"),
        node("Mul", ["g", "half"], ["h"], "gelu"),
        node("MatMul", ["h", "w2"], ["m2"], "mm2"),
        node("Add", ["m2", "b2"], ["a2"], "bias2"),
        node("Add", ["a2", "x"], ["s"], "skip"),
        node("LayerNormalization", ["s", "ls", "lb"], ["y"], "norm", axis=-1),
    ]
    return graph_model(nodes, FLOAT, [2, 5, 8], [2, 5, 8], weights)


def quantised(relu: bool = False) -> Any:
    """Quantise round a convolution, pools and a dense layer; with `relu`, the convolution is not fused with that."""
    weights = Weights()
    weights.quantisation("x", 0.02, np.uint8(128))
    for name, zero in (("c", 120), ("g", 100)):
        weights.quantisation(name, 0.05 if name == "c" else 0.03, np.uint8(zero))
    weights.quantisation("w", 0.005, np.int8(0))
    weights.quantisation("w2", 0.004, np.int8(0))
    weights.quantisation("b", 0.0001, np.int32(0))
    weights.integers("wq", np.int8, 16, 8, 3, 3)
    weights.integers("bq", np.int32, 16)
    weights.integers("w2q", np.int8, 16, 10)
    nodes = [
        node("QuantizeLinear", ["x", "x_s", "x_z"], ["xq"], "xq"),
        node("DequantizeLinear", ["xq", "x_s", "x_z"], ["xd"], "xd"),
        node("DequantizeLinear", ["wq", "w_s", "w_z"], ["wd"], "wd"),
        node("DequantizeLinear", ["bq", "b_s", "b_z"], ["bd"], "bd"),
        node("Conv", ["xd", "wd", "bd"], ["conv"], "conv"),
        *([node("Relu", ["conv"], ["relu"], "relu")] if relu else []),
        node("QuantizeLinear", ["relu" if relu else "conv", "c_s", "c_z"], ["cq"], "cq"),
        node("DequantizeLinear", ["cq", "c_s", "c_z"], ["cd"], "cd"),
        node("MaxPool", ["cd"], ["mp"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("QuantizeLinear", ["mp", "c_s", "c_z"], ["mq"], "mq"),
        node("DequantizeLinear", ["mq", "c_s", "c_z"], ["md"], "md"),
        node("GlobalAveragePool", ["md"], ["gp"], "gap"),
        node("QuantizeLinear", ["gp", "g_s", "g_z"], ["gq"], "gq"),
        node("DequantizeLinear", ["gq", "g_s", "g_z"], ["gd"], "gd"),
        node("Flatten", ["gd"], ["fl"], "flat"),
        node("DequantizeLinear", ["w2q", "w2_s", "w2_z"], ["w2d"], "w2d"),
        node("MatMul", ["fl", "w2d"], ["mm"], "mm"),
        node("Softmax", ["mm"], ["y"], "soft"),
    ]
    return graph_model(nodes, FLOAT, [1, 8, 9, 9], [1, 10], weights)


def residual() -> Any:
    """Convolutions that take a sum and an activation into themselves, in blocked layout."""
    weights = Weights()
    weights.noise("w1", 16, 8, 3, 3)
    weights.noise("b1", 16)
    weights.noise("w2", 16, 16, 3, 3)
    weights.noise("b2", 16)
    around = {"pads": [1, 1, 1, 1]}
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", **around),
        node("Relu", ["c1"], ["r1"], "relu1"),
        node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2", **around),
        node("Add", ["c2", "r1"], ["a2"], "sum2"),
        node("Relu", ["a2"], ["r2"], "relu2"),
        node("Conv", ["r2", "w2", "b2"], ["c3"], "conv3", **around),
        node("Add", ["r2", "c3"], ["a3"], "sum3"),
        node("Sigmoid", ["a3"], ["s3"], "sigmoid3"),
        node("Conv", ["s3", "w2"], ["c4"], "conv4", **around),
        node("Mul", ["c4", "s3"], ["m4"], "times4"),
        node("GlobalAveragePool", ["m4"], ["y"], "gap"),
    ]
    return graph_model(nodes, FLOAT, [1, 8, 12, 12], [1, 16, 1, 1], weights)


def function_call() -> Any:
    """Call a local function, which is inlined before anything else happens."""
    weights = Weights()
    weights.noise("w", 8, 8)
    body = [node("Sigmoid", ["in"], ["gate"], "gate"), node("Mul", ["in", "gate"], ["out"], "times")]
    imports = [helper.make_opsetid("", 17)]
    swish = helper.make_function("local", "Swish", ["in"], ["out"], body, imports)
    nodes = [node("MatMul", ["x", "w"], ["m"], "mm"), node("Swish", ["m"], ["s"], "call", domain="local"), node("Exp", ["s"], ["y"], "exp")]
    return graph_model(nodes, FLOAT, [4, 8], [4, 8], weights, functions=[swish], imports=[helper.make_opsetid("local", 1)])


def renamed(make: Callable[[], Any], names: dict[str, str]) -> Any:
    """Give the nodes of a model other names."""
    model = make()
    for one in model.graph.node:
        one.name = names.get(one.name, one.name)
    return model


def named_as_values(make: Callable[[], Any]) -> Any:
    """Name every node as the value it makes."""
    model = make()
    for one in model.graph.node:
        one.name = one.output[0]
    return model


def unnamed(make: Callable[[], Any]) -> Any:
    """Take all names of nodes away."""
    model = make()
    for one in model.graph.node:
        one.name = ""
    return model


RESIDUAL_LIES = {
    "conv1": "r1_nchwc",
    "sum2": "c2_nchwc",
    "relu2": "c2",
    "conv2": "r2",
    "conv3": "mm1/MatMulAddFusion",
    "sum3": "reorder_token_3",
}
HALF_LIES = {"gemm": "pow", "pow": "gemm", "softmax": "InsertedPrecisionFreeCast_g", "mm": "softmax", "relu": "mm"}
DENSE_LIES = {"mm1": "mm2", "mm2": "mm1", "add1": "mm2/MatMulAddFusion", "add2": "gemm_output_reshape", "relu": "a1"}
MODELS: dict[str, Callable[[], Any]] = {
    "fp16, dense": half_dense,
    "fp16, convolution": half_convolution,
    "fp16, names that mislead": lambda: renamed(half_dense, HALF_LIES),
    "fp16, nodes named as their values": lambda: named_as_values(half_convolution),
    "fp16, nodes without names": lambda: unnamed(half_convolution),
    "MatMul and Add, 3 dimensions": dense_of_three_dimensions,
    "MatMul and Add, names that mislead": lambda: renamed(dense_of_three_dimensions, DENSE_LIES),
    "transposed factors": transposed_factors,
    "transformer block": transformer_block,
    "QDQ": quantised,
    "QDQ, convolution with Relu": lambda: quantised(relu=True),
    "QDQ, nodes named as their values": lambda: named_as_values(quantised),
    "QDQ, nodes without names": lambda: unnamed(quantised),
    "residual convolutions": residual,
    "residual, names that mislead": lambda: renamed(residual, RESIDUAL_LIES),
    "residual, nodes without names": lambda: unnamed(residual),
    "local function": function_call,
}
