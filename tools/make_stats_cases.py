#!/usr/bin/env python3
"""Write tests/golden/stats/cases.bin: small tensors of every NumPy dtype with the statistics that NumPy computes of them in float64.

The file is a sequence of cases, little endian: the dtype's number (uint32), elements (uint32), bytes of data (uint32), 0 (uint32); then ten
float64 (min, max, mean, std, l2, absmax, nan, inf, zero, negative) and the data, padded to 8 bytes. NaN elements are left out of the first
six, as `nanmin` and its kin do. Run again after a change here.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt

# Numbers of enum tensortap_dtype.
NUMBERS: dict[str, int] = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9,
    "float16": 10, "bfloat16": 11, "float32": 12, "float64": 13, "complex64": 14, "complex128": 15,
    "float8_e4m3fn": 16, "float8_e4m3fnuz": 17, "float8_e5m2": 18, "float8_e5m2fnuz": 19,
}  # fmt: skip
SIZES = [1, 2, 7, 33, 256, 1000]


def tensor(name: str, size: int, kind: str, random: np.random.Generator) -> npt.NDArray[np.generic]:
    """Return a tensor of `size` elements: activations, a large level, or any bit pattern."""
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    if kind == "bits":
        raw = random.integers(0, 256, size * dtype.itemsize, dtype=np.uint8)
        return (raw & 1).view(dtype) if name == "bool" else raw.view(dtype)
    scale = 20.0 if name.startswith(("float8", "int8", "uint8")) else 100.0
    values = random.standard_normal(size) * scale
    if kind == "level":
        values = values * 0.01 + scale * 3
    if name.startswith(("uint", "bool")):
        values = np.abs(values)
    if name.startswith("complex"):
        return (values + 1j * random.standard_normal(size)).astype(dtype)
    limit = float(np.iinfo(dtype).max) if dtype.kind in "iu" else np.inf
    return np.clip(values, -limit, limit).astype(dtype)


def expected(data: npt.NDArray[np.generic]) -> list[float]:
    """Return the ten numbers of a case."""
    if data.dtype.kind == "c":
        with np.errstate(all="ignore"):
            values = np.where(np.isnan(data.real) | np.isnan(data.imag), np.nan, np.abs(data.astype(np.complex128)))
    else:
        values = data.astype(np.float64)
    kept = values[~np.isnan(values)]
    counts = [float(n) for n in (np.isnan(values).sum(), np.isinf(values).sum(), (values == 0).sum(), (values < 0).sum())]
    if len(kept) == 0:
        return [np.nan] * 6 + counts
    with np.errstate(all="ignore"):
        # The largest magnitude is taken out first, so that squares do not overflow.
        largest = np.abs(kept).max()
        scale = largest if 0 < largest < np.inf else 1.0
        l2 = float(np.sqrt(np.sum((kept / scale) ** 2)) * scale)
        std = float(np.std(kept / scale) * scale)
        mean = float(np.mean(kept / scale) * scale)
    return [float(kept.min()), float(kept.max()), mean, std, l2, float(largest), *counts]


def main() -> None:
    """Write the file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests" / "golden" / "stats"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(3)
    with (folder / "cases.bin").open("wb") as file:
        for name, number in NUMBERS.items():
            for kind in ("plain", "level", "bits"):
                for size in SIZES:
                    data = tensor(name, size, kind, random)
                    raw = data.tobytes()
                    file.write(struct.pack("<4I10d", number, size, len(raw), 0, *expected(data)))
                    file.write(raw + bytes(-len(raw) % 8))


if __name__ == "__main__":
    main()
