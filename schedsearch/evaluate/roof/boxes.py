"""Sets of array elements in closed form: products of progressions, one per dimension.

Loops with constant bounds and affine indices mostly access such sets. Each dimension of several
such sets falls into a few classes of coordinates that the same sets hold. Questions about elements
become questions about classes, however large the array is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, lcm

from schedsearch.core import ast as q

# Residues looked at between two ends of progressions; more is for enumeration.
_MOST_RESIDUES = 1 << 12


@dataclass(frozen=True)
class Progression:
    """`first`, `first + step`, ..., `last`; nothing if `last` is less."""

    first: int
    last: int
    step: int = 1


NOTHING = Progression(0, -1)

Box = tuple[Progression, ...]
"""All combinations of a coordinate of each dimension."""

Trips = Mapping[q.Var, tuple[int, int]]
"""Loop variables with the constant `[lo, hi)` they run over; not empty."""


def progression(index: q.Affine, values: Mapping[q.Atom, int], trips: Trips) -> Progression | None:
    """The values of an index over all combinations of its loop variables.

    None if they leave gaps (`9 * i + j` of three `j`), or need arithmetic that is not affine.
    """
    low, high = index.const, index.const
    strides: list[tuple[int, int]] = []  # how far apart, how many
    for atom, coefficient in index.terms:
        if not isinstance(atom, q.Var) or atom not in trips:
            if q.expr_vars(atom) & trips.keys():
                return None
            known = coefficient * q.evaluate_affine(q.as_affine(atom), values.__getitem__)
            low, high = low + known, high + known
            continue
        lo, hi = trips[atom]
        ends = coefficient * lo, coefficient * (hi - 1)
        low, high = low + min(ends), high + max(ends)
        if hi - lo > 1:
            strides.append((abs(coefficient), hi - lo))
    step = gcd(*(stride for stride, _ in strides)) or 1
    reach = 0
    for stride, count in sorted(strides):
        if stride > reach + step:
            return None
        reach += stride * (count - 1)
    return Progression(low, high, step)


def classes(parts: Sequence[Progression]) -> Counter[tuple[bool, ...]] | None:
    """Coordinates that any of `parts` holds, counted by which of them hold it.

    None if that takes looking at too many.
    """
    found: Counter[tuple[bool, ...]] = Counter()
    cuts = sorted({end for part in parts for end in (part.first, part.last + 1)})
    for begin, end in pairwise(cuts):
        covering = [part.first <= begin and end <= part.last + 1 for part in parts]
        steps = (part.step for part, covers in zip(parts, covering, strict=True) if covers)
        period = min(lcm(*steps), end - begin)
        if period > _MOST_RESIDUES:
            return None
        for at in range(begin, begin + period):
            held = tuple(
                covers and (at - part.first) % part.step == 0
                for part, covers in zip(parts, covering, strict=True)
            )
            if any(held):
                found[held] += -((at - end) // period)
    return found
