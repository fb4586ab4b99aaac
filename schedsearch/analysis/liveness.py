"""Which values in buffers are read later: three of Exo's operators do not check this.

Each question is answered for any procedure, from bounds of loops and indices alone. What
they do not show counts as read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from schedsearch.analysis.accesses import accesses
from schedsearch.analysis.independence import touch_apart
from schedsearch.analysis.ranges import (
    Ranges,
    always_apart,
    bind_loop,
    bounds,
    lowest,
    ranges_at,
)
from schedsearch.analysis.walkers import next_path, rest_of_block, shifted
from schedsearch.core import ast as q


def carried(proc: q.Proc, path: q.Path) -> bool:
    """Whether iterations of the loop after the allocation at `path` may read what others left in
    the buffer; then each cannot have a buffer of its own (`sink_alloc`)."""
    alloc, loop = proc.by_path.get(path), proc.by_path.get(next_path(path))
    if not (isinstance(alloc, q.Alloc) and isinstance(loop, q.For)):
        return False
    return not (_assigned_first(loop, alloc.buf) or touch_apart(proc, loop, alloc.buf))


def _assigned_first(loop: q.For, scalar: q.Var) -> bool:
    """Whether each iteration assigns a scalar, whatever happens, before it reads it."""
    user = next((stmt for stmt in loop.body if scalar in q.used_vars((stmt,))), None)
    return (
        isinstance(user, q.Assign)
        and not user.idx
        and user.buf == scalar
        and scalar not in q.expr_vars(user.rhs)
    )


def left_stale(before: q.Proc, path: q.Path, after: q.Proc) -> str | None:
    """Why `inline_assign` of the statement at `path`, which made `after` of `before`, changes
    what is read; None if it does not."""
    stmt = before.by_path.get(path)
    if not isinstance(stmt, q.Assign):
        return None
    alloc = next(
        (s for s in q.walk(before.body) if isinstance(s, q.Alloc) and s.buf == stmt.buf), None
    )
    if alloc is None:
        return f"{stmt.buf.name} is the caller's, who may read it"
    if changes(stmt, rest_of_block(before, path)):
        return "the value changes before it is read"
    if _stored_twice(before, path):
        return None
    beside = alloc.path[:-1] == path[:-1]  # what comes before then reads no value of this statement
    for idx in _reads(after, stmt.buf, path if beside else ()):
        if not always_apart(after, alloc, stmt.idx, idx):
            return f"{stmt.buf.name} may be read elsewhere, where Exo leaves the old value"
    return None


def _stored_twice(proc: q.Proc, path: q.Path) -> bool:
    """Whether the statement before stores the same value in the same place."""
    stmt, position = proc.by_path[path], path[-1]
    assert isinstance(stmt, q.Assign)
    if not position or stmt.buf in q.expr_vars(stmt.rhs):
        return False
    earlier = proc.by_path[shifted(path, -1)]
    return isinstance(earlier, q.Assign) and replace(earlier, path=path) == stmt


def changes(stmt: q.Assign, after: tuple[q.Stmt, ...]) -> bool:
    """Whether the value that `stmt` stores might differ if it were computed where the last of
    the statements `after` reads it."""
    users = [number for number, user in enumerate(after) if stmt.buf in q.used_vars((user,))]
    if not users:
        return False
    if q.may_change(stmt.rhs):
        return True
    written = {a.buf for a in accesses(after[: users[-1] + 1]) if a.writes}
    return bool(written & q.expr_vars(stmt.rhs))


def _reads(proc: q.Proc, buf: q.Var, path: q.Path) -> Iterator[tuple[q.Affine, ...]]:
    """Indices of the elements of a buffer that may be read; none where all may be. With a `path`
    but those that are read before it in its block."""
    depth = len(path) - 1
    for stmt in q.walk(proc.body):
        place = stmt.path[depth] if len(stmt.path) > depth >= 0 else "e"
        if place != "e" and stmt.path[:depth] == path[:-1] and int(place) < int(path[-1]):
            continue
        for access in accesses((stmt,)) if not q.blocks(stmt) else ():
            if access.buf == buf and not (access.writes and isinstance(stmt, q.Assign)):
                yield access.idx


def maybe_unset(proc: q.Proc, path: q.Path, read: q.Read) -> bool:
    """Whether an element may have no value yet at the statement at `path`: it is no argument's, and
    no statement before that one, in its block or in those around it, assigns it."""
    before = (
        proc.by_path.get((*path[:depth], number))
        for depth, place in enumerate(path)
        if isinstance(place, int)
        for number in range(place)
    )
    assigned = any(
        isinstance(stmt, q.Assign) and (stmt.buf, stmt.idx) == (read.buf, read.idx)
        for stmt in before
    )
    return not assigned and all(read.buf != arg.var for arg in proc.args)


def overtaken(proc: q.Proc, path: q.Path, dim: int, rows: int) -> bool:
    """Whether a row of the buffer allocated at `path` may be accessed after one that is `rows`
    or more above it: in a circle of `rows` rows the latter is in its place (`fold`)."""
    alloc = proc.by_path.get(path)
    if not isinstance(alloc, q.Alloc) or dim >= len(alloc.shape):
        return False  # Exo says so
    circle = _Circle(alloc.buf, dim, rows, ranges_at(proc, path))
    circle.block(rest_of_block(proc, path))
    return circle.overtaken


Ends = set[q.Affine]
"""Of several, the least or the greatest, in variables that are bound outside."""


@dataclass
class _Circle:
    """Follows the rows of a buffer in the order of execution."""

    buf: q.Var
    dim: int
    rows: int
    ranges: Ranges
    overtaken: bool = False

    def block(self, stmts: tuple[q.Stmt, ...]) -> tuple[Ends, Ends]:
        """The lowest and the highest rows that statements access, one after the other."""
        lows, highs = Ends(), Ends()
        for stmt in stmts:
            for low, high in self.stmt(stmt):
                self.follow(highs, low)
                lows |= low
                highs |= high
        return _outermost(lows, -1), _outermost(highs, 1)

    def stmt(self, stmt: q.Stmt) -> Iterator[tuple[Ends, Ends]]:
        if isinstance(stmt, q.For):
            bind_loop(self.ranges, stmt.iter.uid, stmt.lo, stmt.hi)
            yield self.loop(stmt, *self.block(stmt.body))
        elif blocks := q.blocks(stmt):
            yield from map(self.block, blocks)
        else:
            for access in accesses((stmt,)):
                if access.buf != self.buf:
                    continue
                row = access.idx[self.dim] if access.idx else None
                if row is None or q.may_change(row):
                    self.overtaken = True
                else:
                    yield {row}, {row}

    def loop(self, loop: q.For, lows: Ends, highs: Ends) -> tuple[Ends, Ends]:
        """The ends of all iterations' accesses, if one iteration accesses `lows` to `highs`."""
        if loop.extent is None or loop.extent > 1:
            for low in lows:
                # The next iteration is the worst of the later ones, unless rows go down.
                step = low.coefficient(loop.iter)
                self.overtaken |= step < 0
                self.follow(highs, {low + step})
        lows = {lowest(low, {loop.iter: loop}) for low in lows}
        highs = {lowest(high.scaled(-1), {loop.iter: loop}).scaled(-1) for high in highs}
        self.overtaken |= any(q.mentions(end, loop.iter) for end in lows | highs)
        return lows, highs

    def follow(self, highs: Ends, lows: Ends) -> None:
        """Access `lows` after `highs`."""
        differences = (high - low for high in highs for low in lows)
        self.overtaken |= any(bounds(d, self.ranges)[1] >= self.rows for d in differences)


def _outermost(ends: Ends, sign: int) -> Ends:
    """Of those that differ by a constant the least (`sign` -1) or the greatest (1)."""
    return set({end.terms: end for end in sorted(ends, key=lambda e: sign * e.const)}.values())
