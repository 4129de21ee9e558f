"""What the stand-in says of what it does not have."""

from __future__ import annotations

MISSING = "tensortap's stand-in for torch_npu runs programs on the CPU and has no {}; see docs/torchair.md for what it has"
