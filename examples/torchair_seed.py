"""Dump operators of a compiled function, in a program that is written for TorchAir's device.

Two operators are dumped: one by its name, the other because it is in a scope.

    python -m tensortap.torchair examples/torchair_seed.py

Nothing in this file knows about tensortap.
"""

from __future__ import annotations

import os

import torch
import torch_npu  # type: ignore[import-not-found]  # noqa: F401
import torchair  # type: ignore[import-not-found]
from torch import nn


class Model(nn.Module):
    """Adds, subtracts and doubles."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Give twice x."""
        added = torch.add(x, y)
        with torchair.scope.data_dump():
            subtracted = torch.sub(added, y)
        return subtracted * 2


os.makedirs("torchair_dump", exist_ok=True)
config = torchair.CompilerConfig()
config.dump_config.enable_dump = True
config.dump_config.dump_path = "torchair_dump"
config.dump_config.dump_layer = "Add"
config.dump_config.dump_step = "0"

model = torch.compile(Model().npu(), backend=torchair.get_npu_backend(compiler_config=config), dynamic=False)
x, y = torch.arange(6.0).reshape(2, 3).npu(), torch.full((2, 3), 2.0).npu()
for _ in range(3):
    result = model(x, y)
print("result", result.sum().item())
