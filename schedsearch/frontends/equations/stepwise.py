"""Einsum by NumPy: ways to compute it, two arrays at a time.

A step is a product by BLAS (`numpy.matmul`) on views, a product of elements, a sum, or a plain
`numpy.einsum`. Which axes are rows, columns and what is summed, which are only repeated, how what
is between lies, and what is copied: there are many ways, and an estimate keeps the best few, which
the caller measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations, product
from math import prod
from typing import Any

import numpy as np

from schedsearch.frontends.equations.einsum import Subscripts, lengths_of

Axes = tuple[str, ...]
Way = Callable[[Sequence[Any]], Any]
_View = Callable[[Any], Any]
_Step = Callable[[list[Any]], None]
"""It appends what it computes to the values so far."""

KEPT = 6
"""Ways that are continued after each step, and that are returned."""

WORTH = 4
"""Times the least estimate: what is dearer is not worth to be measured, as it may take minutes."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# nanoseconds, for the estimate
_CALL, _PRODUCT, _MULTIPLY_ADD, _BYTE, _MOVE, _LOOP = 600.0, 150.0, 0.015, 0.04, 0.7, 0.4


@dataclass(frozen=True)
class Laid:
    """An array without axes of length 1: which of the values it is, its axes and their strides in
    bytes."""

    place: int
    axes: Axes
    strides: Mapping[str, int]


@dataclass(frozen=True)
class Space:
    """The lengths of axes, and the type of all elements."""

    lengths: Mapping[str, int]
    dtype: np.dtype[Any]

    def size(self, axes: Iterable[str]) -> int:
        return prod([self.lengths[name] for name in axes])

    def shape(self, axes: Iterable[str]) -> tuple[int, ...]:
        return tuple([self.lengths[name] for name in axes])

    def packed(self, place: int, axes: Axes) -> Laid:
        """An array in C order."""
        strides, stride = {}, self.dtype.itemsize
        for name in reversed(axes):
            strides[name] = stride
            stride *= self.lengths[name]
        return Laid(place, axes, strides)

    def letters(self, axes: Iterable[str]) -> str:
        names = list(self.lengths)
        return "".join(_LETTERS[names.index(name)] for name in axes)

    def merge(self, axes: Axes, strides: Mapping[str, int]) -> bool:
        """Whether these axes are one, as they lie."""
        return all(strides[a] == strides[b] * self.lengths[b] for a, b in pairwise(axes))


@dataclass(frozen=True)
class _Partial:
    """The first steps of a way, and the arrays that they leave to be multiplied."""

    cost: float
    steps: tuple[_Step, ...]
    left: tuple[Laid, ...]
    values: int

    def then(self, made: _Made, left: Sequence[Laid]) -> _Partial:
        laid = replace(made.laid, place=self.values)
        steps = (*self.steps, made.step)
        return _Partial(self.cost + made.cost, steps, (*left, laid), self.values + 1)


@dataclass(frozen=True)
class _Made:
    """A step, its cost, and its result."""

    cost: float
    step: _Step
    laid: Laid


def ways(
    subscripts: Subscripts,
    shapes: Sequence[tuple[int, ...]],
    strides: Sequence[tuple[int, ...]],
    dtype: np.dtype[Any],
) -> list[Way]:
    """Functions of the operands, all of this type, the best by estimate first. None for what is
    only a view."""
    lengths = lengths_of(subscripts, shapes)
    if len(lengths) > len(_LETTERS):
        return []
    space = Space(lengths, dtype)
    given = zip(subscripts.operands, shapes, strides, strict=True)
    plain = [_plain(space, number, *each) for number, each in enumerate(given)]
    operands = [laid for laid, _ in plain]
    result = tuple(name for name in subscripts.result if lengths[name] > 1)
    sums = _sums(operands, result)
    ones: list[Any] = []
    if dtype.kind == "f":
        ones = [np.ones(space.shape(gone), dtype) for _, gone in sums]
    found = [_Partial(0.0, (), tuple(operands), len(operands) + len(ones))]
    for number, (which, gone) in enumerate(sums):
        row = space.packed(len(operands) + number, gone) if ones else None
        found = _best(
            more for each in found for more in _summed(space, each, which, row, gone, result)
        )
    for pair in _path(space, operands, result):
        found = _best(more for each in found for more in _multiplied(space, each, pair, result))
    if len(operands) > 2:
        found = _best([*found, *_at_once(space, operands, result, len(operands) + len(ones))])
    views = [view for _, view in plain]
    whole = space.shape(subscripts.result)
    last = None if whole and len(result) == len(whole) else whole
    likely = [each for each in found if each.steps and each.cost <= WORTH * found[0].cost]
    return [_way(each.steps, views, ones, last) for each in likely]


