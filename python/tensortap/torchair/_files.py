"""Files of a dump: whole or not there, and named by a time that is never given twice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from ._messages import say


class Clock:
    """Gives times as names of files have them (UTC, YYYYmmddHHMMSS and microseconds), each later than the one before. Thread-safe."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def stamp(self) -> str:
        """Give the time now, in twenty digits."""
        with self._lock:
            self._last = max(time.time_ns() // 1000, self._last + 1)
            seconds, microseconds = divmod(self._last, 1_000_000)
        return f"{time.strftime('%Y%m%d%H%M%S', time.gmtime(seconds))}{microseconds:06}"


CLOCK = Clock()
"""The clock of the process."""


def write_whole(path: str, write: Callable[[BinaryIO], Any], mode: int = 0o666) -> None:
    """Write a file under a temporary name and rename it, so that readers never see a part of it.

    Parameters
    ----------
    path : str
        Path of the file, in a folder that exists.
    write : callable
        Writes the content into the open file.
    mode : int
        Who may do what with the file, less what the process's umask takes away.

    Raises
    ------
    OSError
        When it cannot be written; nothing is left behind.
    """
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            write(file)
        os.replace(temporary, path)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise


class Losses:
    """Says the first file that could not be written, and at the end of the process how many more. Thread-safe.

    Parameters
    ----------
    what : str
        The files, for the message.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self.count = 0

    def add(self, path: str, error: Exception) -> None:
        """Count a file that is lost.

        Parameters
        ----------
        path : str
            Its path.
        error : Exception
            Why.
        """
        with self._lock:
            self.count += 1
            first = self.count == 1
        if first:
            import atexit

            atexit.register(self._say_rest)
            say(f"{path}: {self._what} is not written, the program goes on: {error}")

    def _say_rest(self) -> None:
        if self.count > 1:
            say(f"{self.count - 1} more files were not written: {self._what}")
