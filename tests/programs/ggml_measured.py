"""A program over llama.cpp (xllamacpp) that is measured: `ggml_measured.py MODEL THREADS`.

Reads prompts of 256 tokens and generates tokens one by one, and prints the time of each as JSON: of the process, and of the clock.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import xllamacpp
from ggml_server import parameters_of

PROMPTS, LENGTH, GENERATED = 3, 256, 48


def ask(server: Any, first: int, length: int, count: int) -> None:
    """Let it read a prompt that it did not read before, and generate tokens."""
    prompt = [1, *((first + 7 * place) % 250 + 3 for place in range(length))]
    request = {"prompt": prompt, "max_tokens": count, "temperature": 0.0, "ignore_eos": True, "cache_prompt": False}
    answer = server.handle_completions(request)
    answer = json.loads(answer) if isinstance(answer, str) else answer
    if "choices" not in answer:
        raise SystemExit(str(answer))


def main() -> None:
    """Measure both."""
    parameters = parameters_of(sys.argv[1])
    parameters.n_ctx = 512
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(sys.argv[2])
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    ask(server, 5, LENGTH, 2)
    report = {}
    for name, times, length, count in (("prompts", PROMPTS, LENGTH, 1), ("tokens", 1, 4, GENERATED)):
        process, clock = time.process_time(), time.perf_counter()
        for number in range(times):
            ask(server, 11 * number, length, count)
        report[name] = {"process": time.process_time() - process, "clock": time.perf_counter() - clock}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
