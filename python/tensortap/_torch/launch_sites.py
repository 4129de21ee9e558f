"""Reports the inputs and the outputs of a launch, for kernels that are no operators."""

from __future__ import annotations

import dataclasses

import torch

from ._functions import Functions
from .dump_sites import DumpSites, Row

OUTPUT, INPUT = 0, 1  # kinds of slots
FIRST, SECOND, FAILED = 1, 2, 6  # a dump reports the inputs, then the outputs; or the inputs of a launch that raised
CHANGED, IF_WRITTEN = 1, 4  # flags of a slot


@dataclasses.dataclass
class Begun:
    """A launch that has begun: its node and phase, its tensors, and which of them are inputs and outputs."""

    node: int
    phase: int
    tensors: list[torch.Tensor]
    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]


class LaunchSites:
    """Reports the tensors of launches by the operator ``tensortap::dump``.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._sites = DumpSites(functions)

    def dump(self, begun: Begun, moment: int) -> None:
        """Report the tensors of a launch.

        Parameters
        ----------
        begun : Begun
            The launch.
        moment : int
            FIRST, SECOND or FAILED.
        """
        reads_after = moment == SECOND and self._functions.tells_reads_after()
        rows = (begun.inputs if reads_after else ()) + begun.outputs if moment == SECOND else begun.inputs
        self._sites.dump((begun.node, begun.phase, moment), begun.tensors, rows)

    def name_of(self, tensor: torch.Tensor) -> str:
        """Give the name of the parameter that a tensor is, "" where it is none."""
        return self._functions.parameter_name(tensor.untyped_storage().data_ptr())
