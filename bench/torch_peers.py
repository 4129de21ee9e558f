"""What people use today to look into a PyTorch program, for bench/torch_child.py.

The dispatch mode and the hooks compute min, max, mean and norm of what they see, msprobe its statistics, DebugMode a norm; torch's observer
and profiler look at no values.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch_programs import MODELS

Peer = Callable[[], Any]  # makes a context manager that is on while a burst of steps runs

kept: list[Any] = []


def measure(value: Any) -> None:
    """Compute statistics as such tools do, with torch's own operators."""
    for tensor in pytree.tree_leaves(value):
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.numel() > 0:
            plain = tensor.detach()
            kept.append((plain.min().item(), plain.max().item(), plain.mean().item(), plain.norm().item()))


class MeasuringMode(TorchDispatchMode):  # type: ignore[misc]
    """Every operator's inputs and outputs."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        measure(args)
        made = function(*args, **(kwargs or {}))
        measure(made)
        return made


@contextmanager
def module_hooks() -> Iterator[None]:
    """Run with hooks on every module's inputs and outputs, forward and backward."""

    def hook(_module: Any, inputs: Any, outputs: Any) -> None:
        measure(inputs)
        measure(outputs)

    handles = [
        torch.nn.modules.module.register_module_forward_hook(hook),
        torch.nn.modules.module.register_module_full_backward_hook(hook),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        kept.clear()


@contextmanager
def dispatch_mode() -> Iterator[None]:
    """Run with the mode, and keep nothing of it afterwards."""
    with MeasuringMode():
        yield
    kept.clear()


@contextmanager
def debug_mode(norms: bool) -> Iterator[None]:
    """Run with torch's own record of calls; with a norm of every input and output, too."""
    from torch.utils._debug_mode import DebugMode

    with DebugMode(), DebugMode.log_tensor_hashes(hash_inputs=True) if norms else nullcontext():
        yield


def execution_trace() -> Peer:
    """Make the observer that writes operators, shapes and their order into a file; it is one for a process."""
    from torch.profiler import ExecutionTraceObserver

    observer = ExecutionTraceObserver()
    observer.register_callback(str(Path(tempfile.mkdtemp()) / "trace.json"))

    @contextmanager
    def on() -> Iterator[None]:
        observer.start()
        try:
            yield
        finally:
            observer.stop()

    return on


@contextmanager
def profiler() -> Iterator[None]:
    """Run with the profiler and the shapes of inputs."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True):
        yield


def msprobe(level: str) -> Peer:
    """Make msprobe's debugger for statistics of a level: "L0" (modules), "L1" (functions) or "mix"."""
    from msprobe.pytorch import PrecisionDebugger  # type: ignore[import-not-found]

    folder = Path(tempfile.mkdtemp())
    config: dict[str, Any] = {"task": "statistics", "dump_path": str(folder / "dump"), "rank": [], "step": [], "level": level}
    config["statistics"] = {"scope": [], "list": []}
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    debugger = PrecisionDebugger(config_path=str(path))

    @contextmanager
    def on() -> Iterator[None]:
        debugger.start(model=MODELS[0])
        try:
            yield
        finally:
            debugger.stop()
            debugger.step()

    return on


PEERS: dict[str, Callable[[], Peer]] = {
    "TorchDispatchMode": lambda: dispatch_mode,
    "DebugMode, calls": lambda: lambda: debug_mode(False),
    "DebugMode, norms": lambda: lambda: debug_mode(True),
    "ExecutionTraceObserver": execution_trace,
    "torch.profiler": lambda: profiler,
    "module hooks": lambda: module_hooks,
    "msprobe L0": lambda: msprobe("L0"),
    "msprobe L1": lambda: msprobe("L1"),
    "msprobe mix": lambda: msprobe("mix"),
}
