"""Tests that are the same for several rows of a table: one case that goes through them all."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """
    Make one case of a test and a table.

    Parameters
    ----------
    names
        The arguments that the table gives, as for ``pytest.mark.parametrize``; all others are fixtures.
    rows
        A value for each row, or a tuple of them where there are several names.

    Returns
    -------
    Callable
        A decorator. Every row is tried, in a folder of its own below `tmp_path`; all that fail are told at the end.
    """
    words = [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)
    table = [row if len(words) > 1 else (row,) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def case(**fixtures: Any) -> None:
            failures, skipped = [], []
            for number, row in enumerate(table):
                given = {**fixtures, **dict(zip(words, row, strict=True))}
                if "tmp_path" in fixtures:
                    given["tmp_path"] = fixtures["tmp_path"] / f"row{number}"
                    given["tmp_path"].mkdir()
                try:
                    test(**given)
                except pytest.skip.Exception as skip:
                    skipped.append(str(skip))
                except Exception:
                    failures.append(f"--- row {number}, {dict(zip(words, row, strict=True))}\n{traceback.format_exc(limit=-2)}")
            if failures:
                pytest.fail(f"{len(failures)} of {len(table)} rows\n" + "\n".join(failures), pytrace=False)
            if len(skipped) == len(table):
                pytest.skip(skipped[0])

        kept = [parameter for name, parameter in signature.parameters.items() if name not in words]
        case.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return case

    return decorate
