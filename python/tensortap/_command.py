"""The console script ``tensortap``: becomes the program of the same name that the package brings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "bin" / "tensortap"
"""The program, as it was installed."""


def program() -> Path:
    """Find the program: beside this file as it was found, also where that file is a link into the source folder.

    Returns
    -------
    Path
        The path of the program, whether or not it is there.
    """
    beside = Path(__file__).parent / "bin" / "tensortap"
    return beside if beside.exists() else PROGRAM


def main() -> None:
    """Run the program in the place of this process, so that signals and exit codes are its own."""
    path = program()
    environment = os.environ.copy()
    # The interpreter that was asked is the environment whose onnxruntime is meant, activated or not.
    if sys.prefix != sys.base_prefix:
        environment.setdefault("VIRTUAL_ENV", sys.prefix)
    try:
        os.execve(path, [str(path), *sys.argv[1:]], environment)
    except OSError as error:
        print(f"tensortap: {path}: {error.strerror}. Install the package again: pip install --force-reinstall tensortap", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
