"""The exception of the package."""

from __future__ import annotations


class Error(Exception):
    """What went wrong, where, and how to mend it.

    Parameters
    ----------
    message : str
        For people.
    code : str
        For programs: ``invalid_argument``, ``not_found``, ``unsupported``, ``corrupt``, ``io``, ``exhausted`` or ``internal``.
    """

    def __init__(self, message: str, code: str = "internal") -> None:
        super().__init__(message)
        self.code = code
