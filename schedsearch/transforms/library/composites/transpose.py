"""Copy rows to columns in vector registers.

```
for k in seq(0, 512):            transpose_f32x16_blocks(64, 512, P[0:512, 0:64],
    for j in seq(0, 64):    ->                           A[0:64, 0:512])
        P[k, j] = A[j, k]
```

For two loops around one copy, of which one moves along the rows of one array and the other along
those of the other. A compiler reads or writes such copies element by element, a cache line for
each.

`lanes` is the length of a register. `walk` is the way through the matrix: `blocks` that stay in a
cache, `strips` of rows from end to end, or `streamed`: strips that are written past the caches.
The last one is for matrices that do not fit there.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.arrays import declared
from schedsearch.analysis.ranges import ranges_at, trips
from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS, VECTORS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.terms import moves
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, At, Proposal, Steps
from schedsearch.transforms.operators.transposing import (
    BLOCKWISE,
    LANES,
    STREAMED,
    STRIPS,
    WALKS,
    Transpose,
    has_squares,
    streams,
)

VERSION = 2
NORMAL_FORM = 5


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        copy = _copy(proc, loop)
        if copy is None:
            continue
        lanes = _lanes(target.vector_bits // ELEMENT_BITS[copy.kind], copy.extents)
        if not has_squares(copy.kind, lanes):
            continue
        yield loop, {"lanes": lanes, "walk": BLOCKWISE}
        if copy.larger_than((target.cache_bytes[1:] or (0,))[0]):
            yield loop, {"lanes": lanes, "walk": STRIPS}
            if streams(copy.kind, lanes):
                yield loop, {"lanes": lanes, "walk": STREAMED}


def _lanes(most: int, extents: tuple[float, float]) -> int:
    """The longest register of which a square may be in the matrix; 0 if there is none."""
    return max((lanes for lanes in LANES if lanes <= min(most, *extents)), default=0)


@dataclass(frozen=True)
class _Copy:
    """A copy of elements of `kind`; `swapped`: the outer loop runs along the rows it reads.
    `extents`: iterations of the loops at most."""

    kind: str
    swapped: bool
    extents: tuple[float, float]

    def larger_than(self, cache: int) -> bool:
        """Whether both arrays may not fit into `cache` bytes."""
        rows, columns = self.extents
        return 2 * rows * columns * ELEMENT_BITS[self.kind] / 8 > cache


def _copy(proc: q.Proc, outer: q.For) -> _Copy | None:
    """The copy in two loops if it transposes."""
    match outer.body:
        case (q.For(body=(q.Assign(rhs=q.Read() as read) as write,)) as inner,):
            pass
        case _:
            return None
    both, arrays = (outer, inner), declared(proc)
    if any(loop.lo != q.Affine(0) or loop.parallel for loop in both):
        return None
    if outer.iter in q.expr_vars(inner.hi) or write.buf == read.buf:
        return None
    kinds = {write.type, read.type}
    if len(kinds) > 1 or not kinds <= VECTORS:
        return None
    for array in (arrays.get(write.buf), arrays.get(read.buf)):
        if array is None or not array.dense or not array.mem.startswith("DRAM"):
            return None
    most_rows, most_columns = (trips(x, ranges_at(proc, x.path[:-1]))[1] for x in both)
    for swapped, (rows, columns) in ((False, both), (True, (inner, outer))):
        if _runs(write, columns, rows) and _runs(read, rows, columns):
            return _Copy(write.type, swapped, (most_rows, most_columns))
    return None


def _runs(access: q.Assign | q.Read, down: q.For, along: q.For) -> bool:
    """Whether an access moves through columns with `down`, and along rows with `along`."""
    if not access.idx:
        return False
    *before, last = range(len(access.idx))
    return moves(access.idx, along, last) and any(moves(access.idx, down, d) for d in before)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, lanes, walk = ast.by_path[path], args["lanes"], args["walk"]
    copy = _copy(ast, loop) if isinstance(loop, q.For) else None
    if copy is None:
        raise RewriteError("these are no two loops that copy rows to columns")
    if type(lanes) is not int or not has_squares(copy.kind, lanes):
        raise RewriteError(f"registers have {', '.join(map(str, LANES))} lanes here")
    if walk not in WALKS or (walk == STREAMED and not streams(copy.kind, lanes)):
        raise RewriteError(f"registers of {lanes} lanes have no walk {walk!r}")
    p = Cursors((yield None))
    if copy.swapped:
        yield from p.do("reorder_loops", At(path))
    yield from p.do("replace", At(path), Transpose(copy.kind, lanes, walk))
