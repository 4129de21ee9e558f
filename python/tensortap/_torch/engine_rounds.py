"""The rounds of a serving engine: what one call of its model computes, and which rows of the batch belong to which request. Knows vLLM."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from ._functions import Functions
from .loaded_modules import follow_method, when_loaded

_PACKAGE = "vllm"
_RUNNER = "GPUModelRunner"  # the runners of other devices are below it
_LOGITS = "LogitsProcessor"
_FIRST_KIND, _SECOND_KIND = "vllm.v1.worker.gpu_model_runner", "vllm.v1.worker.gpu.model_runner"


class _Share(NamedTuple):
    """What a request has of a batch."""

    request: str
    first_row: int
    rows: int
    position: int  # of its first row: how many of its tokens were computed before
    prompt: int  # tokens of its prompt
    drafts: int

    @property
    def reads_prompt(self) -> bool:
        """Whether tokens are computed whose successors are known: of the prompt, or again after the engine had dropped the request."""
        return self.position < self.prompt or self.rows > 1 + self.drafts


class _Round:
    """A call of the engine's runner; the batch exists when the model is called."""

    def __init__(self, shares: Callable[[], Iterator[_Share]] | None) -> None:
        self._make = shares
        self._made: list[_Share] | None = None
        self.batch: Any = None
        self.is_dummy = shares is None
        self.may_list = True  # its requests are not listed yet

    def shares(self) -> list[_Share]:
        """Give the parts of the batch; none when this release of the engine keeps them elsewhere."""
        if self._made is None:
            try:
                self._made = [] if self._make is None else list(self._make())
            except Exception:
                self._made = []
        return self._made


