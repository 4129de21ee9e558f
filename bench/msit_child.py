"""One process of bench/msit_overhead.py: rounds of a decoder of 12 layers with the capture on and off, in ABBA order.

usage: msit_child.py PAIRS ROUNDS; under `tensortap llm dump`, or alone. ROUNDS in each burst, 0 = a burst of half a second. Prints
{"ratios": [...], "wall": [captured, plain], "rounds": captured, "round_ms": n, "peak_kib": n} as the last line: ratios of CPU time, and
wall time in s.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from resident import peak_bytes
from torch_bursts import ratios_of

LAYERS = 12
GENERATE = Path(__file__).resolve().parent.parent / "tests/programs/generate.py"
LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192)
"""Tokens of a prompt: the first one of which a layer takes a millisecond is used."""


def round_of_a_decoder() -> tuple[Callable[[], Any], float]:
    """Make a decoder whose layers take about a millisecond each; gives what calls it once, and the seconds of a call."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    decoder = runpy.run_path(str(GENERATE))["Decoder"](width=256, layers=LAYERS, heads=8, longest=LENGTHS[-1]).eval()

    def call(length: int) -> Callable[[], Any]:
        tokens = torch.arange(length).unsqueeze(0) % 64
        return lambda: decoder(tokens, [None] * LAYERS)

    for length in LENGTHS:
        run = call(length)
        seconds = seconds_of(run, 3)
        seconds = min(seconds_of(run, 1) for _ in range(9))
        if seconds >= LAYERS * 1e-3:
            break
    return run, seconds


def seconds_of(run: Callable[[], Any], rounds: int) -> float:
    """CPU seconds of some rounds."""
    begin = time.process_time()
    for _ in range(rounds):
        run()
    return time.process_time() - begin


def main() -> None:
    """Measure."""
    pairs, rounds = map(int, sys.argv[1:3])
    torch.nn.Linear(1, 1)(torch.ones(1))  # the capture starts with the first operator
    side = sys.modules.get("_tensortap_torch")
    enable = (lambda _on: None) if side is None else side.functions.enable
    with torch.no_grad():
        enable(False)
        run, seconds = round_of_a_decoder()
        rounds = rounds or max(3, int(0.5 / seconds))
        enable(True)
        run()
        run()
        wall = {True: 0.0, False: 0.0}

        def measured(captured: bool) -> float:
            enable(captured)
            run()
            begin = time.perf_counter()
            cpu = seconds_of(run, rounds)
            wall[captured] += time.perf_counter() - begin
            return cpu

        ratios = ratios_of(pairs, lambda _on: nullcontext(), measured)
    report = {"ratios": ratios, "wall": [wall[True], wall[False]], "rounds": 2 * pairs * rounds, "round_ms": 1000 * seconds}
    print(json.dumps({**report, "peak_kib": peak_bytes() // 1024}))


if __name__ == "__main__":
    main()
