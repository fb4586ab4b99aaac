"""Views: the same elements in other places. They cost nothing, and views of views are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import gcd

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends.graph import Shape, Value, View, fresh
from schedsearch.frontends.lowered import Refusal

ONE = q.Affine(1)

Size = q.Affine | q.Var | int


def shape_of(*sizes: Size) -> Shape:
    return tuple(map(q.as_affine, sizes))


def replaced(value: q.Affine, names: dict[q.Var, q.Affine]) -> q.Affine:
    """An affine expression with others in the place of variables."""
    if not value.terms:
        return value

    def leaf(atom: q.Leaf) -> q.Affine:
        if isinstance(atom, q.Var) and atom in names:
            return names[atom]
        return q.as_affine(atom)

    return q.substituted(value, leaf)


def view(
    source: Value, shape: Shape, places: Callable[[tuple[q.Affine, ...]], Sequence[Size]]
) -> Value:
    """`out[at] = source[places(at)]`. Of a view it is a view of what that is of."""
    names = tuple(fresh("") for _ in shape)
    at = tuple(map(q.as_affine, names))
    index = shape_of(*places(at))
    if isinstance(source, View):
        inner = dict(zip(source.vars, index, strict=True))
        numbers = {v: n.const for v, n in zip(names, shape, strict=True) if n.is_const}
        index = tuple(_simple(replaced(each, inner), numbers) for each in source.index)
        source = source.source
    if index == at and shape == source.shape:
        return source
    return View(source, names, shape, index)


def broadcast_to(value: Value, shape: Shape) -> Value:
    """NumPy's rule: axes that are missing come first, those of length 1 are repeated."""
    own = value.shape
    missing = len(shape) - len(own)
    if missing < 0 or any(
        a not in (ONE, b) for a, b in zip(own, shape[max(missing, 0) :], strict=True)
    ):
        raise _unequal(own, shape)
    return view(value, shape, lambda at: repeated(own, at))


def repeated(own: Shape, at: tuple[q.Affine, ...]) -> list[q.Affine]:
    """The place in an array of these lengths that is at a place of what it is broadcast to."""
    pairs = zip(own, at[len(at) - len(own) :], strict=True)
    return [q.Affine() if n == ONE else i for n, i in pairs]


def _unequal(*shapes: Shape) -> Refusal:
    texts = " and ".join(f"({', '.join(map(show, shape))})" for shape in shapes)
    return Refusal(
        f"shapes {texts}",
        "they cannot be broadcast: lengths have to be the same expression, or the number 1",
        "give both the same length",
    )


def show(size: q.Affine) -> str:
    return show_affine(size)


def axis_of(rank: int, axis: int) -> int:
    if not -rank <= axis < rank:
        raise Refusal(f"axis {axis}", f"there are {rank} axes", "name one of them")
    return axis % rank


def expand(value: Value, axis: int) -> Value:
    """A new axis of length 1 (`np.expand_dims`)."""
    axis = axis_of(len(value.shape) + 1, axis)
    shape = (*value.shape[:axis], ONE, *value.shape[axis:])
    return view(value, shape, lambda at: at[:axis] + at[axis + 1 :])


def permute(value: Value, axes: Sequence[int] | None = None) -> Value:
    """`np.transpose`: axis i of the result is axis `axes[i]`."""
    rank = len(value.shape)
    order = [axis_of(rank, a) for a in (range(rank)[::-1] if axes is None else axes)]
    if sorted(order) != list(range(rank)):
        raise Refusal(f"axes {order}", f"{rank} axes are there", "name each of them once")
    shape = tuple(value.shape[a] for a in order)
    return view(value, shape, lambda at: [at[order.index(a)] for a in range(rank)])


def flip(value: Value, axis: int) -> Value:
    axis = axis_of(len(value.shape), axis)
    n = value.shape[axis]
    return view(value, value.shape, lambda at: (*at[:axis], n - 1 - at[axis], *at[axis + 1 :]))


def sliding_window(value: Value, axis: int, length: Size) -> Value:
    """All windows of a length along an axis, as a new last axis
    (`np.lib.stride_tricks.sliding_window_view`)."""
    axis = axis_of(len(value.shape), axis)
    length = q.as_affine(length)
    shape = list(value.shape)
    shape[axis] = shape[axis] - length + 1
    return view(
        value,
        (*shape, length),
        lambda at: (*at[:axis], at[axis] + at[-1], *at[axis + 1 : -1]),
    )


# -- reshape ---------------------------------------------------------------------------------------

_Product = tuple[int, tuple[q.Affine, ...]]


