"""Which elements an access touches: in closed form, or by looking at iterations one by one.

Loops with constant bounds and affine indices mostly access products of progressions, one per
dimension. Each dimension of several such sets falls into a few classes of coordinates that the
same sets hold. Questions about elements become questions about classes, however large the array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.analysis import conditions
from schedsearch.analysis.accesses import Access
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


Values = dict[q.Atom, int]
Points = dict[q.Atom, NDArray[np.int64]]
"""Values of loop variables, iteration by iteration: arrays of one length."""

_POINTS = 1 << 22  # iterations looked at at a time


def elements(
    access: Access, values: Values, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], ...] | None:
    """An index into an array of this shape; None if looking at every iteration is too much work."""
    loops = {loop.iter: loop for loop in access.loops}
    per_dim = [involved((index,), loops) for index in access.idx]
    guards = [involved((condition,), loops) for condition, _ in access.conditions]
    indexed = set[q.Var]().union(*per_dim, *guards)
    # Other loops matter only if they may have no iterations: by those that bound them.
    others = [loop for loop in access.loops if loop.iter not in indexed]
    guards += [involved((loop.lo, loop.hi), loops) for loop in others]
    indexed.update(*guards)
    others = [loop for loop in others if loop.iter not in indexed]
    # Dimensions with loops of their own are independent: all combinations are accessed.
    apart = sum(map(len, per_dim)) == len(indexed) and not any(guards)
    found = []
    for index, own_loops in zip(access.idx, per_dim, strict=True):
        chosen = own_loops if apart else indexed
        points = _points([loop for loop in access.loops if loop.iter in chosen], values)
        if points is None:
            return None
        count, own = points
        taken = np.ones(count, bool)
        for condition, outcome in access.conditions:
            held = truth(condition, values, own)
            taken &= True if held is None else held == outcome
        for loop in others:
            taken &= evaluate(loop.lo, values, own) < evaluate(loop.hi, values, own)
        found.append((evaluate(index, values, own) + np.zeros(count, np.int64))[taken])
    if not apart or not found:
        return tuple(found)
    return tuple(np.ix_(*map(_distinct, found, shape)))


def halves(access: Access, values: Values, times: int) -> list[Access]:
    """The iterations of the outermost loop that matters, halved so many times."""
    loop = outermost(access)
    if loop is None or not times:
        return [access]
    lo, hi = (q.evaluate_affine(end, values.__getitem__) for end in (loop.lo, loop.hi))
    middle = q.Affine((lo + hi) // 2)
    number = access.loops.index(loop)
    before, after = access.loops[:number], access.loops[number + 1 :]
    parts = replace(loop, hi=middle), replace(loop, lo=middle)
    each = (replace(access, loops=(*before, part, *after)) for part in parts)
    return [quarter for half in each for quarter in halves(half, values, times - 1)]


def outermost(access: Access) -> q.For | None:
    """The outermost loop that indices or conditions depend on; its bounds depend on no other."""
    loops = {loop.iter: loop for loop in access.loops}
    conditions = [condition for condition, _ in access.conditions]
    matters = involved((*access.idx, *conditions), loops)
    return next((loop for loop in access.loops if loop.iter in matters), None)


def _distinct(indices: NDArray[np.int64], extent: int) -> NDArray[np.bool_]:
    """As a mask; `np.unique` takes a hundred times as long."""
    mask = np.zeros(extent, bool)
    mask[indices] = True
    return mask


def _points(loops: list[q.For], values: Values) -> tuple[int, Points] | None:
    """Number and values of all iterations of nested `loops`; None beyond `_POINTS`."""
    count, points = 1, Points()
    for loop in loops:
        lo = evaluate(loop.lo, values, points) + np.zeros(count, np.int64)
        trips = np.maximum(evaluate(loop.hi, values, points) - lo, 0)
        outer = count
        count = int(trips.sum())
        if count > _POINTS:
            return None
        within = np.repeat(np.arange(outer), trips)
        first = np.cumsum(trips) - trips
        points = {var: held[within] for var, held in points.items()}
        points[loop.iter] = (lo - first)[within] + np.arange(count)
    return count, points


def involved(exprs: Iterable[q.Expr], loops: dict[q.Var, q.For]) -> set[q.Var]:
    """Loop variables that `exprs` depend on, and those that their bounds depend on."""
    found = set[q.Var]()
    left = [var for expr in exprs for var in q.expr_vars(expr) & loops.keys()]
    while left:
        var = left.pop()
        if var not in found:
            found.add(var)
            loop = loops[var]
            left += (q.expr_vars(loop.lo) | q.expr_vars(loop.hi)) & loops.keys()
    return found


def evaluate(value: q.Affine, values: Values, points: Points) -> Any:
    """An integer, or an array of one per point."""
    known: dict[q.Atom, Any] = values | points
    return q.evaluate_affine(value, known.__getitem__)


def truth(condition: q.Expr, values: Values, points: Points) -> Any:
    """A condition's value at each point; None if it depends on more than loops and sizes."""
    return conditions.truth(condition, lambda value: evaluate(value, values, points))
