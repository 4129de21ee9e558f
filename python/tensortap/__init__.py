"""tensortap: what every operator of a running neural network read and wrote.

``open`` reads a dump, ``run`` makes one of an ONNX model, ``capture`` one of what a PyTorch program does, ``find`` looks for trouble in it.
"""

from __future__ import annotations

import json
import os
from typing import Any, cast

from tensortap import _core
from tensortap._capture import Capture, capture, round, set_dump, step
from tensortap._dump import Dump, Op, OpInput, Original, open  # tensortap.open is its name
from tensortap._error import Error
from tensortap._run import RunOptions, RunResult, run
from tensortap._topology import atb_json_to_onnx

__all__ = [
    "Capture",
    "Dump",
    "Error",
    "Op",
    "OpInput",
    "Original",
    "RunOptions",
    "RunResult",
    "__version__",
    "atb_json_to_onnx",
    "capture",
    "find",
    "open",
    "round",
    "run",
    "set_dump",
    "step",
]

__version__ = _core.version()


def find(dump: Dump | str | os.PathLike[str], *, source: str = "", limit: int = 10) -> dict[str, Any]:
    """Look for non-finite values, lack of headroom in fp16 and bf16, and dead outputs.

    Parameters
    ----------
    dump : Dump, str or path
        A dump, or its folder.
    source : str
        Only the ops made by this line of the author's program, such as ``train.py:41``; or an op's name, for its line.
    limit : int
        How many examples to give of each.

    Returns
    -------
    dict
        What ``tensortap find --json`` prints.
    """
    opened = dump if isinstance(dump, Dump) else open(dump)
    return cast("dict[str, Any]", json.loads(opened._core.find_report(source, limit)))
