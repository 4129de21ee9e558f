"""Bursts of a PyTorch program's steps with a tool on and off, in ABBA order: what the children of the PyTorch benchmarks share."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from torch_programs import Step


def burst(step: Step, steps: int) -> float:
    """CPU seconds of some steps."""
    begin = time.process_time()
    for _ in range(steps):
        step()
    return time.process_time() - begin


def ratios_of(pairs: int, switch: Callable[[bool], AbstractContextManager[object]], measured: Callable[[bool], float]) -> list[float]:
    """Measure pairs of bursts; gives the times with the tool on to those with it off.

    Parameters
    ----------
    pairs : int
        How many ratios there are; every other pair runs in the opposite order.
    switch : callable
        Turns the tool on or off for a burst.
    measured : callable
        Runs a burst, on or off, and gives its seconds.

    Returns
    -------
    list of float
        A ratio for each pair.
    """
    ratios = []
    for pair in range(pairs):
        times = {True: 0.0, False: 0.0}
        for enabled in (True, False, False, True) if pair % 2 == 0 else (False, True, True, False):
            with switch(enabled):
                times[enabled] += measured(enabled)
        ratios.append(times[True] / times[False])
    return ratios
