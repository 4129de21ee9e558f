"""Measures what the capture of compiled programs costs, by route of `tensortap exec --compile`, and prints a table.

usage: torch_compile.py [--runs N]; TENSORTAP_COMMAND and TENSORTAP_TEST_PYTHON as ./dev sets them. With --child PROGRAM BACKEND PAIRS it is
one process of the measurement.

Route aot: CPU time of a training step with the capture on to the same process with it off, bursts of both in ABBA order; the median of the
pairs. Route inductor-nodes: to another process without tensortap, since dump nodes stay in the code; processes in turn, the medians of
their fastest bursts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from typing import Any

PROGRAMS = ("gpt_tiny", "block")
MODES: dict[str, list[str]] = {
    "nothing selected": ["--ops", "no such op"],
    "statistics of outputs": ["--slots", "out"],
    "statistics of inputs and outputs": [],
}


def child(program: str, backend: str, pairs: int) -> None:
    """Run one process: print the ratios of the pairs, and the CPU milliseconds of the fastest step."""
    import torch
    import torch_programs
    from torch_bursts import ratios_of

    torch.set_num_threads(1)
    torch.manual_seed(0)
    make_training = torch_programs.training

    def training(model: Any, loss: Any) -> Any:
        if backend != "none":
            model.compile(backend=backend)
        return make_training(model, loss)

    torch_programs.training = training
    make, steps = torch_programs.PROGRAMS[program]
    step = make()

    def burst() -> float:
        begin = time.process_time()
        for _ in range(steps):
            step()
        return (time.process_time() - begin) / steps

    burst()
    side: Any = sys.modules.get("_tensortap_torch")
    times = [burst() for _ in range(2 * pairs)]

    def settled(enabled: bool) -> float:
        side.functions.enable(enabled)
        step()
        return burst()

    ratios = ratios_of(pairs, lambda _enabled: nullcontext(), settled) if side is not None else []
    print(json.dumps({"ratios": ratios, "fastest": min(times) * 1e3}))


def run(program: str, backend: str, pairs: int, route: str = "", options: list[str] | None = None) -> dict[str, Any]:
    """Run a process, captured when a route is named."""
    python = os.environ.get("TENSORTAP_TEST_PYTHON", sys.executable)
    words = [python, __file__, "--child", program, backend, str(pairs)]
    with tempfile.TemporaryDirectory() as folder:
        if route:
            capture = [os.environ["TENSORTAP_COMMAND"], "exec", "--quiet", "--compile", route, "--out", f"{folder}/dump", *(options or [])]
            words = [*capture, "--", *words]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5, help="pairs of a process, and processes of a comparison")
    parser.add_argument("--child", nargs=3)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], given.child[1], int(given.child[2]))
        return
    print("| route | captured | " + " | ".join(PROGRAMS) + " |\n|---|---|" + "---:|" * len(PROGRAMS))
    for mode, options in MODES.items():
        cells = [statistics.median(run(program, "inductor", given.runs, "aot", options)["ratios"]) for program in PROGRAMS]
        print(f"| aot | {mode} | " + " | ".join(f"{ratio:.2f}" for ratio in cells) + " |", flush=True)
    fastest: dict[tuple[str, str], list[float]] = {}
    for _ in range(given.runs):
        for program in PROGRAMS:
            fastest.setdefault((program, ""), []).append(run(program, "inductor", 3)["fastest"])
            for mode, options in MODES.items():
                fastest.setdefault((program, mode), []).append(run(program, "inductor", 3, "inductor-nodes", options)["fastest"])
    for mode in MODES:
        cells = [statistics.median(fastest[program, mode]) / statistics.median(fastest[program, ""]) for program in PROGRAMS]
        print(f"| inductor-nodes | {mode} | " + " | ".join(f"{ratio:.2f}" for ratio in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