class EngineRounds:
    """The rounds of the engine that runs in this process.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._running: list[_Round] = []
        self._sampled: list[_Share] = []
        self._rows = 0
        self._waiting = {_FIRST_KIND: self._follow_first, _SECOND_KIND: self._follow_second}

    def follow(self) -> None:
        """Follow the runners of the engine as soon as the program has loaded them."""

        def expect(_package: object) -> None:
            for name in list(self._waiting):
                when_loaded(name, lambda module, name=name: self._loaded(name, module))  # type: ignore[misc]

        when_loaded(_PACKAGE, expect)

    def look(self) -> None:
        """Follow the runners that were being loaded when they were expected."""
        if self._waiting and _PACKAGE in sys.modules:
            for name in list(self._waiting):
                self._loaded(name, sys.modules.get(name))

    @property
    def is_running(self) -> bool:
        """Whether a round runs."""
        return bool(self._running)

    def warms_up(self) -> bool:
        """Tell whether the round that runs has no requests."""
        return bool(self._running) and self._running[-1].is_dummy

    def reads_prompt(self) -> bool | None:
        """Tell whether the round that runs computes tokens of a prompt; None when no round runs, or nothing is known of it."""
        shares = self._running[-1].shares() if self._running else []
        return any(share.reads_prompt for share in shares) if shares else None

    def lists_requests(self, module: torch.nn.Module, arguments: tuple[Any, ...], names: tuple[str, ...]) -> bool:
        """Tell whether the requests of the round are known with a call, and not listed yet.

        Parameters
        ----------
        module : torch.nn.Module
            Is called while no module runs: the model with the whole batch; behind a model that is a graph of a device, its logits.
        arguments, names : tuple
            The arguments of the call, and the names of the last of them.
        """
        if not self._running or not self._running[-1].may_list:
            return False
        one = self._running[-1]
        if "positions" in names:
            one.may_list = False
            return self._has_whole_batch(one.shares(), arguments, names)
        if type(module).__name__ != _LOGITS or not one.shares():
            return False
        one.may_list = False
        self._rows = _end_of(one.shares())
        return True

    def _has_whole_batch(self, shares: list[_Share], arguments: tuple[Any, ...], names: tuple[str, ...]) -> bool:
        self._rows = 0
        named = dict(zip(names, arguments[len(arguments) - len(names) :], strict=True))
        tokens = next((named[name] for name in ("input_ids", "inputs_embeds") if isinstance(named.get(name), torch.Tensor)), None)
        places = named["positions"]
        if tokens is not None and tokens.dim() > 0:
            self._rows = int(tokens.shape[0])
        elif isinstance(places, torch.Tensor) and places.dim() > 0:
            self._rows = int(places.shape[-1])
        # A batch that is computed in pieces has other rows.
        return bool(shares) and self._rows >= _end_of(shares)

    def requests(self) -> str:
        """Give the requests of the model's call that begins, as JSON."""
        shares = self._running[-1].shares() if self._running else []
        return json.dumps({"rows": self._rows, "requests": [_told(share) for share in shares]})

    def _loaded(self, name: str, module: object) -> None:
        kind = getattr(module, _RUNNER, None)
        if kind is not None and name in self._waiting:
            self._waiting.pop(name)(kind)

    def _follow_first(self, kind: type) -> None:
        def begins(runner: Any, *arguments: Any, **named: Any) -> tuple[None, None]:
            scheduled = arguments[0] if arguments else named.get("scheduler_output")
            self._begin(_Round(lambda: _first_shares(runner.input_batch, scheduled)))
            self._begin_step(scheduled)
            return None, None

        def begins_dummy(_runner: Any, *_arguments: Any, **_named: Any) -> tuple[None, None]:
            self._begin(_Round(None))
            return None, None

        follow_method(self._functions, kind, "execute_model", begins, self._ends)
        follow_method(self._functions, kind, "_dummy_run", begins_dummy, self._ends)
        self._follow_sampling(kind)

    def _follow_second(self, kind: type) -> None:
        def begins(_runner: Any, *arguments: Any, **named: Any) -> tuple[None, None]:
            is_dummy = arguments[2] if len(arguments) > 2 else named.get("dummy_run", False)
            one = _Round(None)
            if not is_dummy:
                one = _Round(lambda: _second_shares(one.batch))
                self._begin_step(arguments[0] if arguments else named.get("scheduler_output"))
            self._begin(one)
            return None, None

        def made_batch(_runner: Any, *arguments: Any, **named: Any) -> None:
            if self._running:
                self._running[-1].batch = arguments[0] if arguments else named.get("input_batch")

        follow_method(self._functions, kind, "execute_model", begins, self._ends)
        follow_method(self._functions, kind, "prepare_attn", made_batch, self._ends)
        self._follow_sampling(kind)

    def _follow_sampling(self, kind: type) -> None:
        """Follow the second half of a round: models that guess tokens run in it."""

        def begins(_runner: Any, *_arguments: Any, **_named: Any) -> tuple[None, None]:
            shares = self._sampled
            one = _Round(lambda: iter(shares))
            one.may_list = False
            self._begin(one)
            return None, None

        follow_method(self._functions, kind, "sample_tokens", begins, self._ends)

    def _begin(self, one: _Round) -> None:
        self._running.append(one)

    def _begin_step(self, scheduled: Any) -> None:
        """Begin a step with a round that has something to compute: a model that is a graph of a device is not seen to be called."""
        if getattr(scheduled, "num_scheduled_tokens", None):
            self._functions.step()

    def _ends(self, _token: None, _error: BaseException | None) -> None:
        if self._running:
            self._sampled = self._running.pop().shares()


def _end_of(shares: list[_Share]) -> int:
    return max(share.first_row + share.rows for share in shares)


def _first_shares(batch: Any, scheduled: Any) -> Iterator[_Share]:
    row = 0
    drafts = scheduled.scheduled_spec_decode_tokens
    for index, request in enumerate(batch.req_ids):
        rows = int(scheduled.num_scheduled_tokens[request])
        position, prompt = int(batch.num_computed_tokens_cpu[index]), int(batch.num_prompt_tokens[index])
        yield _Share(request, row, rows, position, prompt, len(drafts.get(request, ())))
        row += rows


def _second_shares(batch: Any) -> Iterator[_Share]:
    starts = batch.query_start_loc_np
    drafts = batch.num_draft_tokens_per_req
    for index, request in enumerate(batch.req_ids):
        first, end = int(starts[index]), int(starts[index + 1])
        position, prompt = int(batch.num_computed_tokens_np[index]), int(batch.prefill_len_np[index])
        yield _Share(request, first, end - first, position, prompt, 0 if drafts is None else int(drafts[index]))


def _told(share: _Share) -> dict[str, object]:
    told = {"id": str(share.request), "first_row": share.first_row, "rows": share.rows, "position": share.position}
    told |= {"prompt": share.prompt}
    return told | {"drafts": share.drafts} if share.drafts else told
