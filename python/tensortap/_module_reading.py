"""Reading a dump in a folder by modules, and for torch."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal, cast

from tensortap._error import Error
from tensortap._module_records import ModuleRecords, full_path, group_by_module, joined_name, records_below, split_name
from tensortap._tensors import to_array
from tensortap._torch_values import raw_to_torch, wanted_library

if TYPE_CHECKING:
    from tensortap._dump import Dump


class ModuleReading:
    """The part of `Dump` that reads tensors by modules."""

    def tensor(
        self,
        record: str | int,
        *,
        slot: str | None = None,
        step: int | None = None,
        call: int | None = None,
        as_: Literal["torch", "numpy"] | str | None = None,
    ) -> Any:
        """Give the values of a record for torch or for NumPy.

        Parameters
        ----------
        record : str or int
            Name or row; or the name of an op or of a captured module, which may leave out the class of the root.
        slot : str, optional
            Such as ``in1``; ``out0`` otherwise.
        step, call : int, optional
            The first otherwise.
        as_ : str, optional
            ``"numpy"``: as ``dump[record]``, mapped and read-only where the layout allows it. ``"torch"``: a copy, since torch has no
            tensors that are read-only. Torch where it is loaded, otherwise NumPy.

        Returns
        -------
        torch.Tensor or array
            The values.
        """
        library = wanted_library(as_)
        dump = cast("Dump", self)
        data = dump._core.data(row_of(dump, record, slot, step, call))
        return to_array(*data) if library == "numpy" else raw_to_torch(*data)

    def module(self, name: str) -> ModuleRecords:
        """Give the records of a module and of all modules below it; the class of the root may be left out."""
        modules = modules_of(cast("Dump", self))
        return records_below(cast("Dump", self), modules, full_path(name, modules))

    def by_module(self) -> dict[str, ModuleRecords]:
        """Group the records by module, in the order of the dump; records of no module are left out."""
        return group_by_module(cast("Dump", self), modules_of(cast("Dump", self)))


def modules_of(dump: Dump) -> list[str]:
    """Give the module of each record of a dump in a folder."""
    modules = [op.module for op in dump.ops]
    return [modules[op] if op < len(modules) else "" for op in dump.records["op"].tolist()]


def row_of(dump: Dump, record: str | int, slot: str | None, step: int | None, call: int | None) -> int:
    """Find a record of a dump in a folder, by its name or by that of its op with slot, step and call."""
    if isinstance(record, int):
        return range(len(dump))[record]
    if slot is None and step is None and call is None:
        with contextlib.suppress(Error):
            return dump._core.find(record)
    op, slot, step, call = split_name(record, slot, step, call)
    names = {one.name for one in dump.ops}
    if op not in names:
        op = full_path(op, [one.name for one in dump.ops if one.level in ("module", "model")])
    return dump._core.find(joined_name(op, slot, step, call))
