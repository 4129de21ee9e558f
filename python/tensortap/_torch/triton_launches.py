"""Launches of Triton's kernels as ops: what their tensors hold before and after."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import torch

from ._functions import Functions
from .dynamo_frames import undisturbed
from .launch_sites import CHANGED, FAILED, FIRST, IF_WRITTEN, INPUT, OUTPUT, SECOND, Begun, LaunchSites


class Launches:
    """Follows ``JITFunction.run`` and ``Autotuner._bench`` of Triton 3.

    Triton does not list the tensors that a kernel writes. So each tensor that it is given is an input, with what it held before, and an
    output, with what it held after. Memory that nothing was written to is no input: most kernels are given it for what they make.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._nodes: dict[str, int] = {}
        self._sites = LaunchSites(functions)
        self._thread = threading.local()

    @undisturbed
    def begin(self, kernel: Any, *arguments: Any, **named: Any) -> tuple[Begun | None, None] | None:
        """Tell what a kernel is given.

        Parameters
        ----------
        kernel : triton.runtime.jit.JITFunction
            That is launched.
        arguments, named : object
            What it is called with.

        Returns
        -------
        tuple or None
            What the launch was, for `end`; None where nothing runs.
        """
        if named.get("warmup"):
            return None
        begun = None
        try:
            if getattr(self._thread, "measuring", 0) == 0:
                begun = self._begin(kernel, arguments, named)
        except Exception:
            self._functions.launch_ends()
        return begun, None

    @undisturbed
    def end(self, begun: Begun | None, error: BaseException | None) -> None:
        """Tell what its tensors hold now.

        Parameters
        ----------
        begun : Begun or None
            What `begin` gave; None when only the content of memory is unknown now.
        error : BaseException or None
            What the launch raised.
        """
        self._functions.wrote_unseen()
        if begun is None:
            return
        try:
            self._sites.dump(begun, SECOND if error is None else FAILED)
        finally:
            self._functions.launch_ends()

    def begin_measuring(self, *_arguments: Any, **_named: Any) -> tuple[None, None]:
        """Note that Triton measures configurations of a kernel on this thread: its launches are not the program's."""
        self._thread.measuring = getattr(self._thread, "measuring", 0) + 1
        return None, None

    def end_measuring(self, _token: None, _error: BaseException | None) -> None:
        """Note that it has measured one."""
        self._thread.measuring -= 1

    def _begin(self, kernel: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Begun | None:
        names = list(kernel.arg_names)
        given = dict(zip(names, arguments, strict=False)) | {name: named[name] for name in names if name in named}
        tensors: list[torch.Tensor] = []
        places: list[tuple[int, int]] = []
        for slot, name in enumerate(names):
            value = given.get(name)
            for element, tensor in enumerate(_tensors_in(value)):
                tensors.append(tensor)
                places.append((slot, element if isinstance(value, (list, tuple)) else -1))
                names[slot] = self._sites.name_of(tensor) or names[slot]
        node = self._node(kernel) if tensors else 0
        phase = self._functions.launch_begins(node, torch.is_grad_enabled(), names) if node else -1
        if phase < 0:
            return None
        inputs = tuple((i, INPUT, *place, IF_WRITTEN) for i, place in enumerate(places))
        outputs = tuple((i, OUTPUT, *place, CHANGED) for i, place in enumerate(places))
        begun = Begun(node, phase, tensors, inputs, outputs)
        self._sites.dump(begun, FIRST)
        return begun

    def _node(self, kernel: Any) -> int:
        name = f"triton::{kernel.fn.__name__}"
        if name not in self._nodes:
            self._nodes[name] = self._functions.add_kernel((name, ""))
        return self._nodes[name]


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)
    elif isinstance(base := getattr(value, "base", None), torch.Tensor):  # a descriptor, or a view of other elements
        yield base
