"""Questions about a query AST, one plain function each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import pairwise
from keyword import iskeyword

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.records import Target


def loops(proc: q.Proc) -> Iterator[q.For]:
    """Every loop, outer before inner."""
    return (stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.For))


def perfect_pairs(proc: q.Proc) -> Iterator[tuple[q.For, q.For]]:
    """Loops whose body is exactly one loop, with that loop."""
    for outer in loops(proc):
        if len(outer.body) == 1 and isinstance(outer.body[0], q.For):
            yield outer, outer.body[0]


def neighbours(proc: q.Proc) -> Iterator[tuple[q.Stmt, q.Stmt]]:
    """Every two adjacent statements of a block."""
    for block in q.all_blocks(proc):
        yield from pairwise(block)


def depends_on(stmts: tuple[q.Stmt, ...], var: q.Var) -> bool:
    """Whether `var` is used in `stmts`."""
    return var in q.used_vars(stmts)


def names(proc: q.Proc) -> frozenset[str]:
    """Every name bound in the procedure."""
    found = {arg.var.name for arg in proc.args}
    for stmt in q.walk(proc.body):
        match stmt:
            case q.For():
                found.add(stmt.iter.name)
            case q.Alloc():
                found.add(stmt.buf.name)
            case q.WindowStmt():
                found.add(stmt.name.name)
    return frozenset(found)


def fresh(taken: frozenset[str], wanted: str) -> str:
    """`wanted`, or `wanted_2`, ... if that is taken, or a word of Python's (`o` and `r`)."""
    if wanted not in taken and not iskeyword(wanted):
        return wanted
    number = 2
    while f"{wanted}_{number}" in taken:
        number += 1
    return f"{wanted}_{number}"


def element_bits(body: tuple[q.Stmt, ...]) -> int:
    """Bits of the widest element type written in `body` (32 if nothing is written)."""
    types = {s.type for s in q.walk(body) if isinstance(s, q.Assign | q.Reduce)}
    return max((ELEMENT_BITS[t] for t in types if t in ELEMENT_BITS), default=32)


def lanes(target: Target, bits: int) -> int:
    """Elements of `bits` that fit one vector register of the target; 1 if it has none."""
    return max(target.vector_bits // bits, 1)


def statement_count(body: tuple[q.Stmt, ...]) -> int:
    """How many statements there are, with those inside of others."""
    return sum(map(q.statement_count, body))


def next_path(path: q.Path) -> q.Path:
    """Path of the following statement of the same block."""
    return shifted(path, 1)


def shifted(path: q.Path, by: int) -> q.Path:
    """Path of the statement `by` positions further on in the same block."""
    last = path[-1]
    assert isinstance(last, int)
    return (*path[:-1], last + by)


def rest_of_block(proc: q.Proc, path: q.Path) -> tuple[q.Stmt, ...]:
    """The statements after the one at `path` in its block."""
    found = []
    while (path := next_path(path)) in proc.by_path:
        found.append(proc.by_path[path])
    return tuple(found)


def first_of_each(proc: q.Proc, find: Callable[[q.Proc, q.Stmt], Hashable]) -> Iterator[q.Stmt]:
    """The first statement of everything that `find` finds, which gives None where it finds
    nothing."""
    found = dict[Hashable, q.Stmt]()
    for stmt in q.walk(proc.body):
        found.setdefault(find(proc, stmt), stmt)
    found.pop(None, None)
    yield from found.values()
