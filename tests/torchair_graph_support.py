"""What the tests of TorchAir's graphs share: beginnings of programs that compile some."""

from __future__ import annotations

from pathlib import Path

from torch_support import run_program

PREAMBLE = """
import os, sys, types
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

def config(mode="max-autotune", **of_debug):
    groups = {}
    for name, (kind, path) in of_debug.items():
        groups[name] = types.SimpleNamespace(type=types.SimpleNamespace(value=kind), path=path, filter=None)
    return types.SimpleNamespace(debug=types.SimpleNamespace(**groups), mode=types.SimpleNamespace(value=mode), used_from=os.getcwd)

def compiled(function, runner, **options):
    "Compile a function; runner(graph_module, name) gives what runs its graphs."
    count = 0
    def compile(graph, inputs):
        nonlocal count
        count += 1
        if hasattr(graph, "real_recompile"):
            graph.real_recompile()
        return make_boxed_func(runner(graph, f"graph_{count}"))
    return torch.compile(function, backend=aot_autograd(fw_compiler=compile), **options)
"""


def run(folder: Path, program: str, expected: int = 0, **environment: str) -> tuple[str, str]:
    """Run the text of a program behind the preamble; gives what it printed and what it reported."""
    done = run_program(folder, PREAMBLE + program, **environment)
    assert done.returncode == expected, done.stderr
    return done.stdout, done.stderr


DUMPED = """
import glob, json, os
import torch
import tensortap.torchair as torchair
def settings(**of_dump):
    config = torchair.CompilerConfig()
    for name, value in of_dump.items():
        setattr(config.dump_config, name, value)
    return config
def ops(graph, path="."):
    "List the names of the operators in the files of a graph's first step."
    return {os.path.basename(name).split(".")[1] for name in glob.glob(f"{path}/worldsize1_global_rank0/*/0/{graph}/1/0/*")}
"""
