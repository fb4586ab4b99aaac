"""Indices and slices, which give views, and assignment to elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views
from schedsearch.frontends.jit.building import SIZE_WORDS, Builder, identity, shown
from schedsearch.frontends.jit.operations import (
    as_node,
    broadcast_node,
    elementwise,
    operand,
    reduce,
    select,
    stretched,
)
from schedsearch.frontends.jit.proxies import Data, Index, Mask, wanted_place
from schedsearch.frontends.jit.sizes import quotients
from schedsearch.frontends.lowered import Refusal


def selected(data: Data, key: Any) -> g.Value:
    """`data[key]` as a view."""
    keys = list(key) if isinstance(key, tuple) else [key]
    builder = data.builder
    for each in keys:
        if isinstance(each, Mask):
            raise Refusal(
                "a condition as one of several indices",
                "which elements it selects depends on data",
                "use np.where, or a condition as the only index",
            )
        if isinstance(each, Data | list | np.ndarray) and not (
            isinstance(each, Data) and not each.ndim
        ):
            raise Refusal(
                "an array as an index (gather, scatter)",
                "which elements it reads or writes depends on data",
                SIZE_WORDS,
            )
    taken = sum(each is not None and each is not Ellipsis for each in keys)
    if taken > data.ndim:
        raise Refusal(
            f"{taken} indices", f"the array has {data.ndim} axes", "leave out those beyond"
        )
    dots = [n for n, each in enumerate(keys) if each is Ellipsis]
    if len(dots) > 1:
        raise Refusal("two ellipses", "NumPy takes one", "write the slices")
    rest: list[Any] = [slice(None)] * (data.ndim - taken)
    place = dots[0] if dots else len(keys)
    keys[place : place + len(dots)] = rest
    view = data.view
    axis = 0
    for each in keys:
        if each is None:
            view = views.expand(view, axis)
            axis += 1
        elif isinstance(each, slice):
            view = _sliced(builder, view, axis, each)
            axis += 1
        else:
            view = _at(builder, view, axis, each)
    return view


def _at(builder: Builder, view: g.Value, axis: int, key: Any) -> g.Value:
    n = builder.sizes.resolved(view.shape[axis])
    at = _from_start(builder, wanted_place(builder, key, "an index"), n, f"index {axis}")
    outside = Refusal(
        f"index {shown(at)}",
        f"it may lie outside of an axis of length {shown(n)}",
        "give bounds of loops that keep it inside",
    )
    builder.sizes.need(at, outside)
    builder.sizes.need(n - at - 1, outside)
    shape = (*view.shape[:axis], *view.shape[axis + 1 :])
    return views.view(view, shape, lambda i: (*i[:axis], at, *i[axis:]))


def _from_start(builder: Builder, at: q.Affine, n: q.Affine, what: str) -> q.Affine:
    """Negative places count from the end. Those that may be both are refused."""
    sizes = builder.sizes
    at = sizes.resolved(at)
    if sizes.never_negative(at):
        return at
    if sizes.never_negative(at.scaled(-1) - 1):
        return n + at
    sizes.need(
        at,
        Refusal(
            f"{what}: {shown(at)}",
            "it is negative in some rounds, where NumPy counts from the end",
            "keep it at 0 or above, as `if i > 0:` does for `i - 1`",
        ),
    )
    return at


def _sliced(builder: Builder, view: g.Value, axis: int, key: slice) -> g.Value:
    sizes = builder.sizes
    n = sizes.resolved(view.shape[axis])
    step_at = q.Affine(1) if key.step is None else wanted_place(builder, key.step, "a step")
    if not step_at.is_const or step_at.const == 0:
        raise Refusal("a step", "it is no constant, or 0", "give it as a constant")
    step = step_at.const
    ends: list[q.Affine | None] = []
    for bound in (key.start, key.stop):
        if bound is None:
            ends.append(None)
            continue
        at = _from_start(builder, wanted_place(builder, bound, "a slice"), n, "a slice")
        if at.is_const and n.is_const:  # cut off at the ends, as NumPy does
            at = q.Affine(min(max(at.const, 0 if step > 0 else -1), n.const - (step < 0)))
        ends.append(at)
    start, stop = ends
    outside = Refusal(
        f"slice {_text(key)}",
        f"it may lie outside of an axis of length {shown(n)}, where NumPy cuts it off",
        "give bounds that lie inside",
    )
    if step > 0:
        first = q.Affine() if start is None else start
        end = n if stop is None else stop
        low, high = first, end
    else:
        first = n - 1 if start is None else start
        end = q.Affine(-1) if stop is None else stop
        low, high = end + 1, first + 1
    if low.is_const and high.is_const and high.const < low.const:
        high = low
    if start is not None or stop is not None:
        sizes.need(low, outside)
        sizes.need(n - high, outside)
        sizes.need(high - low, outside)
    length = sizes.resolved(q.floor_div(high - low + (abs(step) - 1), abs(step)))
    shape = (*view.shape[:axis], length, *view.shape[axis + 1 :])
    return views.view(
        view, shape, lambda at: (*at[:axis], first + at[axis].scaled(step), *at[axis + 1 :])
    )


def _text(key: slice) -> str:
    def part(value: Any) -> str:
        if value is None:
            return ""
        return shown(value.value) if isinstance(value, Index) else str(value)

    return ":".join(map(part, (key.start, key.stop)))


# -- assignment ------------------------------------------------------------------------------------


def assign(
    data: Data, key: Any, value: Any, old: Data | None = None, how: str = "", other: Any = None
) -> None:
    """`data[key] = value`. In place (`how` is NumPy's function): `old` is what was there, and
    `value` what its operator with `other` gives."""
    builder = data.builder
    if isinstance(key, Mask):
        assign_masked(data, key, value)
        return
    target = data if key is Ellipsis else type(data)(builder, data.buffer, selected(data, key))
    if data.locked:
        raise Refusal("assignment to elements", f"{data.locked} gives none to write", "copy it")
    if isinstance(value, Data) and target.same_place(value):
        return  # `A[k] += 1` in Python assigns what is already there
    if isinstance(value, Masked):
        raise value.refusal()
    shape = target.lengths
    names, at = identity(shape)
    index = target.places(at)
    if isinstance(target, Mask):
        raise Refusal("assignment to truth values", "they are not stored", "use np.where")
    if old is not None and operand_rank(value) > target.ndim:
        raise Refusal("an operation in place", "the result has more axes", "index the operand")
    if old is not None and not np.can_cast(value.dtype, data.dtype, "same_kind"):
        raise Refusal(
            f"an operation in place on {data.type}",
            f"the result is {value.type}, which NumPy does not store there",
            "use astype",
        )
    add = how in ("add", "subtract") and value.type == target.type
    source = operand(builder, other if add else value)
    if isinstance(source, Data) and source.ndim > len(shape):
        source = _without_leading(source, len(shape))
    node = as_node(builder, source, target.type)
    if add and how == "subtract":
        node = (
            g.Constant(-node.value, node.type)
            if isinstance(node, g.Constant)
            else g.Apply("neg", (node,), node.type, node.shape)
        )
    node = _fitted(builder, node, shape)
    builder.store(target.buffer, names, index, node, add)


def operand_rank(value: Any) -> int:
    return value.ndim if isinstance(value, Data) else 0


def _without_leading(source: Data, rank: int) -> Data:
    """NumPy drops leading axes of length 1."""
    while source.ndim > rank:
        if source.lengths[0] != views.ONE:
            raise Refusal("assignment", "the value has more axes", "give both the same shape")
        source = source[0]
    return source


def _fitted(builder: Builder, node: g.Value, shape: g.Shape) -> g.Value:
    for own, n in zip(reversed(node.shape), reversed(shape), strict=False):
        own, n = builder.sizes.resolved(own), builder.sizes.resolved(n)
        if own != views.ONE and not builder.sizes.same(own, n):
            refusal = Refusal(
                f"assignment of length {shown(own)} to {shown(n)}",
                "they are not the same",
                "give both the same shape",
            )
            raise quotients(builder.sizes, own - n, refusal)
    return broadcast_node(builder, node, tuple(map(builder.sizes.resolved, shape)))


# -- conditions as indices -------------------------------------------------------------------------


class Masked(Data):
    """`A[mask]` until it is assigned to `B[mask]`: elements at places that depend on data. Only
    operations on elements, with numbers or others of the same mask, are known."""

    mask: Mask

    def refusal(self) -> Refusal:
        return Refusal(
            "a condition as an index",
            "how many elements it selects depends on data",
            "use np.where, or assign to an array with the same condition",
        )

    def _binary(self, name: str, a: Any, b: Any) -> Any:
        values = [operand(self.builder, each) for each in (a, b)]
        for each in values:
            if isinstance(each, Masked):
                if not same_condition(self.mask, each.mask):
                    raise self.refusal()
            elif isinstance(each, Data) and each.ndim:
                raise self.refusal()
        full = [whole(each) if isinstance(each, Masked) else each for each in values]
        result = elementwise(self.builder, getattr(np, name), full)
        return masked(result, self.mask)

    def _unary(self, name: str) -> Any:
        return masked(elementwise(self.builder, getattr(np, name), (whole(self),)), self.mask)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise self.refusal()

    def _in_place(self, name: str, other: Any) -> Any:
        """Other names of it see the change."""
        if self.builder.symbolic:
            raise Refusal(
                "an operation in place on elements that a condition selects",
                "in a loop or branch it would happen once",
                "assign the name (`v = v * 2`)",
            )
        changed = self.changed(name, other)
        found = Data.of(self.builder, types.cast(whole(changed).node(), self.type))
        self.buffer, self.view = found.buffer, found.view
        return self

    def changed(self, name: str, other: Any) -> Masked:
        """What an operation in place gives."""
        found: Masked = self._binary(name, self, other)
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise Refusal(
                f"an operation in place on {self.type}", f"the result is {found.type}", "use astype"
            )
        return found

    def sum(self) -> Any:
        """How many elements there are does not matter."""
        zero = np.zeros((), self.dtype)[()]
        return reduce(self.builder, "sum", select(self.builder, self.mask, whole(self), zero))

    def mean(self) -> Any:
        ones = select(self.builder, self.mask, np.float64(1), np.float64(0))
        count = as_node(self.builder, reduce(self.builder, "sum", ones), self.type)
        return self.sum() / Data.of(self.builder, count)

    __getitem__ = __setitem__ = __matmul__ = __rmatmul__ = _compared = __getattr__ = _refuse
    __array_ufunc__ = __array_function__ = __len__ = __iter__ = transpose = _refuse
    shape = size = property(_refuse)

    def node(self) -> g.Value:
        raise self.refusal()


def masked(data: Data, mask: Mask) -> Masked:
    if mask.ndim != data.ndim or not mask.ndim:
        raise Refusal(
            "a condition as an index", "it has another rank than the array", "use np.where"
        )
    now = Data.of(data.builder, data.node())  # NumPy copies
    found = Masked(data.builder, now.buffer)
    mask.shown = True  # it has to stay what it is
    object.__setattr__(found, "mask", mask)
    return found


def whole(data: Masked) -> Data:
    return Data(data.builder, data.buffer, data.view)


def assign_masked(data: Data, mask: Mask, value: Any) -> None:
    """Elements where a condition holds."""
    if isinstance(value, Masked):
        if not same_condition(mask, value.mask):
            raise value.refusal()
        value = whole(value)
    elif isinstance(value, Data) and value.ndim:
        raise Refusal(
            "assignment of an array under a condition",
            "its elements would go to places that depend on data",
            "use np.where",
        )
    builder = data.builder
    stretched(builder, mask, data.lengths)
    node = types.cast(as_node(builder, operand(builder, value), data.type), data.type)
    assign(data, Ellipsis, select(builder, mask, Data.of(builder, node), data))


def same_condition(a: Mask, b: Mask) -> bool:
    return a.lengths == b.lengths and _same(a.condition(), b.condition())


def _same(a: Any, b: Any) -> bool:
    """Whether nodes of the graph compute the same from the same."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    match a:
        case g.View():
            _, at = identity(a.shape)
            mine = dict(zip(a.vars, at, strict=True))
            others = dict(zip(b.vars, at, strict=True)) if len(b.vars) == len(at) else {}
            return (
                a.shape == b.shape
                and _same(a.source, b.source)
                and [views.replaced(i, mine) for i in a.index]
                == [views.replaced(i, others) for i in b.index]
            )
        case g.Load():
            return a.array is b.array
        case g.Constant() | g.Count():
            return (a.value, a.type) == (b.value, b.type)
        case g.Compare():
            return a.op == b.op and _same(a.lhs, b.lhs) and _same(a.rhs, b.rhs)
        case g.Cast():
            return a.type == b.type and _same(a.source, b.source)
        case g.Apply():
            return a.function == b.function and all(map(_same, a.args, b.args))
        case _:
            return False
