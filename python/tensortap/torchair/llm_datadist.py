"""Tensors of a device's memory that another component manages."""

from __future__ import annotations

from tensortap.torchair._compiling import create_npu_tensors

__all__ = ["create_npu_tensors"]
