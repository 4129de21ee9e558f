"""Reports inputs and outputs of modules to the library, where calls of modules are captured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from ._functions import Functions
from .dump_sites import DumpSites, Row
from .dynamo_frames import undisturbed
from .naming import class_name_of
from .nested_tensors import tensors_in
from .rounds import Rounds

_INFERENCE, _FORWARD = 0, 1  # phases
_OUTPUT, _INPUT = 0, 1  # kinds of slots
_FIRST, _SECOND = 1, 2  # a dump node reports the inputs, then the outputs
_MODULE = 2  # the level
_DEEPEST = 8


class ModuleEvents:
    """Calls of modules as dumps of nodes.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._rounds = Rounds()
        self._nodes: dict[tuple[int, str, int], int] = {}
        self._sites = DumpSites(functions)

    @undisturbed
    def begin(self, module: Any, is_root: bool, arguments: tuple[Any, ...]) -> _Begun | None:
        """Tell that a module is called. Whatever goes wrong in the telling is not the program's.

        Parameters
        ----------
        module : torch.nn.Module
            That is called.
        is_root : bool
            Whether no other module runs.
        arguments : tuple
            What it is called with, what has a name last.

        Returns
        -------
        _Begun or None
            What `end` gets when the call ends; None when nothing is told then.
        """
        begun = _Begun()
        try:
            if self._functions.tells_calls_apart():
                self._begin_operation(begun, module, is_root, arguments)
            else:
                level = self._functions.level_of_call(is_root)
                begun.node = self._node(self._functions.module_id(module), class_name_of(module), level) if level >= 0 else 0
            if begun.node:
                begun.phase = _FORWARD if torch.is_grad_enabled() else _INFERENCE
                self._dump(begun, _FIRST, {_INPUT: arguments})
                begun.arguments = arguments if self._functions.tells_reads_after() else ()
        except Exception:
            begun.node = 0
        return begun if begun.node or begun.running_before is not None else None

    def _begin_operation(self, begun: _Begun, module: Any, is_root: bool, arguments: tuple[Any, ...]) -> None:
        rounds = self._rounds
        if is_root:
            self._functions.round_begins(self._functions.module_id(module), rounds.begin(module, arguments))
        if not rounds.is_container(module):
            kind = rounds.layer_type(module) or class_name_of(module)
            begun.node = self._node(self._functions.module_id(module), kind, _MODULE)
        begun.running_before = self._functions.operation_begins(begun.node, False)

    @undisturbed
    def end(self, begun: _Begun, returned: bool, result: Any) -> None:
        """Tell that a call ended.

        Parameters
        ----------
        begun : _Begun
            What `begin` gave.
        returned : bool
            Whether it did not raise.
        result : object
            What the module gives.
        """
        try:
            if returned and begun.node:
                self._dump(begun, _SECOND, {_INPUT: begun.arguments, _OUTPUT: _results(result)})
        except Exception:
            return
        finally:
            if begun.running_before is not None:
                self._functions.operation_ends(begun.running_before)

    def _dump(self, begun: _Begun, moment: int, by_kind: Mapping[int, Iterable[Any]]) -> None:
        tensors: list[torch.Tensor] = []
        rows: list[Row] = []
        for kind, values in by_kind.items():
            for slot, value in enumerate(values):
                for element, tensor in enumerate(tensors_in(value, _DEEPEST)):
                    rows.append((len(tensors), kind, slot, -1 if tensor is value else element, 0))
                    tensors.append(tensor)
        if tensors:
            # A call that read nothing has told nothing before.
            told = moment if moment == _FIRST or begun.told_first else 0
            begun.told_first = True
            self._sites.dump((begun.node, begun.phase, told), tensors, tuple(rows))

    def operation_at(self, path: str, type_name: str, path_of: Callable[[int], str]) -> int:
        """Give the number of the node of a module whose call is not seen, 0 when it is no operation.

        Parameters
        ----------
        path : str
            Path of the module.
        type_name : str
            Name of its class.
        path_of : callable
            Gives the path of the module at an address, "" when it has none.
        """
        is_container, layer_type = self._rounds.role_of(path, path_of)
        return 0 if is_container else self._node(self._functions.path_number(path), layer_type or type_name, _MODULE)

    def _node(self, module: int, type_name: str, level: int) -> int:
        key = (module, type_name, level)
        if key not in self._nodes:
            self._nodes[key] = self._functions.add_module(*key)
        return self._nodes[key]


def _results(result: Any) -> Iterable[Any]:
    if isinstance(result, Mapping):
        return tuple(result.values())
    return result if isinstance(result, (tuple, list)) else (result,)


@dataclasses.dataclass
class _Begun:
    """A call that has begun."""

    node: int = 0  # 0 = the call is not reported
    phase: int = _INFERENCE
    told_first: bool = False
    arguments: tuple[Any, ...] = ()  # reported again when the call ends
    running_before: int | None = None
