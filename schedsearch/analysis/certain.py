"""Facts about control values at a statement, and whether the asserts of a procedure hold where it
is called. True answers are proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from schedsearch.analysis.arrays import declared
from schedsearch.analysis.conditions import at_most_zero, guards, negated
from schedsearch.analysis.ranges import Ranges, bounds, loops_at, ranges_at
from schedsearch.analysis.windows import View, of_window, views
from schedsearch.core import ast as q
from schedsearch.core.text import show_expr

Loop = tuple[q.Var, q.Affine, q.Affine]
"""A loop variable, and the first and the end of its values."""


@dataclass
class Certain:
    """Ranges of variables; the loops around, outermost first; expressions that are at most 0."""

    ranges: Ranges = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    facts: tuple[q.Affine, ...] = ()

    def at_most(self, value: q.Affine, limit: int) -> bool:
        """Whether a value is at most `limit`: by itself, or by a fact."""
        return upper(value, self.ranges, self.loops, limit) <= limit or any(
            upper(value - fact, self.ranges, self.loops, limit) <= limit for fact in self.facts
        )

    def below(self, value: q.Affine, other: q.Affine) -> bool:
        """Whether `value` is always less than `other`."""
        return self.at_most(value - other, -1)

    def within(self, first: q.Affine, last: q.Affine, lo: q.Affine, hi: q.Affine) -> bool:
        """Whether `lo <= first` and `last < hi`."""
        return self.at_most(lo - first, 0) and self.below(last, hi)

    def compare(self, lhs: q.Affine, op: str, rhs: q.Affine) -> bool:
        """Whether the comparison `op` (`<`, `<=`, `==`, ...) always holds."""
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
        for condition in (*proc.asserts, *guards(proc, path), *negated(proc, path))
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


def broken_assert(proc: q.Proc, path: q.Path) -> str | None:
    """A sentence on the first assert of the procedure called at `path` that cannot be shown
    to hold there; None if all hold, or if there is no call.

    Exo's `replace` does not ask (exo issue 758): it accepts an instruction for at most 8 elements,
    or for elements that lie next to each other, where there are 16, or a column.
    """
    call = proc.by_path.get(path)
    if not isinstance(call, q.Call):
        return None
    site = _Site(proc, call, certain_at(proc, path))
    for condition in call.proc.asserts:
        if not site.holds(condition):
            return f"{call.proc.name} needs {show_expr(condition)}, which may not hold here"
    return None


class _Unknown(Exception):
    """A condition depends on a value that the caller does not know."""


@dataclass(frozen=True)
class _Site:
    """A call in a procedure, and the facts that hold there."""

    proc: q.Proc
    call: q.Call
    certain: Certain

    def holds(self, condition: q.Expr) -> bool:
        match condition:
            case q.Const():
                return bool(condition.value)
            case q.BinOp(op="and"):
                return self.holds(condition.lhs) and self.holds(condition.rhs)
            case q.BinOp(op="or"):
                return self.holds(condition.lhs) or self.holds(condition.rhs)
            case q.BinOp(lhs=q.Affine() as lhs, rhs=q.Affine() as rhs):
                try:
                    difference = q.substituted(lhs - rhs, self.leaf)
                except _Unknown:
                    return False
                return self.certain.compare(difference, condition.op, q.Affine())
            case _:
                return False

    def leaf(self, atom: q.Leaf) -> q.Affine:
        """A variable or stride of the callee in terms of the caller."""
        match atom:
            case q.Var():
                found = self.actual(atom)
            case q.StrideOf():
                actual = self.actual(atom.buf)
                found = self.stride(actual, atom.dim) if actual is not None else None
            case q.ConfigField():
                found = q.as_affine(atom)
        if not isinstance(found, q.Affine):
            raise _Unknown
        return found

    def actual(self, formal: q.Var) -> q.Expr | None:
        pairs = zip(self.call.proc.args, self.call.args, strict=True)
        return next((value for arg, value in pairs if arg.var == formal), None)

    def stride(self, array: q.Expr, dim: int) -> q.Affine | None:
        """Elements from one index to the next along `dim` of an argument."""
        known = views(self.proc.body)
        match array:
            case q.Read(idx=()):
                view = known.get(array.buf, View(array.buf))
            case q.Window():
                view = of_window(array, known)
            case _:
                return None
        return self.buffer_stride(view.buf, view.dim(dim))

    def buffer_stride(self, buf: q.Var, dim: int) -> q.Affine | None:
        array = declared(self.proc).get(buf)
        if array is None:
            return None
        stride = q.StrideOf(buf, dim)
        return self.asserted_stride(stride) if array.window else _dense_stride(array.shape, dim)

    def asserted_stride(self, stride: q.StrideOf) -> q.Affine:
        """The stride of a window as the caller's own asserts give it, else as it is."""
        own = q.as_affine(stride)
        for condition in self.proc.asserts:
            match condition:
                case q.BinOp(op="==", lhs=q.Affine() as lhs, rhs=q.Affine() as rhs) if lhs == own:
                    return rhs
        return own


def _dense_stride(shape: tuple[q.Affine, ...], dim: int) -> q.Affine | None:
    """Stride in an array without gaps; None if it is a product of several sizes."""
    total = q.Affine(1)
    for extent in shape[dim + 1 :]:
        if extent.is_const:
            total = total.scaled(extent.const)
        elif total.is_const:
            total = extent.scaled(total.const)
        else:
            return None
    return total