def _product(sizes: Sequence[q.Affine]) -> _Product:
    """A number, and what is left of the sizes without their greatest numbers as factors."""
    number, rest = 1, []
    for size in sizes:
        factor = gcd(size.const, *(c for _, c in size.terms))
        number *= factor
        if size.terms:
            rest.append(
                q.Affine(size.const // factor, tuple((a, c // factor) for a, c in size.terms))
            )
    return number, tuple(sorted(rest, key=repr))


def reshape(value: Value, shape: Sequence[Size]) -> Value:
    """The elements in row-major order in another shape; one length may be -1. Indices stay affine
    where what is split or joined has numbers as its inner lengths."""
    old, new = value.shape, _with_unknown(value.shape, shape_of(*shape))
    if _product(old) != _product(new):
        raise _not_reshaped(old, new, "the number of elements would differ, or may")
    parts = list(groups(old, new))

    def places(at: tuple[q.Affine, ...]) -> list[q.Affine]:
        found: list[q.Affine] = []
        for o, n in parts:
            found += _regrouped(old[o], new[n], at[n])
        return found

    return view(value, new, places)


def _not_reshaped(old: Shape, new: Shape, reason: str) -> Refusal:
    texts = [f"({', '.join(map(show, each))})" for each in (old, new)]
    return Refusal(f"reshape of {texts[0]} to {texts[1]}", reason, "give inner lengths as numbers")


def _with_unknown(old: Shape, new: Shape) -> Shape:
    unknown = [axis for axis, n in enumerate(new) if n == q.Affine(-1)]
    if not unknown:
        return new
    number, rest = _product(old)
    other, known = _product([n for n in new if n != q.Affine(-1)])
    left = Counter(rest) - Counter(known)
    if len(unknown) > 1 or not other or number % other or Counter(known) - Counter(rest):
        raise _not_reshaped(old, new, "the length -1 does not follow from the others")
    if left.total() > 1:
        raise _not_reshaped(old, new, "the length -1 would be a product of sizes")
    size = next(iter(left), ONE).scaled(number // other)
    return tuple(size if n == q.Affine(-1) else n for n in new)


def groups(old: Shape, new: Shape) -> list[tuple[slice, slice]]:
    """The shortest runs of axes, from the last, that hold the same number of elements."""
    found = []
    o, n = len(old), len(new)
    while o or n:
        low, lown = max(o - 1, 0), max(n - 1, 0)
        while (a := _product(old[low:o])) != (b := _product(new[lown:n])):
            if lown == 0 or (
                low and len(a[1]) <= len(b[1]) and (a[0] < b[0] or len(a[1]) < len(b[1]))
            ):
                low -= 1
            else:
                lown -= 1
            if low < 0 or lown < 0:
                raise _not_reshaped(old, new, "no affine index map is found")
        found.append((slice(low, o), slice(lown, n)))
        o, n = low, lown
    return found[::-1]


def _regrouped(old: Shape, new: Shape, at: tuple[q.Affine, ...]) -> list[q.Affine]:
    """Places in the axes `old`, of the place `at` in the axes `new`, which hold the same."""
    place, stride = q.Affine(), 1
    extents: dict[q.Var, int] = {}
    for axis in reversed(range(len(new))):
        place = place + at[axis].scaled(stride)
        if new[axis].is_const and (name := at[axis].as_var):
            extents[name] = new[axis].const
        if axis:
            if not new[axis].is_const:
                raise _not_reshaped(old, new, "an inner length is no number")
            stride *= new[axis].const
    found, stride = [], 1
    for axis in reversed(range(len(old))):
        here = _divided(place, stride, extents)[0]
        if axis:
            if not old[axis].is_const:
                raise _not_reshaped(old, new, "an inner length is no number")
            here = _divided(here, old[axis].const, extents)[1]
            stride *= old[axis].const
        found.append(here)
    return found[::-1]


def _divided(value: q.Affine, by: int, extents: dict[q.Var, int]) -> tuple[q.Affine, q.Affine]:
    """Quotient and remainder; that of variables that stay below `by` is known."""
    quotient, rest = q.floor_div(value, by), q.modulo(value, by)
    low = tuple((a, c) for a, c in value.terms if c % by)
    if all(c > 0 and isinstance(a, q.Var) and a in extents for a, c in low):
        most = value.const % by + sum(c * (extents[a] - 1) for a, c in low if isinstance(a, q.Var))
        if most < by:
            rest = q.Affine(value.const % by, low)
            whole = value - rest
            quotient = q.Affine(whole.const // by, tuple((a, c // by) for a, c in whole.terms))
    return quotient, rest


def _simple(value: q.Affine, extents: dict[q.Var, int]) -> q.Affine:
    """Without quotients and remainders that are known, for variables below `extents`."""
    total = q.Affine(value.const)
    for atom, factor in value.terms:
        part = q.as_affine(atom)
        if isinstance(atom, q.FloorDiv | q.Mod):
            which = 0 if isinstance(atom, q.FloorDiv) else 1
            part = _divided(_simple(atom.num, extents), atom.den, extents)[which]
        total = total + part.scaled(factor)
    return total
