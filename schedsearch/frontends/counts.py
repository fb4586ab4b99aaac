"""Indices and sizes as data. Exo has no such expression: what nests read is counted once, before
all else, into scalars for sizes and into tables for the variables of loops. A loop whose variable
is no index of an array may be longer than memory: it counts as it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.frontends import graph as g
from schedsearch.frontends.block import Block, allocate, in_scalar, loop, number, scalar
from schedsearch.frontends.bounds import least_value, lengthened, lowered, lowest
from schedsearch.frontends.lowered import Refusal
from schedsearch.frontends.plan import sources


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
    alone = len(parts) == 1 and parts[0][0] not in block.work.running
    kind = value.type if alone else exact
    total = _part(*parts[0], rest, kind, block)
    for atom, factor in parts[1:]:
        total = q.BinOp("+", total, _part(atom, factor, q.Affine(), kind, block), kind)
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
            const -= factor * below.const
            more = [(q.as_affine(each), -factor * n) for each, n in below.terms]
            for how_often, by in [(times, factor), *more]:
                step = q.Reduce(before.path, var, (), number(by, exact), exact)
                loop(g.fresh(""), q.Affine(), how_often, [step], before)
        first = q.Assign(before.path, var, (), number(const, exact), exact)
        work.counting.insert(start, first)
        if kind != exact:
            var = in_scalar(q.Read(var, (), exact), kind, before)
        work.counts[key] = var
    return q.Read(work.counts[key], (), kind)


def _times(atom: q.Atom, block: Block) -> tuple[q.Affine, q.Affine]:
    """How often to count for an atom of sizes, and by how much that is more than its value: a
    quotient may be negative, and loops begin at 0."""
    if not isinstance(atom, q.FloorDiv):
        return q.as_affine(atom), q.Affine()
    below = q.affine(0, tuple((each, -n) for each, n in atom.num.terms if n < 0))
    num = atom.num + below.scaled(atom.den)
    least = least_value(num)
    if least is None:
        block.need(num)
        least = 0
    more = max(0, -(least // atom.den))
    return q.floor_div(num + more * atom.den, atom.den), below + more


def _part(atom: q.Atom, factor: int, rest: q.Affine, kind: str, block: Block) -> q.Expr:
    """`factor * atom + rest`"""
    running = block.work.running
    if not isinstance(atom, q.Var) or atom not in running:
        return _place(atom, factor, rest, kind, block)
    found: q.Expr = q.Read(running[atom].setdefault((kind, factor), g.fresh("count")), (), kind)
    if rest != q.Affine():
        found = q.BinOp("+", found, _size(rest, kind, block), kind)
    return found


def counting(stmt: g.For, block: Block) -> Iterator[q.Reduce]:
    """Steps at the end of a loop that counts as it runs; its counts begin before it, in `block`."""
    for (kind, factor), var in block.work.running.pop(stmt.var, {}).items():
        begin = counted(g.Count(stmt.lo.scaled(factor), kind), block)
        block.out.append(q.Alloc(block.path, var, kind, (), "DRAM"))
        block.out.append(q.Assign(block.path, var, (), begin, kind))
        # not multiplied where it is read: -2 * 0.0 is -0.0
        yield q.Reduce(block.path, var, (), number(factor, kind), kind)


def is_index(var: q.Var, body: Sequence[g.Statement]) -> bool:
    """Whether arrays are as long as a loop: its variable is in an index, or in a length."""
    todo: list[g.Value] = []
    places: list[q.Affine] = []
    for stmt in g.statements(tuple(body)):
        if isinstance(stmt, g.Store):
            todo.append(stmt.value)
            places += stmt.index
    seen: set[g.Value] = set()
    while todo:
        value = todo.pop()
        if value not in seen:
            seen.add(value)
            todo += sources(value)
            places += value.shape
            if isinstance(value, g.View):
                places += value.index
    return any(
        q.mentions_atom(atom, var)
        for each in places
        for atom, _ in each.terms
        if not isinstance(atom, q.Mod)
    )


def _place(atom: q.Atom, factor: int, rest: q.Affine, kind: str, block: Block) -> q.Expr:
    """`factor * atom + rest`, from a table of all that it is in the loops around."""
    value = q.as_affine(atom)
    low, high = lowest(value, block.loops), lowest(value.scaled(-1), block.loops)
    low, high = (None if each is None else lowered(each) for each in (low, high))
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
