"""Compute rows of a buffer in the loop that reads them, just before they are needed.

```
for y in seq(0, n + 2):                for y in seq(0, 2):
    for x in seq(0, m):                    for x in seq(0, m):
        t[y, x] = f(y, x)                      t[y % 3, x] = f(y, x)
for y in seq(0, n):               ->   for y in seq(0, n):
    for x in seq(0, m):                    for x in seq(0, m):
        o[y, x] = t[y, x] + t[y + 2, x]        t[(y + 2) % 3, x] = f(y + 2, x)
                                           for x in seq(0, m):
                                               o[y, x] = t[y % 3, x] + t[(y + 2) % 3, x]
```

Producer and consumer are loops of one block, in any dimension of the buffer; the
consumer may read a window of rows, of which the first ones are computed before it
(Halide's `compute_at` with sliding window; of two sweeps of a stencil over two arrays,
time skewing). With `fold` the buffer shrinks to that window, used in a circle
(`store_at`). Nothing is computed twice: Exo 1.0.0 proves a fusion by locations, so it
accepts no overlapping copies of a producer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import Access, accesses
from schedsearch.analysis.walkers import next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.overlap import MAX_BETWEEN
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Pair, Proposal, Steps

VERSION = 1

MAX_WINDOW = 16
"""Rows the consumer may read at a time; more are no window but most of the buffer."""


@dataclass(frozen=True)
class _Fusion:
    """`top`: the producer's iteration that the consumer's first needs last, relative to it;
    `ahead`: iterations of the producer before the common loop; `rest`: iterations of the
    consumer after it; `window`: rows the consumer reads at a time, in dimension `dim`;
    `alloc`: of the buffer, where it can be folded."""

    producer: q.For
    consumer: q.For
    between: int
    buffer: q.Var
    dim: int
    top: int
    ahead: int
    rest: int
    window: int
    alloc: q.Alloc | None

    @property
    def trivial(self) -> bool:
        """Whether Exo's own `fuse` does it."""
        return not (self.between or self.top or self.ahead or self.rest)


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for fusion in _fusions(proc):
        args: dict[str, ArgValue] = {"buffer": fusion.buffer.name, "dim": fusion.dim}
        if fusion.alloc:
            yield fusion.producer, {**args, "fold": True}
        if not fusion.trivial:
            yield fusion.producer, {**args, "fold": False}


def _fusions(proc: q.Proc) -> Iterator[_Fusion]:
    for block in q.all_blocks(proc):
        for position, producer in enumerate(block):
            if not isinstance(producer, q.For) or producer.parallel:
                continue
            for buffer, writes in sorted(_written(producer).items(), key=lambda x: x[0].uid):
                after = block[position + 1 :]
                users = (n for n, stmt in enumerate(after) if buffer in q.used_vars((stmt,)))
                between = next(users, MAX_BETWEEN + 1)
                if between <= MAX_BETWEEN:
                    consumer = after[between]
                    if isinstance(consumer, q.For) and not consumer.parallel:
                        yield from _aligned(proc, block, producer, consumer, between, writes)


def _written(loop: q.For) -> dict[q.Var, list[Access]]:
    """What a loop writes to arrays from outside, by array."""
    local = {stmt.buf for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc)}
    found: dict[q.Var, list[Access]] = {}
    for access in accesses(loop.body):
        if access.writes and access.idx and access.buf not in local:
            found.setdefault(access.buf, []).append(access)
    return found


