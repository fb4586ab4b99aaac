"""Split factors and cut points, derived from the target."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from schedsearch.analysis.conditions import known
from schedsearch.analysis.walkers import lanes
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine

LANE_MULTIPLES = (1, 2, 4)
"""Vectors per tile: one to fill a register, two and four to hide FMA latency."""

SMALL = (2, 4, 8)
"""Scalar unroll widths: rows of a register tile."""


def ideal_factors(target: Target, bits: int) -> tuple[int, ...]:
    """Factors the machine suggests, whatever the extent, ascending.

    Register tiles (small numbers, multiples of the vector length), one cache
    line, and per cache level the edge of the largest square tile of which three
    fit (the operands of a contraction; Lam, Rothberg and Wolf 1991), rounded
    down to a power of two.
    """
    vector = lanes(target, bits)
    found = {*SMALL, target.line_bytes * 8 // bits, *(vector * m for m in LANE_MULTIPLES)}
    for size in target.cache_bytes[:2]:
        found.add(1 << (isqrt(size * 8 // (3 * bits)).bit_length() - 1))
    return tuple(sorted(factor for factor in found if factor > 1))


def split_factors(target: Target, bits: int, extent: int | None) -> tuple[int, ...]:
    """Factors for a loop of `extent` iterations (None: not known), ascending.

    Next to each ideal factor its nearest divisor of the extent, because a split
    without a tail costs nothing at run time.
    """
    ideal = ideal_factors(target, bits)
    if extent is None:
        return ideal
    divisors = [d for d in range(2, isqrt(extent) + 1) if extent % d == 0]
    divisors += [extent // d for d in divisors]
    found = {factor for factor in ideal if factor < extent}
    if divisors:
        found |= {min(divisors, key=lambda d: (abs(d - factor), d)) for factor in ideal}
    return tuple(sorted(found))


def divides(proc: q.Proc, factor: int, extent: q.Affine, path: q.Path = ()) -> bool:
    """Whether `factor` divides `extent` where the statement at `path` is: by arithmetic, or
    by an assert or a condition around it, `e % m == 0`, with an `e` that leaves the same rest as
    `extent`: what tiles of 32 leave of `n` is a multiple of 16 if `n` is one."""
    if q.modulo(extent, factor) == q.Affine(0):
        return True
    return any(
        den % factor == 0 and q.modulo(extent - num, factor) == q.Affine(0)
        for num, den in _multiples(proc, path)
    )


def _multiples(proc: q.Proc, path: q.Path) -> Iterator[tuple[q.Affine, int]]:
    """What is a multiple of which number at `path`."""
    for cond in known(proc, path):
        match cond:
            case q.BinOp(
                op="==",
                lhs=q.Affine(const=0, terms=((q.Mod(num=num, den=den), _),)),
                rhs=q.Affine(const=0, terms=()),
            ):
                yield num, den


def last_multiple(loop: q.For, factor: int) -> int | str:
    """The last multiple of `factor` before the end of a loop; if the length is known, counted from
    the start of the loop."""
    if loop.extent is not None:
        at = loop.lo + loop.extent // factor * factor
        return at.const if at.is_const else show_affine(at)
    return f"{factor} * (({show_affine(loop.hi)}) / {factor})"
