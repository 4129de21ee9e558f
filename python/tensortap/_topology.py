"""Topology files of `msit llm dump` as ONNX models."""

from __future__ import annotations

import os
from typing import Any

from tensortap import _core


def atb_json_to_onnx(atb_json_path: str | os.PathLike[str], target_level: int = -1, cache_csv_file: dict[Any, Any] | None = None) -> None:
    """Write the ONNX model of a topology file of a dump beside it, with the signature of msit's function of this name.

    Parameters
    ----------
    atb_json_path : str or path
        A file of `layer/` or `model/`, such as ``Decoder_layer_1.json``; the model is ``Decoder_layer_1.onnx``.
    target_level : int
        How far operations are taken apart: 0 not at all, 1 into what the topology is made of, 2 that too; -1 to the last.
    cache_csv_file : dict, optional
        With a dict tensors get the types that the dump's table of operations tells, where it has one. Tables that were read are kept
        in it for the next call.
    """
    path = os.fsencode(atb_json_path)
    table = None
    if cache_csv_file is not None and (place := _core.operation_table_of(path)):
        key = os.fsdecode(place)
        table = cache_csv_file.get(key)
        if table is None:
            table = cache_csv_file[key] = _core.OperationTable(place)
    _core.convert_topology(path, target_level, table)