def _best(found: Iterable[_Partial]) -> list[_Partial]:
    return sorted(found, key=lambda each: each.cost)[:KEPT]


def _plain(
    space: Space, place: int, axes: Axes, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Laid, _View | None]:
    """An operand without axes of length 1, and with each diagonal as one axis."""
    places = [n for n, length in enumerate(shape) if length > 1]
    names = tuple(axes[n] for n in places)
    kept = tuple(shape[n] for n in places)
    own: dict[str, int] = {}
    for n in places:
        own[axes[n]] = own.get(axes[n], 0) + strides[n]
    laid = Laid(place, tuple(own), own)
    if len(own) < len(names):
        diagonal = f"{space.letters(names)}->{space.letters(own)}"
        return laid, lambda value: np.einsum(diagonal, value.reshape(kept))
    return laid, None if kept == shape else lambda value: value.reshape(kept)


def _way(
    steps: tuple[_Step, ...],
    views: Sequence[_View | None],
    ones: Sequence[Any],
    shape: tuple[int, ...] | None,
) -> Way:
    """Steps one after another. `shape` is the result's, where that has axes of length 1."""

    def way(operands: Sequence[Any]) -> Any:
        values = [*operands, *ones]
        for number, view in changed:
            values[number] = view(values[number])
        for step in steps:
            step(values)
        if shape is None:
            return values[-1]
        return values[-1].reshape(shape) if shape else values[-1][()]

    changed = [(number, view) for number, view in enumerate(views) if view is not None]
    return way


def _sums(operands: Sequence[Laid], result: Axes) -> list[tuple[int, Axes]]:
    """Operands with axes that no other has, and not the result."""
    found = []
    for each in operands:
        others = {name for other in operands if other is not each for name in other.axes}
        gone = tuple(n for n in each.axes if n not in others and n not in result)
        if gone:
            found.append((each.place, gone))
    return found


def _path(space: Space, operands: Sequence[Laid], result: Axes) -> list[tuple[int, ...]]:
    """Which of the arrays that are left are multiplied, step by step."""
    if len(operands) < 3:
        return [(0, 1)] if len(operands) == 2 else []
    from opt_einsum.paths import auto  # it takes a tenth of a second to load

    sets = [frozenset(each.axes) for each in operands]
    path = auto(sets, frozenset(result), dict(space.lengths))
    return [tuple(sorted(each)) for each in path if len(each) > 1]


# -- steps -----------------------------------------------------------------------------------------


def _summed(
    space: Space, partial: _Partial, which: int, ones: Laid | None, gone: Axes, result: Axes
) -> Iterator[_Partial]:
    """The sum of an array over some of its axes; of floats also a product with ones."""
    at = next(n for n, each in enumerate(partial.left) if each.place == which)
    array = partial.left[at]
    kept = tuple(name for name in array.axes if name not in gone)
    order = result if len(partial.left) == 1 else kept
    made = [_added(space, array, gone, order)]
    if ones is not None:
        made += _products(space, array, ones, frozenset(gone), order)
    for each in made:
        laid = replace(each.laid, place=partial.values)
        left = (*partial.left[:at], laid, *partial.left[at + 1 :])
        yield replace(partial.then(each, ()), left=left)


def _added(space: Space, array: Laid, gone: Axes, order: Axes) -> _Made:
    place, dtype, shape = array.place, space.dtype, space.shape(order)
    axes = tuple(n for n, name in enumerate(array.axes) if name in gone)
    kept = tuple(name for name in array.axes if name not in gone)
    back = _permuted(order, kept)

    def step(values: list[Any]) -> None:
        out = np.empty(shape, dtype)
        np.add.reduce(values[place], axis=axes, dtype=dtype, out=out if back is None else back(out))
        values.append(out)

    cost = _CALL + _LOOP * space.size(array.axes)
    return _Made(cost, step, space.packed(0, order))


