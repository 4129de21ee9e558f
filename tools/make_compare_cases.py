#!/usr/bin/env python3
"""Write tests/golden/compare/cases.bin: pairs of small tensors of every NumPy dtype with what NumPy says of their difference.

The file is a sequence of cases, little endian: the dtype's number (uint32), elements (uint32), bytes of one tensor's data (uint32), 0
(uint32); then sixteen float64 (differing, first differing or -1, max_abs and its position, max_rel and its position, mean, mean_abs, rmse,
l2_a, l2_b, outside of 1e-4 + 1e-3 |b|, share below 1/1000, NaN in a, NaN in b, max_ulp) and the data of a and of b, each padded to 8 bytes.
Sums are of the elements that are finite on both sides, in float64 after the largest magnitude is taken out. Run again after a change here.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
from make_stats_cases import NUMBERS, tensor

SIZES = [1, 7, 33, 600]
ABSOLUTE, RELATIVE = 1e-4, 1e-3


def partner(a: npt.NDArray[np.generic], kind: str, random: np.random.Generator) -> npt.NDArray[np.generic]:
    """Return what `a` is compared with: some of its elements moved a little, or any bit pattern."""
    if kind == "bits":
        return tensor(a.dtype.name, a.size, "bits", random)
    b = a.copy()
    raw = b.view(np.uint8).reshape(a.size, -1)
    chosen = random.random(a.size) < 0.4
    # The lowest byte of little-endian numbers; of a bool all of it.
    raw[chosen, 0] ^= 1 if a.dtype.name == "bool" else random.integers(1, 4, chosen.sum(), dtype=np.uint8)
    return b


def places(x: npt.NDArray[np.generic]) -> list[int]:
    """Return where numbers are in the order of their type."""
    if x.dtype.kind in "iub":
        return [int(v) for v in x]
    bits = x.dtype.itemsize * 8
    raw = x.view(f"u{x.dtype.itemsize}")
    return [-(int(v) - (1 << (bits - 1))) if int(v) >> (bits - 1) else int(v) for v in raw]


def smallest(dtype: np.dtype[np.generic]) -> float:
    """Return what relative errors are of at least."""
    return 1.0 if dtype.kind in "iub" else float(ml_dtypes.finfo(dtype).smallest_normal)


def first_largest(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the largest of these and where it is; 0 at 0 for none."""
    if len(values) == 0 or values.max() == 0:
        return 0.0, 0.0
    return float(values.max()), float(values.argmax())


def root_of_squares(values: npt.NDArray[np.float64]) -> float:
    """Return the L2 norm, whatever the range."""
    largest = float(np.abs(values).max(initial=0))
    return largest * float(np.sqrt(np.sum((values / largest) ** 2))) if largest > 0 else 0.0


def expected(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> list[float]:
    """Return the sixteen numbers of a case."""
    # Differences of integers are exact as objects.
    exact = a.dtype.kind in "iub"
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    with np.errstate(all="ignore"):
        d = np.array([int(p) - int(q) for p, q in zip(a, b, strict=True)], dtype=np.float64) if exact else x - y
        same = (d == 0) | (x == y) | (np.isnan(x) & np.isnan(y)) if not exact else a == b
        distance = np.where(finite, np.abs(d), 0)
        relative = distance / np.maximum(np.abs(np.where(finite, y, 0)), smallest(a.dtype))
        outside = np.where(finite, distance > ABSOLUTE + RELATIVE * np.abs(y), ~same)
        below = np.where(finite, relative < 1e-3, same)
        n = max(int(finite.sum()), 1)
        size = max(float(distance.max(initial=0)), 1e-300)
        mean = float(np.sum(d[finite] / size)) / n * size
        mean_abs = float(np.sum(np.abs(d[finite]) / size)) / n * size
        rmse = root_of_squares(d[finite]) / float(np.sqrt(n))
    ulp = [abs(p - q) for p, q, f in zip(places(a), places(b), finite, strict=True) if f]
    differing = np.flatnonzero(~same)
    return [
        float(len(differing)), float(differing[0]) if len(differing) else -1.0, *first_largest(distance), *first_largest(relative),
        mean, mean_abs, rmse, root_of_squares(x[finite]), root_of_squares(y[finite]),
        float(outside.sum()), float(below.mean()), float(np.isnan(x).sum()), float(np.isnan(y).sum()), float(max(ulp, default=0)),
    ]  # fmt: skip


def main() -> None:
    """Write the file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests" / "golden" / "compare"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(5)
    with (folder / "cases.bin").open("wb") as file:
        for name, number in NUMBERS.items():
            if name.startswith("complex"):
                continue
            for kind in ("plain", "level", "bits"):
                for size in SIZES:
                    a = tensor(name, size, kind, random)
                    b = partner(a, kind, random)
                    raw = a.tobytes()
                    file.write(struct.pack("<4I16d", number, size, len(raw), 0, *expected(a, b)))
                    for data in (raw, b.tobytes()):
                        file.write(data + bytes(-len(data) % 8))


if __name__ == "__main__":
    main()
