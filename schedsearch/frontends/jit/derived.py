"""NumPy's functions that are made of others: rows for the tables of `functions`."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views
from schedsearch.frontends.jit import making, operations
from schedsearch.frontends.jit.building import Builder, shown
from schedsearch.frontends.jit.operations import elementwise, operand, select
from schedsearch.frontends.jit.proxies import Data, Mask, as_place, frozen, wanted_place
from schedsearch.frontends.lowered import Refusal

# -- of elements -----------------------------------------------------------------------------------


def _sign(builder: Builder, x: Any) -> Any:
    x = operand(builder, x)
    if isinstance(x, Data) and not isinstance(x, Mask) and INTEGERS.get(x.type, (-1, 0))[0] == 0:
        return select(builder, x > 0, 1, x)  # no -1 is among them
    zero_or_nan = x + 0  # of -0 that is 0
    return select(builder, x > 0, 1, select(builder, x < 0, -1, zero_or_nan))


def _trunc(builder: Builder, x: Any) -> Any:
    above = elementwise(builder, np.ceil, (x,))
    return select(builder, operand(builder, x) < 0, above, elementwise(builder, np.floor, (x,)))


def _log_add_exp(builder: Builder, a: Any, b: Any) -> Any:
    a, b = operand(builder, a), operand(builder, b)
    less = elementwise(builder, np.negative, (elementwise(builder, np.absolute, (a - b,)),))
    more = elementwise(builder, np.log1p, (elementwise(builder, np.exp, (less,)),))
    larger = elementwise(builder, np.maximum, (a, b))
    return select(builder, a == b, a + float(np.log(2)), larger + more)  # infinities are equal


def divided(builder: Builder, ufunc: Any, values: Sequence[Any]) -> Any:
    """`x // c` and `x % c` by positive constants: of whole numbers, and of floats by powers of two,
    where all of it is exact."""
    x, by = values
    number = _constant(by)
    name = f"np.{ufunc.__name__}"
    if isinstance(number, bool) or not isinstance(number, int | float) or number <= 0:
        raise Refusal(name, "kernels divide so by positive constants only", "use np.floor(x / y)")
    kind = types.named(operations.resolved_types(ufunc, values)[1], name)
    if kind in ("f32", "f64"):
        if np.frexp(number)[0] != 0.5 or not 2.0**-64 <= number <= 2.0**64:
            reason = "NumPy's is rounded otherwise than any function of kernels"
            raise Refusal(f"{name} of floats", reason, "divide by a power of 2, or use np.floor")
        x = Data.of(builder, operations.as_node(builder, x, kind))
        whole = elementwise(builder, np.floor, (x * (1 / number),))
        if number > 1:  # a product below 0 may be rounded to 0
            whole = select(builder, x < 0, elementwise(builder, np.minimum, (whole, -1)), whole)
        if ufunc is np.remainder:
            rest = x - whole * float(number)
            if number >= 1:
                return rest
            return select(builder, _finite(builder, whole), rest, x - x)  # it may overflow
        return select(builder, _finite(builder, x), whole, x - x)
    if kind not in INTEGERS:
        raise Refusal(
            f"{name} of {kind}", "kernels have it of f32, f64 and whole numbers", "astype"
        )
    number = int(types.constant(number, kind).value)
    x = Data.of(builder, operations.as_node(builder, x, "i32"))
    if number & (number - 1) == 0:
        whole = _of_constant(builder, "ashr", x, number.bit_length() - 1)
    else:
        whole = _of_constant(builder, "sdiv", x, number)
        if INTEGERS[kind][0] < 0:
            below = -1 - _of_constant(builder, "sdiv", -1 - x, number)
            whole = select(builder, x < 0, below, whole)
    found = whole if ufunc is np.floor_divide else x - whole * number
    return making.converted(builder, found, types.DTYPES[kind])


def shifted(builder: Builder, ufunc: Any, values: Sequence[Any]) -> Any:
    """`x << c` and `x >> c`, of whole numbers by constants."""
    x, by = values
    number = _constant(by)
    name = f"np.{ufunc.__name__}"
    kind = types.named(operations.resolved_types(ufunc, values)[1], name)
    bits = 8 * types.DTYPES[kind].itemsize
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < bits:
        reason = "kernels shift by constants only, by less than the bits there are"
        raise Refusal(name, reason, "convert with astype first")
    if kind not in INTEGERS:
        raise Refusal(f"{name} of {kind}", "kernels have it of whole numbers", "use astype")
    x = Data.of(builder, operations.as_node(builder, x, "i32"))
    found = (
        x * np.int32(-(2**31) if number == 31 else 2**number)
        if ufunc is np.left_shift
        else _of_constant(builder, "ashr", x, number)
    )
    return making.converted(builder, found, types.DTYPES[kind])


def _constant(value: Any) -> Any:
    """The number that a value is known to be, or the value."""
    node = value.node() if isinstance(value, Data) and not value.ndim else None
    return node.value if isinstance(node, g.Constant) else value


def _of_constant(builder: Builder, function: str, x: Data, number: int) -> Data:
    """A function of ints and a number."""
    nodes = [x.node(), types.constant(number, "i32")]
    args, shape = operations.broadcast_nodes(builder, nodes)
    return Data.of(builder, g.Apply(function, args, "i32", shape))


def _finite(builder: Builder, x: Any) -> Any:
    x = operand(builder, x)
    return x - x == 0


def _infinite(builder: Builder, x: Any) -> Any:
    x = operand(builder, x)
    return (x - x != 0) & (x == x)


def _larger(op: str) -> Callable[..., Any]:
    """`np.fmax` and `np.fmin`: of a number and a NaN, the number."""

    def row(builder: Builder, a: Any, b: Any) -> Any:
        a, b = operand(builder, a), operand(builder, b)
        first = operations.logical(
            builder,
            "or",
            (operations.compare(builder, op, a, b), operations.compare(builder, "!=", b, b)),
        )
        return select(builder, first, a, b)

    return row


def _scaled(ufunc: Any, by: float, over: float) -> Callable[..., Any]:
    """Degrees and radians: in NumPy's type of the result, as is the factor; f16 in f32."""

    def row(builder: Builder, x: Any) -> Any:
        x = operand(builder, x)
        [kind], _ = operations.resolved_types(ufunc, (x,))
        own = types.DTYPES[types.computed(kind)].type
        wide = Data.of(builder, operations.computed_node(builder, x, kind))
        found = elementwise(builder, np.multiply, (wide, own(by) / own(over)))
        return making.converted(builder, found, types.DTYPES[kind])

    return row