def _multiplied(
    space: Space, partial: _Partial, pair: tuple[int, ...], result: Axes
) -> Iterator[_Partial]:
    x, y = (partial.left[n] for n in pair)
    others = [each for each in partial.left if each is not x and each is not y]
    wanted = {*result, *(name for each in others for name in each.axes)}
    gone = frozenset(name for name in (*x.axes, *y.axes) if name not in wanted)
    for order in _orders(x, y, gone) if others else [result]:
        for made in _products(space, x, y, gone, order):
            yield partial.then(made, others)
        yield partial.then(_einsum(space, (x, y), order), others)


def _orders(x: Laid, y: Laid, gone: frozenset[str]) -> set[Axes]:
    """How a result that is only between may lie."""
    both = tuple(n for n in x.axes if n in y.axes and n not in gone)
    own = tuple(n for n in x.axes if n not in y.axes)
    other = tuple(n for n in y.axes if n not in x.axes)
    return {tuple(n for part in each for n in part) for each in permutations((both, own, other))}


def _einsum(space: Space, arrays: Sequence[Laid], order: Axes) -> _Made:
    """By NumPy's loops."""
    inputs = ",".join(space.letters(each.axes) for each in arrays)
    text, shape, dtype = f"{inputs}->{space.letters(order)}", space.shape(order), space.dtype
    places = [each.place for each in arrays]

    def step(values: list[Any]) -> None:
        out = np.empty(shape, dtype)
        np.einsum(text, *[values[n] for n in places], out=out)
        values.append(out)

    loops = space.size({name for each in arrays for name in each.axes})
    moved = sum(space.size(each.axes) for each in arrays) * dtype.itemsize
    return _Made(_CALL + _LOOP * loops + _BYTE * moved, step, space.packed(0, order))


def _at_once(
    space: Space, operands: Sequence[Laid], result: Axes, values: int
) -> Iterator[_Partial]:
    """All operands in one nest of NumPy's."""
    yield _Partial(0.0, (), (), values).then(_einsum(space, operands, result), ())


def _products(space: Space, x: Laid, y: Laid, gone: frozenset[str], order: Axes) -> Iterator[_Made]:
    """Ways to multiply two arrays and sum over `gone`; the result has this order."""
    if not gone:
        yield _elements(space, x, y, order)
        return
    out = space.packed(0, order)
    for a, b in ((x, y), (y, x)):
        rows = [n for n in a.axes if n not in b.axes]
        columns = [n for n in b.axes if n not in a.axes]
        row_choices = _groups(space, rows, a.strides, out.strides)
        column_choices = _groups(space, columns, b.strides, out.strides)
        summed = _groups(space, [n for n in a.axes if n in gone], a.strides, b.strides)
        for m, n, k in product(row_choices, column_choices, summed):
            yield from _matmul(space, a, b, out, m, n, k, gone)


def _groups(
    space: Space, axes: Sequence[str], one: Mapping[str, int], other: Mapping[str, int]
) -> list[Axes]:
    """Some axes that are taken as one: all in the order of either array, and the largest that are
    one in both."""
    by_one = tuple(sorted(axes, key=lambda n: -one[n]))
    by_other = tuple(sorted(axes, key=lambda n: -other[n]))
    runs: list[Axes] = []
    for name in by_one:
        longer = (*runs[-1], name) if runs else ()
        if longer and space.merge(longer, one) and space.merge(longer, other):
            runs[-1] = longer
        else:
            runs.append((name,))
    runs.sort(key=space.size, reverse=True)
    return list(dict.fromkeys([by_one, by_other, *runs[:3]]))


