"""Operators of TorchAir that a program calls itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tensortap.torchair import _markers

__all__ = ["npu_fused_infer_attention_score", "npu_fused_infer_attention_score_v2", "npu_print", "record", "wait"]
_HOLE = "\0"


def npu_print(*args: Any, summarize_size: int = 3, tensor_detail: bool = False) -> None:
    """Print values on standard output, in a compiled function too, when the graph gets there.

    Parameters
    ----------
    args : torch.Tensor, str, bool, float or int
        What to print, at least one tensor among it.
    summarize_size : int
        How many elements at either end of each dimension; -1 for all.
    tensor_detail : bool
        Whether shapes and types are printed, too.

    Raises
    ------
    ValueError
        When there is no tensor, or the number is neither -1 nor positive.
    """
    if summarize_size != -1 and summarize_size <= 0:
        raise ValueError(f"summarize_size must be -1 or positive, got {summarize_size}")
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    if not tensors:
        raise ValueError("npu_print needs at least one tensor")
    words = [_HOLE if isinstance(value, torch.Tensor) else str(value) for value in args]
    torch.ops.air.print(" ".join(words), tensors, summarize_size, tensor_detail)


def _print(text: str, tensors: Sequence[torch.Tensor], ends: int, detail: bool) -> None:
    head, *rest = text.split(_HOLE)
    print("".join([head, *(_text(tensor, ends, detail) + after for tensor, after in zip(tensors, rest, strict=True))]), flush=True)


def _text(tensor: torch.Tensor, ends: int, detail: bool) -> str:
    """Give a tensor as text: ``[0 1 2 ... 7 8 9]``."""
    values = tensor.detach().cpu()
    array = (values.float() if values.dtype == torch.bfloat16 else values).numpy()
    is_cut = ends > 0 and any(size > 2 * ends for size in array.shape)
    threshold = 0 if is_cut else array.size + 1
    text = np.array2string(array, threshold=threshold, edgeitems=ends if is_cut else 3, max_line_width=1 << 20)
    return f"tensor({text}, shape={list(tensor.shape)}, dtype={tensor.dtype})" if detail else text


def record() -> torch.Tensor:
    """Mark a point of a stream for `wait`; here operators run one after the other.

    Returns
    -------
    torch.Tensor
        What `wait` takes.
    """
    return torch.ops.air.record()


def wait(tensors: Sequence[torch.Tensor]) -> None:
    """Wait for what makes the tensors; here operators run one after the other."""
    torch.ops.air.wait(list(tensors))


def npu_fused_infer_attention_score(*_: Any, **__: Any) -> Any:
    """Refuse to run: the operator exists on the device only.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("this fused operator runs on an NPU only; use torch.nn.functional.scaled_dot_product_attention on a CPU")


npu_fused_infer_attention_score_v2 = npu_fused_infer_attention_score

_markers.define("air", "print(str text, Tensor[] tensors, int ends, bool detail) -> ()", _print)
