"""Sums over windows that are kept in a scalar, one for each place of an image."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.walkers import fresh, names
from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.blocking import SLIDING_ROWS
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.reductions import longest_extent
from schedsearch.transforms.blocks.terms import (
    first_dim,
    in_one_type,
    instruction_of,
    moves,
    operand_of,
)
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Steps
from schedsearch.transforms.operators.outward import loops_around

FEWEST_TAPS = 8
"""A few loads take no longer than the array for the sums: of 3 x 3 a small filter gains 8 %, and a
depthwise convolution, whose weights are loaded as well, nothing."""


@dataclass(frozen=True)
class ScalarWindow:
    """A sum into a scalar that `alloc` declares for each iteration of `columns`, directly in
    `rows`; `taps` is the outermost of its own loops."""

    alloc: q.Alloc
    rows: q.For
    columns: q.For
    taps: q.For


def scalar_window(proc: q.Proc, stmt: q.Stmt) -> ScalarWindow | None:
    """A sum of which neighbouring rows read the same rows of an array; None if it is none."""
    if not isinstance(stmt, q.Reduce) or stmt.idx or not in_one_type(stmt):
        return None
    around = [*loops_around(proc, stmt, before=inf)]
    declared = [_declared(loop, stmt.buf) for loop in around]
    depth = next((n for n, alloc in enumerate(declared) if alloc), 0)
    if depth == 0 or depth + 1 >= len(around):
        return None
    inner, columns, rows, alloc = around[:depth], around[depth], around[depth + 1], declared[depth]
    plain = all(loop.lo == q.Affine(0) for loop in (*inner, columns, rows))
    alone = len(rows.body) == 1 and all(len(loop.body) == 1 for loop in inner)
    if alloc is None or not (plain and alone) or _others(columns, inner[-1]) != {alloc.buf}:
        return None
    if any(loop.extent is None for loop in inner) or rows.iter in q.expr_vars(columns.hi):
        return None
    if prod(loop.extent or 0 for loop in inner) < FEWEST_TAPS:
        return None
    along = [read for read in reads(stmt.rhs) if columns.iter in q.expr_vars(read)]
    if instruction_of(stmt, columns) is None or len(along) != 1:
        return None
    if not _slides(along[0], rows, columns, inner):
        return None
    if longest_extent(proc, rows) < SLIDING_ROWS:
        return None
    return ScalarWindow(alloc, rows, columns, inner[-1])


def _declared(loop: q.For, buf: q.Var) -> q.Alloc | None:
    return next((s for s in loop.body if isinstance(s, q.Alloc) and s.buf == buf), None)


def _others(loop: q.For, taps: q.For) -> set[q.Var]:
    """The temporaries of a loop that the statements after `taps` use, or `taps` itself."""
    at = loop.body.index(taps)
    return {s.buf for s in loop.body if isinstance(s, q.Alloc)} & q.used_vars(loop.body[at:])


def _slides(read: q.Read, rows: q.For, columns: q.For, taps: list[q.For]) -> bool:
    """Whether an operand lies along the columns, and with a tap moves as with a row."""
    dim = first_dim(read.idx, rows) if read.idx else None
    if dim is None or operand_of(read, columns) != "vector":
        return False
    return moves(read.idx, rows, dim) and any(moves(read.idx, loop, dim) for loop in taps)


def in_strips(p: Cursors, found: ScalarWindow, strip: int) -> Steps:
    """Carry out strips of rows, each with an array for its sums."""
    rows, taps, alloc = p.at(found.rows.path), p.at(found.taps.path), p.at(found.alloc.path)
    name = found.rows.iter.name
    row = fresh(names(p.ast), f"{name}r")
    whole = divides(p.ast, strip, found.rows.hi, found.rows.path)
    how = {"perfect": True} if whole else {"tail": "cut"}
    yield from p.do("divide_loop", rows, strip, (name, row), **how)
    columns = found.columns
    for extent, var in ((show_affine(columns.hi), columns.iter.name), (str(strip), row)):
        yield from p.do("expand_dim", alloc, extent, var)
        yield from p.do("lift_alloc", alloc)
    yield from p.do("fission", After(p.path(taps)), 2)
