"""Loops whose iterations may be executed in lockstep, one statement after the other.

That is sound if no iteration sees what another one wrote. Of every buffer that is
written inside the loop and not allocated there, either

- it is only written by `+=`, which may come in any order, and what is read of it is
  elsewhere, as the loops' bounds show (`A[i, j] += A[i, k] * A[j, k]` for `k < j < i`), or
- one dimension keeps iterations apart: all its accesses are `c * i + base + [low, high]`
  with `i` the loop variable, one `base` that does not change inside the loop, and
  `high - low < |c|`.

Bounds, conditions and shapes inside must not depend on `i`, so that all iterations
execute the same statements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from schedsearch.core import ast as q
from schedsearch.evaluate.effects import Range, affine_range

# Lanes executed together: temporaries of some 1 MiB stay in a cache.
_LANES = 1 << 18
# Elements of temporaries allocated by loops that run together.
_ROOM = 1 << 24

Bounds = Mapping[q.Var, tuple[q.Affine, q.Affine]]
"""Of loop variables; the upper one is not reached."""


@dataclass(frozen=True)
class Lockstep:
    """`room`: elements of the temporaries of one iteration, at least 1."""

    room: int

    def together(self, lanes: int) -> int:
        """How many iterations at once, each of as many lanes; none if less than 2."""
        return min(_LANES // lanes, _ROOM // (lanes * self.room))


def lockstep_loops(proc: q.Proc, values: Mapping[q.Atom, int]) -> dict[int, Lockstep]:
    """The loops of an inlined `proc` that qualify, by the uid of their variable.

    `values` are those of the control arguments, strides and configuration fields.
    """
    ranges: dict[q.Atom, Range] = {atom: (value, value) for atom, value in values.items()}
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.WriteConfig):
            ranges[q.ConfigField(stmt.config, stmt.field)] = (-(2**31), 2**31)
    for stmt in q.walk(proc.body):  # parents come before children
        if isinstance(stmt, q.For):
            low, high = affine_range(stmt.lo, ranges)[0], affine_range(stmt.hi, ranges)[1] - 1
            ranges[stmt.iter] = (low, max(low, high))
    loops = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.For)]
    bounds = {loop.iter: (loop.lo, loop.hi) for loop in loops}
    return {
        loop.iter.uid: Lockstep(_room(loop, ranges))
        for loop in loops
        if _qualifies(loop, bounds, ranges)
    }


def _room(loop: q.For, ranges: Mapping[q.Atom, Range]) -> int:
    total = 1
    for stmt in q.walk(loop.body):
        if isinstance(stmt, q.Alloc):
            elements = 1
            for extent in stmt.shape:
                elements *= max(affine_range(extent, ranges)[1], 1)
            total += elements
    return total


@dataclass
class _Uses:
    """Accesses of one buffer: indices of what is added to, assigned, and read."""

    summed: list[tuple[q.Affine, ...]] = field(default_factory=list)
    assigned: list[tuple[q.Affine, ...]] = field(default_factory=list)
    read: list[tuple[q.Affine, ...]] = field(default_factory=list)


def _qualifies(loop: q.For, bounds: Bounds, ranges: Mapping[q.Atom, Range]) -> bool:
    inside = list(q.walk(loop.body))
    for stmt in inside:
        if isinstance(stmt, q.WriteConfig):
            return False
        if isinstance(stmt, q.For | q.If | q.Alloc) and any(
            loop.iter in q.expr_vars(expr) for expr in q.stmt_exprs(stmt)
        ):
            return False
    own = {stmt.buf for stmt in inside if isinstance(stmt, q.Alloc)}
    bound = {stmt.iter for stmt in inside if isinstance(stmt, q.For)}
    uses: defaultdict[q.Var, _Uses] = defaultdict(_Uses)
    for stmt in inside:
        if isinstance(stmt, q.Assign | q.Reduce):
            use = uses[stmt.buf]
            (use.summed if isinstance(stmt, q.Reduce) else use.assigned).append(stmt.idx)
        for expr in q.stmt_exprs(stmt):
            for node in q.walk_expr(expr):
                if isinstance(node, q.Read):
                    uses[node.buf].read.append(node.idx)
    moving = {loop.iter, *bound}
    return all(
        (
            not use.assigned
            and all(_elsewhere(w, r, moving, bounds, ranges) for w in use.summed for r in use.read)
        )
        or _kept_apart([*use.summed, *use.assigned, *use.read], loop.iter, bound, ranges)
        for buf, use in uses.items()
        if buf not in own
    )


def _elsewhere(
    written: tuple[q.Affine, ...],
    read: tuple[q.Affine, ...],
    moving: set[q.Var],
    bounds: Bounds,
    ranges: Mapping[q.Atom, Range],
) -> bool:
    """Whether no iteration reads an element that any writes; `moving` are the variables that
    differ between iterations."""
    own = {var: var for var in moving}
    twins = {var: q.Var(var.name, ~var.uid) for var in moving}  # of the iteration that reads
    known = dict(bounds)
    for var, twin in twins.items():
        lo, hi = (_renamed(end, twins) for end in bounds[var])
        if lo is None or hi is None:
            return False
        known[twin] = (lo, hi)
    for one, other in zip(written, read, strict=True):
        here, there = _renamed(one, own), _renamed(other, twins)
        if here is None or there is None:
            continue
        if _least(here - there, known, ranges) > 0 or _least(there - here, known, ranges) > 0:
            return True
    return False


def _renamed(value: q.Affine, names: Mapping[q.Var, q.Var]) -> q.Affine | None:
    """None if one of them is in a quotient or remainder."""
    out = q.Affine(value.const)
    for atom, factor in value.terms:
        if not isinstance(atom, q.Var) and q.expr_vars(atom) & names.keys():
            return None
        renamed = names.get(atom, atom) if isinstance(atom, q.Var) else atom
        out = out + q.as_affine(renamed).scaled(factor)
    return out


def _least(value: q.Affine, bounds: Bounds, ranges: Mapping[q.Atom, Range]) -> int:
    """A lower bound: inner loop variables are replaced by an end of their loops first."""
    while loops := [
        (atom, c) for atom, c in value.terms if isinstance(atom, q.Var) and atom in bounds
    ]:
        var, factor = max(loops, key=lambda term: max(term[0].uid, ~term[0].uid))
        lo, hi = bounds[var]
        end = lo if factor > 0 else hi - 1
        value = value - q.as_affine(var).scaled(factor) + end.scaled(factor)
    return affine_range(value, ranges)[0]


def _kept_apart(
    accesses: list[tuple[q.Affine, ...]],
    var: q.Var,
    bound: set[q.Var],
    ranges: Mapping[q.Atom, Range],
) -> bool:
    dims = range(len(accesses[0]))
    return any(_dimension_keeps([a[d] for a in accesses], var, bound, ranges) for d in dims)


def _dimension_keeps(
    indices: list[q.Affine], var: q.Var, bound: set[q.Var], ranges: Mapping[q.Atom, Range]
) -> bool:
    factors, bases, spans = set(), set(), []
    for index in indices:
        rest = index - q.as_affine(var).scaled(index.coefficient(var))
        if var in q.expr_vars(rest):
            return False  # in a quotient or remainder
        moving = tuple((atom, c) for atom, c in rest.terms if q.expr_vars(atom) & bound)
        factors.add(index.coefficient(var))
        bases.add(tuple(term for term in rest.terms if term not in moving))
        spans.append(affine_range(q.Affine(rest.const, moving), ranges))
    if len(factors) > 1 or len(bases) > 1:
        return False
    width = max(high for _, high in spans) - min(low for low, _ in spans)
    return width < abs(factors.pop())
