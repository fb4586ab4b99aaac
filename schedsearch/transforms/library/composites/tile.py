"""Tile two or three perfectly nested loops so that what a tile touches fits a cache.

```
for i in seq(0, n):                for io in seq(0, n / 32):
    for j in seq(0, m):                for jo in seq(0, m / 64):
        b[j, i] = a[i, j]     ->           for ii in seq(0, 32):
                                               for ji in seq(0, 64):
                                                   b[...] = a[...]
```

Proposed where an outer loop uses data again that is too much for a cache by then: an
array it does not move through, neighbours, or the rest of a cache line. Tiles are as
large as half of the cache allows (Lam, Rothberg and Wolf, ASPLOS 1991): square, or
four times as long along the innermost loop, for the prefetcher. Size 0 keeps a loop
whole. Iterations that a tile does not divide get nests of their own, after this one.
"""

from collections.abc import Iterator, Mapping
from math import prod

from schedsearch.analysis.accesses import Access, accesses
from schedsearch.analysis.walkers import element_bits, fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Args, Proposal, Steps

VERSION = 1

UNKNOWN = 1024
"""Assumed length of loops of unknown length."""

MAX_SIZE = 1 << 16

LEVELS = 2
"""Caches that tiles are made for; the last level is shared and larger than most arrays."""

