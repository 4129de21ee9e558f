"""One process of bench/torch_overhead.py: bursts of a program's steps with the capture on and off, in ABBA order.

usage: torch_child.py PROGRAM THREADS PAIRS LENGTH [PEER]; under `tensortap exec`, or with a tool of bench/torch_peers.py instead of it.
A burst is LENGTH times as long as the program's own. Without pairs a fixed number of steps runs, captured or not. Prints
{"ratios": [...], "peak_kib": n} as the last line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from resident import peak_bytes
from torch_bursts import burst, ratios_of
from torch_programs import PROGRAMS


def switch_of(peer: str) -> Callable[[bool], AbstractContextManager[None]] | None:
    """Find what turns the capture, or the other tool, on and off for a burst; nothing in a process without either."""
    if peer:
        from torch_peers import PEERS

        on = PEERS[peer]()
        return lambda enabled: on() if enabled else nullcontext()
    side = sys.modules.get("_tensortap_torch")
    if side is None:
        return None

    @contextmanager
    def capture(enabled: bool) -> Iterator[None]:
        side.functions.enable(enabled)
        yield

    return capture


def main() -> None:
    """Measure."""
    name, (threads, pairs, length) = sys.argv[1], map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    make, steps = PROGRAMS[name]
    steps *= length
    step = make()
    burst(step, max(2, steps))
    if pairs == 0:
        burst(step, 4 * steps)
    switch = switch_of(sys.argv[5] if len(sys.argv) > 5 else "")

    def settled(_enabled: bool) -> float:
        step()
        return burst(step, steps)

    ratios = ratios_of(pairs, switch, settled) if switch is not None else []
    print(json.dumps({"ratios": ratios, "peak_kib": peak_bytes() // 1024}))


if __name__ == "__main__":
    main()
