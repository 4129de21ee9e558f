"""Where the command ``tensortap`` of this installation may be."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path


def places() -> Iterator[Path]:
    """List where the command may be, nearest to this package first.

    Yields
    ------
    Path
        A path, whether or not the command is there.
    """
    package = Path(__file__).parent
    yield package / "bin"  # a build folder
    yield package.parent / "bin"  # pip install --target
    yield package.parents[min(3, len(package.parents) - 1)] / "bin"  # an environment, or --prefix
    yield Path(sysconfig.get_path("scripts"))
    yield Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
