"""Producers whose rows a tiled consumer can compute by itself, borders twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import Access, accesses
from schedsearch.analysis.ranges import bind_loops, bounds
from schedsearch.core import ast as q

MAX_BETWEEN = 4
"""Statements between producer and consumer that are moved out of the way, one by one."""

MAX_BORDER = 64
"""Rows that neighbouring iterations may both read; more are no border."""


@dataclass(frozen=True)
class Overlap:
    """A producer `for ..: t[i + offsets[0], j + offsets[1], ..] = f(i, j, ..)` and the loop that
    reads it, `window` rows from `first + step * y` on in dimension `dim`, rows counted from the
    producer's first.

    `order`: the dimension of each of the producer's loops, the outermost first; `extents`: of
    these loops, by dimension; `between`: statements between the two; `depth`: where the loop of
    `y` is in the consumer's perfect nest; `readers`: the first of the statements in its body
    that read `t`, and how many there are up to the last.
    """

    alloc: q.Alloc
    producer: q.For
    consumer: q.For
    loop: q.For
    between: int
    dim: int
    order: tuple[int, ...]
    offsets: tuple[int, ...]
    extents: tuple[q.Affine, ...]
    depth: int
    readers: tuple[int, int]
    step: int
    first: int
    window: int

    @property
    def border(self) -> int:
        """Rows that an iteration, or a tile of iterations, shares with the next one."""
        return self.window - self.step

    @property
    def rows(self) -> q.Affine:
        """Iterations of the consumer."""
        return self.loop.hi - self.loop.lo

    def fits(self, tile: object) -> bool:
        """Whether tiles of so many iterations of the consumer's loop are possible: more than
        one, and longer than their border. A tile of 1 leaves the loop as it is."""
        if not isinstance(tile, int) or isinstance(tile, bool) or tile < 1:
            return False
        extent = self.loop.extent
        return max(self.border + 1, 2) <= self.step * tile and (extent is None or tile < extent)


@dataclass(frozen=True)
class _Producer:
    nest: q.For
    store: q.Assign
    order: tuple[int, ...]
    offsets: tuple[int, ...]
    extents: tuple[q.Affine, ...]


def overlaps(proc: q.Proc) -> Iterator[Overlap]:
    """Every producer with its only consumer, by dimension."""
    if any(isinstance(stmt, q.Pass) for stmt in q.walk(proc.body)):
        return  # the steps end by deleting empty loops, wherever they are
    uses: dict[q.Var, int] = {}
    for access in accesses(proc.body):
        uses[access.buf] = uses.get(access.buf, 0) + 1
    for block in q.all_blocks(proc):
        allocs = {stmt.buf: stmt for stmt in block if isinstance(stmt, q.Alloc)}
        for position, stmt in enumerate(block):
            producer = _producer(stmt)
            if producer and producer.store.buf in allocs:
                buf = producer.store.buf
                after = block[position + 1 :]
                users = [n for n, s in enumerate(after) if buf in q.used_vars((s,))]
                if users and users[0] <= MAX_BETWEEN:
                    consumer = after[users[0]]
                    reads = [access for access in accesses((consumer,)) if access.buf == buf]
                    only = len(reads) + 1 == uses[buf]
                    if isinstance(consumer, q.For) and only and _plain(reads):
                        yield from _aligned(allocs[buf], producer, consumer, users[0], reads)


def _plain(reads: list[Access]) -> bool:
    return bool(reads) and all(read.idx and not read.writes for read in reads)


def _producer(stmt: q.Stmt) -> _Producer | None:
    """The producer, if the statement is a perfect nest that stores one element per iteration,
    and nothing else."""
    loops: list[q.For] = []
    inner = stmt
    while isinstance(inner, q.For) and len(inner.body) == 1:
        if inner.parallel or not inner.lo.is_const:
            return None
        loops.append(inner)
        inner = inner.body[0]
    if not isinstance(inner, q.Assign) or not isinstance(stmt, q.For):
        return None
    if inner.buf in q.expr_vars(inner.rhs) or len(inner.idx) != len(loops):
        return None
    if q.may_change(inner.rhs):
        return None
    moved = {loop.iter: loop for loop in loops}
    if any(set(moved) & q.expr_vars(loop.hi) for loop in loops):
        return None
    places: dict[q.Var, tuple[int, int]] = {}
    for dim, index in enumerate(inner.idx):
        var = next((v for v in moved if (index - q.as_affine(v)).is_const), None)
        if var is None:
            return None
        places[var] = (dim, (index - q.as_affine(var)).const + moved[var].lo.const)
    if len(places) < len(loops):
        return None
    by_dim = sorted(loops, key=lambda loop: places[loop.iter][0])
    return _Producer(
        stmt,
        inner,
        order=tuple(places[loop.iter][0] for loop in loops),
        offsets=tuple(places[loop.iter][1] for loop in by_dim),
        extents=tuple(loop.hi - loop.lo for loop in by_dim),
    )


def _aligned(
    alloc: q.Alloc, producer: _Producer, consumer: q.For, between: int, reads: list[Access]
) -> Iterator[Overlap]:
    """The pair, for every dimension in which a loop of the consumer moves through the rows."""
    ranges = bind_loops({}, (consumer,))
    for depth, loop in enumerate(_nest(consumer)):
        readers = [n for n, s in enumerate(loop.body) if alloc.buf in q.used_vars((s,))]
        if not loop.lo.is_const:
            continue
        for dim, extent in enumerate(producer.extents):
            steps = {read.idx[dim].coefficient(loop.iter) for read in reads}
            step = max(steps)
            rests = [read.idx[dim] - q.affine(0, ((loop.iter, step),)) for read in reads]
            if step < 1 or any(loop.iter in q.expr_vars(rest) for rest in rests):
                continue
            spans = [bounds(rest, ranges) for rest in rests]
            low, high = min(a for a, _ in spans), max(b for _, b in spans)
            window = high - low + 1
            first = low + loop.lo.const * step - producer.offsets[dim]
            if first < 0 or not step <= window <= step + MAX_BORDER:
                continue
            used = (loop.hi - loop.lo - 1).scaled(step) + int(first + window)
            left = extent - used
            if left.is_const and left.const >= 0:
                yield Overlap(
                    alloc=alloc,
                    producer=producer.nest,
                    consumer=consumer,
                    loop=loop,
                    between=between,
                    dim=dim,
                    order=producer.order,
                    offsets=producer.offsets,
                    extents=producer.extents,
                    depth=depth,
                    readers=(readers[0], readers[-1] - readers[0] + 1),
                    step=step,
                    first=int(first),
                    window=int(window),
                )


def _nest(first: q.For) -> Iterator[q.For]:
    """Perfectly nested loops from `first` on, none of them parallel."""
    stmt: q.Stmt = first
    while isinstance(stmt, q.For) and not stmt.parallel:
        yield stmt
        if len(stmt.body) > 1:
            return
        stmt = stmt.body[0]
