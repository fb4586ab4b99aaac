"""Mutations: small pure functions from a procedure to wrong ones, none made for a kernel.

They are the mistakes of schedules and of code: a term, an iteration, a tile too few or too many,
another element, another rounding, a statement that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from mutation.emitter import ROUNDINGS, Variant
from schedsearch.analysis.accesses import written_buffers
from schedsearch.core import ast as q
from schedsearch.evaluate.oracle.enclosure import INTEGERS, expression_kind

Write = q.Assign | q.Reduce
Replacement = tuple[q.Stmt, ...]

BLOCK = 16
"""Of usual vectors and tiles."""


@dataclass(frozen=True)
class Mutant:
    operator: str
    variant: Variant


def mutants(proc: q.Proc) -> Iterator[Mutant]:
    """All mutants of an inlined procedure, each text once."""
    seen = {(proc.body, False)}
    for name, operator in OPERATORS.items():
        for variant in operator(proc):
            key = (variant.proc.body, variant.clamped)
            if key not in seen:
                seen.add(key)
                yield Mutant(name, variant)


# -- where -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A statement, and the loops around it, the outermost first."""

    position: int
    stmt: q.Stmt
    loops: tuple[q.For, ...]

    @property
    def summed(self) -> tuple[q.For, ...]:
        """The loops that add to one element."""
        assert isinstance(self.stmt, Write)
        return tuple(loop for loop in self.loops if not _mentioned(self.stmt.idx, loop.iter))


def _mentioned(idx: tuple[q.Affine, ...], var: q.Var) -> bool:
    return any(q.mentions(index, var) for index in idx)


def _places(body: tuple[q.Stmt, ...]) -> list[_Place]:
    found: list[_Place] = []

    def visit(block: tuple[q.Stmt, ...], loops: tuple[q.For, ...]) -> None:
        for stmt in block:
            found.append(_Place(len(found), stmt, loops))
            inner = (*loops, stmt) if isinstance(stmt, q.For) else loops
            for nested in q.blocks(stmt):
                visit(nested, inner)

    visit(body, ())
    return found


def _loops(proc: q.Proc) -> Iterator[tuple[_Place, q.For]]:
    for place in _places(proc.body):
        if isinstance(place.stmt, q.For):
            yield place, place.stmt


def _writes(proc: q.Proc) -> Iterator[tuple[_Place, Write]]:
    for place in _places(proc.body):
        if isinstance(place.stmt, Write):
            yield place, place.stmt


def _replaced(proc: q.Proc, at: _Place, by: q.Stmt | None, clamped: bool = False) -> Variant:
    """`proc` with the statement at a place replaced, or left out."""
    numbers = iter(range(len(_places(proc.body))))

    def block(body: tuple[q.Stmt, ...]) -> Replacement:
        return tuple(chain.from_iterable(map(visit, body)))

    def visit(stmt: q.Stmt) -> Replacement:
        position = next(numbers)
        inner = _with_blocks(stmt, block)
        if position == at.position:
            return (by,) if by else ()
        return (inner,)

    return Variant(replace(proc, body=block(proc.body)), clamped)


def _with_blocks(stmt: q.Stmt, change: Callable[[tuple[q.Stmt, ...]], Replacement]) -> q.Stmt:
    if isinstance(stmt, q.For):
        return replace(stmt, body=change(stmt.body))
    if isinstance(stmt, q.If):
        return replace(stmt, body=change(stmt.body), orelse=change(stmt.orelse))
    return stmt


# -- iterations --------------------------------------------------------------------------


def _unless(low: q.Affine, var: q.Var, high: q.Affine) -> q.Expr:
    """`var < low or var >= high`"""
    at = q.as_affine(var)
    below, above = q.BinOp("<", at, low, "bool"), q.BinOp(">=", at, high, "bool")
    return q.BinOp("or", below, above, "bool")


def _guarded(body: tuple[q.Stmt, ...], cond: q.Expr) -> q.If:
    return q.If((), cond, body, ())


