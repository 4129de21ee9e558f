"""Where converters of older programs find what they are written with."""

from __future__ import annotations

from tensortap.torchair._ge_concrete_graph import fx2ge_converter, ge_apis

__all__ = ["fx2ge_converter", "ge_apis"]
