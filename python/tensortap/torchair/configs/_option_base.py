"""Options that check a value when it is assigned, and the groups that hold them."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

Check = Callable[[Any], None]


class Option:
    """One option: its value, its default and the check that every new value passes.

    Parameters
    ----------
    default : object
        The value at the beginning; it is not checked.
    check : callable, optional
        Raises an exception for a value that is not allowed.
    optional : sequence, optional
        All allowed values, where they can be listed.
    """

    def __init__(self, default: Any, check: Check | None = None, optional: Sequence[Any] | None = None) -> None:
        self._default = default
        self._check = check
        self._optional = optional
        self._value = default

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"<option {self._value!r}>"

    @property
    def default(self) -> Any:
        """The value of an option that the program has not set."""
        return self._default

    @property
    def optional(self) -> Sequence[Any] | None:
        """All allowed values; None when they cannot be listed."""
        return self._optional

    @property
    def value(self) -> Any:
        """The value as text, with "1" for True and "0" for False; None when it is None."""
        if self._value is None:
            return None
        text = str(self._value)
        return {"True": "1", "False": "0"}.get(text, text)

    @value.setter
    def value(self, value: Any) -> None:
        if self._check is not None:
            self._check(value)
        self._value = value

    @property
    def changed(self) -> bool:
        """Whether the value differs from the default."""
        return bool(self._value != self._default)


class CallableOption(Option):
    """A function of the program's, or None; its value is the function itself."""

    def __init__(self) -> None:
        super().__init__(None, _callable_or_none)

    @property
    def value(self) -> Any:
        """The function, or None."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        _callable_or_none(value)
        self._value = value


class Group:
    """Options and groups under their names, in this order.

    Reading an attribute gives the `Option`; assigning to it checks the value and stores it there. What is neither an option nor a group is
    stored as it is. Every exception of an assignment has the type of its cause, whose text is its first line.
    """

    def __init__(self, **members: Any) -> None:
        vars(self).update(members)
        vars(self)["_names"] = list(members)

    def __getattr__(self, name: str) -> Any:
        # Called for unknown names, so that type checkers know every option.
        raise AttributeError(f"{type(self).__name__} has no option {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            self._assign(name, value)
        except Exception as error:
            raise _with_context(error) from None

    def _assign(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise ValueError(f"{type(self).__name__} has no option {name}, all options {self._names}")
        member = getattr(self, name)
        if isinstance(member, Option):
            member.value = value
        elif isinstance(member, Group) and not isinstance(value, Group):
            raise TypeError(f"{name} is a group of options, got {value!r}; assign to one of {member._names}")
        else:
            super().__setattr__(name, value)

    def as_dict(self, mode: str = "max-autotune") -> tuple[dict[str, Any], dict[str, Any]]:
        """Give what the options mean to the engine.

        Parameters
        ----------
        mode : str
            The mode of the whole config.

        Returns
        -------
        tuple of dict
            The options of one graph and those of the process, by the engine's keys.
        """
        local: dict[str, Any] = {}
        shared: dict[str, Any] = {}
        for member in (getattr(self, name) for name in self._names):
            if isinstance(member, Group):
                of_graph, of_process = member.as_dict(mode)
                local.update(of_graph)
                shared.update(of_process)
        return local, shared


def leaves(group: Group, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """List the options of a group and of the groups in it.

    Parameters
    ----------
    group : Group
        Where to begin.
    prefix : str
        What the names begin with.

    Yields
    ------
    tuple
        The name, such as ``dump_config.dump_path``, and the `Option`; of what is neither option nor group, the object itself.
    """
    for name in group._names:
        member = getattr(group, name)
        if isinstance(member, Group):
            yield from leaves(member, f"{prefix}{name}.")
        else:
            yield prefix + name, member


def flag(default: bool | None = False) -> Option:
    """Make an option that is True or False."""
    return choice(default, True, False)


def choice(default: Any, *allowed: Any) -> Option:
    """Make an option with the values that are allowed; equal values count, such as 1 for True."""
    return Option(default, partial(_one_of, list(allowed)), list(allowed))


def integer(default: int | None, least: int) -> Option:
    """Make an option for the whole numbers from `least` to 2 to the power of 63, less one."""
    return Option(default, partial(_integer_from, least))


def existing_folder(default: str) -> Option:
    """Make an option for the path of a folder that exists when it is assigned."""
    return Option(default, _existing_folder)


def existing_file() -> Option:
    """Make an option for the path of a file that exists when it is assigned, or None."""
    return Option(None, _existing_file)


def existing_json_file() -> Option:
    """Make an option for the path of a .json file that exists when it is assigned, or None."""
    return Option(None, _existing_json_file)


# The checks are functions of the module and not closures, so that a config can be sent to another process.


def _one_of(allowed: list[Any], value: Any) -> None:
    if value not in allowed:
        raise ValueError(f"Value {value!r} (type: {type(value)}) not in optional list {allowed!r} (type: {type(allowed[0])}).")


def _integer_from(least: int, value: Any) -> None:
    most = 2**63 - 1
    if not isinstance(value, int):
        raise ValueError(f"Please set integer type, but got {type(value)}")
    if not least <= value <= most:
        raise ValueError(f"Please set value in [{least}, {most}], {value} is out of range.")


def _existing_folder(value: Any) -> None:
    if value is None or not os.path.isdir(value):
        raise FileNotFoundError(f"Please set legal dir path, {value} is not found or is not a file directory!")


def _existing_file(value: Any) -> None:
    if value is not None and not os.path.isfile(value):
        raise FileNotFoundError(f"Please set legal file path, {value} is not found or is not a file!")


def _existing_json_file(value: Any) -> None:
    if value is None:
        return
    path = os.fspath(value)
    if not path:
        raise ValueError("File path cannot be empty!")
    if not (path.endswith(".json") and os.path.isfile(path)):
        raise FileNotFoundError(f"Please set legal file path, {path} is not found or is not '.json' file!")


def _callable_or_none(value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f"value must be Callable or None, got {type(value)}")


def _with_context(error: Exception) -> Exception:
    """Make an exception of the same type with the traceback and the error code of the real system behind the text of this one."""
    stamp = time.strftime("%Y-%m-%d-%H:%M:%S")
    code = f"[ERROR] {stamp} (PID:{os.getpid()}, Device:-1, RankID:-1) ERR03005 GRAPH internal error"
    text = "\n".join([str(error), "".join(traceback.format_exception(error)), code])
    try:
        return type(error)(text)
    except TypeError:
        return error  # a type that is not made of a text alone, such as UnicodeError
