"""``torch_npu.profiler``: torch's own profiler, which sees the CPU."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import torch
from torch.profiler import ProfilerAction, schedule, tensorboard_trace_handler

__all__ = ["AiCMetrics", "ProfilerAction", "ProfilerActivity", "ProfilerLevel", "profile", "schedule", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """What is measured; of the device there is nothing to measure."""

    CPU = "CPU"
    NPU = "NPU"


class ProfilerLevel(enum.Enum):
    """How much of the device is measured; without effect."""

    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(enum.Enum):
    """What is measured of the device's cores; without effect."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    AiCoreNone = "AiCoreNone"


class _ExperimentalConfig:
    """How the device is measured; without effect."""

    def __init__(self, **_: object) -> None:
        pass


class profile(torch.profiler.profile):  # type: ignore[misc]  # noqa: N801 (torch's name)
    """A profiler of torch with the same options, for the CPU."""

    def __init__(self, *, activities: Iterable[Any] | None = None, experimental_config: Any = None, **options: Any) -> None:
        super().__init__(activities=[torch.profiler.ProfilerActivity.CPU], **options)
        self._is_stopped = False

    def stop(self) -> None:
        """End the measurement."""
        super().stop()
        self._is_stopped = True

    def step(self) -> None:
        """Begin the next step, unless the measurement has ended: torch would crash then."""
        if not self._is_stopped:
            super().step()
