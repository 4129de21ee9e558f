"""Records by module, and how they are named; of a dump in a folder and of one in memory alike."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from tensortap._error import Error

if TYPE_CHECKING:
    import pandas

_NAME = re.compile(r"(?P<op>.*?)(?::(?P<slot>[a-z]+\d+(?:\[\d+\])?))?(?:@(?P<step>-?\d+))?(?:#(?P<call>\d+))?", re.DOTALL)
_SHOWN = 5


class RecordSource(Protocol):
    """A dump, as far as its records by module need it."""

    def names(self) -> list[str]: ...

    def tensor(
        self, record: str | int, *, slot: str | None = None, step: int | None = None, call: int | None = None, as_: str | None = None
    ) -> Any: ...

    def to_pandas(self) -> pandas.DataFrame: ...


def joined_name(op: str, slot: str, step: int, call: int) -> str:
    """Name a record: OP:SLOT, with @STEP and #CALL when not the first."""
    return f"{op}:{slot}" + (f"@{step}" if step else "") + (f"#{call}" if call else "")


def split_name(record: str, slot: str | None, step: int | None, call: int | None) -> tuple[str, str, int, int]:
    """Give op, slot, step and call of a record that is named in one text, in several arguments or in both; what is missing is the first.

    Raises
    ------
    Error
        When the text and an argument contradict each other.
    """
    found = _NAME.fullmatch(record)
    assert found is not None, "every text matches"
    parts: list[Any] = []
    for word, given, first in (("slot", slot, "out0"), ("step", step, 0), ("call", call, 0)):
        said = found[word] if word == "slot" or found[word] is None else int(found[word])
        if said is not None and given is not None and said != given:
            raise Error(f"{record!r} names {word} {said}, and the argument {word} is {given}: give one of them", "invalid_argument")
        parts.append(first if said is None and given is None else given if said is None else said)
    return found["op"], parts[0], parts[1], parts[2]


class ModuleRecords:
    """The records of a module: what `by_module` and `module` of a dump give.

    Attributes
    ----------
    name : str
        The module.
    """

    def __init__(self, source: RecordSource, name: str, rows: Mapping[int, str]) -> None:
        self.name = name
        self._source = source
        self._rows = dict(rows)

    def __repr__(self) -> str:
        names = list(self._rows.values())
        more = ", ..." if len(names) > _SHOWN else ""
        return f"<tensortap.ModuleRecords of {self.name!r}: {counted(len(names), 'record')}: {', '.join(names[:_SHOWN])}{more}>"

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the records."""
        return iter(self._rows.values())

    def __contains__(self, record: object) -> bool:
        return record in self._rows.values()

    def names(self) -> list[str]:
        """Give the names of the records, in the order of the dump."""
        return list(self._rows.values())

    def __getitem__(self, record: str) -> Any:
        """Give the values of a record, as `tensor` does: by its name in the dump, or by ``SLOT@STEP#CALL`` of the module itself."""
        name = record if record in self else f"{self.name}:{record}"
        if name not in self:
            raise Error(
                f"module {self.name!r} has no record {record!r}.{did_you_mean(name, self)} It has {some(self.names())}", "not_found"
            )
        return self._source.tensor(name)

    def tensor(self, *, slot: str = "out0", step: int = 0, call: int = 0, as_: str | None = None) -> Any:
        """Give the values of a record of the module itself, as ``Dump.tensor`` does."""
        return self._source.tensor(self.name, slot=slot, step=step, call=call, as_=as_)

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas table of the records."""
        return self._source.to_pandas().iloc[list(self._rows)].reset_index(drop=True)


def counted(count: int, thing: str) -> str:
    """Count things, "1 record" or "2 records"."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    """Propose the nearest of some names, "" where none is near.

    A pattern is near to another one: a number in a name may be a ``*``, too.
    """
    known = dict.fromkeys(names)
    patterns = dict.fromkeys(re.sub(r"(?<![^.])\d+(?![^.])", "*", name) for name in known) if "*" in wanted else {}
    near = difflib.get_close_matches(wanted, [*known, *patterns], 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def some(names: list[str]) -> str:
    """List the first of several names."""
    if not names:
        return "none"
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def group_by_module(source: RecordSource, modules: list[str]) -> dict[str, ModuleRecords]:
    """Group records by their modules; `modules` has one for each record, "" for none."""
    rows: dict[str, dict[int, str]] = {}
    for row, (module, name) in enumerate(zip(modules, source.names(), strict=True)):
        if module:
            rows.setdefault(module, {})[row] = name
    return {module: ModuleRecords(source, module, found) for module, found in rows.items()}


def records_below(source: RecordSource, modules: list[str], name: str, shared: Iterable[str] = ()) -> ModuleRecords:
    """Give the records of a module and of all below it; `shared` are modules below it that have another name."""
    names = source.names()
    others = frozenset(shared)
    found = {row: names[row] for row, module in enumerate(modules) if module == name or module.startswith(f"{name}.") or module in others}
    if not found:
        known = list(dict.fromkeys(module for module in modules if module))
        near = did_you_mean(name, known)
        raise Error(f"there are no records of a module {name!r}.{near} Modules with records: {some(known)}", "not_found")
    return ModuleRecords(source, name, found)


def full_path(name: str, paths: list[str]) -> str:
    """Give the path that a module has among others; the class of the root, in front of it, may be left out."""
    if any(path == name or path.startswith(f"{name}.") for path in paths):
        return name
    roots = {path.partition(".")[0] for path in paths if f"{path.partition('.')[2]}.".startswith(f"{name}.")}
    if len(roots) > 1:
        choice = " or ".join(sorted(f"{root}.{name}" for root in roots))
        raise Error(f"several models have a module {name!r}: say {choice}", "invalid_argument")
    return f"{roots.pop()}.{name}" if roots else name
