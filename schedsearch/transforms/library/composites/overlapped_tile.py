"""Let every tile of a consumer compute the rows of the producer it needs, borders twice.

```
t: f32[8 * n + 2]
for y in seq(0, 8 * n + 2):           for yo in seq(0, n):
    t[y] = f(y)                           t_t: f32[10]
for y in seq(0, 8 * n):           ->      for y in seq(0, 10):
    o[y] = t[y] + t[y + 2]                    t_t[y] = f(8 * yo + y)
                                          for yi in seq(0, 8):
                                              o[8 * yo + yi] = t_t[yi] + t_t[yi + 2]
```

Overlapped tiling: the buffer shrinks to a tile and tiles are independent, so that their
loop can be parallel; the rows of a border are computed by both tiles. `dim` is the
dimension of the buffer, `depth` the consumer's loop that moves in it, `tile` how many of
its iterations make a tile; 1 takes the loop as it is, already tiled. A tile in another
dimension is another rewrite. Iterations that `tile` does not divide keep what they need
of the producer and its buffer, after the loop.

Exo proves a fusion by locations and refuses two copies of a producer. So the rows are
first copied to the tile's own buffer, its main part and its border apart, the border from a
second buffer that the producer writes too; then each loop over a part is fused with a
producer that writes those rows only, and the value takes the place of the copy.
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.overlap import Overlap, overlaps
from schedsearch.transforms.blocks.recompute import recompute
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1

UNKNOWN = 1024
"""Assumed length of loops of unknown length."""

ARRAYS = 3
"""Rows in cache for each row of the producer: its own, what it reads, what the consumer writes."""

LEVELS = 2
"""Caches that tiles are made for."""

MIN_TILE = 4
"""Rows of a tile for each row of its border, at least: the rest is computed again."""

MIN_LINES = 4
"""Cache lines of a tile along contiguous elements, at least: prefetchers follow runs."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for overlap in overlaps(proc):
        for tile in sorted(_tiles(overlap, target)):
            # The tail's buffer must have rows: Exo knows that of a border, or of constants.
            whole = divides(proc, tile, overlap.rows, overlap.loop.path)
            if overlap.border or overlap.rows.is_const or whole:
                yield overlap.producer, {"dim": overlap.dim, "depth": overlap.depth, "tile": tile}


def _tiles(overlap: Overlap, target: Target) -> set[int]:
    """Tiles whose rows fill half of a cache, or as long as a thread's share; 1 if what the
    loop's iterations read is a tile's worth already."""
    if overlap.step >= max(MIN_TILE * overlap.border, 2):
        return {1}
    length = overlap.rows.const if overlap.rows.is_const else UNKNOWN
    row = ARRAYS * ELEMENT_BITS[overlap.alloc.type] // 8
    for dim, extent in enumerate(overlap.extents):
        if dim != overlap.dim:
            row *= extent.const if extent.is_const else UNKNOWN
    if not row:
        return set()
    wanted = [cache // 2 // row // overlap.step for cache in target.cache_bytes[:LEVELS]]
    if target.threads > 1 and not overlap.depth:
        wanted.append(-(-length // target.threads))
    tiles = {_near_divisor(overlap.rows, tile) for tile in wanted if tile}
    least = max(MIN_TILE * overlap.border, 2)
    if overlap.dim == len(overlap.extents) - 1:
        least = max(least, MIN_LINES * target.line_bytes * 8 // ELEMENT_BITS[overlap.alloc.type])
    return {tile for tile in tiles if overlap.fits(tile) and overlap.step * tile >= least}


def _near_divisor(extent: q.Affine, tile: int) -> int:
    """A divisor of a constant extent between half of `tile` and `tile`, else a power of two."""
    if extent.is_const:
        candidates = range(min(tile, extent.const), tile // 2, -1)
        divisor = next((n for n in candidates if extent.const % n == 0), None)
        if divisor:
            return divisor
    return 1 << max(tile.bit_length() - 1, 0)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    where = (path, args["dim"], args["depth"])
    found = (o for o in overlaps(ast) if (o.producer.path, o.dim, o.depth) == where)
    overlap = next(found, None)
    if overlap is None or not overlap.fits(args["tile"]):
        raise RewriteError("no consumer reads rows of this producer that could be a tile's own")
    yield from recompute(ast, overlap, args["tile"])
