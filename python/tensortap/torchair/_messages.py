"""What this package says to the program's user."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write a line on standard error, as all of tensortap does.

    Parameters
    ----------
    text : str
        Without "tensortap: ", which is put before it.
    """
    print(f"tensortap: {text}", file=sys.stderr, flush=True)
