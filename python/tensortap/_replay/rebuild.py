"""Makes a call of a dump again: the operator, its tensors and everything else that it was given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tensortap._dump import Dump
from tensortap._error import Error
from tensortap._replay.calls import Call, device_here
from tensortap._tensors import DTYPES

HAS_DATA, UNWRITTEN = 1, 32
NAMESPACES = ("aten", "prims", "quantized")
_DTYPE_NAMES = {
    "bool": "bool",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{name: name for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")},
    **{"float8_e8m0": "float8_e8m0fnu", "float4_e2m1": "float4_e2m1fn_x2"},
}
# How torch writes the members of its enumerations.
_ENUMERATORS = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "UInt16": "uint16",
    "UInt32": "uint32",
    "UInt64": "uint64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
    "ComplexHalf": "complex32",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Bool": "bool",
    "BFloat16": "bfloat16",
    "Float8_e4m3fn": "float8_e4m3fn",
    "Float8_e4m3fnuz": "float8_e4m3fnuz",
    "Float8_e5m2": "float8_e5m2",
    "Float8_e5m2fnuz": "float8_e5m2fnuz",
    "Strided": "strided",
    "Contiguous": "contiguous_format",
    "Preserve": "preserve_format",
    "ChannelsLast": "channels_last",
    "ChannelsLast3d": "channels_last_3d",
}
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MOVING = (
    "as_strided",
    "as_strided_",
    "set_",
    "resize_",
    "resize_as_",
    "_resize_output_",
    "from_file",
    "record_stream",
)
_RAW = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8", 16: "<c16"}


class SkippedError(Exception):
    """A call that is not replayed; the text is a short class of reasons."""


@dataclass
class Rebuilt:
    """A call that can be made.

    Attributes
    ----------
    operator : callable
        The overload.
    positional, named : list, dict
        What it is given.
    written : list
        The arguments that it writes and does not return, in the order of their output slots: tensors, or lists of them.
    """

    operator: Any
    positional: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    written: list[Any] = field(default_factory=list)
    by_name: bool = False

    def give(self, argument: Any, value: Any) -> None:
        """Add an argument.

        Parameters
        ----------
        argument, value : torch._C.Argument, object
            Which, and what.
        """
        if self.by_name or argument.kwarg_only:
            self.named[argument.name] = value
        else:
            self.positional.append(value)


def torch_dtype(number: int) -> torch.dtype:
    """Give torch's element type for a dump's number.

    Parameters
    ----------
    number : int
        The column ``dtype``.
    """
    found = getattr(torch, _DTYPE_NAMES.get(DTYPES[number][0], ""), None)
    if not isinstance(found, torch.dtype):
        raise SkippedError(f"torch has no tensors of the type {DTYPES[number][0]}")
    return found


def operator_of(call: Call) -> Any:
    """Find the operator of a call.

    Parameters
    ----------
    call : Call
        The call.
    """
    op = call.op
    if op.level != "op":
        raise SkippedError(f"a call of the level {op.level}, whose operators are replayed by themselves")
    domain = op.domain or "aten"
    if domain in ("c10d", "_c10d_functional", "c10d_functional", "fsdp"):
        raise SkippedError("a collective, which needs the other ranks")
    if domain not in NAMESPACES:
        raise SkippedError(f"operators of {domain} are not PyTorch's own")
    short = op.type.removeprefix(f"{domain}.")
    if short in ("_local_scalar_dense", "is_nonzero", "equal", "allclose"):
        raise SkippedError("it gives the program a number and no tensor")
    if short in _MOVING:
        raise SkippedError(f"{short}: what it does depends on more than the elements of its inputs")
    packet = getattr(getattr(torch.ops, domain), short, None)
    overload = call.overload
    if packet is None or not hasattr(packet, "overloads") or overload not in packet.overloads():
        raise SkippedError(f"this torch has no operator {call.function}")
    return getattr(packet, overload)


def _is_random(operator: Any, arguments: dict[str, Any]) -> bool:
    if torch.Tag.nondeterministic_seeded not in operator.tags:
        return False
    probabilities = [arguments[name] for name in ("p", "dropout_p", "dropout") if name in arguments]
    trains = [arguments[name] for name in ("train", "training") if name in arguments]
    return not (any(value == 0 for value in probabilities) or any(value is False for value in trains))


def check_determined(operator: Any, call: Call) -> None:
    """Refuse what gives other values each time.

    Parameters
    ----------
    operator : callable
        Of `operator_of`.
    call : Call
        Its call.
    """
    name = operator._schema.name.removeprefix("aten::")
    if name.startswith(("empty", "new_empty")) or name == "_empty_affine_quantized":
        raise SkippedError("memory as the allocator gives it")
    if _is_random(operator, call.arguments):
        raise SkippedError("random numbers, whose generator is not recorded")


def number_or_object(value: Any, name: str) -> Any:
    """Make an argument of what a dump holds of it.

    Parameters
    ----------
    value : object
        As JSON has it.
    name : str
        Name of the argument.
    """
    if isinstance(value, list):
        return [number_or_object(item, name) for item in value]
    if isinstance(value, dict):
        parts = value.get("complex")
        if isinstance(parts, list) and len(parts) == 2:
            return complex(*(float(part) for part in parts))
        raise SkippedError(f"the argument {name}, {value.get('not_kept', 'of an unknown form')}, is not in the dump")
    return value


def plain_argument(value: Any, argument: Any) -> Any:
    """Make an argument that is no tensor.

    Parameters
    ----------
    value : object
        As the dump has it.
    argument : torch._C.Argument
        What the schema says of it.
    """
    kind = str(argument.type)
    made = number_or_object(value, argument.name)
    if "Device" in kind and isinstance(made, str):
        if made.startswith("meta"):
            raise SkippedError(f"it ran on the device {made}")
        return torch.device(device_here(made))
    if isinstance(made, str) and "str" not in kind:
        if made in _NUMBERS:
            return _NUMBERS[made]
        found = getattr(torch, _ENUMERATORS.get(made, ""), None)
        if found is None:
            raise SkippedError(f"the argument {argument.name} is {made!r}, which this torch does not have")
        return found
    if isinstance(made, list) and "str" not in kind:
        return [_NUMBERS.get(item, item) if isinstance(item, str) else item for item in made]
    return made


class Tensors:
    """Makes the tensors of a dump again.

    Parameters
    ----------
    dump : Dump
        The dump.
    """

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.rows = dump.records

    def raw(self, row: int) -> tuple[torch.dtype, list[int], Any]:
        """Give type, shape and packed bytes of a record.

        Parameters
        ----------
        row : int
            Number of the record.
        """
        record = self.rows[row]
        flags = int(record["flags"])
        if flags & UNWRITTEN:
            raise SkippedError("it reads memory that nothing was written to")
        if not flags & HAS_DATA and int(record["numel"]) > 0:
            raise SkippedError("the dump has statistics of a tensor and not its elements")
        dtype = torch_dtype(int(record["dtype"]))
        try:
            _, shape, bytes_ = self.dump._core.data(row)
        except Error as error:
            raise SkippedError(f"a tensor cannot be read: {error}") from error
        in_pairs = DTYPES[int(record["dtype"])][0] == "float4_e2m1" and shape  # as torch counts them
        shape = [*shape[:-1], shape[-1] // 2] if in_pairs else list(shape)
        if len(bytes_) != math.prod(shape) * dtype.itemsize:
            raise SkippedError("the dump has a sample of a tensor's elements")
        return dtype, shape, bytes_

    def strides(self, row: int) -> tuple[int, ...] | None:
        """Give how the tensor lay in memory; None for contiguous.

        Parameters
        ----------
        row : int
            Number of the record.
        """
        record = self.rows[row]
        strided = int(record["strided"])
        if strided == 2:
            raise SkippedError("strides that are not in the dump")
        return tuple(int(step) for step in record["strides"][: int(record["dims_count"])]) if strided == 1 else None

    def tensor(self, row: int) -> torch.Tensor:
        """Make the tensor of a record, with its strides.

        Parameters
        ----------
        row : int
            Number of the record.
        """
        dtype, shape, bytes_ = self.raw(row)
        return laid_out(dtype, shape, np.asarray(bytes_), self.strides(row))


def laid_out(dtype: torch.dtype, shape: list[int], raw: Any, strides: tuple[int, ...] | None) -> torch.Tensor:
    """Make a tensor of packed elements.

    Parameters
    ----------
    dtype, shape : torch.dtype, list of int
        Those of the tensor.
    raw : array of bytes
        The elements, contiguous.
    strides : tuple of int or None
        How it is to lie in memory, in elements; None for contiguous.
    """
    if 0 in shape:
        return torch.empty(shape, dtype=dtype)
    if strides is not None and (len(strides) != len(shape) or min(strides, default=0) < 0):
        raise SkippedError("strides that no tensor has")
    count = math.prod(shape) if strides is None else 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if count > 64 * math.prod(shape) + (1 << 20):
        raise SkippedError("a view of a much larger block")
    width = dtype.itemsize
    block = torch.zeros(count * width, dtype=torch.uint8)
    memory = block.numpy().view(_RAW[width])
    steps = None if strides is None else [step * width for step in strides]
    values = np.frombuffer(raw.tobytes(), _RAW[width]).reshape(shape)
    np.lib.stride_tricks.as_strided(memory, shape, steps, writeable=True)[...] = values
    whole = torch.empty(0, dtype=dtype)  # no view of anything: some operators refuse those
    return whole.set_(block.untyped_storage(), 0, shape, strides or torch.empty(shape, device="meta").stride())


def _tensor_argument(call: Call, index: int, argument: Any, make: Callable[[int], torch.Tensor]) -> Any:
    rows = call.inputs.get(index, {})
    kind = str(argument.type)
    quantized = call.arguments.get("quantized")
    if isinstance(quantized, list) and index in quantized:
        raise SkippedError("it reads a quantised tensor, whose scale is not in the dump")
    pairs = call.arguments.get("pairs")
    if isinstance(pairs, list) and index in pairs:
        parts = make
        make = lambda row: torch.view_as_complex(parts(row))  # noqa: E731
    told = call.arguments.get(argument.name)
    if told is not None and "List" not in kind:  # of `x + 2` the 2, which torch makes a tensor of
        return _NUMBERS[told] if isinstance(told, str) and told in _NUMBERS else number_or_object(told, argument.name)
    if "List" in kind:
        if not rows:
            if kind.startswith("Optional"):
                return None
            raise SkippedError(f"nothing of the list {argument.name} was recorded")
        optional = "Optional[Tensor]" in kind
        if not optional and len(rows) <= max(rows):
            raise SkippedError(f"a tensor of the list {argument.name} was not recorded")
        return [make(rows[element]) if element in rows else None for element in range(max(rows) + 1)]
    if rows:
        return make(next(iter(rows.values())))
    if kind.startswith("Optional"):
        return None
    raise SkippedError(f"the input {argument.name} was not recorded")


def _is_written(schema: Any, argument: Any) -> bool:
    declared = argument.alias_info is not None and argument.alias_info.is_write
    return bool(declared or (schema.name.startswith("aten::") and argument.name in ("running_mean", "running_var", "noise")))


def _is_returned(schema: Any, argument: Any) -> bool:
    if argument.alias_info is None:
        return False
    wanted = set(argument.alias_info.before_set)
    return any(made.alias_info is not None and set(made.alias_info.before_set) == wanted for made in schema.returns)


def rebuild(call: Call, make: Callable[[int], torch.Tensor]) -> Rebuilt:
    """Make a call again.

    Parameters
    ----------
    call : Call
        What is known of it.
    make : callable
        Gives the tensor of a row.

    Raises
    ------
    SkippedError
        When that is not possible, or would say nothing.
    """
    if call.failed:
        raise SkippedError("it failed in the program")
    operator = operator_of(call)
    check_determined(operator, call)
    rebuilt = Rebuilt(operator)
    schema = operator._schema
    written: list[tuple[Any, Any]] = []
    for index, argument in enumerate(schema.arguments):
        if "Tensor" in str(argument.type):
            value = _tensor_argument(call, index, argument, make)
        elif argument.name in call.arguments:
            value = plain_argument(call.arguments[argument.name], argument)
        elif argument.has_default_value():
            rebuilt.by_name = True  # from here on: the schema fills in arguments that the dump lacks
            continue
        elif str(argument.type).startswith("Optional"):
            value = None
        else:
            raise SkippedError(f"the argument {argument.name} is not in the dump")
        if _is_written(schema, argument) and value is not None:
            written.append((argument, value))
        rebuilt.give(argument, value)
    if any(not _is_returned(schema, argument) for argument, _ in written):
        rebuilt.written = [value for _, value in written]
    return rebuilt
