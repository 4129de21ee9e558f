"""Launches of Triton's kernels as ops: what their tensors hold before and after."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import torch

from ._functions import Functions
from .dynamo_frames import undisturbed

_OUTPUT, _INPUT = 0, 1  # kinds of slots
_FIRST, _SECOND, _FAILED = 1, 2, 6  # a dump reports the inputs, then the outputs; or the inputs of a launch that raised
_CHANGED, _IF_WRITTEN = 1, 4  # flags of a slot

_Row = tuple[int, int, int, int, int]


@dataclasses.dataclass
class _Begun:
    """A launch that has begun."""

    node: int
    phase: int
    tensors: list[torch.Tensor]
    places: list[tuple[int, int]]  # slot and element of each


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
        self._sites: dict[tuple[int, int, int, tuple[tuple[int, int], ...], bool], int] = {}
        self._thread = threading.local()

    @undisturbed
    def begin(self, kernel: Any, *arguments: Any, **named: Any) -> tuple[_Begun | None, None] | None:
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
    def end(self, begun: _Begun | None, error: BaseException | None) -> None:
        """Tell what its tensors hold now.

        Parameters
        ----------
        begun : _Begun or None
            What `begin` gave; None when only the content of memory is unknown now.
        error : BaseException or None
            What the launch raised.
        """
        self._functions.wrote_unseen()
        if begun is None:
            return
        try:
            self._dump(begun, _SECOND if error is None else _FAILED)
        finally:
            self._functions.launch_ends()

    def begin_measuring(self, *_arguments: Any, **_named: Any) -> tuple[None, None]:
        """Note that Triton measures configurations of a kernel on this thread: its launches are not the program's."""
        self._thread.measuring = getattr(self._thread, "measuring", 0) + 1
        return None, None

    def end_measuring(self, _token: None, _error: BaseException | None) -> None:
        """Note that it has measured one."""
        self._thread.measuring -= 1

    def _begin(self, kernel: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> _Begun | None:
        names = list(kernel.arg_names)
        given = dict(zip(names, arguments, strict=False)) | {name: named[name] for name in names if name in named}
        tensors: list[torch.Tensor] = []
        places: list[tuple[int, int]] = []
        for slot, name in enumerate(names):
            value = given.get(name)
            for element, tensor in enumerate(_tensors_in(value)):
                tensors.append(tensor)
                places.append((slot, element if isinstance(value, (list, tuple)) else -1))
                names[slot] = self._name_of(tensor) or names[slot]
        node = self._node(kernel) if tensors else 0
        phase = self._functions.launch_begins(node, torch.is_grad_enabled(), names) if node else -1
        if phase < 0:
            return None
        begun = _Begun(node, phase, tensors, places)
        self._dump(begun, _FIRST)
        return begun

    def _name_of(self, tensor: torch.Tensor) -> str:
        return self._functions.parameter_name(tensor.untyped_storage().data_ptr())

    def _node(self, kernel: Any) -> int:
        name = f"triton::{kernel.fn.__name__}"
        if name not in self._nodes:
            self._nodes[name] = self._functions.add_kernel((name, ""))
        return self._nodes[name]

    def _dump(self, begun: _Begun, moment: int) -> None:
        site = self._site(begun, moment)
        with torch._C._AutoDispatchBelowAutograd():
            torch.ops.tensortap.dump.default(begun.tensors, site)

    def _site(self, begun: _Begun, moment: int) -> int:
        reads_after = moment == _SECOND and self._functions.tells_reads_after()
        key = (begun.node, begun.phase, moment, tuple(begun.places), reads_after)
        if key not in self._sites:
            inputs: list[_Row] = [(i, _INPUT, *place, _IF_WRITTEN) for i, place in enumerate(begun.places)]
            outputs: list[_Row] = [(i, _OUTPUT, *place, _CHANGED) for i, place in enumerate(begun.places)]
            rows = (inputs if reads_after else []) + outputs if moment == _SECOND else inputs
            self._sites[key] = self._functions.add_site((begun.node, begun.phase, moment), rows)
        return self._sites[key]


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)
    elif isinstance(base := getattr(value, "base", None), torch.Tensor):  # a descriptor, or a view of other elements
        yield base
