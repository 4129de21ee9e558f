"""The machine that the bench runs on: what it is, and how much of it other processes had meanwhile."""

from __future__ import annotations

import os
import platform
import re
import resource
import time
from dataclasses import dataclass
from pathlib import Path

QUIET = 0.05
"""The share of the processors' time that other processes may have on a machine that is called quiet."""
BUSY_COLUMNS = (1, 2, 3, 6, 7, 8)
"""Columns of the first line of /proc/stat: user, nice, system, irq, softirq, steal."""


@dataclass(frozen=True)
class Load:
    """How loaded the machine was during a run."""

    before: float
    """Load average over a minute when the run began."""
    after: float
    """The same when it ended."""
    others: float
    """Share of the processors' time that other processes had, from 0 to 1."""
    processors: int

    @property
    def is_quiet(self) -> bool:
        """Whether the figures can be trusted."""
        return self.others <= QUIET

    def sentence(self) -> str:
        """Say it in words."""
        word = "quiet" if self.is_quiet else "loaded"
        return (
            f"The machine was {word}: other processes had {self.others:.0%} of the time of its {self.processors} processors during the run "
            f"(load average {self.before:.2f} before, {self.after:.2f} after, the bench included)."
        )


def busy_seconds(stat: str, ticks: int) -> float:
    """Give the seconds that all processors were busy, from the text of /proc/stat; `ticks` are those of a second."""
    columns = stat.splitlines()[0].split()
    return sum(int(columns[column]) for column in BUSY_COLUMNS) / ticks


def share_of_others(busy: float, own: float, capacity: float) -> float:
    """Give the share of the capacity that was busy with something else; all in seconds of processors."""
    return min(1.0, max(0.0, busy - own) / capacity) if capacity > 0 else 0.0


def own_seconds() -> float:
    """Give the processor time of this process and of its children that have ended."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in times)


class LoadMeter:
    """Measures the load from its making on."""

    def __init__(self) -> None:
        self._before = os.getloadavg()[0]
        self._start = self._now()

    def load(self) -> Load:
        """Give the load so far."""
        wall, busy, own = (now - start for now, start in zip(self._now(), self._start, strict=True))
        processors = os.cpu_count() or 1
        return Load(self._before, os.getloadavg()[0], share_of_others(busy, own, wall * processors), processors)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        return time.monotonic(), busy_seconds(Path("/proc/stat").read_text(), os.sysconf("SC_CLK_TCK")), own_seconds()


def machine_class() -> str:
    """Describe the machine by what matters: cores, instruction set, memory."""
    text = Path("/proc/cpuinfo").read_text()
    maker = re.search(r"^vendor_id\s*:\s*(\S+)", text, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.*)$", text, re.MULTILINE)
    names = flags[1].split() if flags else []
    level = "AVX-512" if "avx512bw" in names else "AVX2" if "avx2" in names else "SSE"
    vendor = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}.get(maker[1] if maker else "", platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    virtual = ", virtual machine" if "hypervisor" in names else ""
    return f"{os.cpu_count()} cores, {vendor} {platform.machine()} with {level}, {memory:.0f} GiB of memory{virtual}"
