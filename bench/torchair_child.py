"""One process of bench/torchair_overhead.py: bursts of a compiled model with a dump and without one, in ABBA order.

usage: torchair_child.py PROGRAM MODE PAIRS FOLDER. A mode is the options of the dump as JSON, or the name of a tool of
bench/torch_peers.py, which looks at the model that is compiled without a dump. Both models are made and compiled alike. Prints
{"ratios": [...], "step_ms": n} as the last line: CPU time with the dump to that without.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tensortap.torchair as torchair
import torch
import torch.nn.functional as functional
from torch import nn
from torch_bursts import burst, ratios_of
from torch_programs import Block, Step

BURST_SECONDS = 0.3


def mlp() -> tuple[nn.Module, torch.Tensor]:
    """Give three small linear layers and 64 rows."""
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)), torch.randn(64, 64)


def block() -> tuple[nn.Module, torch.Tensor]:
    """Give one transformer layer of width 256 and 4 x 128 tokens."""
    return Block(256, 8), torch.randn(4, 128, 256)


PROGRAMS: dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]] = {"mlp": mlp, "block": block}


def step_of(model: nn.Module, x: torch.Tensor, options: dict[str, Any], folder: str) -> Step:
    """Compile a model, forward and backward, with these options of the dump."""
    config = torchair.CompilerConfig()
    config.dump_config.dump_path = folder
    for name, value in options.items():
        setattr(config.dump_config, name, value)
    compiled = torch.compile(model, backend=torchair.get_npu_backend(compiler_config=config), dynamic=False)

    def step() -> None:
        functional.mse_loss(compiled(x), torch.zeros(())).backward()

    return step


def main() -> None:
    """Compile both, run the bursts."""
    name, mode, pairs, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, x = PROGRAMS[name]()
    plain = step_of(model, x, {}, folder)
    watched: Callable[[], AbstractContextManager[object]] = nullcontext
    if mode.startswith("{"):
        dumped = step_of(copy.deepcopy(model), x, json.loads(mode), folder)
    else:
        from torch_peers import PEERS

        dumped, watched = plain, PEERS[mode]()
    for step in (plain, dumped):
        with watched() if step is dumped else nullcontext():
            burst(step, 3)
    step_seconds = burst(plain, 5) / 5
    steps = max(1, round(BURST_SECONDS / step_seconds))
    ratios = ratios_of(
        pairs,
        lambda is_dumped: watched() if is_dumped else nullcontext(),
        lambda is_dumped: burst(dumped if is_dumped else plain, steps),
    )
    print(json.dumps({"ratios": ratios, "step_ms": step_seconds * 1e3}))


if __name__ == "__main__":
    main()
