"""Texts of a compiled graph: the operators that TorchAir would make of it, with names, edges and where each comes from in the program."""

from __future__ import annotations

import itertools
import os
from typing import Any

from torch.fx import GraphModule

from . import _files, _graph_code, _proto_text
from ._ge_names import Names
from ._messages import say
from ._paths import path_for
from .configs.compiler_config import ACLGRAPH_MODES

_LEVELS = {"1": _proto_text.WITH_VALUES, "2": _proto_text.WITHOUT_VALUES, "3": _proto_text.EDGES_ONLY}
_texts = itertools.count()
_MODE = 0o640


def ge_graph_text(graph_module: GraphModule, names: Names, name: str, level: int) -> str:
    """Give a graph in the text form of GE's graph message.

    Parameters
    ----------
    graph_module : torch.fx.GraphModule
        Of AOTAutograd.
    names : mapping
        Of its nodes, see ``_ge_names.name_nodes``.
    name : str
        Name of the graph, such as ``graph_1``.
    level : int
        1 with the values of constants, 2 without, 3 with names, types and edges only.

    Returns
    -------
    str
        One block ``op { ... }`` for each op, one field on a line.
    """
    return _proto_text.ge_text(graph_module.graph, names, name, level)


def dump_ge_graph(graph_module: GraphModule, names: Names, name: str) -> str | None:
    """Write the text of a graph if the environment's DUMP_GE_GRAPH asks for it, into DUMP_GRAPH_PATH or the current folder.

    Parameters
    ----------
    graph_module, names, name
        As for `ge_graph_text`.

    Returns
    -------
    str or None
        The path of ``ge_proto_N_graph_ID_Build.txt``; None when nothing is written. Another value of the variable and a folder that cannot
        be written are reported on standard error.
    """
    asked = os.environ.get("DUMP_GE_GRAPH")
    if not asked:
        return None
    if asked not in _LEVELS:
        say(f"DUMP_GE_GRAPH={asked}: the value is unknown, no graph is written; valid: {', '.join(_LEVELS)}")
        return None
    folder = os.environ.get("DUMP_GRAPH_PATH") or "."
    path = os.path.join(folder, f"ge_proto_{next(_texts):08}_graph_{_number(name)}_Build.txt")
    try:
        os.makedirs(folder, mode=0o750, exist_ok=True)
    except OSError as error:
        say(f"{path}: the graph is not written: {error}")
        return None
    return _written(path, _proto_text.ge_model_text(graph_module.graph, names, name, _LEVELS[asked]))


def write_graph_dump(graph_module: GraphModule, names: Names, name: str, config: Any, stage: str = "original") -> str | None:
    """Write the file that ``config.debug.graph_dump`` asks for.

    Parameters
    ----------
    graph_module, names, name
        As for `ge_graph_text`.
    config : CompilerConfig
        Its type of file is "txt", "pbtxt" or "py".
    stage : str
        "original" when the graph has been converted, "optimized" when it is called for the first time.

    Returns
    -------
    str or None
        The path of ``dynamo_STAGE_graph_N_rank_R_pid_P_ts_TIME.TYPE``; None when it cannot be written, which is reported on standard error.

    Raises
    ------
    NotImplementedError
        When the mode is one of aclgraph and the type is not "py".
    """
    kind, folder = config.debug.graph_dump.type.value, config.debug.graph_dump.path or config.used_from()
    if config.mode.value in ACLGRAPH_MODES:
        if kind != "py":
            raise NotImplementedError(f'graph_dump.type {kind} is not supported in mode {config.mode.value}; set it to "py"')
        text = str(graph_module.print_readable(print_output=False))
    elif kind == "py":
        text = _graph_code.builder_code(graph_module.graph, names, name)
    elif kind == "pbtxt":
        text = _proto_text.tensorflow_text(graph_module.graph, names)
    else:
        text = ge_graph_text(graph_module, names, name, _proto_text.WITH_VALUES)
    try:
        path = path_for(folder, f"dynamo_{stage}_graph_{_number(name)}", kind)
    except OSError as error:
        say(f"{folder}: the graph is not written: {error}")
        return None
    return _written(path, text)


def _written(path: str, text: str) -> str | None:
    try:
        _files.write_whole(path, lambda file: file.write(text.encode()), _MODE)
    except OSError as error:
        say(f"{path}: the graph is not written: {error}")
        return None
    return path


def _number(name: str) -> str:
    """Give the number of ``graph_1``."""
    return name.rpartition("_")[2]
