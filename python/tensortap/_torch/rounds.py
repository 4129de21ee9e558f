"""Calls of models: which phase they are, which of their modules are layers, and which only lead to the layers."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import Module, ModuleList, Sequential

from .nested_tensors import tensors_in

PREFILL, DECODE, TRAIN = 1, 2, 3
LAYER_TYPES = {PREFILL: "Prefill_layer", DECODE: "Decoder_layer", TRAIN: "Train_layer"}
"""The name of a layer in each phase, as in the manual of ``msit llm dump``."""
_DEEPEST = 2  # arguments in a list or a mapping
_said = threading.local()


@contextlib.contextmanager
def said(phase: int) -> Iterator[None]:
    """Say the phase of the models that are called on this thread.

    Parameters
    ----------
    phase : int
        PREFILL, DECODE or TRAIN.
    """
    before = getattr(_said, "phase", 0)
    _said.phase = phase
    try:
        yield
    finally:
        _said.phase = before


def said_phase() -> int:
    """Give the phase that was said on this thread, 0 when none was."""
    phase: int = getattr(_said, "phase", 0)
    return phase


class _Model:
    """What is known of a model: the modules on the way to its stack of layers, itself among them, and the layers."""

    def __init__(self, model: Module) -> None:
        path, stack = _path_to_layers(model)
        self.containers = {id(module) for module in (path or [model])}
        self.layers = {id(layer) for layer in stack}
        self.paths: tuple[set[str], set[str]] | None = None  # of both, once they are asked for
        self.ran = False


class Rounds:
    """The models of a program, and how they are called."""

    def __init__(self) -> None:
        self._models: weakref.WeakKeyDictionary[Module, _Model] = weakref.WeakKeyDictionary()
        self._current = threading.local()

    def begin(self, model: Module, arguments: tuple[Any, ...]) -> int:
        """Begin a call of a model on this thread.

        Parameters
        ----------
        model : torch.nn.Module
            That is called while no module runs.
        arguments : tuple
            All arguments of the call.

        Returns
        -------
        int
            Its phase.
        """
        known = self._models.get(model)
        if known is None:
            known = self._models[model] = _Model(model)
        phase = said_phase() or _phase(model, known.ran, arguments)
        known.ran = True
        self._current.model, self._current.phase = known, phase
        return phase

    def is_container(self, module: Module) -> bool:
        """Tell whether a module only leads to the layers of the model that runs: it is no operation."""
        known = getattr(self._current, "model", None)
        return known is not None and id(module) in known.containers

    def layer_type(self, module: Module) -> str | None:
        """Give the type of a layer of the model that runs, None for other modules."""
        known = getattr(self._current, "model", None)
        return LAYER_TYPES[self._current.phase] if known is not None and id(module) in known.layers else None

    def role_of(self, path: str, path_of: Callable[[int], str]) -> tuple[bool, str | None]:
        """Tell of a module by its path whether it is a container, and its type if it is a layer.

        Parameters
        ----------
        path : str
            Path of a module of the model that runs.
        path_of : callable
            Gives the path of the module at an address, "" when it has none.
        """
        known = getattr(self._current, "model", None)
        if known is None:
            return False, None
        if known.paths is None:
            known.paths = {path_of(one) for one in known.containers}, {path_of(one) for one in known.layers}
        containers, layers = known.paths
        return path in containers, LAYER_TYPES[self._current.phase] if path in layers else None


def _phase(model: Module, ran_before: bool, arguments: tuple[Any, ...]) -> int:
    if model.training and torch.is_grad_enabled():
        return TRAIN
    return DECODE if ran_before and _new_tokens(arguments) == 1 else PREFILL


def _new_tokens(arguments: tuple[Any, ...]) -> int | None:
    """Give T of the first integer tensor [B, T], or else of the first tensor [B, T, D] of real numbers."""
    tensors = list(tensors_in(arguments, _DEEPEST))
    for tensor in tensors:
        if tensor.dim() == 2 and not tensor.is_floating_point() and tensor.dtype != torch.bool:
            return int(tensor.shape[1])
    return next((int(tensor.shape[1]) for tensor in tensors if tensor.dim() == 3 and tensor.is_floating_point()), None)


def _path_to_layers(model: Module) -> tuple[list[Module], list[Module]]:
    """Find the stack of layers: gives the modules on the way to the list that holds most of them, that list included, and the layers.

    A stack is a ModuleList or Sequential of at least two modules of one class that have children. Without one both are empty.
    """
    best: tuple[list[Module], list[Module]] = ([], [])
    ways: list[list[Module]] = [[model]]
    seen: set[int] = set()
    while ways:
        way = ways.pop(0)
        module = way[-1]
        if id(module) in seen:
            continue
        seen.add(id(module))
        children = [child for child in module.children() if child is not None]
        if isinstance(module, (ModuleList, Sequential)) and _are_layers(children):
            if len(children) > len(best[1]):
                best = (way, children)
            continue  # parts of a layer are no stack
        ways.extend([*way, child] for child in children)
    return best


def _are_layers(modules: list[Module]) -> bool:
    one_class = len({type(module) for module in modules}) == 1
    return len(modules) >= 2 and one_class and all(next(module.children(), None) is not None for module in modules)
