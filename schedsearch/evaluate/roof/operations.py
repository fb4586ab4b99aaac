"""Operations that each statement needs, and the loops that they cannot be moved out of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.contractions import (
    LONG,
    MAX_FACTORS,
    Loops,
    Order,
    best_order,
    with_bounds,
)
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.shared_windows import shared_windows
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.floats import FloatingPoint

Needs = Counter[tuple[str, Loops]]
"""How many operations, by type and the loops that they cannot be moved out of."""

_SUMS, _PRODUCTS = frozenset("+-"), frozenset("*/")


def operations(proc: q.Proc, fp: FloatingPoint) -> Mapping[int, Needs]:
    """Operations of each assignment and reduction of an inlined procedure, by the statement's
    identity: equal statements may be in several places. Factors leave sums under `fast` alone."""
    scan = _Scan(proc, fp)
    scan.block(proc.body, ())
    return scan.found


class _Scan:
    def __init__(self, proc: q.Proc, fp: FloatingPoint) -> None:
        self.fp = fp
        self.found: dict[int, Needs] = {}
        self.values = _only_values(proc)

    def block(self, body: tuple[q.Stmt, ...], loops: tuple[q.For, ...]) -> None:
        known: dict[q.Expr, frozenset[q.Var]] = {}  # what has been computed, and from what
        for stmt in body:
            if isinstance(stmt, q.Assign | q.Reduce):
                reduced = reduction(stmt)
                value = reduced.term if reduced else stmt.rhs
                order = self._order(stmt, loops) if isinstance(stmt, q.Reduce) else None
                factors = _operands(value, _PRODUCTS) if order else [value]
                needs = Needs(n for each in factors for n in self._needs(each, loops, known))
                for step in order.steps if order else ():
                    needs[stmt.type, step.loops] += step.multiplications
                    needs[f"{stmt.type} +", step.loops] += step.summed
                if reduced and not order:
                    how = "+" if reduced.operator == "+" else "min"
                    needs[f"{stmt.type} {how}", frozenset(loop.iter for loop in loops)] += 1
                self.found[id(stmt)] = needs
                known = {e: used for e, used in known.items() if stmt.buf not in used}
            elif nested := q.blocks(stmt):
                known = {}
                for inner in nested:
                    self.block(inner, (*loops, stmt) if isinstance(stmt, q.For) else loops)

    def _order(self, stmt: q.Reduce, loops: tuple[q.For, ...]) -> Order | None:
        """In which order the sum of a product takes fewer operations; None if in none."""
        factors = list(_operands(stmt.rhs, _PRODUCTS))
        if self.fp is not FloatingPoint.FAST or stmt.type in INTEGERS:
            return None
        if len(factors) > MAX_FACTORS or stmt.buf in q.expr_vars(stmt.rhs):
            return None
        inner: q.Stmt = stmt
        nest = []
        for loop in reversed(loops):
            if loop.body != (inner,):
                break
            nest.append(loop)
            inner = loop
        summed = Loops(loop.iter for loop in nest).difference(*map(q.expr_vars, stmt.idx))
        extents = {loop.iter: loop.extent or LONG for loop in loops}
        depends = tuple(
            with_bounds(self._varies(factor, loops, set()), loops[::-1]) for factor in factors
        )
        order = best_order(depends, summed, extents) if summed else None
        windows = shared_windows(stmt, factors, loops[::-1], summed)
        return order or next((window.order for window in windows), None)

    def _needs(
        self, expr: q.Expr, loops: tuple[q.For, ...], known: dict[q.Expr, frozenset[q.Var]]
    ) -> Iterator[tuple[str, Loops]]:
        if isinstance(expr, q.USub):
            yield from self._needs(expr.arg, loops, known)
        if not isinstance(expr, q.BinOp | q.Extern) or expr in known:
            return
        known[expr] = q.expr_vars(expr)
        kind = expr.type
        if isinstance(expr, q.Extern):
            operands = Counter(expr.args)
            own: Iterable[Loops] = [self._varies(expr, loops, set())]
        else:
            family = _SUMS if expr.op in _SUMS else _PRODUCTS
            kind += " +" if family is _SUMS else ""
            operands = Counter(_operands(expr, family))
            own = self._of_chain(operands, family, loops)
        yield from ((kind, where) for where in own)
        for operand in operands:
            yield from self._needs(operand, loops, known)

    def _of_chain(
        self, operands: Counter[q.Expr], family: frozenset[str], loops: tuple[q.For, ...]
    ) -> Iterator[Loops]:
        """Where to combine the operands of a sum or product, constants being one of them."""
        variable = {e: n for e, n in operands.items() if not isinstance(e, q.Const)}
        varies = {expr: self._varies(expr, loops, set()) for expr in variable}
        constants = len(variable) < len(operands)
        yield from _merges([*varies.values(), *([Loops()] if constants and variable else [])])
        # A term that repeats is multiplied, a factor squared.
        often = max(variable, key=variable.__getitem__, default=None)
        if often is not None and (times := variable[often]) > 1:
            extra = 1 if family is _SUMS else (times - 1).bit_length()
            yield from [varies[often]] * extra

    def _varies(self, expr: q.Expr, loops: tuple[q.For, ...], within: set[q.Var]) -> Loops:
        """The loops that a value varies with; `within` are variables that it is a value of."""
        found: set[q.Var] = set()
        for node in q.walk_expr(expr):
            match node:
                case q.Read(buf=buf) if buf in self.values and buf not in within:
                    found |= self._varies(self.values[buf], loops, within | {buf})
                case q.Read(buf=buf, idx=idx):
                    used = frozenset[q.Var]().union(*map(q.expr_vars, idx))
                    found |= {
                        loop.iter for loop in loops if loop.iter in used or buf in _written(loop)
                    }
                case q.ReadConfig():
                    found |= {loop.iter for loop in loops if _configures(loop)}
                case _:
                    pass
        return frozenset(found)


def _only_values(proc: q.Proc) -> dict[q.Var, q.Expr]:
    """Local scalars that are written in one place, with the value that they get there."""
    writes: dict[q.Var, list[q.Assign | q.Reduce]] = {}
    local = {s.buf for s in q.walk(proc.body) if isinstance(s, q.Alloc) and not s.shape}
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Assign | q.Reduce) and stmt.buf in local:
            writes.setdefault(stmt.buf, []).append(stmt)
    return {
        buf: own[0].rhs
        for buf, own in writes.items()
        if len(own) == 1 and isinstance(own[0], q.Assign)
    }


@q.per_node
def _written(loop: q.For) -> frozenset[q.Var]:
    return written_buffers(loop.body)


@q.per_node
def _configures(loop: q.For) -> bool:
    return any(isinstance(stmt, q.WriteConfig) for stmt in q.walk(loop.body))


def _operands(expr: q.Expr, family: frozenset[str]) -> Iterator[q.Expr]:
    """Parts of a chain of sums, or of products, without regard to signs, order and the side of a
    division."""
    match expr:
        case q.USub():
            yield from _operands(expr.arg, family)
        case q.BinOp() if expr.op in family:
            yield from _operands(expr.lhs, family)
            yield from _operands(expr.rhs, family)
        case _:
            yield expr


def _merges(operands: Iterable[Loops]) -> Iterator[Loops]:
    """The loops of each operation of a chain, if the parts that vary with the fewest loops come
    first."""
    for loops, times in (counted := Counter(operands)).items():
        yield from [loops] * (times - 1)
    left = set(counted)
    while len(left) > 1:
        pair = min(combinations(left, 2), key=lambda two: (len(two[0] | two[1]), _order(two)))
        merged = pair[0] | pair[1]
        yield merged
        left = left - set(pair) | {merged}


def _order(pair: tuple[Loops, Loops]) -> list[list[int]]:
    """That does not depend on the order of sets."""
    return sorted(sorted(var.uid for var in loops) for loops in pair)
