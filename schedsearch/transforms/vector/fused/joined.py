"""Which nests are one instruction over several narrow rows side by side.

The rows of `A[i, j]`, with all of `j`, follow each other in memory: a register goes along them as
if they were one. What belongs to a column is the same again after each row, and what belongs to a
row stays for the length of one.
"""

from __future__ import annotations

from enum import Enum
from math import lcm

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import Array, declared
from schedsearch.core import ast as q
from schedsearch.core.element_types import VECTORS
from schedsearch.transforms.vector.fused.model import COPY, LANE, Fused, Operand, operand, reduced
from schedsearch.transforms.vector.fused.operands import (
    MAX_SPAN,
    ArrayAccesses,
    Given,
    Indices,
    only_reduces,
    renamed,
    scalar,
)
from schedsearch.transforms.vector.fused.recognise import MAX_LANES, places_of, statements


class Walk(Enum):
    """How an operand goes along the elements of joined rows."""

    ALONG = "along"  # A[i, j]: element by element, from row to row
    FLAT = "flat"  # x[3 * i + j]: so does this
    ROW = "row"  # w[i]: it stays for a row
    COLUMN = "column"  # s[j]: it begins again with each row
    FIXED = "fixed"  # c


def registers(row: int, lanes: int) -> int:
    """After how many registers a row begins where a register does."""
    return lcm(row, lanes) // lanes


def walks(fused: Fused) -> dict[int, Walk]:
    """That of each operand of an instruction of joined rows."""
    found: dict[int, Walk] = {}
    for stmt in fused.body:
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        for buf, idx in [(stmt.buf, stmt.idx), *((r.buf, r.idx) for r in reads(stmt.rhs))]:
            if buf.uid < len(fused.operands):
                made = _walk(idx, COPY, LANE, fused.row)
                assert made is not None
                found[buf.uid] = made
    return found


def _walk(idx: Indices, outer: q.Var, inner: q.Var, row: int) -> Walk | None:
    """None if it is none of these."""
    rows = {dim: index.coefficient(outer) for dim, index in enumerate(idx) if _uses(index, outer)}
    lanes = {dim: index.coefficient(inner) for dim, index in enumerate(idx) if _uses(index, inner)}
    last = len(idx) - 1
    if any(_hidden(index, var) for index in idx for var in (outer, inner)):
        return None
    match rows, lanes:
        case {}, {} if not rows and not lanes:
            return Walk.FIXED
        case _ if not rows and lanes == {last: 1}:
            return Walk.COLUMN
        case _ if rows == {last: 1} and not lanes:
            return Walk.ROW
        case _ if rows == {last: row} and lanes == {last: 1}:
            return Walk.FLAT
        case _ if rows == {last - 1: 1} and lanes == {last: 1}:
            return Walk.ALONG
        case _:
            return None


def _uses(index: q.Affine, var: q.Var) -> bool:
    return var in q.expr_vars(index)


def _hidden(index: q.Affine, var: q.Var) -> bool:
    """Whether a variable is inside of a remainder or a quotient."""
    return _uses(index - q.as_affine(var).scaled(index.coefficient(var)), var)


def fuse_rows(proc: q.Proc, loop: q.For, lanes: int, chains: int) -> Fused | None:
    """The instruction for a loop over rows that does nothing but a loop over all of each."""
    inner = loop.body[0]
    if len(loop.body) > 1 or not isinstance(inner, q.For) or inner.extent is None:
        return None
    if loop.parallel or inner.parallel or inner.lo != q.Affine(0) or inner.extent < 2:
        return None
    found = statements(inner)
    if found is None or not 2 <= lanes <= MAX_LANES or lanes & (lanes - 1):
        return None
    simple, allocs = found
    arrays, places = declared(proc), places_of(simple, allocs)
    given: dict[q.Var, Given] = {}
    for uid, buf in enumerate(places):
        writes = [stmt for stmt in simple if stmt.buf == buf]
        used = ArrayAccesses(tuple(places[buf]), writes, inner, loop)
        made = _operand(uid, arrays[buf], used, inner.extent) if buf in arrays else None
        if made is None:
            return None
        given[buf] = made
    for alloc in allocs:
        given[alloc.buf] = scalar(len(given))
    operands = tuple(given[buf].operand for buf in places)
    if not any(op.moves for op in operands):
        return None
    body = tuple(renamed(stmt, given) for stmt in inner.body)
    fused = Fused(lanes, True, operands, body, chains=chains, row=inner.extent)
    if any(stmt.type == "f16" for stmt in reduced(fused)):
        return None  # each addition rounds to f16
    return fused


def _operand(uid: int, array: Array, used: ArrayAccesses, row: int) -> Given | None:
    """The operand number `uid`; None if the array cannot be one."""
    if array.type not in VECTORS or not array.dense or not array.mem.startswith("DRAM"):
        return None
    if any(len(place) != len(array.shape) for place in used.places):
        return None
    outer, inner = used.outer, used.loop.iter
    assert outer is not None
    first = used.places[0]
    walk = _walk(first, outer.iter, inner, row)
    apart = [[a - b for a, b in zip(place, first, strict=True)] for place in used.places]
    if walk is None or not all(each.is_const for offsets in apart for each in offsets):
        return None
    numbers = [[each.const for each in offsets] for offsets in apart]
    low = [min(offsets) for offsets in zip(*numbers, strict=True)]
    box = [max(offsets) - n + 1 for offsets, n in zip(zip(*numbers, strict=True), low, strict=True)]
    if any(extent > MAX_SPAN for extent in box) or not _alone(used, walk, box):
        return None
    if walk is Walk.ALONG:
        whole = array.shape[-1] == q.Affine(row) and first[-1] == q.as_affine(inner)
        if array.window or not whole or box[-1] > 1:
            return None
    moving = {outer.iter: COPY, inner: LANE}
    corner = [index + offset for index, offset in zip(first, low, strict=True)]
    corner = [index - _moved(index, {var: var for var in moving}) for index in corner]

    def within(idx: Indices) -> Indices:
        return tuple(
            _moved(index, moving) + (index - _moved(index, {var: var for var in moving}) - start)
            for index, start in zip(idx, corner, strict=True)
        )

    if walk is Walk.COLUMN:
        box[-1] += row - 1
    moves = walk in (Walk.ALONG, Walk.FLAT, Walk.ROW)
    return Given(
        operand(uid), Operand(array.type, tuple(box), moves, False, bool(used.writes)), within
    )


def _moved(index: q.Affine, names: dict[q.Var, q.Var]) -> q.Affine:
    """What of an index goes with the loops, in other names."""
    return q.affine(0, tuple((new, index.coefficient(old)) for old, new in names.items()))


def _alone(used: ArrayAccesses, walk: Walk, box: list[int]) -> bool:
    """Whether no iteration writes what another one reads or writes, sums aside."""
    if not used.writes:
        return True
    if any(extent > 1 for extent in box) or walk is Walk.ROW:
        return False
    shared = walk in (Walk.COLUMN, Walk.FIXED)
    return not shared or (len(used.writes) == 1 and only_reduces(used))
