"""What a model does in a call, for the column ``model_phase``: it reads a prompt, makes a token, trains, or is only warmed up."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from . import rounds
from .engine_rounds import EngineRounds
from .naming import unwrapped

UNKNOWN, PREFILL, DECODE, WARM_UP = 0, rounds.PREFILL, rounds.DECODE, 4
MAY_TRAIN = 6
"""Training mode with gradients recorded: the model trains if the program has an optimizer."""
STAYS = 7
"""The call says nothing: the phase of the call before goes on."""
_CACHES = ("past_key_values", "cache_params")
_NEW_TOKENS = ("decoder_input_ids", "decoder_inputs_embeds", "input_ids", "inputs_embeds")


class CallPhases:
    """Tells the phase of a model's call by its engine, or by what it is given.

    Parameters
    ----------
    engine : EngineRounds
        The rounds of engines that the program may load.
    """

    def __init__(self, engine: EngineRounds) -> None:
        self._engine = engine
        self._generates: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()

    def look(self, module: torch.nn.Module, arguments: tuple[Any, ...], names: tuple[str, ...]) -> tuple[int, bool]:
        """Give the phase of a call, and whether an engine calls its model for a batch of requests.

        Parameters
        ----------
        module : torch.nn.Module
            Is called while no module runs.
        arguments, names : tuple
            What it is called with, and the names of the last of them.

        Returns
        -------
        tuple of int and bool
            One of the numbers above, or what the program said; `engine_rounds.EngineRounds.requests` then gives the requests.
        """
        try:
            self._engine.look()
            return self._phase(module, arguments, names), self._engine.is_running and self._engine.lists_requests(module, arguments, names)
        except Exception:  # the program's objects may be anything
            return UNKNOWN, False

    def _phase(self, module: torch.nn.Module, arguments: tuple[Any, ...], names: tuple[str, ...]) -> int:
        said = rounds.said_phase()
        if said:
            return said
        if self._engine.is_running:
            return self._phase_of_engine()
        if module.training and torch.is_grad_enabled():
            return MAY_TRAIN
        named = dict(zip(names, arguments[len(arguments) - len(names) :], strict=True)) if names else {}
        cache = _cache_in(arguments, named)
        if cache is None and not self._fills_cache(module, named):
            return UNKNOWN
        tokens = _new_tokens(arguments, named)
        if tokens is None:
            return UNKNOWN
        if tokens > 1:
            return PREFILL
        if cache is None:
            return UNKNOWN  # a prompt of one token, or a cache under a name that is not known
        filled = _is_filled(cache)
        return UNKNOWN if filled is None else DECODE if filled else PREFILL

    def _phase_of_engine(self) -> int:
        reads_prompt = self._engine.reads_prompt()
        if self._engine.warms_up():
            return WARM_UP
        if reads_prompt is None:
            return STAYS
        return PREFILL if reads_prompt else DECODE

    def _fills_cache(self, module: torch.nn.Module, named: dict[str, Any]) -> bool:
        """Tell whether a call without a cache makes one, of a model of transformers that generates."""
        kind = type(module)
        known = self._generates.get(kind)
        if known is None:
            known = self._generates[kind] = _generates(kind) or unwrapped(module) is not module
        if not known or named.get("labels") is not None:
            return False
        inner = unwrapped(module)
        if inner is not module:
            return self._fills_cache(inner, named)
        asked = named.get("use_cache")
        return bool(getattr(vars(module).get("config"), "use_cache", False) if asked is None else asked)


def _generates(kind: type) -> bool:
    bases = {base.__name__: base for base in kind.__mro__}
    mixin, plain = bases.get("GenerationMixin"), bases.get("PreTrainedModel")
    if mixin is None or plain is None:
        return False
    # Up to release 4.49 every model has the mixin; those that generate have a separate preparation.
    prepare = "prepare_inputs_for_generation"
    return not issubclass(plain, mixin) or getattr(kind, prepare, None) is not getattr(mixin, prepare, None)


def _cache_in(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Give the cache that a call is given, None without one. Releases call the argument otherwise; the classes end with Cache."""
    by_class = next((one for one in arguments if type(one).__name__.endswith("Cache")), None)
    if by_class is not None:
        return by_class
    return next((named[name] for name in _CACHES if named.get(name) is not None), None)


def _new_tokens(arguments: tuple[Any, ...], named: dict[str, Any]) -> int | None:
    """Give how many tokens of each sequence the call computes, None when that is not known."""
    given = next((named[name] for name in _NEW_TOKENS if named.get(name) is not None), None)
    if given is None and len(arguments) > len(named):
        given = arguments[0]
    return int(given.shape[1]) if isinstance(given, torch.Tensor) and given.dim() >= 2 else None


def _is_filled(cache: Any) -> bool | None:
    """Tell whether a cache holds tokens, None for one of another kind; nothing of the program's is called: that may run operators."""
    if cache is None or isinstance(cache, (tuple, list)):  # of releases before the classes
        return bool(cache)
    own = getattr(cache, "__dict__", {})
    if "self_attention_cache" in own:  # of an encoder and a decoder
        return _is_filled(own["self_attention_cache"])
    if "layers" in own:
        found = {_is_filled_layer(getattr(layer, "__dict__", {})) for layer in own["layers"]}
        return True if True in found else None if None in found else False
    keys = own.get("key_cache")
    return None if keys is None else any(_has_elements(key) for key in keys)


def _is_filled_layer(layer: dict[str, Any]) -> bool | None:
    length = layer.get("cumulative_length")  # of memory that is used again for other sequences
    if isinstance(length, int):
        return length > 0
    if "keys" in layer:
        return _has_elements(layer["keys"])
    states = layer.get("has_previous_state")  # of what is no attention
    return any(states.values()) if isinstance(states, dict) else None


def _has_elements(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.numel() > 0
