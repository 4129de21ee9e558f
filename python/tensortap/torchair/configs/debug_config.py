"""Options for looking at graphs: their text, their data run by an interpreter, a summary of their operators."""

from __future__ import annotations

import os
from typing import Any

from tensortap.torchair import _paths
from tensortap.torchair.configs._option_base import Group, Option, choice, flag, integer


class _FileDump(Group):
    """A dump that a type of file switches on.

    ``_path`` is an option of its own because tools of the real system write to it.
    """

    def __init__(self, **members: Any) -> None:
        super().__init__(_path=Option(None), **members)

    @property
    def enabled(self) -> bool:
        """Whether the program has chosen a type of file."""
        return self.type.value is not None

    def full_path(self, name: str, *, with_timestap: bool = True) -> str | None:
        """Name a file of this dump.

        Parameters
        ----------
        name : str
            What the name begins with.
        with_timestap : bool
            Whether the time (UTC, microseconds) is in the name. The real system spells it so.

        Returns
        -------
        str or None
            The path; None when the dump is off.
        """
        if not self.enabled:
            return None
        return _paths.named_path(self._path.value, name, self.type.value, with_time=with_timestap)


class _PathDump(_FileDump):
    """A dump whose folder the program may choose."""

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        self._names.append("path")

    @property
    def path(self) -> str | None:
        """The folder as an absolute path without links, None for the current one. It need not exist."""
        value: str | None = self._path.value
        return value

    @path.setter
    def path(self, value: str | os.PathLike[str]) -> None:
        self._path.value = os.path.realpath(value)


class _Dump(_PathDump):
    """The text of each graph: ``config.debug.graph_dump``."""

    def __init__(self) -> None:
        super().__init__(type=choice(None, "txt", "pbtxt", "py"))


class _DataDump(_PathDump):
    """The data of each FX node: ``config.debug.data_dump``. Its filter takes a node and returns the one that gives the name, or None."""

    def __init__(self) -> None:
        super().__init__(type=choice(None, "npy", "stats"), filter=None)


class _FxSummary(_FileDump):
    """The table of the operators of each graph: ``config.debug.fx_summary``."""

    def __init__(self) -> None:
        super().__init__(type=choice(None, "csv"), skip_compile=flag(True))


class _AclGraphDebugConfig(Group):
    """Options of graphs that a device has captured; without effect here."""

    def __init__(self) -> None:
        super().__init__(
            disable_reinplace_inplaceable_ops_pass=flag(),
            disable_reinplace_input_mutated_ops_pass=flag(),
            disable_mempool_reuse_in_same_fx=flag(),
            enable_output_clone=flag(),
            static_capture_size_limit=integer(64, 1),
            clone_input=flag(True),
            remove_cat_ops=flag(True),
        )


class _DebugConfig(Group):
    """``config.debug``."""

    def __init__(self) -> None:
        super().__init__(
            graph_dump=_Dump(),
            data_dump=_DataDump(),
            fx_summary=_FxSummary(),
            run_eagerly=flag(),
            deadlock_check=flag(),
            aclgraph=_AclGraphDebugConfig(),
        )
