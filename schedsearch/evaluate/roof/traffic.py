"""Compulsory memory traffic of a call: which elements of its arguments it loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.analysis.accesses import Access, placed
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.evaluate.arguments.binding import Binding, control_values
from schedsearch.evaluate.arguments.layout import Buffer, layout
from schedsearch.evaluate.roof.elements import (
    NOTHING,
    Box,
    Values,
    classes,
    elements,
    halves,
    involved,
    outermost,
    progression,
    truth,
)

# Accesses that are no box are counted iteration by iteration; where these are many, as boxes row
# by row of a loop, or halved this often. Beyond, all of the array counts as accessed.
_HALVINGS = 4
_ROWS = 1 << 14
_LARGEST = 1 << 28  # elements of an array

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Streams:
    """Bytes that are only loaded (`read`), stored without having been needed (`written`),
    and loaded, changed and stored (`updated`); each element of an argument once."""

    read: int
    written: int
    updated: int

    @property
    def footprint(self) -> int:
        """Bytes touched."""
        return self.read + self.written + self.updated

    @property
    def bytes(self) -> int:
        """Elements loaded and stored; updated ones count twice."""
        return self.footprint + self.updated

    def scaled(self, footprint: int) -> Streams:
        """The same mix of so many bytes, about."""
        kinds = (self.read, self.written, self.updated)
        return Streams(*(kind * footprint // self.footprint for kind in kinds))


NO_STREAMS = Streams(0, 0, 0)


def count_streams(proc: q.Proc, binding: Binding) -> Streams:
    """Traffic of an inlined procedure. An element whose first access in the text is a store counts
    as not loaded. So traffic is rather under- than overestimated: it is a lower bound of the
    traffic of a call.
    """
    values = control_values(proc, binding)
    found: dict[q.Var, list[Access]] = {}
    for access in placed(proc.body):
        found.setdefault(access.buf, []).append(access)
    totals = [
        _of_array(item, found[arg.var], values)
        for arg, item in zip(proc.args, layout(proc, binding), strict=True)
        if isinstance(item, Buffer) and arg.var in found
    ]
    return Streams(*(sum(kind) for kind in zip(*totals, strict=True))) if totals else NO_STREAMS


def _of_array(buffer: Buffer, accesses: Sequence[Access], values: Values) -> tuple[int, ...]:
    """Bytes of an array that are read, written and updated."""
    totals = _by_classes(len(buffer.shape), accesses, values)
    if totals is None:
        touched = _Touched(buffer.shape)
        for access in accesses:
            touched.add(access, values)
        totals = touched.totals()
    return tuple(ELEMENT_TYPES[buffer.type].bits // 8 * elements for elements in totals)


def _by_classes(dims: int, accesses: Sequence[Access], values: Values) -> Totals | None:
    """Elements read, written and updated, if all that is accessed are boxes."""
    boxes = [_box(access, values, dims) for access in accesses]
    if not all(box is not None for box in boxes):
        return None
    held, counts = [], []
    for dim in range(dims):
        own = classes([box[dim] for box in boxes if box is not None])
        if own is None:
            return None
        held.append(np.array(list(own), bool).reshape(len(own), len(boxes)).T)
        counts.append(np.array(list(own.values()), np.int64))
    shape = tuple(len(own) for own in counts)
    loaded, stored = np.zeros(shape, bool), np.zeros(shape, bool)
    for number, (access, box) in enumerate(zip(accesses, boxes, strict=True)):
        if NOTHING not in (box or ()):
            _mark(loaded, stored, np.ix_(*(own[number] for own in held)), access.writes)
    weights = reduce(np.multiply.outer, counts, np.ones((), np.int64))
    return _totals(loaded, stored, lambda mask: int(np.sum(weights, where=mask)))


def _box(access: Access, values: Values, dims: int) -> Box | None:
    """The box that an access may touch; None if that is no box, or not known to be one."""
    loops = {loop.iter: loop for loop in access.loops}
    ends = [end for loop in access.loops for end in (loop.lo, loop.hi)]
    if involved((*ends, *(condition for condition, _ in access.conditions)), loops):
        return None
    env = values.__getitem__
    trips = {
        var: (q.evaluate_affine(loop.lo, env), q.evaluate_affine(loop.hi, env))
        for var, loop in loops.items()
    }
    taken = all(truth(held, values, {}) in (None, outcome) for held, outcome in access.conditions)
    if not taken or any(lo >= hi for lo, hi in trips.values()):
        return (NOTHING,) * dims
    per_dim = [involved((index,), loops) for index in access.idx]
    if sum(map(len, per_dim)) > len(set().union(*per_dim)):
        return None  # dimensions that depend on each other
    found = [progression(index, values, trips) for index in access.idx]
    return tuple(part for part in found if part is not None) if None not in found else None


def _rows(access: Access, values: Values, dims: int) -> list[Box] | None:
    """A box for each iteration of the outermost loop that matters, of a triangle, say. None if
    these are no boxes, or too many."""
    loop = outermost(access)
    if loop is None:
        return None
    within = replace(access, loops=tuple(other for other in access.loops if other != loop))
    lo, hi = (q.evaluate_affine(end, values.__getitem__) for end in (loop.lo, loop.hi))
    rows: list[Box] = []
    if hi - lo > _ROWS:
        return None
    for at in range(lo, hi):
        row = _box(within, values | {loop.iter: at}, dims)
        if row is None:
            return None
        rows.append(row)
    return rows


Totals = tuple[int, int, int]
"""Elements that are read, written and updated."""


def _mark(loaded: Mask, stored: Mask, where: Any, store: bool) -> None:
    """Access elements, of which only those not stored before have to be loaded."""
    if store:
        stored[where] = True
    else:
        loaded[where] |= ~stored[where]


def _totals(loaded: Mask, stored: Mask, count: Callable[[Mask], int]) -> Totals:
    """`count` is the number of elements that those of a mask stand for."""
    return count(loaded & ~stored), count(stored & ~loaded), count(loaded & stored)


class _Touched:
    """Knowledge about the elements of one array, one by one."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        held = shape if prod(shape) <= _LARGEST else (1,) * len(shape)
        # One element stands for all of an array that is too large.
        self.scale = prod(shape) // prod(held)
        self.loaded = np.zeros(held, bool)
        self.stored = np.zeros(held, bool)

    def add(self, access: Access, values: Values) -> None:
        for where in self._places(access, values) if self.scale == 1 else [...]:
            _mark(self.loaded, self.stored, where, access.writes)

    def _places(self, access: Access, values: Values) -> Iterator[Any]:
        """Indices into the array."""
        at = elements(access, values, self.shape)
        if at is not None:
            yield at
        elif (rows := _rows(access, values, len(self.shape))) is not None:
            for row in rows:
                yield tuple(slice(part.first, part.last + 1, part.step) for part in row)
        else:
            for part in halves(access, values, _HALVINGS):
                at = elements(part, values, self.shape)
                # `...` is all of it: nothing narrower is known.
                yield ... if at is None else at

    def totals(self) -> Totals:
        return _totals(
            self.loaded, self.stored, lambda mask: self.scale * int(np.count_nonzero(mask))
        )