_Gap = Callable[[q.For], tuple[q.Affine, q.Affine]]


def _from_start(first: int, end: int) -> _Gap:
    return lambda loop: (loop.lo + first, loop.lo + end)


def _from_end(count: int) -> _Gap:
    return lambda loop: (loop.hi - count, loop.hi)


def _last_block(loop: q.For) -> tuple[q.Affine, q.Affine]:
    end = loop.hi - q.modulo(loop.hi - loop.lo, BLOCK)
    return end - BLOCK, end


def _second_half(loop: q.For) -> tuple[q.Affine, q.Affine]:
    return loop.lo + q.floor_div(loop.hi - loop.lo + 1, 2), loop.hi


def _behind_blocks(loop: q.For) -> tuple[q.Affine, q.Affine]:
    return loop.hi - q.modulo(loop.hi - loop.lo, BLOCK), loop.hi


def _is_empty(loop: q.For, low: q.Affine, high: q.Affine) -> bool:
    """Whether no iteration is in a gap, as far as constants say."""
    spans = (high - low, high - loop.lo, loop.hi - low)
    return any(span.is_const and span.const <= 0 for span in spans)


def skipped(gap: _Gap) -> Callable[[q.Proc], Iterator[Variant]]:
    """A loop without some iterations; of sums, also the sum alone."""

    def operator(proc: q.Proc) -> Iterator[Variant]:
        for place, loop in _loops(proc):
            low, high = gap(loop)
            body = (_guarded(loop.body, _unless(low, loop.iter, high)),)
            if not _is_empty(loop, low, high):
                yield _replaced(proc, place, replace(loop, body=body))
        for place, write in _writes(proc):
            if isinstance(write, q.Reduce):
                for loop in place.summed:
                    low, high = gap(loop)
                    cond = _unless(low, loop.iter, high)
                    if not _is_empty(loop, low, high):
                        yield _replaced(proc, place, _guarded((write,), cond))

    return operator


def too_long(proc: q.Proc) -> Iterator[Variant]:
    for place, loop in _loops(proc):
        yield _replaced(proc, place, replace(loop, hi=loop.hi + 1))
        yield _replaced(proc, place, replace(loop, lo=loop.lo - 1))
        yield _replaced(proc, place, replace(loop, hi=loop.hi + 1), clamped=True)
        yield _replaced(proc, place, replace(loop, lo=loop.lo - 1), clamped=True)


def begun_once(proc: q.Proc) -> Iterator[Variant]:
    """`for i: s = 0; ...` -> `for i: if i == lo: s = 0; ...`"""
    for place, write in _writes(proc):
        if isinstance(write, q.Assign):
            for loop in place.loops:
                cond = q.BinOp("==", q.as_affine(loop.iter), loop.lo, "bool")
                yield _replaced(proc, place, _guarded((write,), cond))


def begun_again(proc: q.Proc) -> Iterator[Variant]:
    """`s += x` -> `s = x`: what was there before is lost."""
    for place, write in _writes(proc):
        if isinstance(write, q.Reduce):
            yield _replaced(proc, place, q.Assign((), write.buf, write.idx, write.rhs, write.type))


# -- statements --------------------------------------------------------------------------


def nothing(proc: q.Proc) -> Iterator[Variant]:
    yield Variant(replace(proc, body=()))


def zeros(proc: q.Proc) -> Iterator[Variant]:
    """Every result is 0."""
    outputs = {arg.var for arg in proc.args} & written_buffers(proc.body)

    def change(body: tuple[q.Stmt, ...]) -> Replacement:
        return tuple(
            q.Assign((), stmt.buf, stmt.idx, q.Const(0.0, stmt.type), stmt.type)
            if isinstance(stmt, Write) and stmt.buf in outputs
            else _with_blocks(stmt, change)
            for stmt in body
        )

    yield Variant(replace(proc, body=change(proc.body)))


def left_out(proc: q.Proc) -> Iterator[Variant]:
    for place, stmt in _writes(proc):
        del stmt
        yield _replaced(proc, place, None)


