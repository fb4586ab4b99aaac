"""What is certain of control values at a statement. True answers are proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from schedsearch.analysis.conditions import at_most_zero, guards
from schedsearch.analysis.ranges import Ranges, bounds, loops_at, ranges_at
from schedsearch.core import ast as q

Loop = tuple[q.Var, q.Affine, q.Affine]
"""A loop variable, and the first and the end of its values."""


@dataclass
class Certain:
    """Ranges of variables, the loops around, outermost first, and what is at most 0."""

    ranges: Ranges = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    facts: tuple[q.Affine, ...] = ()

    def at_most(self, value: q.Affine, limit: int) -> bool:
        """Whether a value is at most `limit`: by itself, or by a fact."""
        return upper(value, self.ranges, self.loops, limit) <= limit or any(
            upper(value - fact, self.ranges, self.loops, limit) <= limit for fact in self.facts
        )

    def below(self, value: q.Affine, other: q.Affine) -> bool:
        return self.at_most(value - other, -1)

    def within(self, first: q.Affine, last: q.Affine, lo: q.Affine, hi: q.Affine) -> bool:
        """Whether `lo <= first` and `last < hi`."""
        return self.at_most(lo - first, 0) and self.below(last, hi)

    def compare(self, lhs: q.Affine, op: str, rhs: q.Affine) -> bool:
        match op:
            case "<":
                return self.below(lhs, rhs)
            case ">":
                return self.below(rhs, lhs)
            case "<=":
                return self.at_most(lhs - rhs, 0)
            case ">=":
                return self.at_most(rhs - lhs, 0)
            case "==":
                return self.at_most(lhs - rhs, 0) and self.at_most(rhs - lhs, 0)
            case _:
                return False


def certain_at(proc: q.Proc, path: q.Path) -> Certain:
    """At the statement at `path`: by the loops and branches it is in, and by asserts."""
    facts = [
        fact
        for condition in (*proc.asserts, *guards(proc, path))
        for fact in at_most_zero(condition)
        if not q.may_change(fact)
    ]
    around = [(loop.iter, loop.lo, loop.hi) for loop in loops_at(proc, path)]
    return Certain(ranges_at(proc, path), around, tuple(facts))


def upper(value: q.Affine, ranges: Ranges, loops: Sequence[Loop], enough: float = -inf) -> float:
    """An upper bound: the least, or the first of at most `enough`, of interval bounds while
    loop variables, from the innermost, are replaced by their own ends: `j - i` is below 0 in
    `for j in seq(0, i)`."""
    best = bounds(value, ranges)[1]
    if best <= enough:
        return best
    plain = _undivided(value)
    forms = [plain] if plain is value else [plain, value]
    for var, lo, hi in reversed(loops):
        best = min(best, *(bounds(form, ranges)[1] for form in forms))
        if best <= enough:
            return best
        forms = [_at_most(form, var, lo, hi) for form in forms]
        forms[0] = _undivided(forms[0])
    return min(best, *(bounds(form, ranges)[1] for form in forms))


def _at_most(value: q.Affine, var: q.Var, lo: q.Affine, hi: q.Affine) -> q.Affine:
    """`value` with the end of a loop, where it is greatest, for the loop's variable."""
    factor = value.coefficient(var)
    if not factor:
        return value
    most = hi - 1 if factor > 0 else lo
    return value + (most - q.as_affine(var)).scaled(factor)


def _undivided(value: q.Affine) -> q.Affine:
    """`8 * (n / 8)` written as `n - n % 8`."""
    for atom, factor in value.terms:
        if isinstance(atom, q.FloorDiv) and factor % atom.den == 0:
            rest = atom.num - q.modulo(atom.num, atom.den)
            return _undivided(
                value - q.as_affine(atom).scaled(factor) + rest.scaled(factor // atom.den)
            )
    return value
