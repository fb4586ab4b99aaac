"""Arrays that a function makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views
from schedsearch.frontends.jit.building import Builder, identity
from schedsearch.frontends.jit.indexing import assign
from schedsearch.frontends.jit.operations import as_node, elementwise, kind_of, operand, shared
from schedsearch.frontends.jit.proxies import Data, Mask, as_place, either, simplified, wanted_place
from schedsearch.frontends.lowered import Refusal


def lengths_from(builder: Builder, shape: Any) -> g.Shape:
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    found = tuple(wanted_place(builder, each, "a length") for each in sizes)
    for n in found:
        builder.sizes.need(n - 1, Refusal("a length", "it may be 0 or less", "make it 1 at least"))
    return found


def full(builder: Builder, shape: Any, value: Any, dtype: Any = None) -> Data:
    lengths = lengths_from(builder, shape)
    if dtype is None:
        kind = kind_of(operand(builder, value))
        dtype = kind if not isinstance(kind, type) else np.dtype(kind)
    node = as_node(builder, operand(builder, value), types.named(dtype, "a new array"))
    if node.shape and len(node.shape) > len(lengths):
        raise Refusal("np.full", "the value has more axes than the result", "index it")
    return Data.of(builder, views.broadcast_to(node, lengths))


def empty(builder: Builder, shape: Any, dtype: Any = None) -> Data:
    kind = types.named(np.float64 if dtype is None else dtype, "np.empty")
    return Data(builder, builder.allocate("t", kind, lengths_from(builder, shape)))


def as_arrays(builder: Builder, given: Sequence[Any]) -> list[Data]:
    """As `np.asarray` of each: numbers of Python are float64 or int64, and not of the type of what
    they meet. Whole ones beside floats are float64, which is what NumPy computes in."""
    values = [operand(builder, each) for each in given]
    floats = any(np.dtype(kind_of(each)).kind == "f" for each in values)
    found: list[Data] = []
    for each in values:
        if isinstance(each, Data) and not each.weak:
            found.append(each)
        elif isinstance(each, Data) and each.may:
            raise either(each)
        elif isinstance(each, bool):
            found.append(Data.of(builder, as_node(builder, each, "ui8")) != 0)
        elif kind_of(each) is int and not floats:
            raise Refusal("a whole number as an array", "it is int64", "give a float, or np.int32")
        else:
            found.append(Data.of(builder, as_node(builder, each, "f64")))
    return found


def as_array(builder: Builder, value: Any) -> Data:
    """As `np.asarray`."""
    return as_arrays(builder, (value,))[0]


def copied(builder: Builder, value: Any) -> Data:
    data = as_array(builder, value)
    if isinstance(data, Mask):
        return Mask.of(builder, data.condition(), data.lengths)
    if not data.ndim:
        return data
    made = Data(builder, builder.allocate("t", data.type, data.lengths))
    assign(made, Ellipsis, data)
    return made


def converted(builder: Builder, value: Any, dtype: Any, copy: Any = True) -> Any:
    """`astype`."""
    data = operand(builder, value)
    if np.dtype(dtype) == np.dtype(bool):
        return (copied(builder, data) if copy else data) if isinstance(data, Mask) else data != 0
    kind = types.named(dtype, "astype")
    if isinstance(data, Data) and not isinstance(data, Mask) and data.type == kind:
        if not copy:
            return data
        return copied(builder, data) if data.ndim else Data(builder, data.buffer, data.view)
    node = as_node(builder, data, kind)
    return Data.of(builder, node)


def common_type(values: Sequence[Any]) -> str:
    kinds = [np.dtype(k) if isinstance(k := kind_of(each), type) else k for each in values]
    return types.named(np.result_type(*kinds), "joined arrays")


def concatenate(builder: Builder, given: Sequence[Any], axis: Any = 0) -> Data:
    values = [operand(builder, each) for each in given]
    if not values or not all(isinstance(each, Data) and each.ndim for each in values):
        raise Refusal("np.concatenate", "it joins arrays", "give arrays of one rank")
    if len({each.ndim for each in values}) > 1:
        raise Refusal("np.concatenate", "the arrays have several ranks", "give them one rank")
    place = views.axis_of(values[0].ndim, int(axis))
    total = q.Affine()
    for each in values:
        total = total + each.lengths[place]
        for n in range(each.ndim):
            if n != place:
                shared(builder, values[0].lengths[n], each.lengths[n], "np.concatenate")
    shape = (*values[0].lengths[:place], total, *values[0].lengths[place + 1 :])
    made = Data(builder, builder.allocate("t", common_type(values), shape))
    start = q.Affine()
    for each in values:
        n = each.lengths[place]
        _put(made, place, start, n, each)
        start = start + n
    return made


def _put(made: Data, axis: int, start: q.Affine, n: q.Affine, value: Any) -> None:
    """Assign a part along an axis."""
    lengths = (*made.lengths[:axis], n, *made.lengths[axis + 1 :])
    view = views.view(
        made.view, lengths, lambda at: (*at[:axis], at[axis] + start, *at[axis + 1 :])
    )
    assign(Data(made.builder, made.buffer, view), Ellipsis, value)


def stack(builder: Builder, given: Sequence[Any], axis: Any = 0) -> Data:
    values = [operand(builder, each) for each in given]
    if not values:
        raise Refusal("np.stack", "there are no arrays", "give one at least")
    datas = [
        each if isinstance(each, Data) else Data.of(builder, as_node(builder, each, "f64"))
        for each in values
    ]
    kind = common_type(values)
    rank = datas[0].ndim + 1
    place = views.axis_of(rank, int(axis))
    for each in datas:
        if each.ndim != rank - 1:
            raise Refusal("np.stack", "the arrays have several ranks", "give them one rank")
        for n, m in zip(datas[0].lengths, each.lengths, strict=True):
            shared(builder, n, m, "np.stack")
    own = datas[0].lengths
    shape = (*own[:place], q.Affine(len(datas)), *own[place:])
    made = Data(builder, builder.allocate("t", kind, shape))
    for position, each in enumerate(datas):
        made[(slice(None),) * place + (position,)] = each
    return made


def padded(builder: Builder, value: Any, width: Any, mode: Any = "constant", **more: Any) -> Data:
    fill = more.pop("constant_values", 0)
    if mode != "constant" or more:
        raise Refusal(f"np.pad with mode {mode!r}", "constants are padded only", "assign borders")
    data = operand(builder, value)
    if isinstance(data, Mask):
        as_bytes = converted(builder, data, np.uint8)
        found: Data = padded(builder, as_bytes, width, constant_values=int(bool(fill))) != 0
        return found
    pairs = [width] * data.ndim
    if isinstance(width, tuple | list):
        pairs = list(width) if isinstance(width[0], tuple | list) else [tuple(width)] * data.ndim
    if len(pairs) == 1:
        pairs = pairs * data.ndim
    both = [each if isinstance(each, tuple | list) else (each, each) for each in pairs]
    if len(both) != data.ndim or any(len(each) not in (1, 2) for each in both):
        raise Refusal("np.pad", "the widths do not fit the array", "give a pair for each axis")
    before = [wanted_place(builder, each[0], "a width") for each in both]
    after = [wanted_place(builder, each[-1], "a width") for each in both]
    shape = tuple(n + a + b for n, a, b in zip(data.lengths, before, after, strict=True))
    made = Data(builder, builder.allocate("t", data.type, shape))
    assign(made, Ellipsis, fill)
    view = views.view(
        made.view,
        data.lengths,
        lambda at: [i + start for i, start in zip(at, before, strict=True)],
    )
    assign(Data(builder, made.buffer, view), Ellipsis, data)
    return made


def by_place(builder: Builder, lengths: g.Shape, holds: Any, then: g.Value, other: g.Value) -> Data:
    """Elements chosen by their place."""
    names, at = identity(lengths)
    return Data.of(builder, g.Select(g.Inside(names, holds(at)), then, other))


def triangle(builder: Builder, value: Any, k: Any, lower: bool) -> Data:
    data = operand(builder, value)
    if not isinstance(data, Data) or data.ndim < 2:
        raise Refusal("np.tril and np.triu", "they need two axes", "reshape the array")
    if isinstance(data, Mask):
        found: Data = triangle(builder, converted(builder, data, np.uint8), k, lower) != 0
        return found
    offset = wanted_place(builder, k, "k")
    node = data.node()
    zero = views.broadcast_to(types.constant(0, data.type), node.shape)

    def holds(at: Sequence[q.Affine]) -> q.Expr:
        diagonal = at[-2] + offset
        return q.BinOp("<=" if lower else ">=", at[-1], diagonal, "bool")

    return by_place(builder, node.shape, holds, node, zero)


def eye(builder: Builder, n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Data:
    lengths = lengths_from(builder, (n, n if m is None else m))
    kind = types.named(np.float64 if dtype is None else dtype, "np.eye")
    one, zero = (views.broadcast_to(types.constant(v, kind), lengths) for v in (1, 0))
    offset = wanted_place(builder, k, "k")
    return by_place(
        builder,
        lengths,
        lambda at: q.BinOp("==", at[1], at[0] + offset, "bool"),
        one,
        zero,
    )


def counted(builder: Builder, n: q.Affine, kind: str, value: Any) -> Data:
    """An array whose elements are made from their places."""
    made = Data(builder, builder.allocate("t", kind, (n,)))
    var = g.fresh("i")
    with builder.loop(var, q.Affine(), n) as block:
        made[simplified(builder, q.as_affine(var))] = value(simplified(builder, q.as_affine(var)))
    builder.close(block, var, q.Affine(), builder.sizes.resolved(n))
    return made


def arange(builder: Builder, *bounds: Any, dtype: Any = None, step: Any = 1) -> Data:
    start, stop, step = (0, bounds[0], step) if len(bounds) == 1 else (*bounds, step)[:3]
    ends = [start, stop, step]
    if any(isinstance(each, float) for each in ends):  # whole ones count exactly
        start, stop, step = (int(e) if type(e) is float and e.is_integer() else e for e in ends)
        dtype = np.float64 if dtype is None else dtype
    if dtype is None:
        raise Refusal(
            "np.arange as data",
            "its elements are int64",
            "give dtype=np.float64, or loop over range()",
        )
    places = [as_place(builder, each) for each in (start, stop, step)]
    if any(each is None for each in places) or places[2] is None or not places[2].is_const:
        raise Refusal("np.arange", "its bounds are no whole numbers", "use np.linspace")
    low, high, by = (each for each in places if each is not None)
    if by.const <= 0:
        raise Refusal("np.arange", "its step is not positive", "use np.flip")
    n = q.floor_div(high - low + (by.const - 1), by.const)
    builder.sizes.need(n - 1, Refusal("np.arange", "it may be empty", "make it longer"))
    first = simplified(builder, low)
    return counted(builder, n, types.named(dtype, "np.arange"), lambda i: i * by.const + first)


def linspace(
    builder: Builder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None
) -> Data:
    n = wanted_place(builder, num, "num")
    start, stop = operand(builder, start), operand(builder, stop)
    if any(isinstance(each, Data) and each.ndim for each in (start, stop)):
        raise Refusal("np.linspace", "it begins or ends at an array", "give numbers, in a loop")
    own = _type_between(start, stop)
    kind = types.named(own if dtype is None else dtype, "np.linspace")
    if kind not in ("f32", "f64"):
        raise Refusal("np.linspace", "its elements are no floats", "use np.arange")
    builder.sizes.need(n - 2, Refusal("np.linspace", "num may be 1", "make it 2 at least"))
    parts = num - 1 if endpoint else num
    length = elementwise(builder, np.subtract, (stop, start), own)
    step = elementwise(builder, np.true_divide, (length, parts), own)

    def element(i: Any) -> Any:
        along = elementwise(builder, np.multiply, (i, step), own)
        return elementwise(builder, np.add, (along, start), own)

    made = counted(builder, n, kind, element)
    if endpoint:
        made[-1] = converted(builder, stop, own)
    return made


def _type_between(start: Any, stop: Any) -> Any:
    """In which `np.linspace` computes: Python's numbers take the type of the other."""
    kinds = [kind_of(each) for each in (start, stop)]
    found = np.result_type(*(kind(0) if isinstance(kind, type) else kind for kind in kinds))
    return found if found.kind == "f" else np.dtype(np.float64)


def rolled(builder: Builder, value: Any, shift: Any, axis: Any = None) -> Data:
    data = operand(builder, value)
    place = as_place(builder, shift)
    if (axis is None and data.ndim != 1) or place is None or not place.is_const:
        raise Refusal("np.roll", "it needs an axis, and a constant shift", "join slices")
    axis = views.axis_of(data.ndim, int(axis or 0))
    n = data.lengths[axis]
    by = place.const % n.const if n.is_const else place.const
    low = by if by >= 0 else n + by
    first = q.as_affine(low)
    builder.sizes.need(
        n - abs(by), Refusal("np.roll", "the shift may be longer than the axis", "shift less")
    )
    if first == q.Affine() or first == n:
        return copied(builder, data)
    head = (*((slice(None),) * axis), slice(-by, None))
    tail = (*((slice(None),) * axis), slice(None, -by))
    return concatenate(builder, [data[head], data[tail]], axis)
