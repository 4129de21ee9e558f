#!/usr/bin/env python3
"""Write tests/golden/numbers/: what ml_dtypes and NumPy make of every bit pattern of the small number formats.

Each `<dtype>.bin` holds the value of pattern 0, 1, 2, ... as little-endian float32. `rounding.bin` holds rows of a float32 and the bits of
the float16 and the bfloat16 that it rounds to. Run again after a change here; the output does not depend on the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt

# Our name, ml_dtypes' (or NumPy's) type, bits.
FORMATS: list[tuple[str, type, int]] = [
    ("float16", np.float16, 16),
    ("bfloat16", ml_dtypes.bfloat16, 16),
    ("float8_e4m3fn", ml_dtypes.float8_e4m3fn, 8),
    ("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, 8),
    ("float8_e5m2", ml_dtypes.float8_e5m2, 8),
    ("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, 8),
    ("float8_e8m0", ml_dtypes.float8_e8m0fnu, 8),
    ("float4_e2m1", ml_dtypes.float4_e2m1fn, 4),
    ("int4", ml_dtypes.int4, 4),
    ("uint4", ml_dtypes.uint4, 4),
    ("int2", ml_dtypes.int2, 2),
    ("uint2", ml_dtypes.uint2, 2),
    ("uint1", ml_dtypes.uint1, 1),
]


def values_of(dtype: type, bits: int) -> npt.NDArray[np.float32]:
    """Return the values of all patterns of a format."""
    patterns = np.arange(1 << bits, dtype=np.uint16 if bits == 16 else np.uint8)
    return patterns.view(dtype).astype(np.float32)


def rounding_cases() -> npt.NDArray[np.float32]:
    """Return floats that are hard to round: near and on halves, subnormal, at the limits, and random ones."""
    random = np.random.default_rng(20)
    halves = np.arange(0, 1 << 16, 37, dtype=np.uint16)
    near: list[npt.NDArray[np.float32]] = []
    for dtype in (np.float16, ml_dtypes.bfloat16):
        low = halves.view(dtype).astype(np.float32)
        high = (halves + np.uint16(1)).view(dtype).astype(np.float32)
        with np.errstate(all="ignore"):
            middle = low + (high - low) / np.float32(2)
            near += [middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(-np.inf))]
    tiny = np.nextafter(np.float32(2**-25), np.float32(1))
    limits = [65504, 65519.996, 65520, 65536, -65520, 2**-24, 2**-25, tiny, 3.3895314e38, 3.4e38]
    edges = np.array([0, -0.0, *limits, np.inf, -np.inf, np.nan], np.float32)
    bits = random.integers(0, 1 << 32, 4000, dtype=np.uint32).view(np.float32)
    scaled = (random.standard_normal(4000) * 10.0 ** random.uniform(-8, 5, 4000)).astype(np.float32)
    return np.concatenate([*near, edges, bits, scaled]).astype("<f4")


def main() -> None:
    """Write all files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests" / "golden" / "numbers"
    folder.mkdir(parents=True, exist_ok=True)
    with np.errstate(all="ignore"):
        for name, dtype, bits in FORMATS:
            values_of(dtype, bits).astype("<f4").tofile(folder / f"{name}.bin")
        floats = rounding_cases()
        rows = np.empty(len(floats), np.dtype([("value", "<f4"), ("float16", "<u2"), ("bfloat16", "<u2")]))
        rows["value"] = floats
        rows["float16"] = floats.astype(np.float16).view(np.uint16)
        rows["bfloat16"] = floats.astype(ml_dtypes.bfloat16).view(np.uint16)
        rows.tofile(folder / "rounding.bin")


if __name__ == "__main__":
    main()