UFUNCS: dict[str, Callable[..., Any]] = {
    "sign": _sign,
    "trunc": _trunc,
    "logaddexp": _log_add_exp,
    "isfinite": _finite,
    "isinf": _infinite,
    "fmax": _larger(">="),
    "fmin": _larger("<="),
    "radians": _scaled(np.radians, np.pi, 180),
    "deg2rad": _scaled(np.deg2rad, np.pi, 180),
    "degrees": _scaled(np.degrees, 180, np.pi),
    "rad2deg": _scaled(np.rad2deg, 180, np.pi),
}
"""By name."""


def rounded(builder: Builder, a: Any, decimals: Any = 0) -> Any:
    """`np.round`, as NumPy computes it."""
    a = operand(builder, a)
    if isinstance(a, Mask):
        a = making.converted(builder, a, np.float16)
    if not isinstance(decimals, int):
        raise Refusal("np.round", "its decimals are no number", "give them as a constant")
    if isinstance(a, Data) and a.type not in types.FLOATS:
        if decimals < 0:
            raise Refusal("np.round of whole numbers", "they would be divided", "use astype")
        return making.copied(builder, a)
    scale = float(10 ** abs(decimals))
    there, back = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    if not decimals:
        return elementwise(builder, np.rint, (a,))
    moved = elementwise(builder, np.rint, (elementwise(builder, there, (a, scale)),))
    return elementwise(builder, back, (moved, scale))


