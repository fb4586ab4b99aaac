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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from schedsearch.analysis.accesses import touched
from schedsearch.core import ast as q
from schedsearch.transforms.estimate.surroundings import UNKNOWN_EXTENT, Scene

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


@dataclass(frozen=True, eq=False)
class _Cache:
    """`size`, `line` and `way` in bytes; `cost` of a miss."""

    size: int
    line: int
    way: int
    cost: float


class _Region(NamedTuple):
    """A box of an array (inclusive bounds per dimension), its lines and its misses so far, by
    cache."""

    box: Box
    lines: tuple[Lines, ...]
    misses: tuple[float, ...]


Regions = dict[Key, _Region]


def traffic(scene: Scene) -> float:
    """Estimated cost of the cache misses of one call, in the unit of `cost.py`."""
    caches = _caches(scene.target.cache_bytes, scene.target.line_bytes)
    walk = _Walk(scene, caches)
    regions = walk.block(scene.proc.body)
    fits = walk.fits(regions)
    cost = 0.0
    for level, cache in enumerate(caches):
        missed = sum(
            0.0 if fit[level] else region.misses[level]
            for fit, region in zip(fits, regions.values(), strict=True)
        )
        cost += missed * cache.cost
    return cost


@lru_cache(maxsize=16)
def _caches(sizes: tuple[int, ...], line: int) -> tuple[_Cache, ...]:
    caches = [_Cache(PAGES * PAGE, PAGE, PAGES * PAGE, PAGE_COST)]
    for level, size in enumerate(sizes[: len(MISS_COSTS)]):
        way = L1_WAY if level == 0 else size // OTHER_WAYS
        caches.append(_Cache(size, line, way, MISS_COSTS[level]))
    return tuple(caches)


class _Walk:
    def __init__(self, scene: Scene, caches: tuple[_Cache, ...]) -> None:
        self.scene, self.caches = scene, caches

    # -- regions, inside out --------------------------------------------------------

    def block(self, body: tuple[q.Stmt, ...]) -> Regions:
        """Regions of one execution of a block."""
        parts = [self.stmt(stmt) for stmt in body]
        if len(parts) == 1:
            return parts[0]
        merged: Regions = {}
        for part in parts:
            for key, region in part.items():
                merged[key] = self.both(key, merged[key], region) if key in merged else region
        return self.settle(merged)

    def stmt(self, stmt: q.Stmt) -> Regions:
        match stmt:
            case q.For():
                return self.scene.kept(self.loop, stmt)
            case q.If():
                branches = self.scene.possible(stmt)
                return self.block(tuple(part for branch in branches for part in branch))
            case q.Alloc():
                self.scene.declare(stmt)
            case q.Assign() | q.Reduce() | q.Call():
                return self.accesses(stmt)
        return {}

    def loop(self, loop: q.For) -> Regions:
        low, high = self.scene.enter(loop)
        body = self.block(loop.body)
        trips = max(high - low, 0)
        if not trips:
            return {}
        fits = self.fits(body)
        whole: Regions = {}
        inside: dict[Key, list[bool]] = {}
        for (key, region), fit in zip(body.items(), fits, strict=True):
            swept, box = _sweep(key, region.box, loop.iter, (low, high - 1))
            again = tuple([trips * m for m in region.misses])
            lines = region.lines if box == region.box else self.lines(key[0], box)
            found = _Region(box, lines, again)
            if swept in whole:
                whole[swept] = self.both(swept, whole[swept], found)
                inside[swept] = [a and b for a, b in zip(inside[swept], fit, strict=True)]
            else:
                whole[swept], inside[swept] = found, fit
        return {key: _once(region, inside[key]) for key, region in whole.items()}

    def settle(self, merged: Regions) -> Regions:
        """Elements that statements of a block share are missed once, if all they touch fits."""
        pairs = zip(merged.items(), self.fits(merged), strict=True)
        return {key: _once(region, fit) for (key, region), fit in pairs}

    def accesses(self, stmt: q.Stmt) -> Regions:
        found: Regions = {}
        for key, box in _accesses(stmt):
            shape = self.scene.shapes.get(key[0].uid)
            if shape is None or len(box) != len(shape):
                continue
            lines = self.lines(key[0], box)
            region = _Region(box, lines, tuple([float(count) for count, _ in lines]))
            found[key] = self.both(key, found[key], region) if key in found else region
        return self.settle(found)

    def both(self, key: Key, a: _Region, b: _Region) -> _Region:
        """The hull of two regions, with the misses of both."""
        hull = [(min(x[0], y[0]), max(x[1], y[1])) for x, y in zip(a.box, b.box, strict=True)]
        box = tuple(hull)
        lines = a.lines if box == a.box else self.lines(key[0], box)
        return _Region(box, lines, tuple([x + y for x, y in zip(a.misses, b.misses, strict=True)]))

    # -- does it fit? -----------------------------------------------------------------

    def fits(self, regions: Regions) -> list[list[bool]]:
        """For every region and cache: does it stay there while all of `regions` are touched?"""
        everywhere = [region.lines for region in regions.values()]
        verdicts: list[list[bool]] = [[] for _ in everywhere]
        for level, cache in enumerate(self.caches):
            total = sum([lines[level][0] for lines in everywhere]) * cache.line
            small = total <= cache.size
            for verdict, lines in zip(verdicts, everywhere, strict=True):
                verdict.append(small and lines[level][0] <= lines[level][1])
        return verdicts

    def lines(self, buf: q.Var, box: Box) -> tuple[Lines, ...]:
        """Lines of a box in every cache."""
        return _lines(self.scene.shapes[buf.uid], self.scene.bytes[buf.uid], box, self.caches)


