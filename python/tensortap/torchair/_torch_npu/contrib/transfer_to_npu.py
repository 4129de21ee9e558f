"""For programs written for CUDA: importing it lets ``cuda`` mean what ``npu`` means, the CPU, and ``nccl`` what ``hccl`` means."""

from __future__ import annotations

import torch

from tensortap.torchair._torch_npu import _collectives, _device_names, npu

_device_names.accept_cuda()
_collectives.accept("nccl")
for _name in vars(npu):
    if not _name.startswith("_") and hasattr(torch.cuda, _name) and getattr(vars(npu)[_name], "__module__", "") == npu.__name__:
        setattr(torch.cuda, _name, vars(npu)[_name])
