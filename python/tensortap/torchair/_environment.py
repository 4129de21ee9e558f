"""Which process of a job this one is, and the folder that its dumps go to."""

from __future__ import annotations

import os
import sys

current_device = 0
"""The device that the program has chosen by ``torch.npu.set_device``: a number in the names of folders."""


def world() -> tuple[int, int]:
    """Give the size of the job and this process's rank in it.

    Returns
    -------
    tuple of int
        Those of torch.distributed where it is initialised, otherwise 1 and 0.
    """
    # A process that has not imported torch is in no job of torch's.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 1, 0
    return int(distributed.get_world_size()), int(distributed.get_rank())


def world_folder(path: str) -> str:
    """Name the folder of this rank below a dump path; nothing is created.

    Parameters
    ----------
    path : str
        The dump path, as the program wrote it.

    Returns
    -------
    str
        ``PATH/worldsize1_global_rank0`` or the like.
    """
    size, rank = world()
    return os.path.join(path, f"worldsize{size}_global_rank{rank}")


def make_world_folder(path: str) -> str:
    """Create and name the folder of this rank below a dump path.

    Parameters
    ----------
    path : str
        The dump path, as the program wrote it.

    Returns
    -------
    str
        As `world_folder`.

    Raises
    ------
    OSError
        When it cannot be created.
    """
    folder = world_folder(path)
    os.makedirs(folder, exist_ok=True)
    return folder
