"""Loops over short rows that do nothing but add each row up."""

from __future__ import annotations

from schedsearch.analysis.walkers import element_bits
from schedsearch.core import ast as q
from schedsearch.transforms.blocks.jam import jammable

SHORTEST, LONGEST = 32, 128
"""Bytes of such a row. Of shorter ones several are in a register (`scalarise`, `join_rows`), and of
longer ones the sum of a register's lanes is a small part."""


def sums_short_rows(loop: q.For) -> bool:
    """Whether all loops in it are innermost, over short rows, and only add to scalars or elements
    that each iteration has of its own."""
    inner = [each for each in loop.body if isinstance(each, q.For)]
    if not inner or len(loop.body) < 2 or not jammable(loop) or loop.lo != q.Affine(0):
        return False
    local = {each.buf for each in loop.body if isinstance(each, q.Alloc) and not each.shape}
    return all(_is_short(each) and _only_adds(each, loop.iter, local) for each in inner)


def _is_short(loop: q.For) -> bool:
    return SHORTEST <= (loop.extent or 0) * element_bits(loop.body) // 8 <= LONGEST


def _only_adds(loop: q.For, row: q.Var, local: set[q.Var]) -> bool:
    """Whether a loop only adds to scalars among `local`, or to elements of each row, by way of
    scalars of its own."""
    own = {each.buf for each in loop.body if isinstance(each, q.Alloc) and not each.shape}
    for stmt in loop.body:
        match stmt:
            case q.Alloc(shape=()):
                continue
            case q.Assign() if stmt.buf in own:
                continue
            case q.Reduce():
                used = frozenset().union(*map(q.expr_vars, stmt.idx))
                if loop.iter not in used and (stmt.buf in local or row in used):
                    continue
        return False
    return True
