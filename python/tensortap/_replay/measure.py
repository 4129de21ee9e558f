"""Runs a rebuilt call and compares its outputs with the recorded ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tensortap._replay.calls import Call
from tensortap._replay.rebuild import Rebuilt, SkippedError, Tensors, laid_out, rebuild

_MOST_FACTOR = 64
# Outputs that a library uses as it likes, and fills in part.
SCRATCH = {("mkldnn_rnn_layer", 3)}


@dataclass
class Output:
    """One output of a replayed call beside its record.

    Attributes
    ----------
    slot, element : int
        Which.
    numel, different : int
        Elements, and those whose bits differ; NaN is as good as another.
    max_abs, relative_l2 : float or None
        Of the difference; None where nothing differs, or type or shape do.
    first : list of int or None
        Where the first one differs.
    problem : str
        "" or why the two have nothing to compare.
    """

    slot: int
    element: int
    numel: int = 0
    different: int = 0
    max_abs: float | None = None
    relative_l2: float | None = None
    first: list[int] | None = None
    problem: str = ""

    @property
    def equal(self) -> bool:
        """Whether all bits are equal."""
        return not self.different and not self.problem

    @property
    def name(self) -> str:
        """``out0``, or ``out0[2]`` of a list."""
        return f"out{self.slot}" + (f"[{self.element}]" if self.element >= 0 else "")


@dataclass
class Outcome:
    """What became of a call.

    Attributes
    ----------
    call : Call
        The call.
    reason : str
        Why it was skipped, "" for a replayed one.
    detail : str
        The message of an exception.
    outputs : list of Output
        What was compared.
    scratch : list of Output
        What holds nothing that could be.
    """

    call: Call
    reason: str = ""
    detail: str = ""
    outputs: list[Output] = field(default_factory=list)
    scratch: list[Output] = field(default_factory=list)


def check_size(call: Call, tensors: Tensors) -> None:
    """Refuse a factory that makes far more than the dump has of it: sizes in a dump may be anything.

    Parameters
    ----------
    call : Call
        The call.
    tensors : Tensors
        Of its dump.

    Raises
    ------
    SkippedError
        When it does.
    """
    size = call.arguments.get("size")
    if not isinstance(size, list) or not all(isinstance(one, int) for one in size):
        return
    recorded = max((int(tensors.rows[row]["numel"]) for slot in call.outputs.values() for row in slot.values()), default=0)
    if math.prod(size) > _MOST_FACTOR * recorded + (1 << 20):
        raise SkippedError("its size is not that of what it made")


def run(rebuilt: Rebuilt, gradients: bool) -> Any:
    """Make a call; give what it returns.

    Parameters
    ----------
    rebuilt : Rebuilt
        The call.
    gradients : bool
        Whether they are being recorded, which some operators ask: of nothing here, since no tensor requires one.
    """
    with torch.set_grad_enabled(gradients):
        return rebuilt.operator(*rebuilt.positional, **rebuilt.named)


def made_slots(rebuilt: Rebuilt, returned: Any) -> dict[int, Any]:
    """Give what a call made by the slots of its outputs.

    Parameters
    ----------
    rebuilt : Rebuilt
        The call.
    returned : object
        Of `run`.
    """
    count = len(rebuilt.operator._schema.returns)
    made = (returned,) if count == 1 else tuple(returned) if count > 1 else ()
    return dict(enumerate([*made, *rebuilt.written]))


def made_value(made: dict[int, Any], slot: int, element: int) -> Any:
    """Give one of the things that a call made; None when there is no such thing.

    Parameters
    ----------
    made : dict
        Of `made_slots`.
    slot, element : int
        Of the output; the element of a list, negative for no list.
    """
    value = made.get(slot)
    if element < 0:
        return value
    return value[element] if isinstance(value, list | tuple) and element < len(value) else None


def refusal(error: Exception) -> str:
    """Give in one line why torch refuses a call.

    Parameters
    ----------
    error : Exception
        Torch's own.
    """
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def bits(tensor: torch.Tensor) -> Any:
    """Give the elements of a tensor as numbers of their bits.

    Parameters
    ----------
    tensor : torch.Tensor
        A dense one.
    """
    width = tensor.dtype.itemsize
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8).numpy()
    return flat.view("<u8").reshape(-1, 2) if width == 16 else flat.view(f"<u{width}")


def _as_doubles(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.reshape(-1)
    return flat.to(torch.complex128 if flat.is_complex() else torch.float64)


def compared(made: Any, recorded: torch.Tensor, output: Output) -> Output:
    """Fill in how what was made differs from what was recorded.

    Parameters
    ----------
    made : object
        Output of the replayed call.
    recorded : torch.Tensor
        Output in the dump.
    output : Output
        Filled in, and returned.
    """
    output.numel = recorded.numel()
    if not isinstance(made, torch.Tensor):
        output.problem = "it makes no tensor there"
        return output
    if made.dtype == torch.complex32:  # which a dump has as pairs of float16
        made = torch.view_as_real(made.resolve_conj())
    if made.shape != recorded.shape or made.dtype != recorded.dtype:
        output.problem = f"it makes {made.dtype} {list(made.shape)}, recorded is {recorded.dtype} {list(recorded.shape)}"
        return output
    if made.layout != torch.strided or made.is_quantized:
        output.problem = "it makes a tensor that is not dense"
        return output
    x, y = bits(made), bits(recorded)
    unequal = x != y if x.ndim == 1 else (x != y).any(1)
    if not unequal.any():
        return output
    a, b = _as_doubles(made), _as_doubles(recorded)
    unequal &= ~(torch.isnan(a) & torch.isnan(b)).numpy()
    output.different = int(unequal.sum())
    if output.different:
        where = int(np.flatnonzero(unequal)[0])
        output.first = [int(one) for one in np.unravel_index(where, tuple(recorded.shape))] if recorded.dim() else []
        difference = (a - b).abs()[torch.from_numpy(unequal)]
        output.max_abs = float(difference.max())
        norm = float(torch.linalg.vector_norm(b[~torch.isnan(b)]))
        output.relative_l2 = float(torch.linalg.vector_norm(difference)) / norm if norm else math.inf
    return output


def recorded_outputs(call: Call, tensors: Tensors) -> list[tuple[int, int, torch.Tensor]]:
    """Give slot, element and tensor of each output that the dump has the elements of.

    Parameters
    ----------
    call : Call
        The call.
    tensors : Tensors
        Of its dump.

    Raises
    ------
    SkippedError
        When there is none.
    """
    found: list[tuple[int, int, torch.Tensor]] = []
    why = "it makes no tensor"
    for slot, elements in sorted(call.outputs.items()):
        for element, row in sorted(elements.items()):
            try:
                dtype, shape, raw = tensors.raw(row)
            except SkippedError as skipped:
                why = f"nothing to compare with: {skipped}"
                continue
            found.append((slot, element, laid_out(dtype, shape, np.asarray(raw), None)))
    if not found:
        raise SkippedError("nothing that it made was recorded" if not call.outputs else why)
    return found


def replay(call: Call, tensors: Tensors) -> Outcome:
    """Make a call again and compare.

    Parameters
    ----------
    call : Call
        The call.
    tensors : Tensors
        Of its dump.
    """
    outcome = Outcome(call)
    try:
        check_size(call, tensors)
        rebuilt = rebuild(call, tensors.tensor)
        recorded = recorded_outputs(call, tensors)
    except SkippedError as skipped:
        outcome.reason = str(skipped)
        return outcome
    try:
        made = made_slots(rebuilt, run(rebuilt, call.gradients))
    except Exception as error:
        outcome.reason = "torch refuses the call"
        outcome.detail = refusal(error)
        return outcome
    for slot, element, tensor in recorded:
        if (call.op.type, slot) in SCRATCH:
            outcome.scratch.append(Output(slot, element))
            continue
        outcome.outputs.append(compared(made_value(made, slot, element), tensor, Output(slot, element)))
    return outcome
