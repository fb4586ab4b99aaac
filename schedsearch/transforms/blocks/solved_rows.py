"""A block of rows that are solved for together: its operators, for `block_solve`."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.walkers import fresh, next_path
from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.transforms.exo.unsound import goes_on
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, At, Memory, Op, Pair, Span, Steps


@dataclass(frozen=True)
class Solve:
    """A loop over rows, the loop inside along a row, and the array that is solved for.
    `triangular`: that one ends at the row's own element, whose rest follows."""

    rows: q.For
    along: q.For
    array: q.Var
    triangular: bool


class Block:
    """The loop over the rows of one block, from `start` to `end`."""

    def __init__(
        self,
        p: Cursors,
        rows: Cursor,
        found: Solve,
        factor: int,
        ends: tuple[str, str],
        taken: frozenset[str],
    ) -> None:
        self.p, self.rows, self.found, self.factor, self.taken = p, rows, found, factor, taken
        self.start, self.end = ends

    def solve(self) -> Steps:
        p, found, rows = self.p, self.found, self.rows
        position = int(found.along.path[-1])
        along = p.at(p.path(rows, position))
        if found.triangular:
            yield from p.do("cut_loop", along, self.start)
        if position:
            yield from p.do("fission", After(p.path(rows, position - 1)))
        more = len(self._body(p.path(along)[:-1])) > 1
        if more:
            yield from p.do("fission", After(p.path(along)))
        start = p.path(along)[:-1]
        count = 1
        if found.triangular:
            count += yield from self._subtract(next_path(start))
        yield from self._go_inside(start)
        yield from self._turn(start, count)

    def _body(self, path: q.Path) -> tuple[q.Stmt, ...]:
        loop = self.p.ast.by_path[path]
        assert isinstance(loop, q.For)
        return loop.body

    def _go_inside(self, path: q.Path) -> Steps:
        """Move the loop over rows at `path` into each statement of the loop along a row."""
        p = self.p
        yield from p.do("reorder_loops", At(path))
        count = len(self._body((*path, 0)))
        for number in range(count - 1):
            yield from p.do("fission", After((*path, number, 0)))
        for number in range(count):
            if isinstance(self._body((*path, number))[0], q.For):
                yield from p.do("reorder_loops", At((*path, number)))

    def _turn(self, path: q.Path, count: int) -> Steps:
        """Stage the rows, up to where they are solved for, around `count` statements at `path`;
        in columns."""
        p, array = self.p, self.found.array.name
        end = self.start if self.found.triangular else show_affine(self.found.along.hi)
        window = f"{array}[{self.start}:{self.end}, 0:{end}]"
        name = fresh(self.taken, f"{array}_r")
        yield from p.do("stage_mem", Span(path, count), window, name)
        yield from p.do("rearrange_dim", At(path), (1, 0))
        yield from p.do("set_memory", At(path), Memory("DRAM_ALIGNED"))

    def _subtract(self, path: q.Path) -> Generator[Op | None, Any, int]:
        """Of the loop over rows at `path`, the rest of each: give the steps of sums that are before
        the block nests of their own, which come first, and the columns after the block one that
        comes last. Returns how many statements of the first are to be turned."""
        p = self.p
        parts: list[tuple[bool, Cursor]] = []
        for child in [p.at((*path, n)) for n in range(len(self._body(path)))]:
            if (inside := _steps_before(p.stmt(child))) is None:
                continue
            steps = p.at((*p.path(child), *inside))
            yield from p.do("cut_loop", steps, self.start)
            if inside:
                yield from p.do("fission", After(p.path(steps)), len(inside))
            parts.append((bool(inside), p.at(p.path(steps)[: len(path) + 1])))
        last = p.at((*path, len(self._body(path)) - 1))
        parts.sort(key=lambda part: not part[0])
        for place, (_, part) in enumerate(parts):
            while (now := int(p.path(part)[-1])) > place:
                yield from p.do("reorder_stmts", Pair((*path, now - 1)))
        count = 0
        while parts:
            turned, part = parts.pop(0)
            if parts and goes_on(p.ast, p.path(part)):
                yield from p.do("join_loops", part, parts[0][1])
                parts[0] = (turned, p.at(p.path(part)))
                continue
            stmt = p.stmt(part)
            if isinstance(stmt, q.For) and stmt.lo != q.Affine(0):
                yield from p.do("shift_loop", part, 0)
            if len(self._body(stmt.path[:-1])) > 1:
                yield from p.do("fission", After(stmt.path))
            if turned:
                count += yield from self._apart(part)
                count += yield from self._last_columns(part)
        yield from self._columns_after(last)
        return count

    def _apart(self, part: Cursor) -> Generator[Op | None, Any, int]:
        """Copy the row of which a nest, all that is in its loop over rows, multiplies elements by
        those of other rows of the block: Exo gives no array to an instruction twice. Returns how
        many statements it takes then."""
        p, array = self.p, self.found.array
        *_, step, total = q.walk((p.stmt(part),))
        rows = p.ast.by_path[p.path(part)[:-1]]
        assert isinstance(total, q.Reduce)
        assert isinstance(step, q.For)
        assert isinstance(rows, q.For)
        of = {read.idx[0] for read in reads(total.rhs) if read.buf == array}
        finished = any(step.iter in q.expr_vars(row) for row in of)
        if finished or len(of) < 2 or total.idx[0] not in of:
            return 1
        name, start = fresh(self.taken, f"{array.name}_l"), p.path(part)
        window = f"{array.name}[{show_affine(total.idx[0])}, 0:{self.start}]"
        yield from p.do("stage_mem", part, window, name)
        copy = p.at(start)
        yield from p.do("expand_dim", copy, show_affine(rows.hi), rows.iter.name)
        yield from p.do("lift_alloc", copy)
        yield from p.do("fission", After((*p.path(part)[:-1], 0)))
        return 3

    def _last_columns(self, part: Cursor) -> Generator[Op | None, Any, int]:
        """Give the columns that the block does not divide, of a nest that is all in its loop over
        rows, one of their own. Returns how many statements there are more."""
        p, loop = self.p, self.p.stmt(part)
        assert isinstance(loop, q.For)
        left = q.modulo(loop.hi, self.factor)
        rows = p.ast.by_path[loop.path[:-1]]
        inside = isinstance(rows, q.For) and rows.iter in q.expr_vars(loop.hi)
        if inside or loop.hi.is_const or not left.is_const or left == q.Affine(0):
            return 0
        yield from p.do("cut_loop", part, show_affine(loop.hi - left))
        yield from p.do("fission", After(p.path(part)))
        yield from p.do("shift_loop", At((*next_path(p.path(part)[:-1]), 0)), 0)
        return 1

    def _columns_after(self, last: Cursor) -> Steps:
        """Solve for the columns after the block when those of the block are, from a copy of
        these."""
        p, array, stmt = self.p, self.found.array.name, self.p.stmt(last)
        if not isinstance(stmt, q.For) or show_affine(stmt.hi) == self.end:
            return
        row = p.ast.by_path[stmt.path[:-1]]
        if not isinstance(row, q.For) or row.iter not in q.expr_vars(stmt.lo):
            return
        yield from p.do("cut_loop", last, self.end)
        yield from p.do("fission", After(p.path(last)))
        start = next_path(p.path(last)[:-1])
        for at in ((*start, 0), (*start, 0, 0)):
            if isinstance(p.ast.by_path.get(at), q.For):
                yield from p.do("shift_loop", At(at), 0)
        count = 1 + (yield from self._last_columns(p.at((*start, 0))))
        window = f"{array}[{self.start}:{self.end}, {self.start}:{self.end}]"
        yield from p.do("stage_mem", Span(start, count), window, fresh(self.taken, f"{array}_d"))


def _steps_before(stmt: q.Stmt) -> tuple[int, ...] | None:
    """Where in the nest `stmt` the loop of its first sum is, which starts at 0; None if there is
    none."""
    inside: tuple[int, ...] = ()
    while isinstance(stmt, q.For):
        match stmt.body[0]:
            case q.Reduce() as total if len(stmt.body) == 1:
                reduced = stmt.lo == q.Affine(0) and stmt.iter not in q.expr_vars(total.idx[-1])
                return inside if reduced else None
            case inner:
                stmt, inside = inner, (*inside, 0)
    return None
