"""Loops that sum the rows and the columns of one array in one pass over it.

`y[j] += x[i] * A[i, j]` and `z[i] += A[i, j] * w[j]`, as in BiCG, read each element of `A` once.
Apart, as register blocks of two nests, they would read it twice, and matrices wait for memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from schedsearch.analysis.accesses import accesses, reads
from schedsearch.analysis.walkers import fresh, names, next_path, shifted
from schedsearch.core import ast as q
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Memory, Steps

STRIP = 8
"""Rows of a strip of a triangle: they are summed up side by side, and its corner is not."""


def sums_both_ways(proc: q.Proc, loop: q.For) -> bool:
    """Whether innermost `loop` adds to elements that belong to its row, an iteration of the loop
    around, and to others that belong to its columns; with what it reads of one array."""
    rows = proc.by_path.get(loop.path[:-1])
    if not isinstance(rows, q.For):
        return False
    both, of_rows, of_columns = {rows.iter, loop.iter}, set[q.Var](), set[q.Var]()
    local = {stmt.buf for stmt in loop.body if isinstance(stmt, q.Alloc)}
    for stmt in loop.body:
        if not isinstance(stmt, q.Reduce) or stmt.buf in local:
            continue
        read = {each.buf for each in reads(stmt.rhs) if both <= _variables(each.idx)}
        moving = _variables(stmt.idx) & both
        if moving == {rows.iter}:
            of_rows |= read
        elif moving == {loop.iter}:
            of_columns |= read
    return bool(of_rows & of_columns)


def _variables(idx: tuple[q.Affine, ...]) -> frozenset[q.Var]:
    return frozenset().union(*map(q.expr_vars, idx))


@dataclass(frozen=True)
class Triangle:
    """Rows that are summed up both ways as far as the diagonal (`lower`), or from there on.

    `diagonal`: by how much the bound of `along` there exceeds the row. `shared`: arrays with an
    element for each row, of which others are accessed, too."""

    rows: q.For
    along: q.For
    lower: bool
    diagonal: int
    shared: tuple[q.Var, ...]


def stripped(proc: q.Proc, rows: q.Stmt | None, target: Target) -> bool:
    """Whether strips of a triangle's rows are the way to sum both ways: sums change their order."""
    if target.fp is FloatingPoint.STRICT or not isinstance(rows, q.For):
        return False
    return (rows.extent or inf) >= 2 * STRIP and triangle(proc, rows) is not None


def triangle(proc: q.Proc, rows: q.For) -> Triangle | None:
    """That of a loop over rows with one loop inside; None if it is none."""
    inner = [stmt for stmt in rows.body if isinstance(stmt, q.For)]
    if len(inner) != 1 or rows.lo != q.Affine(0) or rows.parallel or inner[0].parallel:
        return None
    (along,) = inner
    if any(not isinstance(stmt, q.For | q.Assign | q.Reduce) for stmt in rows.body):
        return None
    if not sums_both_ways(proc, along) or any(isinstance(s, q.For) for s in along.body):
        return None
    lower = rows.iter in q.expr_vars(along.hi)
    bound, other = (along.hi, along.lo) if lower else (along.lo, along.hi)
    offset = bound - q.as_affine(rows.iter)
    if not offset.is_const or offset.const < 0 or rows.iter in q.expr_vars(other):
        return None
    found: dict[q.Var, set[tuple[q.Affine, ...]]] = {}
    for access in accesses(along.body):
        found.setdefault(access.buf, set()).add(access.idx)
    shared = []
    for buf, places in found.items():
        of_rows = {i for i in places if _variables(i) & {rows.iter, along.iter} == {rows.iter}}
        if of_rows and len(places) > 1:
            if of_rows != {(q.as_affine(rows.iter),)}:
                return None
            shared.append(buf)
    return Triangle(rows, along, lower, offset.const, tuple(shared))


def strip_steps(ast: q.Proc, found: Triangle, strip: int) -> Steps:
    """Divide the rows into strips, cut each at the diagonal, and give what rows share with columns
    of what is left a place of its own."""
    rows, taken = found.rows, names(ast)
    p = Cursors((yield None))
    held, along = p.at(rows.path), p.at(found.along.path)
    if not divides(ast, strip, rows.hi, rows.path):
        yield from p.do("cut_loop", held, f"{strip} * (({show_affine(rows.hi)}) / {strip})")
    inside = fresh(taken, f"{rows.iter.name}r")
    yield from p.do("divide_loop", held, strip, (rows.iter.name, inside), perfect=True)
    yield from p.do("simplify")
    first = f"{strip} * {rows.iter.name}"
    # What is left has no columns that its rows are, too.
    edge = first if found.lower else f"{first} + {strip - 1 + max(found.diagonal, 1)}"
    yield from p.do("cut_loop", along, edge)
    yield from split_parts(p, p.at(p.path(held, 0)))
    path = p.path(along)[:-1]
    path = path if found.lower else next_path(path)
    taken |= {inside}
    written = {stmt.buf for stmt in found.along.body if isinstance(stmt, q.Assign | q.Reduce)}
    for buf in found.shared:
        name = fresh(taken, f"{buf.name}_rows")
        taken |= {name}
        window = f"{buf.name}[{first}:{first} + {strip}]"
        yield from p.do("stage_mem", p.at(path), window, name, accum=buf in written)
        yield from p.do("simplify")  # the extent is a constant then
        yield from p.do("set_memory", p.at(path), Memory("DRAM_STACK_ALIGNED"))
        path = shifted(path, 2)  # behind the array and the loop that fills it
    yield from p.do("simplify")


def split_parts(p: Cursors, rows: Cursor) -> Steps:
    """Give each statement of a loop, and the loops between, a loop of their own."""
    loop = p.stmt(rows)
    assert isinstance(loop, q.For)
    for number in reversed(range(1, len(loop.body))):
        if any(isinstance(each, q.For) for each in loop.body[number - 1 : number + 1]):
            yield from p.do("fission", After(p.path(rows, number - 1)))
