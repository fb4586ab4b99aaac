"""Loops whose iterations may be executed in lockstep, one statement after the other.

That is sound if no iteration sees what another one wrote. Of every buffer that is
written inside the loop and not allocated there, either

- all accesses are `+=`, which may come in any order, or
- one dimension keeps iterations apart: all its accesses are `c * i + base + [low, high]`
  with `i` the loop variable, one `base` that does not change inside the loop, and
  `high - low < |c|`.

Bounds, conditions and shapes inside must not depend on `i`, so that all iterations
execute the same statements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from schedsearch.core import ast as q
from schedsearch.evaluate.effects import Range, affine_range


@dataclass(frozen=True)
class Lockstep:
    """`room`: elements of the temporaries of one iteration, at least 1."""

    room: int


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
    loops = (stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.For))
    return {
        loop.iter.uid: Lockstep(_room(loop, ranges)) for loop in loops if _qualifies(loop, ranges)
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
    """Accesses of one buffer: their indices, and whether all of them are `+=`."""

    idx: list[tuple[q.Affine, ...]] = field(default_factory=list)
    written: bool = False
    summed_only: bool = True


def _qualifies(loop: q.For, ranges: Mapping[q.Atom, Range]) -> bool:
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
        for buf, use in _accesses(stmt):
            uses[buf].idx.append(use.idx[0])
            uses[buf].written |= use.written
            uses[buf].summed_only &= use.summed_only
    return all(
        _kept_apart(use.idx, loop.iter, bound, ranges)
        for buf, use in uses.items()
        if use.written and not use.summed_only and buf not in own
    )


def _accesses(stmt: q.Stmt) -> Iterator[tuple[q.Var, _Uses]]:
    if isinstance(stmt, q.Assign | q.Reduce):
        yield stmt.buf, _Uses([stmt.idx], True, isinstance(stmt, q.Reduce))
    for expr in q.stmt_exprs(stmt):
        for node in q.walk_expr(expr):
            if isinstance(node, q.Read):
                yield node.buf, _Uses([node.idx], False, False)


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
