"""Where files about a graph go, and what they are called."""

from __future__ import annotations

import os

from . import _files
from ._environment import world


def path_for(folder: str | None, name: str, suffix: str) -> str:
    """Name a file about a graph, and make its folder.

    Parameters
    ----------
    folder : str or None
        Where the program wants it, None for the current folder.
    name : str
        What the name begins with.
    suffix : str
        What it ends with, without the dot.

    Returns
    -------
    str
        ``FOLDER/NAME_rank_R_pid_P_ts_TIME.SUFFIX``, which does not exist.

    Raises
    ------
    OSError
        When there can be no such folder.
    """
    if folder is not None:
        os.makedirs(folder, mode=0o750, exist_ok=True)
    return named_path(folder, name, suffix)


def named_path(folder: str | None, name: str, suffix: str, *, with_time: bool = True) -> str:
    """Name a file about a graph; nothing is created.

    Parameters
    ----------
    folder, name, suffix
        As for `path_for`.
    with_time : bool
        Whether the time (UTC, microseconds) is in the name, later than in every name before.

    Returns
    -------
    str
        The path.
    """
    _, rank = world()
    stamp = f"_ts_{_files.CLOCK.stamp()}" if with_time else ""
    return os.path.join(folder or ".", f"{name}_rank_{rank}_pid_{os.getpid()}{stamp}.{suffix}")
