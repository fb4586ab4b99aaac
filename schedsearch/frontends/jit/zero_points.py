"""Sums of products of bytes with zero points: `(x - 128) @ w` is `x @ w - 128 * w.sum(axis=0)`.

Both are the same in whole numbers, which wrap. Processors have instructions for products of bytes,
and a difference is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views
from schedsearch.frontends.jit.building import identity

BYTES = ("i8", "ui8")

Places = Callable[[tuple[q.Affine, ...]], Sequence[views.Size]]
"""Where an operand's element is, of a place among all that are multiplied."""


def without_zero_points(
    a: g.Value, b: g.Value, shape: g.Shape, from_a: Places, from_b: Places, axes: tuple[int, ...]
) -> g.Value | None:
    """The sum over axes of `a * b` as one of products of bytes, and sums of bytes. None where no
    operand is bytes with something added, or one lacks an axis that is summed."""
    (bytes_a, by_a), (bytes_b, by_b) = _parted(a), _parted(b)
    sum_a, sum_b = _sum(bytes_a, shape, from_a, axes), _sum(b, shape, from_b, axes)
    if not (by_a or by_b) or sum_a is None or sum_b is None:
        return None
    pair = views.view(bytes_a, shape, from_a), views.view(bytes_b, shape, from_b)
    found: g.Value = g.Reduce("sum", g.Apply("*", pair, a.type, shape), axes)
    for by, total in ((by_a, sum_b), (by_b, sum_a)):
        if by:
            number = views.broadcast_to(types.constant(by, a.type), total.shape)
            more = g.Apply("*", (number, total), a.type, total.shape)
            found = g.Apply("+", (found, more), a.type, total.shape)
    return found


def _parted(value: g.Value) -> tuple[g.Value, int]:
    """Bytes, as whole numbers of the value's type, and what is added to each; 0 for all others."""
    match value:
        case g.View():
            inner, by = _parted(value.source)
            return (replace(value, source=inner), by) if by else (value, 0)
        case g.Apply("+" | "-" as sign, (one, other)):
            if sign == "+" and _number(one):
                one, other = other, one
            by = _number(other) * (1 if sign == "+" else -1)
            return (one, by) if by and _is_bytes(one) else (value, 0)
        case _:
            return value, 0


def _number(value: g.Value) -> int:
    while isinstance(value, g.View):
        value = value.source
    return int(value.value) if isinstance(value, g.Constant) else 0


def _is_bytes(value: g.Value) -> bool:
    while isinstance(value, g.View):
        value = value.source
    return isinstance(value, g.Cast) and value.source.type in BYTES


def _sum(value: g.Value, shape: g.Shape, of: Places, axes: tuple[int, ...]) -> g.Value | None:
    """Of an operand alone, at the places of the result."""
    names, at = identity(shape)
    index = list(map(q.as_affine, of(at)))
    gone = {names[axis] for axis in axes}
    own = [n for n, each in enumerate(index) if each.as_var in gone]
    rest = [each for n, each in enumerate(index) if n not in own]
    inside = [index[n].as_var for n in own]
    if {*inside} != gone or len(inside) > len(gone) or any(q.expr_vars(r) & gone for r in rest):
        return None
    kept = [axis for axis in range(len(shape)) if axis not in axes]

    def places(at: tuple[q.Affine, ...]) -> list[q.Affine]:
        here = {names[axis]: i for axis, i in zip(kept, at, strict=True)}
        return [views.replaced(each, here) for each in rest]

    total = g.Reduce("sum", value, tuple(own))
    return views.view(total, tuple(shape[axis] for axis in kept), places)
