"""Packages that only some functions need."""

from __future__ import annotations

import importlib
from typing import Any

from tensortap._error import Error


def optional_package(name: str, caller: str) -> Any:
    """Import a package for a function that cannot do without it.

    Parameters
    ----------
    name : str
        The package.
    caller : str
        The function, for the message.

    Returns
    -------
    module
        The package.

    Raises
    ------
    Error
        When it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Error(f"{caller} needs the package {name}: pip install {name}", "unsupported") from error