def condition(proc: q.Proc) -> Iterator[Variant]:
    """A branch that is always or never taken, and comparisons that are off by one."""
    for place in _places(proc.body):
        stmt = place.stmt
        if not isinstance(stmt, q.If):
            continue
        for truth in (True, False):
            yield _replaced(proc, place, replace(stmt, cond=q.Const(truth, "bool")))
        for cond in _off_by_one(stmt.cond):
            yield _replaced(proc, place, replace(stmt, cond=cond), clamped=True)


def _off_by_one(cond: q.Expr) -> Iterator[q.Expr]:
    if not isinstance(cond, q.BinOp):
        return
    if isinstance(cond.lhs, q.Affine):
        yield replace(cond, lhs=cond.lhs + 1)
        yield replace(cond, lhs=cond.lhs - 1)
        return
    yield from (replace(cond, lhs=lhs) for lhs in _off_by_one(cond.lhs))
    yield from (replace(cond, rhs=rhs) for rhs in _off_by_one(cond.rhs))


# -- elements ----------------------------------------------------------------------------


def _changed_reads(expr: q.Expr, change: Callable[[q.Affine], q.Affine]) -> Iterator[q.Expr]:
    """`expr` with one index of one of its reads changed."""
    for node, put in _nodes(expr):
        if isinstance(node, q.Read):
            for dim, index in enumerate(node.idx):
                idx = (*node.idx[:dim], change(index), *node.idx[dim + 1 :])
                yield put(replace(node, idx=idx))


def neighbour(proc: q.Proc) -> Iterator[Variant]:
    """An operand is read beside where it should be."""
    for place, write in _writes(proc):
        for rhs in _changed_reads(write.rhs, lambda index: index + 1):
            yield _replaced(proc, place, replace(write, rhs=rhs), clamped=True)


def _other_of_pair(index: q.Affine) -> q.Affine:
    return index + 1 - q.modulo(index, 2).scaled(2)


def swapped(proc: q.Proc) -> Iterator[Variant]:
    """Rows 0 and 1, 2 and 3, ... change places: of an operand, or where results are written."""
    for place, write in _writes(proc):
        for rhs in _changed_reads(write.rhs, _other_of_pair):
            yield _replaced(proc, place, replace(write, rhs=rhs), clamped=True)
        for dim, index in enumerate(write.idx):
            idx = (*write.idx[:dim], _other_of_pair(index), *write.idx[dim + 1 :])
            yield _replaced(proc, place, replace(write, idx=idx), clamped=True)


# -- values ------------------------------------------------------------------------------


def _of_values(
    change: Callable[[q.Expr, str, str], Iterator[q.Expr]],
) -> Callable[[q.Proc], Iterator[Variant]]:
    """`change` gets a value, its type, and the type it is stored in."""

    def operator(proc: q.Proc) -> Iterator[Variant]:
        for place, write in _writes(proc):
            kind = expression_kind(write.rhs, write.type)
            for rhs in change(write.rhs, kind, write.type):
                yield _replaced(proc, place, replace(write, rhs=rhs))

    return operator


def scaled(proc: q.Proc) -> Iterator[Variant]:
    """By a thousandth; where there is f16, by what some roundings to that are not, either."""
    factor = 1.02 if "f16" in _types(proc) else 1.001
    for place, write in _writes(proc):
        kind = expression_kind(write.rhs, write.type)
        if kind not in INTEGERS:
            rhs = q.BinOp("*", write.rhs, q.Const(factor, kind), kind)
            yield _replaced(proc, place, replace(write, rhs=rhs))


def _one_more(value: q.Expr, kind: str, stored: str) -> Iterator[q.Expr]:
    if stored in INTEGERS:
        yield q.BinOp("+", value, q.Const(1, kind), kind)


