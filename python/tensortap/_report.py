"""Dumps as one HTML file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, cast

from tensortap import _core
from tensortap._dump import Dump
from tensortap._selection import words_of


def report(
    dump: Dump | str | os.PathLike[str],
    reference: Dump | str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str] = "report.html",
    source_roots: Iterable[str | os.PathLike[str]] = (),
    ops: str = "",
    types: str | Sequence[str] = "",
    modules: str | Sequence[str] = "",
    steps: str | int | Sequence[int] = "",
    last: int = 0,
) -> dict[str, Any]:
    """Write what a dump says, or two with their differences, as one HTML file that opens from disk in any browser.

    Parameters
    ----------
    dump : Dump, str or path
        The dump; of two, the one that is judged.
    reference : Dump, str or path, optional
        The dump that it is judged by.
    out : str or path
        The file, of at most 20 MB. An existing file is replaced.
    source_roots : iterable of str or path
        Lines of source files are read below these folders and below the current one, and nowhere else.
    ops, types, modules, steps, last
        Tables, tensors and curves of these records alone, as `Dump.select` takes them; what the sentences say is about the whole dump.

    Returns
    -------
    dict
        What ``tensortap report --json`` prints: ``report``, ``bytes``, ``answers``, ``left_out``, a list of sentences, and
        ``sources``, the files that lines were read from.

    Raises
    ------
    Error
        When a dump cannot be read, the two cannot be compared, or the file cannot be written; then nothing is written.
    """
    a, b = (b"" if one is None else os.fsencode(one.path if isinstance(one, Dump) else one) for one in (dump, reference))
    words = words_of(ops, types, modules, steps, last)
    roots = [os.fsencode(root) for root in source_roots]
    return cast("dict[str, Any]", json.loads(_core.report(a, b, os.fsencode(out), roots, words)))
