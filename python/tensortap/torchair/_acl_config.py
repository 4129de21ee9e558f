"""The file of ``dump_config_path``: a dump config of AscendCL, checked, and made fit for one graph."""

from __future__ import annotations

import atexit
import difflib
import json
import os
import re
from collections.abc import Callable
from typing import Any

from ._messages import say

_PATH = re.compile(r'("dump_path"\s*:\s*)("(?:[^"\\]|\\.)*")')
_GRAPH = re.compile(r"graph_\d+")
_KEYS = (
    "dump_path",
    "dump_list",
    "dump_mode",
    "dump_level",
    "dump_op_switch",
    "dump_data",
    "dump_stats",
    "dump_step",
    "dump_debug",
    "dump_scene",
    "dump_kernel_data",
    "quant_dumpable",  # which TorchAir writes into its own files
)
_ENTRY_KEYS = ("model_name", "layer", "watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range")
_unmatched: dict[str, set[str]] = {}
"""By the file: the names of its ``dump_list`` that no graph has had so far."""
_graphs: list[str] = []
"""The graphs that were compiled for such a file."""


def checked(path: str, folder: str) -> str:
    """Read a file of AscendCL.

    Parameters
    ----------
    path : str
        As the program wrote it.
    folder : str
        What a relative path, and a relative ``dump_path`` in the file, begin at.

    Returns
    -------
    str
        The text, whose ``dump_path`` is absolute.

    Raises
    ------
    RuntimeError
        When the file cannot be read or is wrong, or a key is unknown.
    """
    from tensortap import _core

    try:
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise RuntimeError(f"{path} cannot be read: {error}") from error
    absolute = _PATH.sub(lambda found: found[1] + _absolute(found[2], folder), text)
    problem = json.loads(_core.check_config(absolute, path, "acl")).get("error") or _unknown_key(text, path)
    if problem:
        raise RuntimeError(problem)
    return absolute


def _absolute(value: str, folder: str) -> str:
    """Give a text of JSON as the absolute path; an empty one stays, since it is a fault."""
    try:
        path = json.loads(value, strict=False)
    except ValueError:
        return value
    return json.dumps(os.path.join(folder, path)) if path and not os.path.isabs(path) else value


def _unknown_key(text: str, path: str) -> str:
    """Describe the first key that AscendCL does not know, which it would ignore; "" when there is none."""
    dump = _dump_of(text)
    lists = dump.get("dump_list")
    entries = [entry for entry in lists if isinstance(entry, dict)] if isinstance(lists, list) else []
    for where, known, members in [("dump", _KEYS, dump), *(("dump.dump_list", _ENTRY_KEYS, entry) for entry in entries)]:
        for key in members:
            if key not in known:
                line, column = _place(text, key)
                nearest = difflib.get_close_matches(key, known, 1, 0.0)[0]
                return f"{path}:{line}:{column}: {where}.{key}: no such key; did you mean {nearest}? AscendCL ignores it"
    return ""


def _place(text: str, key: str) -> tuple[int, int]:
    found = re.search(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:", text)
    before = text[: found.start()] if found else ""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _dump_of(text: str) -> dict[str, Any]:
    try:
        dump = json.loads(text).get("dump", {})
    except (ValueError, AttributeError):
        return {}
    return dump if isinstance(dump, dict) else {}


def dumps_single_ops(text: str) -> bool:
    """Tell whether a file asks for the operators outside of graphs, too."""
    return bool(_dump_of(text).get("dump_op_switch") == "on")


def for_graph(text: str, path: str, name: str) -> Callable[[], str]:
    """Give what makes the config of one graph, when it is called for the first time.

    Parameters
    ----------
    text : str
        The text that `checked` gives.
    path : str
        The file's path, for messages.
    name : str
        The graph's name.

    Returns
    -------
    callable
        Gives the text. Names of models that no graph can have are reported on standard error, once for each file; those that a graph may
        still get are reported when the process ends.
    """
    dump = _dump_of(text)
    listed = dump.get("dump_list") or []
    models = [str(entry.get("model_name")) for entry in listed if isinstance(entry, dict) and entry.get("model_name")]
    _graphs.append(name)
    news = path not in _unmatched
    missing = _unmatched.setdefault(path, set(models))
    missing.discard(name)
    if news and models:
        atexit.register(_say_unmatched, path)

    def for_this() -> str:
        impossible = [model for model in models if model in missing and not _GRAPH.fullmatch(model)]
        missing.difference_update(impossible)
        if impossible:
            _say_models(path, impossible)
        if listed or not dumps_single_ops(text):
            return text
        # Another session dumps the ops that are called by themselves. In a graph, the file means every op.
        members = {key: value for key, value in dump.items() if key != "dump_op_switch"}
        return json.dumps({"dump": {**members, "dump_list": [{"model_name": name}]}})

    return for_this


def _say_unmatched(path: str) -> None:
    missing = sorted(_unmatched[path])
    if missing:
        _say_models(path, missing)


def _say_models(path: str, models: list[str]) -> None:
    graphs = f"{_graphs[0]} to {_graphs[-1]}" if len(_graphs) > 1 else "".join(_graphs)
    say(f"{path}: model_name: no compiled graph is called {', '.join(models)}; this program has {graphs}")
