"""Scalars that the iterations of a loop share, though each begins with a value of its own.

Each iteration gets its own scalar, and hands the value on at its end: the last one is what is left
after the loop. Then no iteration needs another one for its sake.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.walkers import fresh, names
from schedsearch.core import ast as q
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import Span, Steps


def shared_scalars(loop: q.For) -> Iterator[tuple[int, q.Var]]:
    """Those that loops inside use, each with the position of the statement that begins it. The last
    ones first."""
    own = {stmt.buf for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc)}
    for position, stmt in reversed(list(enumerate(loop.body))):
        if not isinstance(stmt, q.Assign) or stmt.idx or stmt.buf in own:
            continue
        before, after = loop.body[:position], loop.body[position + 1 :]
        begins = stmt.buf not in q.used_vars(before) and stmt.buf not in {
            read.buf for read in reads(stmt.rhs)
        }
        inside = any(q.blocks(each) and stmt.buf in q.used_vars((each,)) for each in after)
        if begins and inside:
            yield position, stmt.buf


def privatise(p: Cursors, cursor: Cursor) -> Steps:
    """Give every iteration of a loop such scalars of its own."""
    loop = p.stmt(cursor)
    assert isinstance(loop, q.For)
    found, length = list(shared_scalars(loop)), len(loop.body)
    for number, (position, scalar) in enumerate(found):
        # Those before left a declaration each, and a statement at the end.
        count = length + 2 * number - position
        name = fresh(names(p.ast), f"{scalar.name}_p")
        yield from p.do("stage_mem", Span(p.path(cursor, position), count), scalar.name, name)
