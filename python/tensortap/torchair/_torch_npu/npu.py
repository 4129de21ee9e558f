"""``torch.npu`` and ``torch_npu.npu``: one device, which is the CPU. Functions that steer a device have no effect."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

from tensortap.torchair import _environment

from . import _device_names
from ._missing import MISSING

default_generators = (torch.default_generator,)
amp = SimpleNamespace(autocast=lambda **options: torch.autocast("cpu", **options), GradScaler=torch.amp.GradScaler)
config = SimpleNamespace(allow_internal_format=True)


def __getattr__(name: str) -> Any:
    if name == "npugraph_ex":
        from . import npugraph_ex

        return npugraph_ex
    raise AttributeError(MISSING.format(f"torch.npu.{name}"))


def is_available() -> bool:
    """Give False: the device does not exist."""
    return False


def is_initialized() -> bool:
    """Say that nothing is left to initialise."""
    return True


def device_count() -> int:
    """Give the number of devices that a program may choose from."""
    return 1


def current_device() -> int:
    """Give the number that `set_device` got last, 0 at first."""
    return _environment.current_device


def set_device(device: Any) -> None:
    """Choose a device: its number is that of the folder which dumps of compiled graphs go to."""
    _environment.current_device = _device_names.index_of(device)


class device(contextlib.AbstractContextManager[None]):  # noqa: N801 (torch's name)
    """Choose a device for a ``with`` block."""

    def __init__(self, device: Any) -> None:
        self._index = _device_names.index_of(device)

    def __enter__(self) -> None:
        self._before = current_device()
        set_device(self._index)

    def __exit__(self, *_: object) -> None:
        set_device(self._before)


def get_device_name(device: Any = None) -> str:
    """Name the device."""
    return "CPU"


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """Give the name, and 0 bytes of separate memory."""
    return SimpleNamespace(name=get_device_name(), total_memory=0)


def manual_seed(seed: int) -> None:
    """Begin the random numbers anew; the CPU has one generator for all."""
    torch.default_generator.manual_seed(int(seed))


def initial_seed() -> int:
    """Give the seed of the random numbers."""
    return int(torch.default_generator.initial_seed())


def seed() -> None:
    """Begin the random numbers anew, at a random place."""
    torch.default_generator.seed()


def get_rng_state(device: Any = "npu") -> torch.Tensor:
    """Give the state of the random numbers."""
    return torch.default_generator.get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "npu") -> None:
    """Set the state of the random numbers."""
    torch.default_generator.set_state(new_state)


manual_seed_all, seed_all = manual_seed, seed


def _nothing(*_: object, **__: object) -> None:
    """Accept everything: nothing runs beside the program, and there is nothing to steer."""


def _no_bytes(*_: object, **__: object) -> int:
    """Give 0: there is no memory beside the CPU's."""
    return 0


init = synchronize = empty_cache = reset_peak_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = _nothing
set_compile_mode = set_option = set_per_process_memory_fraction = set_stream = set_sync_debug_mode = set_deterministic_level = _nothing
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = _no_bytes


_pools = itertools.count(1)


def graph_pool_handle() -> tuple[int, int]:
    """Give the name of a new pool of memory for graphs, which nothing is taken from."""
    return (0, next(_pools))


def is_bf16_supported() -> bool:
    """Say that the CPU has bfloat16."""
    return True


class Event:
    """A moment in a stream: here the moment when it is recorded."""

    def __init__(self, *_: object, **__: object) -> None:
        self._time = 0.0

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self._time = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Give the milliseconds from this event to another one."""
        return (end_event._time - self._time) * 1000

    def query(self) -> bool:
        """Say that everything before it is done."""
        return True

    wait = synchronize = _nothing


class Stream:
    """A sequence of operators: here they all run one after the other."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one if none is given."""
        event = event or Event()
        event.record()
        return event

    def query(self) -> bool:
        """Say that everything is done."""
        return True

    wait_event = wait_stream = synchronize = _nothing


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """Give the only stream."""
    return _stream


default_stream = current_stream


@contextlib.contextmanager
def stream(stream: Any) -> Iterator[None]:
    """Run the operators of a ``with`` block in a stream; without effect."""
    yield


def init_dump() -> None:
    """Prepare `set_dump`; there is nothing to do."""


def set_dump(path: str) -> None:
    """Dump the operators of the program, outside of compiled graphs, as a config of AscendCL says.

    Parameters
    ----------
    path : str
        The file, whose ``dump_op_switch`` is "on".

    Raises
    ------
    RuntimeError
        When the file cannot be read or is wrong, or asks for nothing outside of graphs.
    """
    from tensortap.torchair import _acl_config, _backend, _library

    text = _acl_config.checked(path, os.getcwd())
    if not _acl_config.dumps_single_ops(text):
        raise RuntimeError(f'{path}: "dump_op_switch" is not "on"; use dump_config.dump_config_path for compiled graphs')
    _backend.dump_single_ops(text, path, _library.prepare())


def finalize_dump() -> None:
    """End the dump that `set_dump` began."""
    from tensortap.torchair import _backend

    _backend.end_single_ops()
