"""Which modules of a model, which of their tensors and how much memory a capture in memory is asked for."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tensortap._error import Error
from tensortap._module_records import did_you_mean, some

_COMPILED = "_orig_mod"  # where torch.compile keeps the module that it wraps
_SLOT = re.compile(r"(in|out|grad)(\d*)")
_WILDS = {"**.": r"(?:.*\.)?", ".**": r"(?:\..*)?", "**": ".*", "*": ".*", "?": "."}
_WILD = r"\*\*\.|\.\*\*|\*\*|\*|."
_SIZE = re.compile(r"\s*([\d.]+)\s*(?:b|([kmgtp])(i?)b?)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class ChosenModule:
    """A module, with the name that its records have."""

    module: Any
    path: str
    type: str


def is_module(value: object) -> bool:
    """Say whether something is a module of torch; False where torch is not loaded."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def module_paths(model: Any) -> list[tuple[str, Any]]:
    """Give all paths in a model; that of the model itself is its class, and a shared module has several."""
    found: dict[str, Any] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        parts = [part for part in path.split(".") if part and part != _COMPILED]
        found.setdefault(".".join(parts), module)
    model = found.pop("")
    root = type(getattr(model, _COMPILED, model)).__name__
    while root in found:
        root += "_"
    return [(root, model), *found.items()]


def _is_called(module: Any) -> bool:
    """Say whether a module has a forward; a list of modules has none."""
    return "forward" in vars(module) or type(module).forward is not sys.modules["torch"].nn.Module.forward


def _matches(pattern: str, path: str, root: str) -> bool:
    """Compare as the command line's --modules does: * is any text, ? one character, and the class of the model may be in front.

    Besides, ** is any number of parts, none as well.
    """
    expression = re.sub(_WILD, lambda found: _WILDS.get(found[0]) or re.escape(found[0]), pattern, flags=re.DOTALL)
    return re.fullmatch(rf"(?:{re.escape(root)}\.)?(?:{expression})", path if path == root else f"{root}.{path}", re.DOTALL) is not None


def _picks(choice: Any, path: str, module: Any, root: str) -> bool:
    if isinstance(choice, str):
        return _matches(choice, path, root)
    return isinstance(module, choice) if isinstance(choice, type) else module is choice


def chosen_modules(model: Any, modules: Any) -> tuple[list[ChosenModule], dict[str, str]]:
    """Choose modules of a model.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    modules : str, class of modules, module, sequence of these, or None for all
        A text is a path, or several with commas; ``*`` stands for any text, ``?`` for one character, and the class of the model in front
        may be there, as for ``--modules`` of the command line. ``**`` stands for any number of parts, none as well.

    Returns
    -------
    tuple
        The modules, each once; and for the other paths of shared modules the path that counts.

    Raises
    ------
    Error
        When one of the choices has no module.
    """
    paths = module_paths(model)
    first: dict[int, str] = {}
    for path, module in paths:
        first.setdefault(id(module), path)
    aliases = {path: first[id(module)] for path, module in paths if first[id(module)] != path}
    callable_ones = [(path, module) for path, module in paths if _is_called(module)]
    chosen: set[int] = set()
    for choice in _choices(modules):
        found = {id(module) for path, module in callable_ones if _picks(choice, path, module, paths[0][0])}
        if not found:
            raise Error(_no_match(choice, paths, type(model).__name__), "invalid_argument")
        chosen |= found
    kept = [
        ChosenModule(module, path, type(module).__name__) for path, module in callable_ones if id(module) in chosen and path not in aliases
    ]
    return kept, aliases


def _no_match(choice: Any, paths: list[tuple[str, Any]], model: str) -> str:
    named = repr(choice) if isinstance(choice, str) else choice.__name__ if isinstance(choice, type) else f"this {type(choice).__name__}"
    holders = [path for path, module in paths if _picks(choice, path, module, paths[0][0])]
    if holders:
        return f"modules: {named} only holds modules and is never called itself: say {holders[0]}.*"
    called = [path for path, module in paths if _is_called(module)]
    near = did_you_mean(choice, called) if isinstance(choice, str) else ""
    return f"modules: the {model} has no module {named}.{near} It has {some(called)}"


def why_missing(model: Any, chosen: Sequence[ChosenModule], called: Container[str], path: str) -> str:
    """Say why a module of a model has no records, "" where that is not known."""
    if any(one.path == path for one in chosen):
        return f": {path!r} was called and passed no tensor" if path in called else f": {path!r} was not called"
    is_there = any(path == known for known, _ in module_paths(model))
    return f": {path!r} is not among the captured modules" if is_there else ""


def _choices(modules: Any) -> list[Any]:
    if modules is None:
        return ["**"]
    listed = [modules] if isinstance(modules, str | type) or is_module(modules) else list(modules)
    choices: list[Any] = []
    for one in listed:
        if not isinstance(one, str | type) and not is_module(one):
            raise Error(f"modules: {one!r} is neither a path, a class of modules nor a module", "invalid_argument")
        choices += [part for part in map(str.strip, one.split(",")) if part] if isinstance(one, str) else [one]
    if not choices:
        raise Error("modules names none: leave it out for all", "invalid_argument")
    return choices


def selection_beside(model: Any, modules: Any) -> str:
    """Give the regular expression for the names that the chosen modules have in a dump in a folder."""
    chosen, _ = chosen_modules(model, modules)
    inner = "|".join(re.escape(one.path) for one in chosen if one.module is not model)
    outer = r"[^./]+" if any(one.module is model for one in chosen) else ""
    both = "|".join(part for part in (outer, rf"[^/]+\.(?:{inner})" if inner else "") if part)
    return f"^(?:{both})$"


def read_slots(slots: str | Iterable[str]) -> set[str]:
    """Read which tensors are asked for: ``in``, ``out`` and ``grad``, of all numbers or of one."""
    wanted = {part.strip() for text in ([slots] if isinstance(slots, str) else slots) for part in text.split(",")} - {""}
    for one in sorted(wanted):
        if _SLOT.fullmatch(one) is None:
            raise Error(f"slots: {one!r} is none of in, out, grad, with or without a number, such as out0", "invalid_argument")
    if not wanted:
        raise Error("slots names none: say in, out or grad", "invalid_argument")
    return wanted


def read_bytes(memory: str | float) -> int:
    """Read a size: a number of bytes, or a text such as 2GB or 2 GiB."""
    if isinstance(memory, str):
        found = _SIZE.fullmatch(memory)
        try:
            number = float(found[1]) if found else math.nan
        except ValueError:
            number = math.nan
        power = "kmgtp".index(found[2].lower()) + 1 if found and found[2] else 0
        number *= (1024 if found and found[3] else 1000) ** power
    else:
        number = float(memory)
    if not 0 < number < math.inf:
        raise Error(f"memory is {memory!r}: it must be a number of bytes, or a text such as '2GB'", "invalid_argument")
    return int(number)