def _aligned(
    proc: q.Proc,
    block: tuple[q.Stmt, ...],
    producer: q.For,
    consumer: q.For,
    between: int,
    writes: list[Access],
) -> Iterator[_Fusion]:
    """The fusion, if the producer's iterations are rows and the consumer reads a window of them."""
    buffer = writes[0].buf
    used = [access for access in accesses(consumer.body) if access.buf == buffer]
    if not used or any(access.writes or not access.idx for access in used):
        return
    for dim in range(len(writes[0].idx)):
        row = _offsets(writes, producer, dim)
        rows = _offsets(used, consumer, dim)
        if row is None or rows is None or len(row) > 1:
            continue
        (own,) = row
        top, window = max(rows) - own, max(rows) - min(rows) + 1
        rest = consumer.hi - (producer.hi - top)
        if not (consumer.lo.is_const and producer.lo.is_const and rest.is_const):
            continue
        ahead = consumer.lo.const + top - producer.lo.const
        if min(ahead, rest.const) < 0 or max(window, rest.const) > MAX_WINDOW:
            continue
        alloc = _allocation(proc, block, producer, consumer, dim, buffer)
        if alloc and not _foldable(alloc, producer, consumer, dim, ahead + rest.const, window):
            alloc = None
        yield _Fusion(
            producer, consumer, between, buffer, dim, top, ahead, rest.const, window, alloc
        )


def _offsets(found: list[Access], loop: q.For, dim: int) -> set[int] | None:
    """Constants `c` of the indices `loop.iter + c` in one dimension; None if one is no such."""
    offsets = [access.idx[dim] - q.as_affine(loop.iter) for access in found]
    return {offset.const for offset in offsets} if all(o.is_const for o in offsets) else None


def _allocation(
    proc: q.Proc,
    block: tuple[q.Stmt, ...],
    producer: q.For,
    consumer: q.For,
    dim: int,
    buffer: q.Var,
) -> q.Alloc | None:
    """The buffer's allocation, if only these two loops use it and the producer stays in its
    row: then rows are written in order and each before it is read, and a circle of as many
    rows as are read at a time never holds two at one place."""
    alloc = next((s for s in block if isinstance(s, q.Alloc) and s.buf == buffer), None)
    used = [access for access in accesses(proc.body) if access.buf == buffer]
    own = [access for access in accesses((producer,)) if access.buf == buffer]
    inside = [access for access in accesses((producer, consumer)) if access.buf == buffer]
    if alloc is None or len(inside) < len(used) or any(not access.idx for access in used):
        return None
    rows = _offsets(own, producer, dim)
    return alloc if rows is not None and len(rows) == 1 else None


def _foldable(
    alloc: q.Alloc, producer: q.For, consumer: q.For, dim: int, around: int, window: int
) -> bool:
    """Whether Exo can check a circle of `window` rows, and it is smaller than the buffer.

    With iterations `around` the common loop its check needs constant lengths.
    """
    constant = producer.extent is not None and consumer.extent is not None
    size = alloc.shape[dim]
    smaller = not size.is_const or size.const > window
    return smaller and (constant or around == 0)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    name, dim, fold = args["buffer"], args["dim"], args["fold"]
    fusion = next(
        (
            f
            for f in _fusions(ast)
            if f.producer.path == path and (f.buffer.name, f.dim) == (name, dim)
        ),
        None,
    )
    if fusion is None or not isinstance(fold, bool) or (fold and fusion.alloc is None):
        raise RewriteError(f"no loop reads {name!r} as it would have to")
    p = Cursors((yield None))
    producer, consumer = p.at(path), p.at(fusion.consumer.path)
    if fusion.rest:
        end = fusion.producer.hi - fusion.top
        yield from p.do("cut_loop", consumer, end.const if end.is_const else show_affine(end))
    if fusion.ahead:
        yield from p.do("cut_loop", producer, fusion.producer.lo.const + fusion.ahead)
        producer = p.at(next_path(p.path(producer)))
    if fusion.top:
        yield from p.do("shift_loop", producer, fusion.consumer.lo.const)
    for _ in range(fusion.between):
        yield from p.do("reorder_stmts", Pair(p.path(producer)))
    yield from p.do("fuse", producer, consumer)
    if fold and fusion.alloc:
        alloc = p.at(fusion.alloc.path)
        yield from p.do("resize_dim", alloc, dim, fusion.window, 0, fold=True)
