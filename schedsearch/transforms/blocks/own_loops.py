"""A sum that is to have loops of its own, and the temporaries that are in the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schedsearch.analysis.ranges import Ranges, bounds
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import show_affine
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Steps
from schedsearch.transforms.operators.outward import lengths, never_negative


@dataclass(frozen=True)
class OwnLoops:
    """A sum, the loops that it is to have alone, the outermost first, and the temporaries inside
    of them that others need too. `whole`: the innermost loop stays as it is."""

    stmt: q.Assign | q.Reduce
    loops: tuple[q.For, ...]
    whole: bool
    temporaries: tuple[q.Alloc, ...]


def in_the_way(stmt: q.Stmt, loops: tuple[q.For, ...]) -> Iterator[q.Alloc]:
    """Temporaries of the loops that more than one of the statements before the sum, the sum, and
    those after it use."""
    before: list[q.Stmt] = []
    after: list[q.Stmt] = []
    for loop in loops:
        position = int(stmt.path[len(loop.path)])
        before += loop.body[:position]
        after += loop.body[position + 1 :]
    used = [
        q.used_vars(tuple(s for s in part if not isinstance(s, q.Alloc)))
        for part in (before, [stmt], after)
    ]
    for alloc in before:
        if isinstance(alloc, q.Alloc) and sum(alloc.buf in part for part in used) > 1:
            yield alloc


def expandable(temporaries: Sequence[q.Alloc], loops: tuple[q.For, ...], ranges: Ranges) -> bool:
    """Whether temporaries can have an element for every iteration of the loops around them."""
    shapes = [q.expr_vars(extent) for each in temporaries for extent in each.shape]
    constant = not any(loop.iter in used for loop in loops for used in shapes)
    indices = all(bounds(loop.lo, ranges)[0] >= 0 for loop in loops)
    sizes = never_negative(loops[::-1], {loop.iter for loop in loops}, ranges)
    return constant and indices and sizes and all(each.mem == "DRAM" for each in temporaries)


def is_short(temporary: q.Alloc, width: int) -> bool:
    """Whether the rows of a temporary are constant, and shorter than a register of that width."""
    rows = temporary.shape[-1:]
    return all(each.is_const and each.const < width for each in rows) and bool(rows)


def expand(p: Cursors, found: OwnLoops, short: ArgValue = 0) -> Steps:
    """Give the temporaries an element for every iteration."""
    if type(short) is not int:
        raise RewriteError("short is a number, of elements")
    allocs = [p.at(temporary.path) for temporary in found.temporaries]
    for temporary, alloc in zip(found.temporaries, allocs, strict=True):
        around = [loop for loop in found.loops if len(loop.path) < len(temporary.path)][::-1]
        shape = lengths(around, {loop.iter for loop in around})
        for loop in around:
            yield from p.do("expand_dim", alloc, show_affine(shape[loop.iter]), loop.iter.name)
            yield from p.do("lift_alloc", alloc)
        if is_short(temporary, short):
            new, own = len(around), len(temporary.shape)
            order = (*range(new, new + own), *range(new))
            yield from p.do("rearrange_dim", alloc, order)
