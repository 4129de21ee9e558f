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


class Peak:
    """The highest resident memory from here on, over what is resident now.

    ``getrusage`` does not do: a process inherits the peak of the one that forked it.
    """

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # sets the peak back to what is resident
        self._before = _bytes_of("VmRSS")

    def over_start(self) -> int:
        """Give the peak so far, in bytes over the start."""
        return _bytes_of("VmHWM") - self._before