@lru_cache(maxsize=10_000)
def _lines(
    shape: tuple[int, ...], size: int, box: Box, caches: tuple[_Cache, ...]
) -> tuple[Lines, ...]:
    """Lines of a box of an array with elements of so many bytes, in every cache."""
    return tuple([_lines_in(shape, size, box, cache) for cache in caches])


def _lines_in(shape: tuple[int, ...], size: int, box: Box, cache: _Cache) -> Lines:
    stride, run, rows, positions = size, 1, 1, 1
    contiguous = True
    for (low, high), extent in zip(reversed(box), reversed(shape), strict=True):
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


def _once(region: _Region, fits: list[bool]) -> _Region:
    """A region that is missed once in the caches where it stays."""
    if not any(fits):
        return region
    misses = tuple(
        [
            min(missed, lines[0]) if fit else missed
            for lines, missed, fit in zip(region.lines, region.misses, fits, strict=True)
        ]
    )
    return _Region(region.box, region.lines, misses)


def _sweep(key: Key, box: Box, var: q.Var, values: Interval) -> tuple[Key, Box]:
    """Key and box of a region while `var` runs through `values` (inclusive)."""
    if not any(q.mentions_atom(atom, var) for index in key[1] for atom, _ in index):
        return key, box
    terms, swept = [], []
    for index, (low, high) in zip(key[1], box, strict=True):
        rest = []
        for atom, coefficient in index:
            if not q.mentions_atom(atom, var):
                rest.append((atom, coefficient))
                continue
            ends = [coefficient * v for v in _range(atom, var, values)]
            low, high = low + min(ends), high + max(ends)
        terms.append(tuple(rest))
        swept.append((low, high))
    return (key[0], tuple(terms)), tuple(swept)


def _range(atom: q.Atom, var: q.Var, values: Interval) -> Interval:
    """Values of an atom while `var` runs; its other variables are taken as zero."""
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
        if q.mentions_atom(atom, var):
            ends = [coefficient * v for v in _range(atom, var, values)]
            low, high = low + min(ends), high + max(ends)
    return low, high


@q.per_node
def _accesses(stmt: q.Stmt) -> tuple[tuple[Key, Box], ...]:
    """Every array access of a statement."""
    return tuple([_box(buf, idx) for buf, idx, _ in touched(stmt)])


def _box(buf: q.Var, idx: Sequence[q.Interval | q.Affine]) -> tuple[Key, Box]:
    intervals = [_interval(access) for access in idx]
    key = (buf, tuple([start.terms for start, _ in intervals]))
    return key, tuple([(s.const, s.const + max(n, 1) - 1) for s, n in intervals])


def _interval(access: q.Interval | q.Affine) -> tuple[q.Affine, int]:
    if isinstance(access, q.Interval):
        length = access.hi - access.lo
        return access.lo, length.const if length.is_const else UNKNOWN_EXTENT
    return access, 1
