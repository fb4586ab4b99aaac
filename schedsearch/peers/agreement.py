"""Whether a peer computes what the kernel does."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from schedsearch.peers.arrays import Array

# Relative to the largest result. Inputs are positive, so sums are without cancellation:
# of 2^20 floats they differ by some 1e-5, a wrong or missing term of a 512-term one by 1e-2.
TOLERANCE = {"float32": 2e-4, "float64": 1e-11, "float16": 1e-2}


# Of integers that floats were truncated to: of the elements that may be the integer beside the
# procedure's. One that is rounded to the nearest integer instead is another in half of the cases.
BESIDE = 0.01


def difference(want: Array, got: Array, truncated: bool = False) -> str | None:
    """How two arrays differ by more than rounding; None if they do not. `truncated`: of integers
    that depend on floats. Of another rank they may be the same elements, row after row."""
    if got.ndim != want.ndim and got.size == want.size:
        got = got.reshape(want.shape)
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if want.dtype.name not in TOLERANCE:
        unequal = int(np.count_nonzero(want != got))
        if truncated and unequal <= BESIDE * want.size:
            far = np.abs(want.astype(np.int64) - got.astype(np.int64)) > 1
            unequal = int(np.count_nonzero(far))
        return f"{unequal} of {want.size} differ" if unequal else None
    off = distance(want, got)
    # Written so that a NaN is a difference.
    return None if off <= TOLERANCE[want.dtype.name] else f"off by {off:.1e} of the largest value"


def not_comparable(want: Mapping[str, Array]) -> str | None:
    """Why no peer can be compared with the procedure's own results; None if one can."""
    for name, array in want.items():
        if array.dtype.name in TOLERANCE and not np.isfinite(array).all():
            return f"{name}: the procedure itself gives infinities or NaNs on the data used"
    return None


def distance(want: Array, got: Array) -> float:
    """The largest difference, relative to the largest value."""
    scale = float(np.max(np.abs(want), initial=0)) or 1.0
    return float(np.max(np.abs(got.astype(np.float64) - want), initial=0)) / scale


def differences(
    want: Mapping[str, Array], got: Mapping[str, Array], truncated: Collection[str] = ()
) -> str | None:
    """The first of several arrays that differs, and how; some are of `truncated` floats."""
    for name, array in want.items():
        if problem := difference(array, got[name], name in truncated):
            return f"{name}: {problem}"
    return None
