"""How much a run of the bench measures, and what it could not measure."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field

QUICK_SECONDS = 240
"""When a quick run begins nothing new any more; what has begun then takes less than a minute."""


def say(text: str) -> None:
    """Tell the person who waits what is going on."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


@dataclass
class Plan:
    """How much to measure. A quick run leaves out what takes long and begins nothing after its time."""

    quick: bool = False
    processes: int = 2
    """Processes for each figure of an ONNX model."""
    pairs: int = 9
    """Pairs of bursts for each figure of a PyTorch program."""
    threads: tuple[int, ...] = (1, 2)
    """The numbers of threads to measure with; the bars are of one."""
    ends: float = math.inf
    """When nothing new is begun any more, as time.monotonic() has it."""
    problems: list[str] = field(default_factory=list)

    @staticmethod
    def of_quick_run() -> Plan:
        """Plan a run of five minutes at most, whose figures are rough."""
        return Plan(quick=True, processes=1, pairs=2, threads=(1,), ends=time.monotonic() + QUICK_SECONDS)

    @property
    def peer_seconds(self) -> float:
        """How long another tool is measured on an ONNX model."""
        return 0.5 if self.quick else 2.0

    @property
    def budget_runs(self) -> int:
        """Over how many runs a budget is measured from outside."""
        return 2_000 if self.quick else 10_000

    def begins(self, what: str) -> bool:
        """Return whether there is time for another figure, and announce it; a figure without time is a problem of the run."""
        if time.monotonic() > self.ends:
            self.problems.append(f"{what}: no time left in a quick run")
            return False
        say(what)
        return True
