"""Which operators of TorchAir's engine (GE) an operator of torch becomes, by their types."""

from __future__ import annotations

import re
from typing import Any

from torch.fx import Node

from tensortap._torch import node_arguments

VIEWS = frozenset({"t", "permute", "transpose", "view", "reshape", "expand", "alias"})
"""Operators of aten that TorchAir leaves out: an op that reads a view reads the tensor that it shows."""

_SEVERAL = {
    "addmm": "MatMulV2 Mul Add",
    "arange": "Range Cast",
    "topk": "TopKV2 Cast",
    "max.dim": "ArgMaxWithValue Cast",
    "split": "SplitV Pack Cast",
    "mul.Tensor": "Mul Cast",
    "max_pool2d_with_indices": "MaxPoolWithArgmaxV1 Identity Cast",
    "max_pool2d_with_indices_backward": "MaxPoolGradWithArgmaxV1 MaxPoolWithArgmaxV1",
    "convolution_backward": "Conv2DBackpropInput Shape Conv2DBackpropFilter FlattenV2 ReduceSum",
    "_native_batch_norm_legit_functional": "BatchNormV3 Shape TensorMove TensorMove",
    "_native_batch_norm_legit_no_training": "BNInfer Shape Cast Fill",
    "native_batch_norm_backward": "BNTrainingUpdateGrad BNTrainingReduceGrad Shape",
}
_ONE = {
    "MatMul": "mm",
    "BatchMatMul": "bmm baddbmm matmul",
    "Conv2D": "convolution",
    "SoftmaxV2": "_softmax",
    "SoftmaxGrad": "_softmax_backward_data",
    "LogSoftmaxV2": "_log_softmax",
    "LogSoftmaxGrad": "_log_softmax_backward_data",
    "LayerNormV4": "native_layer_norm",
    "LayerNormGradV3": "native_layer_norm_backward",
    "GroupNormV2": "native_group_norm",
    "GroupNormGrad": "native_group_norm_backward",
    "GatherV2": "embedding index_select select",
    "EmbeddingDenseGrad": "embedding_dense_backward",
    "Cast": "_to_copy",
    "Identity": "clone detach lift_fresh_copy",
    "Assign": "copy_",
    "BroadcastTo": "copy",
    "ConcatV2": "cat",
    "Pack": "stack",
    "Unpack": "unbind",
    "SplitV": "split_with_sizes",
    "StridedSliceV2": "slice",
    "SelectV2": "where",
    "GatherElements": "gather",
    "ScatterElements": "scatter scatter_add",
    "IndexByTensor": "index _unsafe_index",
    "ReduceMean": "mean",
    "ReduceSum": "sum",
    "ReduceStdV2": "std",
    "ReduceAny": "any",
    "ReduceAll": "all",
    "ReduceMax": "max logsumexp",
    "ArgMaxV2": "argmax",
    "ArgMin": "argmin",
    "Equal": "eq",
    "NotEqual": "ne",
    "Greater": "gt",
    "GreaterEqual": "ge",
    "Less": "lt",
    "LessEqual": "le",
    "LogicalAnd": "bitwise_and",
    "LogicalOr": "bitwise_or",
    "LogicalNot": "bitwise_not",
    "IsInf": "isinf",
    "RealDiv": "div.Tensor",
    "FloorDiv": "div.Tensor_mode floor_divide",
    "FloorMod": "remainder",
    "Sub": "rsub",
    "Sign": "sgn",
    "Swish": "silu",
    "GLU": "glu",
    "PRelu": "prelu _prelu_kernel",
    "HardSwish": "hardswish",
    "HardSigmoid": "hardsigmoid",
    "ClipByValueV2": "hardtanh clamp clamp_min",
    "ThresholdV2": "threshold",
    "ReluGrad": "threshold_backward",
    "GeluGrad": "gelu_backward",
    "TanhGrad": "tanh_backward",
    "SigmoidGrad": "sigmoid_backward",
    "LeakyReluGrad": "leaky_relu_backward",
    "EluGradV2": "elu_backward",
    "Log": "log2 log10",
    "Pow": "pow",
    "Tile": "repeat",
    "ReverseV2": "flip",
    "PadV3": "constant_pad_nd",
    "Fill": "full zeros new_zeros new_ones new_full empty",
    "ZerosLike": "zero",
    "MaskedFill": "masked_fill",
    "LinSpace": "linspace",
    "LpNormV2": "linalg_vector_norm",
    "NLLLoss": "nll_loss_forward",
    "MseLossGrad": "mse_loss_backward",
    "ResizeNearestNeighborV2": "upsample_nearest2d",
    "GridSampler2D": "grid_sampler_2d",
    "AvgPoolV2Grad": "avg_pool2d_backward",
    "AdaptiveAvgPool2dGrad": "_adaptive_avg_pool2d_backward",
    "DropOutDoMask": "native_dropout_backward",
    "Reshape": "_unsafe_view",
}
_TYPES: dict[str, tuple[str, ...]] = {
    **{operator: (ge_type,) for ge_type, operators in _ONE.items() for operator in operators.split()},
    **{operator: tuple(ge_types.split()) for operator, ge_types in _SEVERAL.items()},
}
_WORD = re.compile(r"[A-Za-z0-9]+")


def types_of(node: Node) -> tuple[str, ...]:
    """Give the types of the GE operators that a node becomes.

    Parameters
    ----------
    node : torch.fx.Node
        A call of an operator.

    Returns
    -------
    tuple of str
        The type that names the node, then the others, each as often as there are operators of it; empty for a view.
    """
    name, overload = node_arguments.names_of(node)
    library, _, operator = name.rpartition("::")
    if library != "aten":
        return (camel_case(operator),)
    if operator in VIEWS:
        return ()
    types = _TYPES.get(f"{operator}.{overload}") or _TYPES.get(operator) or (camel_case(operator),)
    if types == ("RealDiv",) and _divides_integers(node):
        return ("RealDiv", "Cast")
    return types


def camel_case(operator: str) -> str:
    """Give the type of an operator that has no row: ``native_dropout`` becomes ``NativeDropout``."""
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(operator)) or "Op"


def _divides_integers(node: Node) -> bool:
    def is_integer(value: Any) -> bool:
        dtype = getattr(value.meta.get("val"), "dtype", None) if isinstance(value, Node) else None
        return dtype is not None and not dtype.is_floating_point and not dtype.is_complex

    return is_integer(node.args[0]) if node.args else False
