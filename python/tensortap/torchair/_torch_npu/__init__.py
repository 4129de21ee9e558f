"""The stand-in for torch_npu: what lets a program written for the device run on the CPU.

Importing it changes torch: tensors and modules get ``npu()``, the device ``npu`` means the CPU, torch gets ``torch.npu``, and Dynamo the
backends ``npu`` and ``npugraph_ex``. Only `tensortap.torchair.install` makes it reachable.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from tensortap.torchair import _markers
from tensortap.torchair._messages import say

from . import _collectives, _device_names, npu, profiler
from ._missing import MISSING

__all__ = ["npu", "npu_format_cast", "profiler", "save_npugraph_tensor"]


def __getattr__(name: str) -> Any:
    raise AttributeError(MISSING.format(f"torch_npu.{name}"))


def npu_format_cast(tensor: torch.Tensor, acl_format: int) -> torch.Tensor:
    """Give the tensor as it is: formats of a device's memory have no meaning here.

    Parameters
    ----------
    tensor : torch.Tensor
        Any tensor.
    acl_format : int
        The format's number; without effect.

    Returns
    -------
    torch.Tensor
        `tensor`.
    """
    return tensor


def save_npugraph_tensor(tensor: torch.Tensor, *, save_path: str) -> None:
    """Save a tensor when the program, or a compiled graph, gets here.

    Parameters
    ----------
    tensor : torch.Tensor
        What to save.
    save_path : str
        ``FOLDER/NAME.pt``: the file is ``FOLDER/NAME_COUNTER.pt``, and the counter runs from 0 for each path in the process.
    """
    torch.ops.npu.save_npugraph_tensor(tensor, save_path)


def _save(tensor: torch.Tensor, path: str) -> None:
    from tensortap.torchair import _aclgraph

    folder, _, name = path.rpartition("/")
    _aclgraph.save_tensor(tensor, folder or ".", name.removesuffix(".pt"))


def _graph_backend(graph: Any, inputs: Any, **options: Any) -> Any:
    """Compile for the backend ``npu``, without a dump."""
    from tensortap.torchair import get_npu_backend

    return get_npu_backend()(graph, inputs)


def _captured_graph_backend(graph: Any, inputs: Any, *, options: dict[str, Any] | None = None, **_: Any) -> Any:
    """Compile for the backend ``npugraph_ex`` with the options of torch.compile."""
    from tensortap.torchair import get_npu_backend
    from tensortap.torchair.configs.npugraphex_config import config_of_options

    return get_npu_backend(compiler_config=config_of_options(options or {}))(graph, inputs)


def _stand_in() -> None:
    from torch._dynamo import register_backend

    _markers.define("npu", "save_npugraph_tensor(Tensor tensor, str save_path) -> ()", _save)
    sys.modules["torch.npu"] = torch.npu = npu
    _device_names.accept()
    _collectives.accept("hccl")
    register_backend(name="npu")(_graph_backend)
    register_backend(name="npugraph_ex")(_captured_graph_backend)
    say('torch_npu is not installed; a stand-in runs this program on the CPU, which the device "npu" means here')


_stand_in()
