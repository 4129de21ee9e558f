"""Tells the library what went into a module and what came out, where calls of modules are captured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ._functions import Functions

_INFERENCE, _FORWARD = 0, 1  # phases
_OUTPUT, _INPUT = 0, 1  # kinds of slots
_DEEPEST = 8


class ModuleEvents:
    """Calls of modules as dumps of nodes.

    Parameters
    ----------
    functions : Functions
        Of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._nodes: dict[tuple[int, str, int], int] = {}
        self._sites: dict[tuple[int, int, tuple[Any, ...]], int] = {}

    def tell(self, module: Any, is_root: bool, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Tell of a call that returned. Whatever goes wrong here is not the program's."""
        try:
            self._tell(module, is_root, (*args, *kwargs.values()), result)
        except Exception:
            return

    def _tell(self, module: Any, is_root: bool, arguments: tuple[Any, ...], result: Any) -> None:
        level = self._functions.level_of_call(is_root)
        if level < 0:
            return
        results = tuple(result.values()) if isinstance(result, Mapping) else result if isinstance(result, (tuple, list)) else (result,)
        tensors: list[torch.Tensor] = []
        rows: list[tuple[int, int, int, int, int]] = []
        for kind, values in ((_INPUT, arguments), (_OUTPUT, results)):
            for slot, value in enumerate(values):
                found = [value] if isinstance(value, torch.Tensor) else list(_tensors(value, 0))
                for element, tensor in enumerate(found):
                    rows.append((len(tensors), kind, slot, -1 if tensor is value else element, 0))
                    tensors.append(tensor)
        if tensors:
            phase = _FORWARD if torch.is_grad_enabled() else _INFERENCE
            site = self._site(self._node(module, level), phase, tuple(rows))
            # Below autograd: the dump is no operation of the program, and changes no version.
            with torch._C._AutoDispatchBelowAutograd():
                torch.ops.tensortap.dump.default(tensors, site)

    def _node(self, module: Any, level: int) -> int:
        key = (self._functions.module_id(module), type(module).__name__, level)
        if key not in self._nodes:
            self._nodes[key] = self._functions.add_module(*key)
        return self._nodes[key]

    def _site(self, node: int, phase: int, rows: tuple[tuple[int, int, int, int, int], ...]) -> int:
        key = (node, phase, rows)
        if key not in self._sites:
            self._sites[key] = self._functions.add_site((node, phase, 0), rows)
        return self._sites[key]


def _tensors(value: Any, depth: int) -> Iterator[torch.Tensor]:
    """Give the tensors inside of a list, tuple or dict, in their order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, Mapping)) and depth < _DEEPEST:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(item, depth + 1)
