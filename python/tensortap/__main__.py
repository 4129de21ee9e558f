"""``python -m tensortap``: becomes the command ``tensortap`` of the same installation."""

from __future__ import annotations

import os
import signal
import sys

from tensortap._command_places import places


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
