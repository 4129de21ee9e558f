"""Choosing records of a dump, as the command line does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from tensortap._error import Error

if TYPE_CHECKING:
    from tensortap._dump import Dump


def joined(value: str | int | Sequence[object]) -> str:
    """Join a list as the command line has it: 0,2."""
    return str(value) if isinstance(value, str | int) else ",".join(str(part) for part in value)


def words_of(
    ops: str,
    types: str | Sequence[str],
    modules: str | Sequence[str],
    steps: str | int | Sequence[int],
    last: int,
) -> dict[str, str | int]:
    """Give a selection as the core takes it."""
    return {"op": ops, "type": joined(types), "module": joined(modules), "step": joined(steps), "last": last}


class RecordSelection:
    """The part of `Dump` that chooses records."""

    def select(
        self,
        *,
        where: str = "",
        ops: str = "",
        types: str | Sequence[str] = "",
        modules: str | Sequence[str] = "",
        steps: str | int | Sequence[int] = "",
        last: int | None = None,
        slots: str | Sequence[str] = "",
        op: str = "",
        type: str | Sequence[str] = "",
        module: str | Sequence[str] = "",
        step: str | int | Sequence[int] = "",
        slot: str | Sequence[str] = "",
        sort: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> NDArray[np.intp]:
        """Choose records, as ``tensortap ls`` does.

        Parameters
        ----------
        where : str
            Only records for which this holds, such as ``nan > 0 or absmax > 6e4``.
        ops : str
            Only ops whose name is, or matches, this regular expression.
        types : str or list of str
            Only ops of these types, such as ``Conv,Gemm``.
        modules : str or list of str
            Only ops of these modules and of those inside them, such as ``layers.3.*``: ``*`` is any text, ``?`` one character. The class of
            the model in front may be left out.
        steps : str, int or list of int
            Only these steps, such as ``0,3-5``.
        last : int, optional
            Only the last steps of the dump, or of `steps`, this many.
        slots : str or list of str
            Only these slots, such as ``out`` or ``in0,out1``.
        op, type, module, step, slot
            Other names of `ops`, `types`, `modules`, `steps` and `slots`.
        sort : str
            Order by this column, such as ``absmax``; ``-absmax`` for the largest first. Records without a value come last.
        limit : int, optional
            At most this many records.
        offset : int
            Leave out this many records at the beginning.

        Returns
        -------
        array of int
            Row numbers, in the order of the dump or of `sort`: ``dump.records[rows]``, ``dump[rows[0]]``.

        Raises
        ------
        Error
            When an argument is wrong; the message begins with its name. When no record is chosen, whatever `where` is: the message has the
            nearest names. That no record meets `where` is an answer, an empty array.
        """
        numbers = (("limit", 1 if limit is None else limit, 1), ("offset", offset, 0), ("last", 1 if last is None else last, 1))
        for name, number, least in numbers:
            if number < least:
                raise Error(f"{name} {number}: the least is {least}", "invalid_argument")
        words: dict[str, str | int] = {"where": where, "sort": sort, "last": last or 0}
        both = {"op": (op, ops), "type": (type, types), "module": (module, modules), "step": (step, steps), "slot": (slot, slots)}
        for name, (one, several) in both.items():
            texts = [joined(value) for value in (one, several)]
            if all(texts):
                raise Error(f"{name} and {name}s are the same: give one of them", "invalid_argument")
            words[name] = "".join(texts)
        return cast("Dump", self)._core.select(words, offset, limit or 0).astype(np.intp)
