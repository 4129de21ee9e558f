"""``python -m tensortap``: becomes the command ``tensortap`` of the same installation."""

from __future__ import annotations

import os
import signal
import sys
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


def main() -> None:
    """Run the command in the place of this process, so that signals and exit codes are its own."""
    # The interpreter ignores these two signals, and the program that `exec` starts would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    for folder in places():
        command = folder / "tensortap"
        if command.is_file():
            os.execv(command, [str(command), *sys.argv[1:]])
    print("tensortap: the command is not beside this package. Install it again: pip install --force-reinstall tensortap", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
