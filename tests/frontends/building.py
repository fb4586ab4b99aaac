"""Values and statements of programs, as tests write them: slices, places, blocks of arrays."""

from __future__ import annotations

from collections.abc import Sequence

from frontends.kernels import calls
from schedsearch.core import ast as q
from schedsearch.frontends.graph import Array, Constant, Load, Store, Value, View, fresh
from schedsearch.frontends.lowered import Refusal
from schedsearch.frontends.types import cast, constant, result_type
from schedsearch.frontends.views import (
    ONE,
    Size,
    axis_of,
    broadcast_to,
    expand,
    replaced,
    view,
)


def unified(values: Sequence[Value | int | float]) -> tuple[Value, ...]:
    """The operands of an operator, converted to the type in which NumPy computes."""
    kind = result_type(*(v if isinstance(v, int | float) else v.type for v in values))
    return tuple(constant(v, kind) if isinstance(v, int | float) else cast(v, kind) for v in values)


def broadcast(values: Sequence[Value]) -> tuple[Value, ...]:
    """The values, as views of one shape. `broadcast_to` refuses those that have none."""
    rank = max(len(each.shape) for each in values)
    shape = [ONE] * rank
    for each in values:
        for axis, n in enumerate(each.shape, rank - len(each.shape)):
            shape[axis] = shape[axis] if n == ONE else n
    return tuple(broadcast_to(each, tuple(shape)) for each in values)


def apply(function: str, *operands: Value | float) -> Value:
    return calls(function, *broadcast(unified(operands)))


def _from_start(place: Size, n: q.Affine) -> q.Affine:
    """Negative numbers count from the end."""
    place = q.as_affine(place)
    return n + place if place.is_const and place.const < 0 else place


def _bound(place: Size, n: q.Affine, least: int, most: int) -> q.Affine:
    """The bound of a slice. Where both are numbers, one beyond the ends is cut off there."""
    place = _from_start(place, n)
    if place.is_const and n.is_const:
        return q.Affine(min(max(place.const, least), n.const + most))
    return place


def slice_(
    value: Value,
    axis: int,
    start: Size | None = None,
    stop: Size | None = None,
    step: int = 1,
) -> Value:
    """`value[start:stop:step]` along an axis, as in NumPy. What is only known by a symbol is not
    cut off at the ends: it has to lie within, which becomes a fact that the kernel asserts."""
    axis = axis_of(len(value.shape), axis)
    n = value.shape[axis]
    if step == 0:
        raise Refusal("slice", "its step is 0", "give another step")
    if step > 0:
        first = q.Affine() if start is None else _bound(start, n, 0, 0)
        end = n if stop is None else _bound(stop, n, 0, 0)
        span = end - first + (step - 1)
    else:
        first = n - 1 if start is None else _bound(start, n, -1, -1)
        end = q.Affine(-1) if stop is None else _bound(stop, n, -1, -1)
        span = first - end + (-step - 1)
    length = q.floor_div(span, abs(step))
    if length.is_const and length.const < 0:
        length = q.Affine()
    shape = (*value.shape[:axis], length, *value.shape[axis + 1 :])
    return view(value, shape, lambda i: (*i[:axis], first + i[axis].scaled(step), *i[axis + 1 :]))


def index(value: Value, axis: int, place: Size) -> Value:
    """One place along an axis, which is no longer there."""
    axis = axis_of(len(value.shape), axis)
    at = _from_start(place, value.shape[axis])
    shape = (*value.shape[:axis], *value.shape[axis + 1 :])
    return view(value, shape, lambda i: (*i[:axis], at, *i[axis:]))


def stored(place: Value, value: Value, *, add: bool = False, line: int = 0) -> Store:
    """`place = value`, where the place is an array (`Load`) or a view of one: `A[1:, ::2] = value`.
    The value is broadcast to it."""
    value = broadcast_to(value, place.shape)
    names = tuple(fresh("") for _ in place.shape)
    at = tuple(map(q.as_affine, names))
    match place:
        case Load():
            return Store(place.array, names, at, value, add, line)
        case View(Load(array)):
            inner = dict(zip(place.vars, at, strict=True))
            index = tuple(replaced(each, inner) for each in place.index)
            used = {var for each in index for var in q.expr_vars(each)}
            lengths = zip(names, place.shape, strict=True)
            if any(var not in used and n != q.Affine(1) for var, n in lengths):
                raise Refusal("assignment", "an element would be stored twice", "index it once")
            return Store(array, names, index, value, add, line)
        case _:
            raise Refusal("assignment", "its target is computed", "assign to an array")


def at_offset(into: Array, offsets: Sequence[q.Affine], value: Value, line: int = 0) -> Store:
    """The value as a block of an array, that begins at an offset."""
    names = tuple(fresh("") for _ in value.shape)
    index = tuple(q.as_affine(var) + o for var, o in zip(names, offsets, strict=True))
    return Store(into, names, index, cast(value, into.type), line=line)


def pad(
    into: Array,
    value: Value,
    widths: Sequence[tuple[q.Affine, q.Affine]],
    fill: Constant,
    line: int = 0,
) -> tuple[Store, ...]:
    """`np.pad(value, widths, constant_values=fill)`, into an array that the value does not read."""
    everywhere = broadcast_to(cast(fill, into.type), into.shape)
    zero = [q.Affine()] * len(into.shape)
    return (
        at_offset(into, zero, everywhere, line),
        at_offset(into, [before for before, _ in widths], value, line),
    )


def concatenate(
    into: Array, values: Sequence[Value], axis: int, line: int = 0
) -> tuple[Store, ...]:
    """`np.concatenate`, into an array that the values do not read."""
    axis = axis_of(len(into.shape), axis)
    found, begin = [], q.Affine()
    for each in values:
        offsets = [begin if i == axis else q.Affine() for i in range(len(into.shape))]
        found.append(at_offset(into, offsets, each, line))
        begin = begin + each.shape[axis]
    return tuple(found)


def stack(into: Array, values: Sequence[Value], axis: int, line: int = 0) -> tuple[Store, ...]:
    """`np.stack`, into an array that the values do not read."""
    return concatenate(into, [expand(each, axis) for each in values], axis, line)
