"""Cuts a call down to the smallest part that still gives other bits than were recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tensortap._error import Error
from tensortap._replay.calls import Call
from tensortap._replay.measure import SCRATCH, Output, bits, check_size, compared, made_slots, made_value, refusal, run
from tensortap._replay.rebuild import SkippedError, Tensors, laid_out, rebuild

_MOST_RUNS = 400
_MOST_PASSES = 3


@dataclass
class Box:
    """A part of a tensor.

    Attributes
    ----------
    shape, first, count : list of int
        Of the whole; where the part begins; how much is left.
    """

    shape: list[int]
    first: list[int]
    count: list[int]

    @classmethod
    def whole(cls, shape: list[int]) -> Box:
        """Make the part that is everything.

        Parameters
        ----------
        shape : list of int
            Shape of the tensor.
        """
        return cls(list(shape), [0] * len(shape), list(shape))

    def part(self, axis: int, first: int, count: int) -> Box:
        """Make a part of this part.

        Parameters
        ----------
        axis, first, count : int
            The dimension, and what is left of it.
        """
        made = Box(self.shape, list(self.first), list(self.count))
        made.first[axis] += first
        made.count[axis] = count
        return made

    def of(self, elements: Any) -> Any:
        """Cut an array or a tensor of the whole shape.

        Parameters
        ----------
        elements : array or torch.Tensor
            What to cut; further dimensions stay.
        """
        return elements[tuple(slice(first, first + count) for first, count in zip(self.first, self.count, strict=True))]


def _dense(strides: tuple[int, ...], count: list[int]) -> tuple[int, ...]:
    """Give strides without gaps, dimensions in the same order; repeated dimensions stay repeated."""
    dense, size = [0] * len(count), 1
    for axis in sorted(range(len(count)), key=lambda one: (strides[one], -one)):
        if strides[axis]:
            dense[axis] = size
            size *= count[axis]
    return tuple(dense)


class CutTensors(Tensors):
    """The tensors of a dump, of some of which only parts are left.

    Parameters
    ----------
    tensors : Tensors
        The whole ones.
    boxes : dict
        What is left, by row.
    """

    def __init__(self, tensors: Tensors, boxes: dict[int, Box]) -> None:
        super().__init__(tensors.dump)
        self.boxes = boxes

    def raw(self, row: int) -> tuple[torch.dtype, list[int], Any]:
        """Give type, shape and packed bytes of what is left of a record.

        Parameters
        ----------
        row : int
            Number of the record.
        """
        dtype, shape, bytes_ = super().raw(row)
        box = self.boxes.get(row)
        if box is None or box.count == shape:
            return dtype, shape, bytes_
        elements = np.asarray(bytes_).view(np.uint8).reshape(*shape, dtype.itemsize)
        return dtype, list(box.count), np.ascontiguousarray(box.of(elements)).reshape(-1)

    def strides(self, row: int) -> tuple[int, ...] | None:
        """Give how what is left of the tensor lies in memory; None for contiguous.

        Parameters
        ----------
        row : int
            Number of the record.
        """
        strides, box = super().strides(row), self.boxes.get(row)
        return strides if strides is None or box is None or box.count == box.shape else _dense(strides, box.count)


@dataclass
class Part:
    """What is left of a call.

    Attributes
    ----------
    call : Call
        The call.
    tensors : CutTensors
        With what is left of its tensors.
    inputs, outputs : dict
        Rows by name.
    output : Output
        The one that differs, as it does in what is left.
    runs : int
        How often the operator ran.
    """

    call: Call
    tensors: CutTensors
    inputs: dict[str, int]
    outputs: dict[str, int]
    output: Output
    runs: int

    def to_json(self) -> dict[str, Any]:
        """Give it as a line of JSON has it."""
        cut = [
            {"slot": name, "shape": box.shape, "first": box.first, "count": box.count}
            for name, row in [*self.inputs.items(), *self.outputs.items()]
            for box in (self.tensors.boxes[row],)
        ]
        return {
            "op": self.call.name,
            "type": self.call.function,
            "tensors": cut,
            "differing_slot": self.output.name,
            "differing": self.output.different,
            "compared": self.output.numel,
            "max_abs": self.output.max_abs,
            "relative_l2": self.output.relative_l2,
            "runs": self.runs,
        }


@dataclass
class _Made:
    """An output of the call, by what it is in the dump and here."""

    slot: int
    element: int
    row: int
    whole: Any = None  # what the call makes of everything

    @property
    def name(self) -> str:
        return Output(self.slot, self.element).name


# A dimension of a tensor: row and axis.
_Axis = tuple[int, int]


@dataclass
class _Cutter:
    call: Call
    whole: Tensors
    boxes: dict[int, Box] = field(default_factory=dict)
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: list[_Made] = field(default_factory=list)
    main: _Made | None = None
    output: Output | None = None
    runs: int = 0

    def prepare(self) -> bool:
        """Make the whole call; say whether one of its outputs differs."""
        check_size(self.call, self.whole)
        for slot, elements in sorted(self.call.inputs.items()):
            for element, row in sorted(elements.items()):
                self.inputs[f"in{slot}" + (f"[{element}]" if element >= 0 else "")] = row
                self.boxes[row] = Box.whole(self.whole.raw(row)[1])
        for slot, elements in sorted(self.call.outputs.items()):
            for element, row in sorted(elements.items()):
                if (self.call.op.type, slot) in SCRATCH:
                    continue
                try:
                    self.boxes[row] = Box.whole(self.whole.raw(row)[1])
                except SkippedError:
                    continue
                self.outputs.append(_Made(slot, element, row))
        if not self.outputs:
            raise SkippedError("the dump has the elements of nothing that it made")
        for one, value in zip(self.outputs, self.made(self.boxes), strict=True):
            one.whole = value
            output = self.measured(one, value, self.boxes)
            if output.equal:
                continue
            if output.problem:
                raise SkippedError(f"{one.name}: {output.problem}, which no part of it explains")
            if self.main is None:
                self.main, self.output = one, output
        return self.main is not None

    def made(self, boxes: dict[int, Box]) -> list[Any]:
        """Make the call with parts of its inputs; give its outputs in the order of `outputs`."""
        self.runs += 1
        rebuilt = rebuild(self.call, CutTensors(self.whole, boxes).tensor)
        slots = made_slots(rebuilt, run(rebuilt, self.call.gradients))
        return [made_value(slots, one.slot, one.element) for one in self.outputs]

    def measured(self, one: _Made, value: Any, boxes: dict[int, Box]) -> Output:
        dtype, shape, raw = CutTensors(self.whole, boxes).raw(one.row)
        return compared(value, laid_out(dtype, shape, np.asarray(raw), None), Output(one.slot, one.element))

    def takes(self, boxes: dict[int, Box]) -> bool:
        """Keep these parts, if the call gives them the bits of the whole, and these are not what was recorded."""
        if self.runs >= _MOST_RUNS or self.main is None:
            return False
        try:
            values = self.made(boxes)
        except Exception:  # torch's own, of a part that the operator does not take
            return False
        output = None
        for one, value in zip(self.outputs, values, strict=True):
            if not isinstance(value, torch.Tensor) or list(value.shape) != boxes[one.row].count:
                return False
            if not np.array_equal(bits(value), bits(boxes[one.row].of(one.whole))):
                return False
            if one is self.main:
                output = self.measured(one, value, boxes)
        if output is None or output.equal or output.problem:
            return False
        self.boxes, self.output = boxes, output
        return True

    def try_part(self, cut: tuple[_Axis, ...], first: int, count: int) -> bool:
        boxes = dict(self.boxes)
        for row, axis in cut:
            boxes[row] = boxes[row].part(axis, first, count)
        return self.takes(boxes)

    def shrink(self, cut: tuple[_Axis, ...], axis: int) -> bool:
        """Cut a dimension of the output: to where it differs, or by halves."""
        assert self.main is not None and self.output is not None
        if self.try_part(cut, self.place(axis), 1):
            return True
        shrunk = False
        while (count := self.boxes[self.main.row].count[axis]) > 1:
            half = count // 2
            halves = [(0, half), (half, count - half)]
            if self.place(axis) >= half:
                halves.reverse()
            if not any(self.try_part(cut, first, left) for first, left in halves):
                break
            shrunk = True
        return shrunk

    def place(self, axis: int) -> int:
        assert self.output is not None and self.output.first is not None
        return self.output.first[axis]

    def shrink_all(self) -> bool:
        assert self.main is not None
        shrunk = False
        for axis, count in enumerate(self.boxes[self.main.row].count):
            if count > 1 and any(self.shrink(cut, axis) for cut in self.cuts(axis)):
                shrunk = True
        return shrunk

    def cuts(self, axis: int) -> Iterator[tuple[_Axis, ...]]:
        """Give the dimensions of the other tensors that may be this one of the output. Running the operator rejects wrong guesses."""
        assert self.main is not None
        wanted = self.boxes[self.main.row].count
        behind = len(wanted) - axis

        def fits(row: int, at: int) -> bool:
            count = self.boxes[row].count
            return 0 <= at < len(count) and count[at] == wanted[axis]

        outputs = tuple((one.row, axis) for one in self.outputs if fits(one.row, axis))
        rows = dict.fromkeys(self.inputs.values())
        aligned = {row: len(self.boxes[row].count) - behind for row in rows}
        seen = set()
        candidates = [
            tuple((row, at) for row, at in aligned.items() if fits(row, at)),  # by broadcasting
            tuple((row, axis) for row in rows if fits(row, axis)),  # counted from the outermost
        ]
        # One input has the dimension, as a factor of a product has; and with it sums and vectors, as a bias.
        for row in rows:
            for own in range(len(self.boxes[row].count)):
                if fits(row, own):
                    alone = ((row, own),)
                    others = tuple((other, aligned[other]) for other in rows if other != row and fits(other, aligned[other]))
                    vectors = tuple((other, 0) for other in rows if other != row and len(self.boxes[other].count) == 1 and fits(other, 0))
                    candidates += [alone + others, alone + vectors, alone]
        for candidate in candidates:
            if candidate not in seen:
                seen.add(candidate)
                yield outputs + candidate


def minimal_part(call: Call, tensors: Tensors) -> Part | None:
    """Find the smallest part of a call that still gives other bits; None when all are equal.

    Dimensions of its output are cut, the outermost first. A part is taken when the operator gives it the very bits that it gives to this
    part of the whole, so that the dimension is one that it works along.

    Parameters
    ----------
    call : Call
        The call.
    tensors : Tensors
        Of its dump.

    Raises
    ------
    SkippedError
        When the call cannot be made again, or its output has another type or shape than the recorded one.
    Error
        When torch refuses the call.
    """
    cutter = _Cutter(call, tensors)
    try:
        differs = cutter.prepare()
    except SkippedError:
        raise
    except Exception as error:
        raise Error(f"torch refuses the call: {refusal(error)}", "unsupported") from error
    if not differs:
        return None
    for _ in range(_MOST_PASSES):
        if not cutter.shrink_all():
            break
    assert cutter.output is not None
    outputs = {one.name: one.row for one in cutter.outputs}
    return Part(call, CutTensors(tensors, cutter.boxes), cutter.inputs, outputs, cutter.output, cutter.runs)
