"""Reduction nests: loops around one `x[...] += a * b`, or one `x[...] = min(x[...], a + b)`, as
register blocks need them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.conditions import in_dead_branch
from schedsearch.analysis.ranges import ranges_at, trips
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import shifted
from schedsearch.core import ast as q
from schedsearch.core.element_types import VECTORS
from schedsearch.transforms.blocks.terms import (
    elements_of,
    first_dim,
    in_one_type,
    instruction_of,
    moves,
    operand_of,
    without_temporaries,
)

MOST_ROWS = 16
"""Of a small triangle: each is a register."""

CORNERS = (q.Affine(0), q.Affine(1))
"""The contiguous loop of a triangle ends before the diagonal, or with it."""


@dataclass(frozen=True)
class ReductionNest:
    """A reduction nest: its loops, the contiguous one, the instruction for its statement
    (empty if one has to be made for it), and the operand to pack.

    `transposed`: the operand is contiguous along another loop, so it has to be packed.
    `converted`: the operands are other types, read into temporaries beside the statement;
    `stmt` reads them directly. `corner`: the outermost loop is the rows of a small triangle, of
    which each has its own length of the contiguous loop.
    """

    loops: tuple[q.For, ...]
    stmt: q.Assign | q.Reduce
    along: q.For
    instruction: str
    operand: q.Read
    transposed: bool
    converted: bool
    corner: bool = False

    @property
    def reductions(self) -> tuple[q.For, ...]:
        return tuple(loop for loop in self.loops if first_dim(self.stmt.idx, loop) is None)

    @property
    def operands(self) -> tuple[q.Read, ...]:
        """What the terms are made of."""
        return tuple(elements_of(self.stmt))

    def row_loops(self) -> Iterator[q.For]:
        """Loops that move the result by one along one dimension, up or down, others than
        `along`."""
        for loop in self.loops:
            dim = first_dim(self.stmt.idx, loop)
            if loop is self.along or dim is None:
                continue
            if any(moves(self.stmt.idx, loop, dim, by) for by in (1, -1)):
                yield loop

    def sliding(self, rows: q.For) -> tuple[q.Read, q.For] | None:
        """The operand of which a tile over `rows` reads the same rows at several steps, and the
        reduction that slides along it, as taps of a filter do: `x[i + k, j]`, of rows `i` and taps
        `k`."""
        if self.transposed or self.converted or self.corner:
            return None
        for read in self.operands:
            dim = first_dim(read.idx, rows)
            alone = sum(read.buf == other.buf for other in self.operands) == 1
            if dim is None or not alone or operand_of(read, self.along) != "vector":
                continue
            # Exo moves no loops over a minimum or maximum.
            sums = isinstance(self.stmt, q.Reduce)
            for taps in self.reductions if sums else self.reductions[-1:]:
                if all(moves(read.idx, loop, dim) for loop in (rows, taps)) and taps.extent:
                    return read, taps
        return None

    def packable(self, rows: q.For, inner: int) -> bool:
        """Whether `rows` uses the operand again, and what it and the `inner` innermost
        reductions read of it is a box, one loop to a dimension."""
        inside = [*self.reductions[len(self.reductions) - inner :], self.along]
        idx = self.operand.idx
        moving = [(loop, dim) for loop in inside if (dim := first_dim(idx, loop)) is not None]
        boxed = all(moves(idx, loop, dim) for loop, dim in moving)
        apart = len({dim for _, dim in moving}) == len(moving)
        return not self.corner and first_dim(idx, rows) is None and boxed and apart

    def siblings(self, first: q.Assign | None = None) -> Iterator[tuple[q.Path, int]]:
        """Gaps to split at so that the nest becomes perfect, but for its `first` values."""
        found = [*gaps(self.loops[: len(self.loops) - self.converted], self.stmt.path)]
        if first is not None:
            outer = [loop for loop in self.loops if loop not in self.reductions]
            before = gaps(outer, first.path)
            found = [(at, n) for at, n in found if self.stmt.path[: len(at)] == at]
            found += [(at, n) for at, n in before if first.path[: len(at)] != at]
        yield from found

    def first_values(self, proc: q.Proc) -> q.Assign | None:
        """The assignment of a constant or of an element of an array to each element of the result,
        if it comes directly before the loops of all reductions, which hold nothing else."""
        reduced = self.reductions
        if self.converted or self.corner or self.loops[-len(reduced) :] != reduced:
            return None
        path = reduced[0].path
        before = proc.by_path.get(shifted(path, -1)) if path[-1] else None
        if not isinstance(before, q.Assign) or any(len(loop.body) > 1 for loop in reduced):
            return None
        same = (before.buf, before.idx) == (self.stmt.buf, self.stmt.idx)
        plain = isinstance(before.rhs, q.Const) or (
            isinstance(before.rhs, q.Read)
            and before.rhs.idx
            and before.rhs.buf != self.stmt.buf
            and operand_of(before.rhs, self.along) in ("vector", "scalar")
        )
        return before if same and plain else None

    @property
    def hides(self) -> bool:
        """Whether what comes after the sum uses temporaries of its loops: split off, it could
        not."""
        return len(_splittable(self.loops, self.stmt.path)) < len(self.loops)


def gaps(loops: Sequence[q.For], inside: q.Path) -> Iterator[tuple[q.Path, int]]:
    """Where to split so that the loops, the outermost first, hold nothing but each other and what
    is at the path `inside`: each gap as the path of the statement before it and the number of loops
    around it; the last one comes before the nest, if any does."""
    paths = [inside[: len(loop.path) + 1] for loop in loops]
    at = [int(path[-1]) for path in paths]
    followed = [d for d, loop in enumerate(loops) if at[d] + 1 < len(loop.body)]
    if followed:
        yield paths[followed[-1]], followed[-1] + 1
    if preceded := [d for d, position in enumerate(at) if position]:
        yield shifted(paths[preceded[-1]], -1), preceded[-1] + 1


def reduction_nests(proc: q.Proc, within: bool = False) -> Iterator[ReductionNest]:
    """Every nest of the procedure whose result can stay in vector registers: of every
    statement the longest perfect one, and the longest after splitting others off; then those of
    small triangles. `within`: at last also the longest of those that stay inside of loops whose
    temporaries are used after them."""
    found: list[ReductionNest] = []
    kept: list[ReductionNest] = []
    for each in q.walk(proc.body):
        if not (isinstance(each, q.Assign | q.Reduce) and each.idx and in_one_type(each)):
            continue
        if reduction(each) is None or in_dead_branch(proc, each.path):
            continue
        direct = without_temporaries(proc, each)
        stmt = direct or each
        if not _dense(proc, stmt):
            continue
        whole = _loops_around(proc, stmt)
        alone = _perfect(whole, direct is not None)
        for loops in (whole, alone) if len(alone) < len(whole) else (whole,):
            nest = _as_reduction(proc, loops, stmt, direct is not None)
            if nest is not None:
                found.append(nest)
        parted = _splittable(whole, stmt.path)
        if len(alone) < len(parted) < len(whole):
            nest = _as_reduction(proc, parted, stmt, direct is not None)
            if nest is not None:
                kept.append(nest)
    yield from found
    yield from filter(None, (_with_rows(proc, nest) for nest in found))
    if within:
        yield from kept


def _splittable(loops: tuple[q.For, ...], path: q.Path) -> tuple[q.For, ...]:
    """The innermost of `loops` whose temporaries are not used after the statement at `path`, where
    it would be split from them."""
    later: frozenset[q.Var] = frozenset()
    for depth in range(len(loops) - 1, -1, -1):
        body, at = loops[depth].body, int(path[len(loops[depth].path)])
        later |= q.used_vars(body[at + 1 :])
        if q.bound_in(body[:at]) & later:
            return loops[depth + 1 :]
    return loops


def _with_rows(proc: q.Proc, nest: ReductionNest) -> ReductionNest | None:
    """The nest with the rows of a small triangle, if that is what it is a row of."""
    rows = proc.by_path.get(nest.loops[0].path[:-1])
    if not isinstance(rows, q.For) or rows.parallel or rows.lo != q.Affine(0):
        return None
    by = [loop for loop in nest.loops if rows.iter in q.expr_vars(loop.hi)]
    if by != [nest.along] or nest.along.hi - q.as_affine(rows.iter) not in CORNERS:
        return None
    dim = first_dim(nest.stmt.idx, rows)
    small = rows.extent is not None and 2 <= rows.extent <= MOST_ROWS
    alone = len(rows.body) == 1 and not (nest.converted or nest.transposed)
    if not (small and alone and dim is not None and moves(nest.stmt.idx, rows, dim)):
        return None
    return replace(nest, loops=(rows, *nest.loops), corner=True)


def _loops_around(proc: q.Proc, stmt: q.Assign | q.Reduce) -> tuple[q.For, ...]:
    """The loops around a statement, as far out as they are independent of each other and
    what else is in them may be split off."""
    loops: tuple[q.For, ...] = ()
    needed = q.used_vars((stmt,))
    for depth in range(len(stmt.path) - 1, 0, -1):
        loop = proc.by_path.get(stmt.path[:depth])
        if not isinstance(loop, q.For) or loop.parallel:
            break
        local = q.bound_in(loop.body)
        bounds = {var for inner in loops for var in q.expr_vars(inner.hi)}
        if loop.lo != q.Affine(0) or loop.extent == 0 or loop.iter in bounds or local & needed:
            break
        loops = (loop, *loops)
    return loops


def _perfect(loops: tuple[q.For, ...], converted: bool) -> tuple[q.For, ...]:
    """The innermost of `loops` that hold nothing but each other."""
    alone = int(converted)
    for loop in reversed(loops[: len(loops) - alone]):
        if len(loop.body) > 1:
            break
        alone += 1
    return loops[len(loops) - alone :]


def _as_reduction(
    proc: q.Proc, loops: tuple[q.For, ...], stmt: q.Assign | q.Reduce, converted: bool
) -> ReductionNest | None:
    distinct = {loop.iter.name for loop in loops} | {arg.var.name for arg in proc.args}
    if len(distinct) < len(loops) + len(proc.args):
        return None  # windows are written with names
    for loop in loops:
        if moves(stmt.idx, loop, len(stmt.idx) - 1):
            instruction = instruction_of(stmt, loop)
            reduced = any(first_dim(stmt.idx, other) is None for other in loops)
            if instruction is not None and reduced:
                kinds = {operand_of(read, loop): read for read in elements_of(stmt)}
                transposed = "column" in kinds
                operand = kinds["column" if transposed else "vector"]
                return ReductionNest(loops, stmt, loop, instruction, operand, transposed, converted)
    return None


def _dense(proc: q.Proc, stmt: q.Assign | q.Reduce) -> bool:
    """Whether every array of the statement is a contiguous array in plain memory."""
    return _plain(proc).issuperset([stmt.buf, *(read.buf for read in reads(stmt.rhs))])


@q.per_node
def _plain(proc: q.Proc) -> frozenset[q.Var]:
    return frozenset(
        buf
        for buf, array in declared(proc).items()
        if not array.window and array.mem.startswith("DRAM") and array.type in VECTORS
    )


def kept_loops(stmt: q.Assign | q.Reduce, loops: Iterable[q.For]) -> set[q.Var]:
    """The variables of the loops that have other elements of the result in each iteration."""
    indices = frozenset().union(*map(q.expr_vars, stmt.idx))
    return {loop.iter for loop in loops if loop.iter in indices}


def used_again(
    stmt: q.Assign | q.Reduce,
    loops: Sequence[q.For],
    kept: set[q.Var] | None = None,
    temporaries: Sequence[q.Alloc] = (),
) -> bool:
    """Whether each of two operands is used for several elements of the result: of two arrays, or
    of rows that lie apart in one, not parts of one value. `kept` are the loops along the result,
    if they are not those of its indices. `temporaries` are other values in each iteration of the
    loops around them."""
    kept = kept_loops(stmt, loops) if kept is None else kept
    reduced = {loop.iter for loop in loops} - kept
    changing = {
        each.buf: {loop.iter for loop in loops if len(loop.path) < len(each.path)}
        for each in temporaries
    }
    found = reduction(stmt)
    terms = {*reads(found.term)} if found else set()
    operands = {(read.buf, tuple(index.terms for index in read.idx)): read for read in terms}
    depends = [q.expr_vars(each) | changing.get(each.buf, set()) for each in operands.values()]
    return sum(bool(reduced & each and kept - each) for each in depends) > 1


def longest_extent(proc: q.Proc, loop: q.For) -> float:
    """An upper bound of a loop's number of iterations; infinite if not known."""
    return trips(loop, ranges_at(proc, loop.path[:-1]))[1]


def row_length(proc: q.Proc, read: q.Read) -> float:
    """Elements from one row of the array to the next; infinite if not known."""
    shape = declared(proc)[read.buf].shape
    return shape[-1].const if shape and shape[-1].is_const else inf


def step_length(proc: q.Proc, nest: ReductionNest) -> float:
    """Elements of the operand from one step of the innermost reduction to the next; infinite if not
    known."""
    dim = first_dim(nest.operand.idx, nest.reductions[-1])
    shape = declared(proc)[nest.operand.buf].shape
    inside = shape[dim + 1 :] if dim is not None else ()
    return prod(x.const if x.is_const else inf for x in inside) * (dim is not None)
