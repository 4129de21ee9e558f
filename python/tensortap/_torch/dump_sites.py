"""Reports tensors by the operator ``tensortap::dump``, for what runs outside of a graph."""

from __future__ import annotations

import torch

from ._functions import Functions

Row = tuple[int, int, int, int, int]
"""Position of a tensor, kind, slot, element, flags."""


class DumpSites:
    """Calls the operator, and adds each site once.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._sites: dict[tuple[int, int, int, tuple[Row, ...]], int] = {}

    def dump(self, role: tuple[int, int, int], tensors: list[torch.Tensor], rows: tuple[Row, ...]) -> None:
        """Report tensors.

        Parameters
        ----------
        role : tuple
            The number of the node, its phase, and flags, as ``add_site`` takes them.
        tensors : list of torch.Tensor
            All that the rows name.
        rows : tuple of Row
            What each tensor is.
        """
        key = (*role, rows)
        if key not in self._sites:
            self._sites[key] = self._functions.add_site(role, rows)
        # Below autograd: the dump is no operation of the program, and changes no version.
        with torch._C._AutoDispatchBelowAutograd():
            torch.ops.tensortap.dump.default(tensors, self._sites[key])
