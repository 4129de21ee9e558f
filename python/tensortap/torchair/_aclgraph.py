"""The dump of the aclgraph modes: every tensor of a graph as a file of ``torch.save``."""

from __future__ import annotations

import collections
import itertools
import os
from typing import Any

import torch
from torch.fx import GraphModule

from tensortap._torch.graph_copy import copy_of

from . import _files

_losses = _files.Losses("the data of FX nodes")
_counters: collections.defaultdict[str, Any] = collections.defaultdict(itertools.count)


def with_saved_nodes(graph_module: GraphModule, folder: str) -> GraphModule:
    """Give a copy of a graph that saves every tensor which a node gives, inputs included, when the node has run.

    Parameters
    ----------
    graph_module : torch.fx.GraphModule
        Of AOTAutograd; it stays as it is.
    folder : str
        Where the files go: ``NODE_COUNTER.pt``, of a device's tensor ``NODE_device_INDEX_COUNTER.pt``. The counter runs from 0 for each
        name in the process. The folder is made when the first file is written.

    Returns
    -------
    torch.fx.GraphModule
        With the same results. A file that cannot be written is said, once, and the graph goes on.
    """
    new, _ = copy_of(graph_module)
    nodes = list(new.nodes)
    first = next(node for node in nodes if node.op != "placeholder")
    for node in nodes:
        if node.op == "output" or not isinstance(node.meta.get("val"), torch.Tensor):
            continue
        with new.inserting_before(first) if node.op == "placeholder" else new.inserting_after(node):
            saved = new.call_function(save_tensor, (node, folder, node.name))
        saved.meta["val"] = None
    return GraphModule(graph_module, new)


def save_tensor(tensor: torch.Tensor, folder: str, name: str) -> None:
    """Save one tensor; what a node of `with_saved_nodes` calls.

    Parameters
    ----------
    tensor : torch.Tensor
        What to save; it is not changed.
    folder : str
        Where to.
    name : str
        Name of the node.
    """
    if tensor.device.type != "cpu":
        name = f"{name}_device_{tensor.device.index or 0}"
    path = os.path.join(folder, f"{name}_{next(_counters[name])}.pt")
    try:
        os.makedirs(folder, exist_ok=True)
        # A copy, since a view would be saved with all of its storage.
        values = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        _files.write_whole(path, lambda file: torch.save(values, file))
    except Exception as error:
        _losses.add(path, error)