ELONGATIONS = (1, 4)
"""Length over width of proposed tiles."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for first in loops(proc):
        for depth in (2, 3):
            chain = _chain(first, depth)
            if chain:
                for sizes in _tiles(chain, target):
                    yield first, {"sizes": "x".join(map(str, sizes))}


def _chain(first: q.Stmt, depth: int) -> tuple[q.For, ...]:
    """`depth` perfectly nested loops, none parallel; empty if there are not that many."""
    chain: list[q.For] = []
    body: tuple[q.Stmt, ...] = (first,)
    while len(chain) < depth:
        loop = body[0]
        if len(body) > 1 or not isinstance(loop, q.For) or loop.parallel or not loop.lo.is_const:
            return ()
        chain.append(loop)
        body = loop.body
    moved = {loop.iter for loop in chain}
    rectangular = not any(moved & q.expr_vars(loop.hi) for loop in chain)
    return tuple(chain) if rectangular else ()


def _tiles(chain: tuple[q.For, ...], target: Target) -> Iterator[tuple[int, ...]]:
    body = chain[-1].body
    found = [access for access in accesses(body) if access.idx]
    if not all(_reused(loop.iter, found) for loop in chain[:-1]):
        return
    size = element_bits(body) // 8
    lengths = {loop.iter: _length(loop) for loop in q.walk((chain[0],)) if isinstance(loop, q.For)}
    inside = {var: n for var, n in lengths.items() if var != chain[0].iter}
    proposed = set()
    for cache in target.cache_bytes[:LEVELS]:
        if _footprint(found, inside, size, target.line_bytes) <= cache // 2:
            continue  # the next iteration of the outermost loop finds everything there
        for longer in ELONGATIONS:
            tile = _largest(chain, found, lengths, longer, cache // 2, size, target.line_bytes)
            if tile and tile not in proposed:
                proposed.add(tile)
                yield tile


def _largest(
    chain: tuple[q.For, ...],
    found: list[Access],
    lengths: Mapping[q.Var, int],
    longer: int,
    room: int,
    size: int,
    line: int,
) -> tuple[int, ...] | None:
    """The largest tile of powers of two in `room` bytes; None if it is no tile."""
    best = None
    edge = 2
    while edge < max(lengths.values()):
        edges = {loop.iter: edge for loop in chain} | {chain[-1].iter: edge * longer}
        inner = {var: min(n, edges.get(var, n)) for var, n in lengths.items()}
        if _footprint(found, inner, size, line) > room:
            break
        best = tuple(_fitted(loop, edges[loop.iter]) for loop in chain)
        edge *= 2
    return best if best and best[-1] else None


def _fitted(loop: q.For, edge: int) -> int:
    """`edge`, or a divisor of the loop's length that is nearly as large; 0 for all of it."""
    if edge >= _length(loop):
        return 0
    if loop.extent is None:
        return edge
    return next((d for d in range(edge, edge * 3 // 4, -1) if loop.extent % d == 0), edge)


def _length(loop: q.For) -> int:
    return UNKNOWN if loop.extent is None else loop.extent


def _reused(var: q.Var, found: list[Access]) -> bool:
    """Whether iterations of the loop of `var` touch lines again that others have touched."""
    places: dict[tuple[q.Var, tuple[tuple[tuple[q.Atom, int], ...], ...]], set[q.Affine]] = {}
    for access in found:
        moving = [index for index in access.idx if var in q.expr_vars(index)]
        if not moving or abs(access.idx[-1].coefficient(var)) == 1:
            return True
        terms = tuple(index.terms for index in access.idx)
        places.setdefault((access.buf, terms), set()).update(moving)
    return any(len(group) > 1 for group in places.values())


def _footprint(found: list[Access], lengths: Mapping[q.Var, int], size: int, line: int) -> int:
    """Bytes of the lines that loops of these lengths touch, elements being of `size` bytes."""
    boxes: dict[q.Var, list[int]] = {}
    for access in found:
        spans = [_span(index, lengths) for index in access.idx]
        known = boxes.setdefault(access.buf, spans)
        boxes[access.buf] = [max(a, b) for a, b in zip(known, spans, strict=True)]
    return sum(prod(box[:-1]) * -(-box[-1] * size // line) * line for box in boxes.values())


def _span(index: q.Affine, lengths: Mapping[q.Var, int]) -> int:
    return 1 + sum(
        abs(c) * (lengths[atom] - 1)
        for atom, c in index.terms
        if isinstance(atom, q.Var) and atom in lengths
    )


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    sizes = _parsed(args["sizes"])
    chain = _chain(ast.by_path[path], len(sizes)) if path in ast.by_path else ()
    if not chain:
        raise RewriteError(f"there are no {len(sizes)} loops to tile")
    p = Cursors((yield None))
    held = [p.at(loop.path) for loop in chain]
    for cursor, loop in zip(held, chain, strict=True):
        if loop.lo != q.Affine(0):
            yield from p.do("shift_loop", cursor, 0)
    ast = p.ast
    taken = names(ast)
    chain = _chain(ast.by_path[path], len(sizes))
    for depth, (cursor, loop, size) in enumerate(zip(held, chain, sizes, strict=True)):
        if not size or divides(ast, size, loop.hi, loop.path):
            continue
        whole = f"{size} * (({show_affine(loop.hi)}) / {size})"
        point = whole if loop.extent is None else loop.extent // size * size
        yield from p.do("cut_loop", cursor, point)
        if depth:
            yield from p.do("fission", After(p.path(cursor)), depth)
    divided = 0
    for cursor, loop, size in reversed(list(zip(held, chain, sizes, strict=True))):
        inner = cursor
        if size:
            # The loop keeps its name for the outer part: what is there may be addressed by it.
            new = (loop.iter.name, fresh(taken, f"{loop.iter.name}i"))
            yield from p.do("divide_loop", cursor, size, new, perfect=True)
            inner = p.at(p.path(cursor, 0))
        for _ in range(divided):  # below the outer parts of the loops further in
            yield from p.do("reorder_loops", inner)
        divided += bool(size)


def _parsed(sizes: object) -> tuple[int, ...]:
    """Sizes from `16x64`; raises RewriteError for what `propose` would not give."""
    parts = sizes.split("x") if isinstance(sizes, str) else []
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() for part in parts):
        raise RewriteError("sizes are written as 16x64 or 8x8x64")
    found = tuple(map(int, parts))
    if max(found) > MAX_SIZE or 1 in found or not found[-1]:
        raise RewriteError(f"tile sizes are from 2 to {MAX_SIZE}, the innermost not 0")
    return found
