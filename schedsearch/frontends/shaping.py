"""Statements that put values together: into views of arrays, padded, concatenated, stacked."""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.core import ast as q
from schedsearch.frontends.graph import Array, Constant, Load, Shape, Store, Value, View, fresh
from schedsearch.frontends.lowered import Refusal
from schedsearch.frontends.types import cast
from schedsearch.frontends.views import axis_of, broadcast_to, expand, replaced, show


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


Widths = Sequence[tuple[q.Affine, q.Affine]]


def padded_shape(shape: Shape, widths: Widths) -> Shape:
    return tuple(n + before + behind for n, (before, behind) in zip(shape, widths, strict=True))


def pad(
    into: Array, value: Value, widths: Widths, fill: Constant, line: int = 0
) -> tuple[Store, ...]:
    """`np.pad(value, widths, constant_values=fill)`, into an array that the value does not read."""
    everywhere = broadcast_to(cast(fill, into.type), into.shape)
    zero = [q.Affine()] * len(into.shape)
    return (
        at_offset(into, zero, everywhere, line),
        at_offset(into, [before for before, _ in widths], value, line),
    )


def concatenated_shape(values: Sequence[Value], axis: int) -> Shape:
    first = values[0].shape
    axis = axis_of(len(first), axis)
    for each in values:
        if len(each.shape) != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(each.shape, first, strict=True)) if i != axis
        ):
            texts = " and ".join(f"({', '.join(map(show, x.shape))})" for x in values)
            raise Refusal(f"shapes {texts}", f"they differ beside axis {axis}", "reshape them")
    length = sum((each.shape[axis] for each in values[1:]), first[axis])
    return (*first[:axis], length, *first[axis + 1 :])


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
