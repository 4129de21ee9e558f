"""Writes a program that makes one call of a dump by itself, with torch and NumPy alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tensortap._error import Error
from tensortap._replay.calls import Call
from tensortap._replay.measure import recorded_outputs
from tensortap._replay.rebuild import Rebuilt, SkippedError, Tensors, laid_out, rebuild

_MOST_LINES = 12
_HEAD = '''"""{function} as {name} of {dump} ran it, with torch {release}: exit code 0 when it gives the same bits."""
import math  # noqa: F401
import sys
from pathlib import Path

import numpy as np
import torch

data = np.load(Path(__file__).with_suffix(".npz"))
torch.set_num_threads({threads})


def tensor(name, dtype, shape, strides):
    values, count = data[name], 1 + sum((size - 1) * step for size, step in zip(shape, strides))
    block = torch.zeros(count if values.size else 0, dtype=dtype)
    memory = block.view(torch.uint8).numpy().view(values.dtype)
    if values.size:
        steps = [step * values.itemsize for step in strides]
        np.lib.stride_tricks.as_strided(memory, shape, steps)[...] = values.reshape(shape)
    return block.as_strided(shape, strides)


def bits(made):
    return made.detach().contiguous().view(-1).view(torch.uint8).numpy()

'''
_TAIL = """
with torch.set_grad_enabled({gradients}):
    returned = torch.ops.{operator}(*arguments, **named)
made = {made}
different = 0
for name, value in made.items():
    same = isinstance(value, torch.Tensor) and np.array_equal(bits(value), data[name].reshape(-1).view(np.uint8))
    print(name, "equal" if same else "differs")
    different += not same
sys.exit(1 if different else 0)
"""


class _Names:
    """Collects tensors under names, and writes values as Python has them."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.forms: dict[str, str] = {}
        self.texts: dict[int, str] = {}
        self.kept: list[torch.Tensor] = []  # so that none has the address of another

    def tensor(self, name: str, value: torch.Tensor, raw: Any) -> None:
        """Add a tensor of the call."""
        self.arrays[name] = raw
        self.forms[name] = f"{value.dtype}, {list(value.shape)}, {list(value.stride())}"
        self.texts[id(value)] = name
        self.kept.append(value)

    def lines(self) -> list[str]:
        """Give the statements that make the tensors: one each, or two for many."""
        if len(self.forms) <= _MOST_LINES:
            return [f"{name} = tensor({name!r}, {form})" for name, form in self.forms.items()]
        self.texts = {key: f"at[{name!r}]" for key, name in self.texts.items()}
        forms = ", ".join(f"{name!r}: ({form})" for name, form in self.forms.items())
        return [f"forms = {{{forms}}}", "at = {name: tensor(name, *form) for name, form in forms.items()}"]

    def text(self, value: Any) -> str:
        """Give the expression of an argument."""
        if isinstance(value, torch.Tensor):
            return self.texts[id(value)]
        if isinstance(value, list):
            return "[" + ", ".join(self.text(item) for item in value) + "]"
        if isinstance(value, torch.device):
            return f"torch.device({str(value)!r})"
        if isinstance(value, float) and not np.isfinite(value):
            return "math.nan" if value != value else "math.inf" if value > 0 else "-math.inf"
        return repr(value)


def _raw_elements(bytes_: Any, width: int) -> Any:
    return np.frombuffer(bytes_.tobytes(), {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8", 16: "<c16"}[width])


def _collect(call: Call, tensors: Tensors) -> tuple[Rebuilt, _Names]:
    names = _Names()

    def make(row: int) -> torch.Tensor:
        dtype, shape, bytes_ = tensors.raw(row)
        value = laid_out(dtype, shape, np.asarray(bytes_), tensors.strides(row))
        record = tensors.rows[row]
        element = int(record["element"])
        suffix = f"_{element}" if element >= 0 else ""
        names.tensor(f"in{int(record['slot_index'])}{suffix}", value, _raw_elements(np.asarray(bytes_), dtype.itemsize))
        return value

    return rebuild(call, make), names


def _program(call: Call, rebuilt: Rebuilt, names: _Names, threads: int, dump: str) -> str:
    name, folder = (text.replace("\\", "/").replace('"', "'") for text in (call.name, Path(dump).name))
    head = _HEAD.format(function=call.function, name=name, dump=folder, release=torch.__version__, threads=threads)
    lines = names.lines()
    lines.append(f"arguments = {names.text(rebuilt.positional)}")
    lines.append("named = {" + ", ".join(f"{name!r}: {names.text(value)}" for name, value in rebuilt.named.items()) + "}")
    return head + "\n".join(lines) + "\n" + _TAIL


def check_target(target: Path) -> Path:
    """Refuse a program that cannot be written under that name; give where its tensors go.

    Parameters
    ----------
    target : Path
        The program.

    Raises
    ------
    Error
        For another suffix, and if a file exists.
    """
    if target.suffix != ".py":
        raise Error(f"--emit {target}: of a PyTorch dump a program FILE.py is written", "invalid_argument")
    beside = target.with_suffix(".npz")
    for path in (target, beside):
        if path.exists():
            raise Error(f"{path} exists already", "invalid_argument")
    return beside


def emit(call: Call, tensors: Tensors, target: Path, threads: int) -> list[str]:
    """Write the program, and the tensors beside it.

    Parameters
    ----------
    call : Call
        The call.
    tensors : Tensors
        Of its dump.
    target : Path
        The program; the tensors have its name and ``.npz``. Neither may be there.
    threads : int
        How many the program uses.

    Returns
    -------
    list of str
        The paths of the files.

    Raises
    ------
    Error
        When the call cannot be made again, or a file cannot be written.
    """
    beside = check_target(target)
    try:
        rebuilt, names = _collect(call, tensors)
        recorded = recorded_outputs(call, tensors)
    except SkippedError as skipped:
        raise Error(f"{call.name} cannot be replayed: {skipped}", "unsupported") from skipped
    text = _program(call, rebuilt, names, threads, tensors.dump.path)
    places = []
    for slot, element, value in recorded:
        name = f"out{slot}" + (f"_{element}" if element >= 0 else "")
        names.arrays[name] = _raw_elements(_bytes_of(value), value.dtype.itemsize)
        places.append(f"{name!r}: {_place(rebuilt, names, slot, element)}")
    operator = rebuilt.operator
    dotted = f"{operator.namespace}.{operator._schema.name.split('::')[1]}.{call.overload}"
    text = text.replace("{operator}", dotted).replace("{gradients}", str(call.gradients)).replace("{made}", "{" + ", ".join(places) + "}")
    _write(target, beside, text, names.arrays)
    return [str(target), str(beside)]


def _bytes_of(value: torch.Tensor) -> Any:
    return value.contiguous().view(-1).view(torch.uint8).numpy()


def _place(rebuilt: Rebuilt, names: _Names, slot: int, element: int) -> str:
    returns = len(rebuilt.operator._schema.returns)
    if slot >= returns:
        written = rebuilt.written[slot - returns]
        return names.text(written[element] if element >= 0 else written)
    base = "returned" if returns == 1 else f"returned[{slot}]"
    return f"{base}[{element}]" if element >= 0 else base


def _write(target: Path, beside: Path, text: str, arrays: dict[str, Any]) -> None:
    made: list[Path] = []
    try:
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            np.savez(Path(folder) / "data.npz", **arrays)
            (Path(folder) / "program.py").write_text(text, "utf-8")
            for name, path in (("data.npz", beside), ("program.py", target)):
                os.link(Path(folder) / name, path)
                made.append(path)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise Error(f"{target}: {error.strerror or error}", "io") from error
