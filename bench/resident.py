"""Resident memory of this process, as the kernel counts it."""

from __future__ import annotations

import re
from pathlib import Path

STATUS = Path("/proc/self/status")


def _bytes_of(key: str) -> int:
    line = re.search(rf"^{key}:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    if line is None:
        raise RuntimeError(f"{STATUS} has no {key}")
    return int(line[1]) * 1024


def peak_bytes() -> int:
    """Give the highest resident memory of this process so far.

    ``getrusage`` does not do: a process inherits the peak of the one that forked it.
    """
    return _bytes_of("VmHWM")


class Peak:
    """The highest resident memory from here on, over what is resident now."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # sets the peak back to what is resident
        self._before = _bytes_of("VmRSS")

    def over_start(self) -> int:
        """Give the peak so far, in bytes over the start."""
        return peak_bytes() - self._before
