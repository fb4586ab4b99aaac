"""A static estimate of memory traffic: which loop order and which tiles keep data in cache?

For every loop the arrays' regions that one iteration touches are summed up. If they
fit a cache, the next iteration finds there what it shares with this one, and the
loop misses only once for every line of what it touches altogether; if not, every
iteration misses anew (the loop-footprint argument of Wolf and Lam, PLDI 1991, and of
Ferrante, Sarkar and Thrash, LCPC 1991). Lines of an array whose rows are a multiple of
the cache's way apart compete for the same few sets, as power-of-two sizes do. The
translation buffer is a cache of pages.

Regions are boxes: the hull of all accesses to an array whose indices differ by
constants. The kernel is assumed to be called again and again: what fits is warm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import gcd

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.conditions import possible, sizes_of
from schedsearch.transforms.walkers import ELEMENT_BITS

UNKNOWN_EXTENT = 256
PAGE = 4096
PAGES = 64
"""Entries of a first-level translation buffer; all x86-64 and ARMv8 cores have about as many."""
MISS_COSTS = (4.0, 12.0, 24.0)
"""Cost of a line from the next level, first level first, in the unit of `cost.py`."""
PAGE_COST = 8.0
L1_WAY = PAGE
"""First-level caches are indexed within a page; others are taken to have 16 ways."""
OTHER_WAYS = 16

Terms = tuple[tuple[q.Atom, int], ...]
Interval = tuple[int, int]
Box = tuple[Interval, ...]
Lines = tuple[int, int]
"""Cache lines of a box, and how many the sets they fall into have room for."""
Key = tuple[q.Var, tuple[Terms, ...]]
"""An array, and for every dimension the index terms of loops further out."""


@dataclass(frozen=True)
class _Cache:
    """`size`, `line` and `way` in bytes; `cost` of a miss."""

    size: int
    line: int
    way: int
    cost: float


@dataclass(frozen=True)
class _Region:
    """A box of an array (inclusive bounds per dimension) and its misses per cache so far."""

    box: Box
    misses: tuple[float, ...]


Regions = dict[Key, _Region]


@dataclass(frozen=True)
class Traffic:
    """Memory traffic of one call: `misses` (lines) of the translation buffer and of each
    cache from the first level on, their `cost` in the unit of `cost.py`, and the bytes of
    cache lines touched: by an iteration of each loop (by the uid of its variable), by all."""

    misses: tuple[float, ...]
    cost: float
    touched: Mapping[int, int]
    footprint: int


def traffic(proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> Traffic:
    """Estimated memory traffic of one call; `sizes` binds arguments by name."""
    walk = _Walk(proc, _caches(target), sizes)
    regions = walk.block(proc.body)
    fits, footprint = walk.fits(regions)
    misses = tuple(
        sum(0.0 if fits[key][level] else region.misses[level] for key, region in regions.items())
        for level in range(len(walk.caches))
    )
    cost = sum(m * cache.cost for m, cache in zip(misses, walk.caches, strict=True))
    return Traffic(misses, cost, walk.touched, footprint)


def _caches(target: Target) -> list[_Cache]:
    caches = [_Cache(PAGES * PAGE, PAGE, PAGES * PAGE, PAGE_COST)]
    for level, size in enumerate(target.cache_bytes[: len(MISS_COSTS)]):
        way = L1_WAY if level == 0 else size // OTHER_WAYS
        caches.append(_Cache(size, target.line_bytes, way, MISS_COSTS[level]))
    return caches


def estimated(expr: q.Affine, values: Mapping[int, int]) -> int:
    """Value of an expression; `values` binds variables by uid, others are taken as typical."""

    def known(atom: q.Atom) -> int:
        uid = atom.uid if isinstance(atom, q.Var) else -1
        return values.get(uid, UNKNOWN_EXTENT)

    return q.evaluate_affine(expr, known)


class _Walk:
    def __init__(self, proc: q.Proc, caches: list[_Cache], sizes: Mapping[str, int]) -> None:
        self.caches = caches
        self.sizes = sizes_of(proc)
        self.values = {arg.var.uid: sizes.get(arg.var.name, UNKNOWN_EXTENT) for arg in proc.args}
        self.shapes: dict[q.Var, tuple[int, ...]] = {}
        self.bytes: dict[q.Var, int] = {}
        self.known_lines: dict[tuple[int, Box], tuple[Lines, ...]] = {}
        self.touched: dict[int, int] = {}
        for arg in proc.args:
            if arg.shape:
                self._declare(arg.var, arg.type, arg.shape)

    def _declare(self, buf: q.Var, kind: str, shape: tuple[q.Affine, ...]) -> None:
        self.shapes[buf] = tuple(max(self._value(extent), 1) for extent in shape)
        self.bytes[buf] = ELEMENT_BITS[kind] // 8

    def _value(self, expr: q.Affine) -> int:
        return estimated(expr, self.values)

    # -- regions, inside out --------------------------------------------------------

    def block(self, body: tuple[q.Stmt, ...]) -> Regions:
        """Regions of one execution of a block."""
        parts = [self.stmt(stmt) for stmt in body]
        if len(parts) == 1:
            return parts[0]
        merged: Regions = {}
        for part in parts:
            for key, region in part.items():
                merged[key] = _both(merged[key], region) if key in merged else region
        return self.settle(merged)

    def stmt(self, stmt: q.Stmt) -> Regions:
        match stmt:
            case q.For():
                return self.loop(stmt)
            case q.If():
                branches = possible(stmt, self.sizes, self._value)
                return self.block(tuple(part for branch in branches for part in branch))
            case q.Alloc() if stmt.shape and stmt.mem.startswith("DRAM"):
                self._declare(stmt.buf, stmt.type, stmt.shape)
            case q.Assign() | q.Reduce() | q.Call():
                return self.accesses(stmt)
        return {}

    def loop(self, loop: q.For) -> Regions:
        low, high = self._value(loop.lo), self._value(loop.hi)
        self.values[loop.iter.uid] = (low + high) // 2
        body = self.block(loop.body)
        trips = max(high - low, 0)
        if not trips:
            return {}
        fits, self.touched[loop.iter.uid] = self.fits(body)
        whole: Regions = {}
        inside: dict[Key, list[bool]] = {}
        for key, region in body.items():
            swept, box = _sweep(key, region.box, loop.iter, (low, high - 1))
            again = _Region(box, tuple(trips * m for m in region.misses))
            if swept in whole:
                whole[swept] = _both(whole[swept], again)
                inside[swept] = [a and b for a, b in zip(inside[swept], fits[key], strict=True)]
            else:
                whole[swept], inside[swept] = again, fits[key]
        return {
            key: _Region(region.box, self._misses(key, region, inside[key]))
            for key, region in whole.items()
        }

    def settle(self, merged: Regions) -> Regions:
        """What statements of a block share is missed once, if all they touch fits."""
        fits, _ = self.fits(merged)
        return {
            key: _Region(region.box, self._misses(key, region, fits[key]))
            for key, region in merged.items()
        }

    def _misses(self, key: Key, region: _Region, fits: list[bool]) -> tuple[float, ...]:
        lines = self.lines(key[0], region.box)
        return tuple(
            min(missed, whole) if fit else missed
            for (whole, _), missed, fit in zip(lines, region.misses, fits, strict=True)
        )

    def accesses(self, stmt: q.Stmt) -> Regions:
        found: Regions = {}
        for buf, idx in _accesses(stmt):
            if buf not in self.shapes or len(idx) != len(self.shapes[buf]):
                continue
            terms = tuple(index.terms for index, _ in idx)
            box = tuple((index.const, index.const + max(n, 1) - 1) for index, n in idx)
            region = _Region(box, tuple(lines for lines, _ in self.lines(buf, box)))
            key = (buf, terms)
            found[key] = _both(found[key], region) if key in found else region
        return self.settle(found)

    # -- does it fit? -----------------------------------------------------------------

    def fits(self, regions: Regions) -> tuple[dict[Key, list[bool]], int]:
        """For every region and cache: does it stay there while all of `regions` are touched?
        And how many bytes of cache lines these are."""
        everywhere = [self.lines(key[0], region.box) for key, region in regions.items()]
        verdicts: list[list[bool]] = [[] for _ in everywhere]
        touched = 0
        for level, cache in enumerate(self.caches):
            total = sum(lines[level][0] for lines in everywhere) * cache.line
            for verdict, lines in zip(verdicts, everywhere, strict=True):
                count, room = lines[level]
                verdict.append(total <= cache.size and count <= room)
            if cache.line < PAGE:
                touched = total
        return dict(zip(regions, verdicts, strict=True)), touched

    def lines(self, buf: q.Var, box: Box) -> tuple[Lines, ...]:
        """Lines of a box in every cache."""
        key = (buf.uid, box)
        found = self.known_lines.get(key)
        if found is None:
            found = tuple(self._lines(buf, box, cache) for cache in self.caches)
            self.known_lines[key] = found
        return found

    def _lines(self, buf: q.Var, box: Box, cache: _Cache) -> Lines:
        stride, run, rows, positions = self.bytes[buf], 1, 1, 1
        contiguous = True
        for (low, high), extent in zip(reversed(box), reversed(self.shapes[buf]), strict=True):
            count = min(high - low + 1, extent)
            if contiguous:
                run = max(1, -(-count * stride // cache.line))
                contiguous = count == extent
            elif count > 1:
                rows *= count
                positions *= min(count, cache.way // gcd(stride, cache.way))
            stride *= extent
        sets = min(cache.way // cache.line, positions * run)
        return rows * run, sets * (cache.size // cache.way)


def _both(a: _Region, b: _Region) -> _Region:
    """The hull of two regions, with the misses of both."""
    box = tuple((min(x[0], y[0]), max(x[1], y[1])) for x, y in zip(a.box, b.box, strict=True))
    return _Region(box, tuple(x + y for x, y in zip(a.misses, b.misses, strict=True)))


def _sweep(key: Key, box: Box, var: q.Var, values: Interval) -> tuple[Key, Box]:
    """Key and box of a region while `var` runs through `values` (inclusive)."""
    terms, swept = [], []
    for index, (low, high) in zip(key[1], box, strict=True):
        rest = []
        for atom, coefficient in index:
            if var != atom and var not in q.expr_vars(atom):
                rest.append((atom, coefficient))
                continue
            ends = [coefficient * v for v in _range(atom, var, values)]
            low, high = low + min(ends), high + max(ends)
        terms.append(tuple(rest))
        swept.append((low, high))
    return (key[0], tuple(terms)), tuple(swept)


def _range(atom: q.Atom, var: q.Var, values: Interval) -> Interval:
    """Values of an atom while `var` runs; what else it depends on is taken as zero."""
    match atom:
        case q.FloorDiv():
            low, high = _run(atom.num, var, values)
            return low // atom.den, high // atom.den
        case q.Mod():
            low, high = _run(atom.num, var, values)
            return 0, min(high - low, atom.den - 1)
        case _:
            return values


def _run(num: q.Affine, var: q.Var, values: Interval) -> Interval:
    low = high = num.const
    for atom, coefficient in num.terms:
        if var == atom or var in q.expr_vars(atom):
            ends = [coefficient * v for v in _range(atom, var, values)]
            low, high = low + min(ends), high + max(ends)
    return low, high


def _accesses(stmt: q.Stmt) -> Iterator[tuple[q.Var, list[tuple[q.Affine, int]]]]:
    """Every array access of a statement: per dimension where it starts and how long it is."""
    if isinstance(stmt, q.Assign | q.Reduce):
        yield stmt.buf, [(index, 1) for index in stmt.idx]
    for expr in q.stmt_exprs(stmt):
        for node in q.walk_expr(expr):
            if isinstance(node, q.Read):
                yield node.buf, [(index, 1) for index in node.idx]
            elif isinstance(node, q.Window):
                yield node.buf, [_interval(access) for access in node.idx]


def _interval(access: q.Interval | q.Affine) -> tuple[q.Affine, int]:
    if isinstance(access, q.Interval):
        length = access.hi - access.lo
        return access.lo, length.const if length.is_const else UNKNOWN_EXTENT
    return access, 1