def _matmul(
    space: Space,
    x: Laid,
    y: Laid,
    out: Laid,
    m: Axes,
    n: Axes,
    k: Axes,
    gone: frozenset[str],
) -> Iterator[_Made]:
    """Matrices of rows `m` and columns `n`, summed over `k`, for all other axes."""
    grouped = {*m, *n, *k}
    batch = tuple(name for name in out.axes if name not in grouped)
    later = tuple(name for name in x.axes if name in gone and name not in grouped)
    of_x, of_y = (
        [(name,) if name in each.axes else () for name in (*later, *batch)] for each in (x, y)
    )
    left, moved_x = _matrix(space, x, (*of_x, m, k))
    right, moved_y = _matrix(space, y, (*of_y, k, n))
    item, sizes = space.dtype.itemsize, [space.size(each) for each in (m, n, k)]
    matrices = space.size((*later, *batch))
    cost = 3 * _CALL + matrices * (_PRODUCT + prod(sizes) * _MULTIPLY_ADD * item / 4)
    cost += _MOVE * (moved_x + moved_y)
    cost += _BYTE * item * sum(map(space.size, (x.axes, y.axes, out.axes)))
    if min(sizes[:2]) > 1:
        cost += matrices * prod(sizes) * _MULTIPLY_ADD * sum(16 / size for size in sizes)
    a, b, shape, dtype = x.place, y.place, space.shape(out.axes), space.dtype
    groups = [*((name,) for name in batch), m, n]
    if not later and _is_matrix(space, m, n, out) and _fits(space, out, groups):
        into = _view(space, out.axes, groups)

        def direct(values: list[Any]) -> None:
            made = np.empty(shape, dtype)
            np.matmul(left(values[a]), right(values[b]), made if into is None else into(made))
            values.append(made)

        yield _Made(cost, direct, out)
        return
    apart = space.shape((*later, *batch, *m, *n))
    back, axes = _permuted(out.axes, (*batch, *m, *n)), tuple(range(len(later)))

    def moved(values: list[Any]) -> None:
        found = np.matmul(left(values[a]), right(values[b])).reshape(apart)
        made = np.empty(shape, dtype)
        target = made if back is None else back(made)
        if axes:
            np.add.reduce(found, axis=axes, dtype=dtype, out=target)
        else:
            target[...] = found
        values.append(made)

    cost += 2 * _CALL + _MOVE * space.size((*later, *batch, *m, *n))
    yield _Made(cost, moved, out)


def _matrix(space: Space, array: Laid, groups: Sequence[Axes]) -> tuple[_View, int]:
    """A view of matrices that BLAS takes, and how many elements are copied for it."""
    view = _view(space, array.axes, groups) or _same
    if not _fits(space, array, groups):
        return view, space.size(array.axes)  # the reshape copies
    if _is_matrix(space, groups[-2], groups[-1], array) or _is_matrix(
        space, groups[-1], groups[-2], array
    ):
        return view, 0
    return lambda value: np.ascontiguousarray(view(value)), space.size(array.axes)


def _fits(space: Space, array: Laid, groups: Iterable[Axes]) -> bool:
    return all(space.merge(each, array.strides) for each in groups)


def _is_matrix(space: Space, rows: Axes, columns: Axes, array: Laid) -> bool:
    """Whether rows are contiguous, and apart, as BLAS wants matrices."""
    item = space.dtype.itemsize
    if not columns:
        return not rows or array.strides[rows[-1]] == item
    if array.strides[columns[-1]] != item:
        return False
    return not rows or array.strides[rows[-1]] >= item * space.size(columns)


def _elements(space: Space, x: Laid, y: Laid, order: Axes) -> _Made:
    """A product without a sum."""
    a, b, shape, dtype = x.place, y.place, space.shape(order), space.dtype
    views = [
        _view(space, each.axes, [(n,) if n in each.axes else () for n in order]) for each in (x, y)
    ]
    left, right = (view or _same for view in views)

    def step(values: list[Any]) -> None:
        out = np.empty(shape, dtype)
        np.multiply(left(values[a]), right(values[b]), out=out)
        values.append(out)

    return _Made(
        _CALL + _BYTE * dtype.itemsize * 3 * space.size(order), step, space.packed(0, order)
    )


# -- views -----------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


def _permuted(axes: Axes, order: Axes) -> _View | None:
    if axes == order:
        return None
    places = tuple(axes.index(name) for name in order)
    return lambda value: value.transpose(places)


def _view(space: Space, axes: Axes, groups: Sequence[Axes]) -> _View | None:
    """Each group as one axis; that of an empty one has length 1. None: it is so already."""
    order = tuple(name for group in groups for name in group)
    shape = tuple(space.size(group) for group in groups)
    permute = _permuted(axes, order)
    if shape == space.shape(order):
        return permute
    if permute is None:
        return lambda value: value.reshape(shape)
    places = tuple(axes.index(name) for name in order)
    return lambda value: value.transpose(places).reshape(shape)
