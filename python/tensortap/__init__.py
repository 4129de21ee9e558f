"""tensortap: what every operator of a running neural network read and wrote.

``open`` reads a dump, ``run`` makes one of an ONNX model, ``capture`` one of what a PyTorch program does, ``find`` looks for trouble in it,
``compare`` puts two beside each other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, cast

from tensortap import _core
from tensortap._capture import Capture, capture, round, set_dump, step
from tensortap._compare import Comparison, compare
from tensortap._dump import Dump, open  # tensortap.open is its name
from tensortap._error import Error
from tensortap._memory_dump import MemoryDump
from tensortap._module_capture import ModuleCapture
from tensortap._module_records import ModuleRecords
from tensortap._notebook import Record
from tensortap._ops import Op, OpInput, Original
from tensortap._report import report
from tensortap._run import RunOptions, RunResult, run
from tensortap._selection import words_of
from tensortap._serve import Server, serve
from tensortap._sketch import Sketch, merge_sketches
from tensortap._topology import atb_json_to_onnx

__all__ = [
    "Capture",
    "Comparison",
    "Dump",
    "Error",
    "MemoryDump",
    "ModuleCapture",
    "ModuleRecords",
    "Op",
    "OpInput",
    "Original",
    "Record",
    "RunOptions",
    "RunResult",
    "Server",
    "Sketch",
    "__version__",
    "atb_json_to_onnx",
    "capture",
    "compare",
    "find",
    "merge_sketches",
    "open",
    "report",
    "round",
    "run",
    "serve",
    "set_dump",
    "step",
]

__version__ = _core.version()


def find(
    dump: Dump | str | os.PathLike[str],
    *,
    part: str = "",
    source: str = "",
    limit: int = 10,
    trends: bool = False,
    last: int = 0,
    watch: Sequence[str] = (),
    ops: str = "",
    types: str | Sequence[str] = "",
    modules: str | Sequence[str] = "",
    steps: str | int | Sequence[int] = "",
) -> dict[str, Any]:
    """Look for non-finite values, lack of headroom in fp16 and bf16, and dead outputs; or for trends; or hold watchpoints against records.

    Parameters
    ----------
    dump : Dump, str or path
        A dump, or its folder. Where the folder holds the dumps of several processes, ranks or models, all of them are looked at, and
        the answer has ``parts`` (docs/command_line.md).
    part : str
        Only these of them, such as ``"process_4711,rank_1"``; ``"first"`` for the dump in the folder itself.
    source : str
        Only the ops made by this line of the author's program, such as ``train.py:41``; or an op's name, for its line.
    limit : int
        How many examples to give of each.
    trends : bool
        Instead: what grows, leaps, vanishes, dies or freezes over the steps.
    last : int
        With `trends` or `watch`: only that many steps, the last ones; 0 for all.
    watch : sequence of str
        Instead: the records that these conditions of MindInsight's debugger hold for, such as ``tensor_too_large:max_gt=1``;
        ``recommended`` for the set that it proposes.
    ops, types, modules : str or list of str
        With `trends` or `watch`: only these ops, as `Dump.select` takes them.
    steps : str, int or list of int
        With `watch`: only these steps, such as ``0,3-5``.

    Returns
    -------
    dict
        What ``tensortap find --json`` prints.

    Raises
    ------
    Error
        When a dump cannot be read, or `ops`, `types`, `modules`, `steps` and `last` choose no record.
    """
    if bool(source) + trends + bool(watch) > 1:
        raise ValueError("source, trends and watch exclude each other: give one at a time")
    words = words_of(ops, types, modules, steps, last)
    if any(words.values()) and not trends and not watch:
        raise ValueError("ops, types, modules, steps and last require trends or watch: where a NaN began is asked of the whole dump")
    if words["step"] and not watch:
        raise ValueError("steps requires watch")
    path = os.fsencode(dump.path if isinstance(dump, Dump) else dump)
    conditions = [watch] if isinstance(watch, str) else list(watch)
    if isinstance(dump, Dump) and not part and len(dump.parts) < 2:  # it is open
        core = dump._core
        if trends:
            text = core.trends_report(words, limit)
        elif watch:
            text = core.watch_report(conditions, words, limit)
        else:
            text = core.find_report(source, limit)
    elif trends:
        text = _core.trends_report(path, part, words, limit)
    elif watch:
        text = _core.watch_report(path, part, (conditions, words), limit)
    else:
        text = _core.find_report(path, part, source, limit)
    return cast("dict[str, Any]", json.loads(text))
