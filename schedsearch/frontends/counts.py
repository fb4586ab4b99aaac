"""Indices and sizes as data. Exo has no such expression: what nests read is counted once, before
all else, into scalars for sizes and into tables for the variables of loops."""

from __future__ import annotations

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.frontends import graph as g
from schedsearch.frontends.block import Block, allocate, in_scalar, loop, number, scalar
from schedsearch.frontends.bounds import least_value, lengthened, lowest
from schedsearch.frontends.lowered import Refusal


def counted(value: g.Count, block: Block) -> q.Expr:
    """An expression that reads the value: several variables have a table each, which are added."""
    around = {each.var for each in block.loops}
    exact = _exact(value.type)
    parts = [
        (atom, factor)
        for atom, factor in value.value.terms
        if any(q.mentions_atom(atom, var) for var in around)
    ]
    rest = value.value - q.affine(0, tuple(parts))
    if not parts:
        return _size(rest, value.type, block)
    kind = value.type if len(parts) == 1 else exact
    total = _place(*parts[0], rest, kind, block)
    for atom, factor in parts[1:]:
        total = q.BinOp("+", total, _place(atom, factor, q.Affine(), kind, block), kind)
    return total if kind == value.type else q.Read(in_scalar(total, value.type, block), (), kind)


def _exact(kind: str) -> str:
    """A type that counts exactly: additions of 1 to f32 come to an end at 2**24."""
    return "i32" if kind in INTEGERS else "f64"


def _size(value: q.Affine, kind: str, block: Block) -> q.Expr:
    """Of sizes only."""
    if value.is_const:
        return number(value.const, kind)
    work = block.work
    key = value, q.Affine(), 0, kind
    if key not in work.counts:
        before = Block(work, work.counting, block.line)
        exact = _exact(kind)
        var = scalar("count", exact, before)
        start = len(work.counting)
        const = value.const
        for atom, factor in value.terms:
            times, below = _times(atom, before)
            const -= factor * below
            step = q.Reduce(before.path, var, (), number(factor, exact), exact)
            loop(g.fresh(""), q.Affine(), times, [step], before)
        first = q.Assign(before.path, var, (), number(const, exact), exact)
        work.counting.insert(start, first)
        if kind != exact:
            var = in_scalar(q.Read(var, (), exact), kind, before)
        work.counts[key] = var
    return q.Read(work.counts[key], (), kind)


def _times(atom: q.Atom, block: Block) -> tuple[q.Affine, int]:
    """How often to count for an atom of sizes, and by how much that is more than its value: a
    quotient may be negative, and loops begin at 0."""
    if not isinstance(atom, q.FloorDiv):
        return q.as_affine(atom), 0
    least = least_value(atom.num)
    if least is None:
        block.need(atom.num)
        least = 0
    below = max(0, -(least // atom.den))
    return q.floor_div(atom.num + below * atom.den, atom.den), below


def _place(atom: q.Atom, factor: int, rest: q.Affine, kind: str, block: Block) -> q.Expr:
    """`factor * atom + rest`, from a table of all that it is in the loops around."""
    value = q.as_affine(atom)
    low, high = lowest(value, block.loops), lowest(value.scaled(-1), block.loops)
    length = None if low is None or high is None else _length(low, high, block)
    if low is None or length is None:
        why = "how far it goes in loops is not found"
        raise Refusal("an index as data", why, "loop over what it is")
    begin = low.scaled(factor) + rest
    work = block.work
    key = begin, length, factor, kind
    if key not in work.counts:
        work.counts[key] = _table(
            begin, factor, length, kind, Block(work, work.counting, block.line)
        )
    return q.Read(work.counts[key], (value - low,), kind)


def _length(low: q.Affine, high: q.Affine, block: Block) -> q.Affine | None:
    known = (*block.work.given, *block.work.facts)
    return lengthened(q.Affine(1) - high - low, known)


def _table(begin: q.Affine, step: int, length: q.Affine, kind: str, block: Block) -> q.Var:
    exact = _exact(kind)
    first = _size(begin, exact, block)
    table = allocate(g.Array("counts", kind, (length,)), block)
    running = in_scalar(first, exact, block, "count")
    k = g.fresh("")
    body: list[q.Stmt] = [
        q.Assign(block.path, table, (q.as_affine(k),), q.Read(running, (), exact), kind),
        q.Reduce(block.path, running, (), number(step, exact), exact),
    ]
    loop(k, q.Affine(), length, body, block)
    return table
