"""The data of each FX node as NumPy files, written by an interpreter that runs in the place of the compiled graph."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.fx import GraphModule, Interpreter, Node

from . import _files
from ._environment import world_folder

_LIBRARIES = ("aten.", "prims.")
_losses = _files.Losses("the data of FX nodes")


class FxDumper:
    """Runs a graph node by node and writes what the operators of ``aten`` and ``prims`` read and make.

    The files are ``PATH/worldsizeW_global_rankR/GRAPH/STEP/NODE-TARGET.INPUT.I[.J].TIME.npy``, and likewise OUTPUT. Inputs are written
    before the operator runs. Two threads may call it at once.

    Parameters
    ----------
    graph_module : torch.fx.GraphModule
        Of AOTAutograd.
    name : str
        Such as ``graph_1``.
    config : CompilerConfig
        Whose ``debug.data_dump`` says where to, and whose filter gives the node that names the files, or None for no files.
    """

    def __init__(self, graph_module: GraphModule, name: str, config: Any) -> None:
        options = config.debug.data_dump
        self._graph_module = graph_module
        self._folder = os.path.join(world_folder(options.path or config.used_from()), name)
        self._filter = options.filter
        self._steps = itertools.count()

    def __call__(self, *values: Any) -> Any:
        """Run the graph.

        Raises
        ------
        NotADirectoryError
            When the path is that of a file.
        """
        folder = os.path.join(self._folder, str(next(self._steps)))
        try:
            os.makedirs(folder, exist_ok=True)
        except NotADirectoryError:
            raise
        except OSError as error:
            _losses.add(folder, error)
            return Interpreter(self._graph_module).run(*values)
        return _Dumping(self._graph_module, folder, self._filter).run(*values)


class _Dumping(Interpreter):  # type: ignore[misc]
    """One run."""

    def __init__(self, graph_module: GraphModule, folder: str, name_filter: Any) -> None:
        super().__init__(graph_module)
        self._dump_folder = folder
        self._name_filter = name_filter

    def run_node(self, n: Node) -> Any:
        named = self._name_filter(n) if self._name_filter is not None else n
        if named is None or n.op != "call_function" or not str(n.target).startswith(_LIBRARIES):
            return super().run_node(n)
        prefix = os.path.join(self._dump_folder, f"{named.name}-{n.target}")
        stamp = _files.CLOCK.stamp()
        arguments, _ = self.fetch_args_kwargs_from_env(n)
        for position, argument in enumerate(arguments):
            if isinstance(argument, (list, tuple)) and len(argument) and isinstance(argument[0], torch.Tensor):
                for element, tensor in enumerate(argument):
                    _save(f"{prefix}.INPUT.{position}.{element}.{stamp}.npy", tensor)
            else:
                _save(f"{prefix}.INPUT.{position}.{stamp}.npy", argument)
        result = super().run_node(n)
        for position, made in enumerate(result if isinstance(result, (list, tuple)) else [result]):
            _save(f"{prefix}.OUTPUT.{position}.{stamp}.npy", made)
        return result


def _save(path: str, value: Any) -> None:
    """Write a file; one that cannot be written is counted."""
    try:
        array = as_numpy(value)
        _files.write_whole(path, lambda file: np.save(file, array))
    except OSError as error:
        _losses.add(path, error)


def as_numpy(value: Any) -> npt.NDArray[Any]:
    """Give a value as NumPy stores it.

    Parameters
    ----------
    value : object
        A tensor, a number, a list of these, or None.

    Returns
    -------
    numpy.ndarray
        Types that NumPy does not have come as float32; None is an array of one object; what else NumPy cannot hold is text.
    """
    if isinstance(value, torch.Tensor):
        return _tensor_as_numpy(value.detach().resolve_conj().resolve_neg().cpu())
    try:
        array = np.array(value)
    except Exception:
        return np.array(str(value))
    # Reading an array of other objects would run Python code.
    return array if array.dtype != object or value is None else np.array(str(value))


def _tensor_as_numpy(tensor: torch.Tensor) -> npt.NDArray[Any]:
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    try:
        array: npt.NDArray[Any] = tensor.numpy()
    except TypeError:
        array = tensor.to(torch.complex64 if tensor.is_complex() else torch.float32).numpy()
    return array