def _flushed(value: q.Expr, kind: str, stored: str) -> Iterator[q.Expr]:
    """Small values are 0."""
    if kind not in INTEGERS:
        size = q.Extern("fmaxf", (value, q.USub(value, kind)), kind)
        args = (size, q.Const(0.1, kind), q.Const(0.0, kind), value)
        yield q.Extern("select", args, kind)


def _otherwise_rounded(value: q.Expr, kind: str, stored: str) -> Iterator[q.Expr]:
    if stored in INTEGERS and kind not in INTEGERS:
        yield from (q.Extern(name, (value,), kind) for name in ROUNDINGS)


_NARROWER = {"f64": (("f32", "as_f32"), ("f16", "as_f16")), "f32": (("f16", "as_f16"),)}


def _types(proc: q.Proc) -> set[str]:
    types = {arg.type for arg in proc.args}
    return types | {stmt.type for stmt in q.walk(proc.body) if isinstance(stmt, Write | q.Alloc)}


def narrowed(proc: q.Proc) -> Iterator[Variant]:
    """A conversion to a narrower type of the procedure is made before it should be."""
    types = _types(proc)
    for place, write in _writes(proc):
        kind = expression_kind(write.rhs, write.type)
        for narrower, name in _NARROWER.get(kind, ()):
            if narrower not in types:
                continue
            yield _replaced(proc, place, replace(write, rhs=q.Extern(name, (write.rhs,), kind)))
            for node, put in _nodes(write.rhs):
                if isinstance(node, q.Read):
                    rhs = put(q.Extern(name, (node,), kind))
                    yield _replaced(proc, place, replace(write, rhs=rhs))


def _parts_left_out(value: q.Expr, kind: str, stored: str) -> Iterator[q.Expr]:
    """One operand of an operation alone, and sums as differences."""
    for node, put in _nodes(value):
        if isinstance(node, q.BinOp):
            yield put(node.lhs)
            yield put(node.rhs)
            if node.op in "+-":
                yield put(replace(node, op="-" if node.op == "+" else "+"))
        if isinstance(node, q.USub):
            yield put(node.arg)


def _nodes(expr: q.Expr) -> Iterator[tuple[q.Expr, Callable[[q.Expr], q.Expr]]]:
    """Every part of a value, with what puts another one in its place."""
    yield expr, lambda other: other
    match expr:
        case q.USub():
            for node, put in _nodes(expr.arg):
                yield node, lambda other, put=put: replace(expr, arg=put(other))
        case q.BinOp():
            for node, put in _nodes(expr.lhs):
                yield node, lambda other, put=put: replace(expr, lhs=put(other))
            for node, put in _nodes(expr.rhs):
                yield node, lambda other, put=put: replace(expr, rhs=put(other))
        case q.Extern():
            for at, arg in enumerate(expr.args):
                for node, put in _nodes(arg):
                    before, after = expr.args[:at], expr.args[at + 1 :]
                    yield (
                        node,
                        lambda other, put=put, before=before, after=after: replace(
                            expr, args=(*before, put(other), *after)
                        ),
                    )


OPERATORS: dict[str, Callable[[q.Proc], Iterator[Variant]]] = {
    "nothing written": nothing,
    "zeros written": zeros,
    "first left out": skipped(_from_start(0, 1)),
    "last left out": skipped(_from_end(1)),
    "16th left out": skipped(_from_start(BLOCK - 1, BLOCK)),
    "iterations 16 to 31 left out": skipped(_from_start(BLOCK, 2 * BLOCK)),
    "last whole block left out": skipped(_last_block),
    "tail behind blocks left out": skipped(_behind_blocks),
    "second half left out": skipped(_second_half),
    "loop too long": too_long,
    "begun once": begun_once,
    "begun again": begun_again,
    "statement left out": left_out,
    "condition": condition,
    "neighbour read": neighbour,
    "rows swapped": swapped,
    "operand left out": _of_values(_parts_left_out),
    "scaled": scaled,
    "one more": _of_values(_one_more),
    "small values flushed": _of_values(_flushed),
    "otherwise rounded": _of_values(_otherwise_rounded),
    "narrowed too early": narrowed,
}
