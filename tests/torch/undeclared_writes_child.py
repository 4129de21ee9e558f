"""Which operators write into an argument that their schema does not declare as written: runs PyTorch's own operator samples.

Prints a JSON object {"samples": n, "writes": ["aten::native_batch_norm running_mean", ...]}.
"""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

warnings.simplefilter("ignore")
SAMPLES = 3
# Seconds of an operator's samples are no matter of what it writes.
SLOW = {"linalg.lu", "ldexp", "svd_lowrank", "pca_lowrank", "nn.functional.unfold", "matrix_exp", "linalg.matrix_rank"}


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Find the tensors of an argument whose bytes can be compared."""
    found = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    plain = [tensor for tensor in found if tensor.layout == torch.strided and not tensor.is_quantized and tensor.numel() > 0]
    return [tensor for tensor in plain if not tensor.is_conj() and not tensor.is_neg()]


def same(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Compare values, NaN equal to NaN."""
    return (
        before.shape == after.shape and torch.equal(before.isnan(), after.isnan()) and torch.equal(before.nan_to_num(), after.nan_to_num())
    )


class UndeclaredWrites(TorchDispatchMode):
    """Compares every argument that is declared as read with what it was."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = function._schema
        values = dict(zip((argument.name for argument in schema.arguments), args, strict=False)) | kwargs
        written = {argument.name for argument in schema.arguments if argument.alias_info and argument.alias_info.is_write}
        blocks = {tensor.untyped_storage().data_ptr() for name in written for tensor in tensors_of(values.get(name))}
        before = [
            (name, tensor, tensor.detach().clone())
            for name, value in values.items()
            if name not in written
            for tensor in tensors_of(value)
            if tensor.untyped_storage().data_ptr() not in blocks
        ]
        made = function(*args, **kwargs)
        for name, tensor, copy in before:
            if not same(copy, tensor.detach()):
                self.found.add(f"{schema.name} {name}")
        return made


def main() -> None:
    """Run the samples."""
    torch.manual_seed(0)
    random.seed(0)
    mode, samples = UndeclaredWrites(), 0
    for op in op_db:
        if torch.float32 not in op.supported_dtypes("cpu") or op.name in SLOW:
            continue
        try:
            made = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))[:SAMPLES]
        except Exception:
            continue
        for sample in made:
            try:
                with mode:
                    op(sample.input, *sample.args, **sample.kwargs)
                samples += 1
            except Exception:
                pass
    print(json.dumps({"samples": samples, "writes": sorted(mode.found)}))


if __name__ == "__main__":
    main()
