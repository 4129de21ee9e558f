"""A program that knows nothing of tensortap and times its own runs, for bench/budget.py; prints {"cpu": s, "wall": s} as the last line.

usage: budget_child.py onnx MODELS CASE RUNS, or budget_child.py torch PROGRAM RUNS
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

WARM_UP = 20


def onnx_step(models: str, case: str) -> Callable[[], object]:
    """Run a model of cases.py in a session of one thread."""
    from cases import model_and_inputs
    from peer_child import plain_step

    model, inputs = model_and_inputs(Path(models), case)
    return plain_step(model, 1, inputs)


def torch_step(program: str) -> Callable[[], object]:
    """Run a program of torch_programs.py with one thread."""
    import torch
    from torch_programs import PROGRAMS

    torch.set_num_threads(1)
    torch.manual_seed(0)
    make, _ = PROGRAMS[program]
    return make()


def main() -> None:
    """Run and time."""
    kind, *words, runs = sys.argv[1:]
    step = onnx_step(*words) if kind == "onnx" else torch_step(*words)
    for _ in range(WARM_UP):
        step()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(int(runs)):
        step()
    print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}))


if __name__ == "__main__":
    main()