def finite(
    builder: Builder,
    x: Any,
    copy: Any = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Any:
    """`np.nan_to_num`."""
    x = operand(builder, x)
    if not isinstance(x, Data) or not copy:
        raise Refusal("np.nan_to_num", "it makes a new array of one", "leave out copy")
    if isinstance(x, Mask) or x.type not in types.FLOATS:
        return making.copied(builder, x)
    most = float(np.finfo(x.dtype).max)
    given = nan, most if posinf is None else posinf, -most if neginf is None else neginf
    instead, high, low = (making.converted(builder, each, x.dtype) for each in given)
    number = select(builder, _infinite(builder, x), select(builder, x > 0, high, low), x)
    return select(builder, x != x, instead, number)


# -- of axes ---------------------------------------------------------------------------------------


def norm(builder: Builder, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """`np.linalg.norm` of vectors, and the root of the sum of all squares."""
    x = making.as_array(builder, x)
    if x.type not in types.FLOATS:
        x = making.converted(builder, x, np.float64)
    along = operations.axes_of(builder, axis, x.ndim)
    vector = len(along) == 1
    size = x if ord is None or ord in (2, "fro") else elementwise(builder, np.absolute, (x,))
    if ord is None or (ord == 2 and vector) or (ord == "fro" and len(along) == 2):
        total = operations.reduce(builder, "sum", x * x, along, None, keepdims)
        return elementwise(builder, np.sqrt, (total,))
    functions = {1: "sum", np.inf: "max", -np.inf: "min"}
    if not vector or ord not in functions:
        raise Refusal(
            f"np.linalg.norm with ord={ord!r}",
            "kernels have norms of vectors with ord 1, 2 and infinity, and of all squares",
            "write it with sums and np.abs",
        )
    return operations.reduce(builder, functions[ord], size, along, None, keepdims)


def average(
    builder: Builder, a: Any, axis: Any = None, weights: Any = None, keepdims: Any = False
) -> Any:
    data = making.as_array(builder, a)
    if weights is None:
        return operations.mean(builder, data, axis, None, keepdims)
    own = making.as_array(builder, weights)
    along = operations.axes_of(builder, axis, data.ndim)
    if own.ndim == 1 and data.ndim > 1 and len(along) == 1:
        own = own[(slice(None), *(None,) * (data.ndim - 1 - along[0]))]
    elif own.ndim != data.ndim:
        raise Refusal("np.average", "the weights have another rank", "give one for each element")
    more = () if data.dtype.kind == "f" else (np.float64,)
    kind = types.named(np.result_type(data.dtype, own.dtype, *more), "np.average")
    own = Data.of(builder, operations.as_node(builder, own, kind))
    wide = Data.of(builder, operations.broadcast_node(builder, own.node(), data.lengths))
    whole = operations.reduce(builder, "sum", wide, along, None, keepdims)
    return operations.reduce(builder, "sum", data * own, along, None, keepdims) / whole


def span(builder: Builder, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """`np.ptp`."""
    high, low = (
        operations.reduce(builder, each, a, axis, None, keepdims) for each in ("max", "min")
    )
    return high - low


# -- of places -------------------------------------------------------------------------------------


def repeated(builder: Builder, a: Any, repeats: Any, axis: Any = None) -> Any:
    """`np.repeat`: each element as often."""
    data, times = _in_line(builder, operand(builder, a), axis), as_place(builder, repeats)
    if times is None or not times.is_const or times.const < 1:
        raise Refusal("np.repeat", "how often is no constant above 0", "give a number")
    along, by = views.axis_of(data.ndim, axis or 0), times.const
    lengths = list(data.lengths)
    lengths[along] = lengths[along].scaled(by)
    found = data.seen(
        tuple(lengths), lambda at: (*at[:along], q.floor_div(at[along], by), *at[along + 1 :])
    )
    return type(data).of(builder, found.node())


def tiled(builder: Builder, a: Any, reps: Any) -> Any:
    """`np.tile`: the whole as often along each axis."""
    data = operand(builder, a)
    times = [wanted_place(builder, n, "how often") for n in (reps if _many(reps) else (reps,))]
    data = data[(None,) * max(len(times) - data.ndim, 0)] if len(times) > data.ndim else data
    times = [q.Affine(1)] * (data.ndim - len(times)) + times
    own = data.lengths
    lengths = []
    for n, by in zip(own, times, strict=True):
        if n != views.ONE and by != views.ONE and not (n.is_const and by.is_const):
            raise frozen(
                builder,
                n + by,
                Refusal("np.tile", "a length is no number", "give it as a constant"),
            )
        lengths.append(by if n == views.ONE else n.scaled(by.const) if by.is_const else n)

    def places(at: tuple[q.Affine, ...]) -> list[q.Affine]:
        found = []
        for i, n, by in zip(at, own, times, strict=True):
            once = i if by == views.ONE else q.modulo(i, n.const) if n.is_const else i
            found.append(q.Affine() if n == views.ONE else once)
        return found

    return type(data).of(builder, data.seen(tuple(lengths), places).node())


def split(builder: Builder, a: Any, parts: Any, axis: Any = 0) -> Any:
    """`np.split`: into equal parts, or at places."""
    data = operand(builder, a)
    along = views.axis_of(data.ndim, int(axis))
    n = data.lengths[along]
    if _many(parts):
        ends: list[Any] = [None, *parts, None]
    else:
        count = wanted_place(builder, parts, "a number of parts")
        if not (n.is_const and count.is_const):
            text = f"whether length {shown(n)} has {shown(count)} equal parts is not known"
            raise frozen(
                builder, n + count, Refusal("np.split", text, "write slices, with the length")
            )
        if n.const % count.const:
            raise Refusal("np.split", "the parts are not equal", "give the places")
        size = n.const // count.const
        ends = [*range(0, n.const + 1, size)]
    key = (slice(None),) * along
    return [data[(*key, slice(*pair))] for pair in pairwise(ends)]


def windows(builder: Builder, x: Any, window_shape: Any, axis: Any = None) -> Any:
    """`np.lib.stride_tricks.sliding_window_view`."""
    data = operand(builder, x)
    sizes = window_shape if _many(window_shape) else (window_shape,)
    axes = range(data.ndim) if axis is None else axis if _many(axis) else (axis,)
    along = [n for each in axes for n in operations.axes_of(builder, each, data.ndim)]
    if len(sizes) != len(along):
        raise Refusal("sliding_window_view", "a window has as many lengths as axes", "give them")
    found = data
    for each, size in zip(along, sizes, strict=True):
        length = wanted_place(builder, size, "the length of a window")
        builder.sizes.need(
            found.lengths[each] - length,
            Refusal("sliding_window_view", "the window may be too long", "give it a shorter one"),
        )
        found = found.viewed(views.sliding_window(found.view, each, length))
    from schedsearch.frontends.jit.functions import locked

    return locked(found, "np.lib.stride_tricks.sliding_window_view")


def _many(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _in_line(builder: Builder, data: Data, axis: Any) -> Data:
    from schedsearch.frontends.jit.functions import line

    return data if axis is not None else line(builder, data)


# -- products --------------------------------------------------------------------------------------


def tensordot(builder: Builder, a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = operand(builder, a), operand(builder, b)
    if isinstance(axes, int):
        axes = (range(a.ndim - axes, a.ndim), range(axes))
    one, other = (
        [views.axis_of(data.ndim, n) for n in ([each] if isinstance(each, int) else each)]
        for each, data in zip(axes, (a, b), strict=True)
    )
    if len(one) != len(other) or a.ndim + b.ndim > len(string.ascii_letters):
        raise Refusal("np.tensordot", "the axes do not fit each other", "name as many of each")
    left, more = string.ascii_letters[: a.ndim], string.ascii_letters[a.ndim :]
    right = "".join(left[one[other.index(n)]] if n in other else more[n] for n in range(b.ndim))
    kept = [c for c in left if c not in right] + [c for c in right if c not in left]
    return operations.einsum(builder, f"{left},{right}->{''.join(kept)}", a, b)


def inner(builder: Builder, a: Any, b: Any) -> Any:
    a, b = making.as_arrays(builder, (a, b))
    if not a.ndim or not b.ndim:
        return a * b
    return tensordot(builder, a, b, ((-1,), (-1,)))


def convolved(builder: Builder, a: Any, v: Any, mode: Any = "full") -> Any:
    """`np.convolve`."""
    a, v = operand(builder, a), operand(builder, v)
    return _sums_of_products(builder, "np.convolve", a, v, mode, turned=True)


def correlated(builder: Builder, a: Any, v: Any, mode: Any = "valid") -> Any:
    """`np.correlate`."""
    a, v = operand(builder, a), operand(builder, v)
    return _sums_of_products(builder, "np.correlate", a, v, mode, turned=False)


def _sums_of_products(
    builder: Builder, name: str, a: Data, v: Data, mode: str, *, turned: bool
) -> Any:
    """Of the windows of the longer one. NumPy turns a pair round if the second is the longer."""
    n = v.lengths[0]
    builder.sizes.need(
        a.lengths[0] - n,
        Refusal(name, "the second array may be the longer one", "give the longer one first"),
    )
    if mode == "full":
        a = making.padded(builder, a, v.shape[0] - 1)
    elif mode != "valid":
        raise Refusal(f"{name} with mode {mode!r}", "it is known of valid and full", "slice those")
    kernel = v[::-1] if turned else v
    return operations.einsum(builder, "ij,j->i", windows(builder, a, v.shape[0]), kernel)
