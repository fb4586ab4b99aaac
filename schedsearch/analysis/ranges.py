"""Interval analysis of control expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from schedsearch.core import ast as q

Interval = tuple[float, float]
Ranges = dict[int, Interval]
"""Variable uid -> inclusive bounds; a variable that is absent is unbounded."""

UNBOUNDED: Interval = (-inf, inf)


def bind_args(ranges: Ranges, args: Iterable[tuple[int, bool]]) -> None:
    """Record that sizes, as Exo defines them, are at least 1. `args`: (uid, is a size)."""
    for uid, is_size in args:
        if is_size:
            ranges[uid] = (1, inf)


def bind_loop(ranges: Ranges, uid: int, lo: q.Affine, hi: q.Affine) -> None:
    """Record the range of a loop variable inside its loop."""
    ranges[uid] = (bounds(lo, ranges)[0], bounds(hi, ranges)[1] - 1)


def bind_loops(ranges: Ranges, body: tuple[q.Stmt, ...]) -> Ranges:
    """Record the ranges of all loop variables in `body`."""
    for stmt in q.walk(body):
        if isinstance(stmt, q.For):
            bind_loop(ranges, stmt.iter.uid, stmt.lo, stmt.hi)
    return ranges


def ranges_of_args(proc: q.Proc) -> Ranges:
    ranges: Ranges = {}
    bind_args(ranges, [(arg.var.uid, arg.type == "size") for arg in proc.args])
    return ranges


def ranges_at(proc: q.Proc, path: q.Path) -> Ranges:
    """Of the sizes, and of the loops around the statement at `path` (itself included)."""
    ranges = ranges_of_args(proc)
    for loop in loops_at(proc, path):
        bind_loop(ranges, loop.iter.uid, loop.lo, loop.hi)
    return ranges


def loops_at(proc: q.Proc, path: q.Path) -> Iterator[q.For]:
    """The loops around the statement at `path` (itself included), outermost first."""
    for end in range(1, len(path) + 1):
        stmt = proc.by_path.get(path[:end])
        if isinstance(stmt, q.For):
            yield stmt


def trips(loop: q.For, ranges: Ranges) -> Interval:
    """Bounds of a loop's number of iterations."""
    low, high = bounds(loop.hi - loop.lo, ranges)
    return max(low, 0), max(high, 0)


def apart(proc: q.Proc, one: tuple[q.Affine, ...], other: tuple[q.Affine, ...]) -> bool:
    """Whether two indices are of different elements in any iteration, as far as bounds of
    loops show: `A[i, j]` and `A[i, k]` are for `k` below `j`."""
    loops = {s.iter: s for s in q.walk(proc.body) if isinstance(s, q.For)}
    sizes = ranges_at(proc, ())
    pairs = list(zip(one, other, strict=True))
    return any(
        bounds(lowest(difference, loops), sizes)[0] > 0
        for a, b in pairs
        for difference in (a - b, b - a)
    )


def always_apart(
    proc: q.Proc, alloc: q.Alloc, one: tuple[q.Affine, ...], other: tuple[q.Affine, ...]
) -> bool:
    """Whether two indices of a buffer are of different elements, each in any iteration of the
    loops inside of the buffer's scope: `A[i]` and `A[n + k]` are for `i` below `n`."""
    inside = {
        s.iter: s for s in q.walk(proc.body) if isinstance(s, q.For) and s.iter.uid > alloc.buf.uid
    }
    around = ranges_at(proc, alloc.path)

    def below(low: q.Affine, high: q.Affine) -> bool:
        ends = lowest(low.scaled(-1), inside), lowest(high, inside)
        steady = not any(q.mentions(end, var) for end in ends for var in inside)
        steady = steady and not any(map(q.may_change, ends))
        return steady and bounds(ends[0] + ends[1], around)[0] > 0

    return any(below(a, b) or below(b, a) for a, b in zip(one, other, strict=False))


def lowest(value: q.Affine, loops: Mapping[q.Var, q.For]) -> q.Affine:
    """A lower bound in which ends of `loops` take the place of their variables, inner first.
    Variables under a division or a remainder stay."""
    while inner := [
        (atom, c) for atom, c in value.terms if isinstance(atom, q.Var) and atom in loops
    ]:
        var, factor = max(inner, key=lambda term: term[0].uid)
        end = loops[var].lo if factor > 0 else loops[var].hi - 1
        value = value - q.as_affine(var).scaled(factor) + end.scaled(factor)
    return value


def bounds(value: q.Affine, ranges: Ranges) -> Interval:
    """Inclusive bounds of an affine expression (sound, not always tight)."""
    low, high = _sum_bounds(value, ranges)
    for rest, factor, den in _remainders(value):
        a, b = bounds(rest, ranges)
        low = max(low, a + min(factor * (den - 1), 0))
        high = min(high, b + max(factor * (den - 1), 0))
    return low, high


def _remainders(value: q.Affine) -> Iterator[tuple[q.Affine, int, int]]:
    """Ways to read `value` as `rest + factor * (x - den * (x / den))`."""
    for atom, coefficient in value.terms:
        if isinstance(atom, q.FloorDiv) and coefficient % atom.den == 0:
            factor = -coefficient // atom.den
            rest = value - q.affine(0, ((atom, coefficient),)) - atom.num.scaled(factor)
            if len(rest.terms) < len(value.terms) - 1:
                yield rest, factor, atom.den


def _sum_bounds(value: q.Affine, ranges: Ranges) -> Interval:
    low: float = value.const
    high: float = value.const
    for atom, coefficient in value.terms:
        a, b = _atom_bounds(atom, ranges)
        ends = (a * coefficient, b * coefficient)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _atom_bounds(atom: q.Atom, ranges: Ranges) -> Interval:
    match atom:
        case q.Var():
            return ranges.get(atom.uid, UNBOUNDED)
        case q.FloorDiv():
            low, high = bounds(atom.num, ranges)
            return low // atom.den if low > -inf else low, high // atom.den if high < inf else high
        case q.Mod():
            low, high = bounds(atom.num, ranges)
            return (low, high) if low >= 0 and high < atom.den else (0, atom.den - 1)
        case _:
            return UNBOUNDED
