"""Kernels of devices that are no operators: launches by Triton, which become ops, and replays of graphs.

After either the content of memory is unknown.
"""

from __future__ import annotations

import weakref
from types import ModuleType
from typing import Any

import torch

from ._functions import Functions
from .loaded_modules import follow_method, when_loaded
from .triton_launches import Launches


def follow(functions: Functions) -> None:
    """Notice the launches and replays that come.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    _DeviceGraphs(functions).follow(getattr(torch.cuda, "CUDAGraph", None))
    launches = Launches(functions)

    def triton_loaded(module: ModuleType) -> None:
        follow_method(functions, getattr(module, "JITFunction", None), "run", launches.begin, launches.end)

    def autotuner_loaded(module: ModuleType) -> None:
        follow_method(functions, getattr(module, "Autotuner", None), "_bench", launches.begin_measuring, launches.end_measuring)

    when_loaded("triton.runtime.jit", triton_loaded)
    when_loaded("triton.runtime.autotuner", autotuner_loaded)


class _DeviceGraphs:
    """Counts how many operators recorded each CUDA graph, and its replays, which run no operator.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._operators: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = 0

    def follow(self, kind: Any) -> None:
        """Follow the methods of torch's class from now on."""
        follow_method(self._functions, kind, "capture_begin", self._given, self._recording_begun)
        follow_method(self._functions, kind, "capture_end", self._recording_ends, lambda _graph, _error: None)
        follow_method(self._functions, kind, "replay", self._given, self._replayed)

    def _given(self, graph: Any, *_arguments: Any, **_named: Any) -> tuple[Any, None]:
        return graph, None

    def _recording_begun(self, _graph: Any, error: BaseException | None) -> None:
        if error is None:
            self._functions.recording_begins()

    def _recording_ends(self, graph: Any) -> tuple[Any, None]:
        self._operators[graph] = self._functions.recording_ends()
        return graph, None

    def _replayed(self, graph: Any, error: BaseException | None) -> None:
        self._functions.wrote_unseen()
        if error is not None:
            return
        if graph not in self._numbers:
            self._count += 1
            self._numbers[graph] = self._count
        self._functions.note_replay(self._numbers[graph], self._operators.get(graph, 0))
