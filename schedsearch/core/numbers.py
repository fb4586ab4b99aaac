"""Numbers as people read them."""

from __future__ import annotations

from schedsearch.core.stats import Estimate


def duration(seconds: float) -> str:
    """`0.0000123` -> `12.3 us`"""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        # 999.6 ns is shown as 1 us: three digits are kept.
        if seconds < 0.9995 * limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def speedup(estimate: Estimate) -> str:
    """`24.8x [24.1, 25.6]`; the value alone if there is no interval"""
    digits = 1 if estimate.value >= 10 else 2
    if not estimate.bounded:
        return f"{estimate.value:.{digits}f}x"
    low, high = (f"{bound:.{digits}f}" for bound in (estimate.low, estimate.high))
    return f"{estimate.value:.{digits}f}x [{low}, {high}]"


def count(number: int, noun: str) -> str:
    """`1 rewrite`, `2 rewrites`"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
