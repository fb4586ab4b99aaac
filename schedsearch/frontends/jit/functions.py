"""NumPy's functions and methods on stand-ins: a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import views
from schedsearch.frontends.jit import derived, making, operations
from schedsearch.frontends.jit.building import Builder
from schedsearch.frontends.jit.indexing import assign
from schedsearch.frontends.jit.layout import copied_or_not, joins
from schedsearch.frontends.jit.operations import operand
from schedsearch.frontends.jit.proxies import Data, Index, Mask, frozen, wanted_place
from schedsearch.frontends.lowered import Refusal

LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_not": "not"}
MASKS = {"bitwise_and": "and", "bitwise_or": "or", "invert": "not", "bitwise_not": "not"}
REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


def unknown(name: str) -> Refusal:
    return Refusal(
        name,
        "schedsearch does not know it",
        "write it with arithmetic, slices, loops and elementary functions",
    )


def ufunc_call(builder: Builder, ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """`np.add(a, b)` and so on."""
    name = f"np.{ufunc.__name__}"
    out = kwargs.pop("out", None)
    dtype = kwargs.pop("dtype", None)
    sums = method in ("reduce", "accumulate") and ufunc.__name__ in ("add", "multiply")
    if dtype is None and sums:
        dtype = _type_of(out)
    if len(inputs) > ufunc.nin and method == "__call__":
        inputs, out = inputs[: ufunc.nin], inputs[ufunc.nin]
    if method == "outer" and not kwargs and dtype is None:
        result = operations.outer(builder, ufunc, *making.as_arrays(builder, inputs))
    elif method == "reduce" and ufunc.__name__ in REDUCED:
        axis = kwargs.pop("axis", inputs[1] if len(inputs) > 1 else 0)
        keepdims = kwargs.pop("keepdims", False)
        function = REDUCED[ufunc.__name__]
        result = operations.reduce(builder, function, inputs[0], axis, dtype, keepdims)
    elif method == "accumulate" and ufunc.__name__ in REDUCED:
        axis = kwargs.pop("axis", inputs[1] if len(inputs) > 1 else 0)
        result = operations.scan(builder, REDUCED[ufunc.__name__], inputs[0], axis, dtype)
    elif method == "__call__" and not kwargs:
        result = _called(builder, ufunc, inputs, dtype)
    else:
        raise unknown(f"{name}.{method}" if method != "__call__" else f"{name} with {[*kwargs]}")
    if kwargs:
        raise unknown(f"{name} with {', '.join(kwargs)}")
    if out is None or (isinstance(out, tuple) and out[0] is None):
        return result
    return put(name, out, result)


def _called(builder: Builder, ufunc: Any, inputs: Any, dtype: Any) -> Any:
    name = ufunc.__name__
    if name in operations.COMPARED:
        return operations.compare(builder, operations.COMPARED[name], *inputs)
    if name in LOGICAL:
        return operations.logical(builder, LOGICAL[name], inputs)
    if name in MASKS and all(isinstance(each, Mask | bool) for each in inputs):
        return operations.logical(builder, MASKS[name], inputs)
    if name == "matmul":
        if dtype is not None:
            raise unknown("np.matmul with dtype")
        return operations.matmul(builder, *inputs)
    if name in derived.UFUNCS:
        if dtype is not None:
            raise unknown(f"np.{name} with dtype")
        return derived.UFUNCS[name](builder, *inputs)
    if name == "isnan":
        return operations.compare(builder, "!=", inputs[0], inputs[0])
    return operations.elementwise(builder, ufunc, inputs, dtype)


def function_call(builder: Builder, function: Any, args: Any, kwargs: Any) -> Any:
    if function not in FUNCTIONS:
        raise unknown(f"np.{getattr(function, '__name__', function)}")
    given = in_c_order(f"np.{function.__name__}", kwargs)
    given.pop("like", None)
    out = given.pop("out", None)
    sums = function in (np.sum, np.prod, np.mean, np.cumsum, np.cumprod)
    if sums and len(args) < 3 and given.get("dtype") is None:
        given["dtype"] = _type_of(out)
    try:
        result = FUNCTIONS[function](builder, *args, **given)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        message = str(error).split(") ", 1)[-1]
        raise unknown(f"np.{function.__name__} ({message})") from None
    return result if out is None else put(f"np.{function.__name__}", out, result)


def _alone(out: Any) -> Any:
    """What `out=` names, which NumPy hands on in a tuple."""
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _type_of(out: Any) -> Any:
    """The type in which NumPy adds up what goes to `out=`; None if there is no such array."""
    array = _alone(out)
    return array.dtype if isinstance(array, Data) else None


def put(name: str, out: Any, result: Any) -> Any:
    """`out=`, which NumPy lets have more axes than a result, and a type of the same kind."""
    out = _alone(out)
    if not isinstance(out, Data):
        raise Refusal(f"{name} with out=", "it is no array of the trace", "leave it out")
    in_kind(name, out, result)
    if operations.lengths_of(result)[out.ndim :]:
        raise Refusal(f"{name} with out=", "it has fewer axes than the result", "index it")
    assign(out, Ellipsis, result)
    return out


def in_kind(name: str, to: Data, value: Any) -> None:
    kind: Any = operations.kind_of(value)
    kind = {int: np.dtype(np.int8), float: np.dtype(np.float64)}.get(kind, kind)
    weak = kind == np.int8 and not isinstance(value, Data)
    if not weak and not np.can_cast(kind, to.dtype, "same_kind"):
        raise Refusal(
            f"{name} of {kind} into {to.dtype}", "NumPy does not store it there", "use astype"
        )


def in_c_order(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Without `order`, where that changes nothing."""
    given = dict(kwargs)
    order = given.pop("order", "C")
    shaping = name.split(".")[-1] in ("reshape", "ravel", "flatten")
    if order not in ("C", None) and (shaping or order not in ("A", "K")):
        raise Refusal(
            f"{name} with order={order!r}", "elements are in C order", "transpose first, or after"
        )
    return given


def method(data: Data, name: str) -> Callable[..., Any]:
    if name not in METHODS:
        raise unknown(f"the attribute .{name} of an array")
    builder = data.builder

    def call(*args: Any, **kwargs: Any) -> Any:
        given = in_c_order(f".{name}", kwargs)
        try:
            return METHODS[name](builder, data, *args, **given)
        except TypeError as error:
            if "argument" not in str(error):
                raise
            raise unknown(f".{name} ({str(error).split(') ', 1)[-1]})") from None

    call.__name__ = name
    return call


# -- rows of the table -----------------------------------------------------------------------------

_Rows = dict[Any, Callable[..., Any]]


def _reduction(function: str) -> Callable[..., Any]:
    def row(
        builder: Builder, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False
    ) -> Any:
        return operations.reduce(builder, function, a, axis, dtype, keepdims)

    return row


def _extreme(function: str) -> Callable[..., Any]:
    def row(builder: Builder, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return operations.reduce(builder, function, a, axis, None, keepdims)

    return row


def _any(function: str) -> Callable[..., Any]:
    def row(builder: Builder, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        mask = operations.truth(builder, operand(builder, a))
        if isinstance(mask, bool):
            return mask
        numbers = Data.of(builder, operations.as_node(builder, mask, "f32"))
        return operations.reduce(builder, function, numbers, axis, None, keepdims) != 0

    return row


def _deviation(builder: Builder, *args: Any, **kwargs: Any) -> Any:
    return operations.elementwise(
        builder, np.sqrt, (operations.variance(builder, *args, **kwargs),)
    )


def _where(builder: Builder, condition: Any, *both: Any) -> Any:
    if len(both) != 2:
        raise Refusal("np.where with one argument", "places depend on data", "give all three")
    return operations.select(builder, condition, *both)


def _clip(builder: Builder, a: Any, low: Any = None, high: Any = None, **more: Any) -> Any:
    if unknowns := more.keys() - {"a_min", "a_max", "min", "max"}:
        raise unknown(f"np.clip with {', '.join(sorted(unknowns))}")
    low, high = more.get("a_min", more.get("min", low)), more.get("a_max", more.get("max", high))
    if low is None and high is None:
        return making.copied(builder, a)
    if low is not None:
        a = operations.elementwise(builder, np.maximum, (a, low))
    if high is not None:
        a = operations.elementwise(builder, np.minimum, (a, high))
    return a


def _filled(value: int) -> Callable[..., Any]:
    def row(builder: Builder, shape: Any, dtype: Any = None) -> Any:
        return making.full(builder, shape, value, np.float64 if dtype is None else dtype)

    return row


def _like(value: int | None) -> Callable[..., Any]:
    def row(
        builder: Builder, a: Any, dtype: Any = None, shape: Any = None, fill: Any = value
    ) -> Any:
        if isinstance(a, Index):
            raise Refusal("an array like a size", "it is int64", "write np.zeros(()), or a number")
        a = making.as_array(builder, a)
        dtype = a.dtype if dtype is None else dtype
        shape = a.shape if shape is None else shape
        if fill is None:
            return making.empty(builder, shape, dtype)
        return making.full(builder, shape, fill, dtype)

    return row


def _full_like(
    builder: Builder, a: Any, fill_value: Any, dtype: Any = None, shape: Any = None
) -> Any:
    return _like(None)(builder, a, dtype, shape, fill_value)


def _ndarray(builder: Builder, shape: Any, dtype: Any = np.float64) -> Any:
    return making.empty(builder, shape, dtype)


def _array(builder: Builder, value: Any, dtype: Any = None, copy: Any = True) -> Any:
    if copy is None or (copy is not True and not copy):
        own = isinstance(value, Data) and not value.weak
        if own and (dtype is None or np.dtype(dtype) == value.dtype):
            return value
        if copy is not None:
            raise Refusal("copy=False", "a copy is needed", "leave it out")
    if dtype is not None and isinstance(value, list | tuple) and is_plain(value):
        value, dtype = np.array(value, dtype), None
    return making.copied(
        builder, value if dtype is None else making.converted(builder, value, dtype)
    )


def is_plain(value: Any) -> bool:
    """Whether there is nothing of the trace in it."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return isinstance(value, int | float | np.generic)


def _asarray(builder: Builder, value: Any, dtype: Any = None, copy: Any = None) -> Any:
    return _array(builder, value, dtype, copy)


def _ascontiguous(builder: Builder, value: Any, dtype: Any = None) -> Any:
    found = _asarray(builder, value, dtype)
    return copied_or_not(found, lambda data: data, joins(found, [range(found.ndim)], dense=True))


def _transpose(builder: Builder, a: Any, axes: Any = None) -> Any:
    return operand(builder, a).transpose(axes)


def _swapaxes(builder: Builder, a: Any, one: int, other: int) -> Any:
    a = operand(builder, a)
    order = list(range(a.ndim))
    order[one], order[other] = order[other], order[one]
    return a.transpose(order)


def _moveaxis(builder: Builder, a: Any, source: Any, destination: Any) -> Any:
    a = operand(builder, a)
    many = [each if isinstance(each, tuple | list) else (each,) for each in (source, destination)]
    come, go = ([views.axis_of(a.ndim, int(n)) for n in each] for each in many)
    if len(come) != len(go) or any(len({*each}) < len(each) for each in (come, go)):
        raise Refusal("np.moveaxis", "the axes do not fit each other", "name as many, each once")
    order = [n for n in range(a.ndim) if n not in come]
    for place, axis in sorted(zip(go, come, strict=True)):
        order.insert(place, axis)
    return a.transpose(order)


def _reshape(builder: Builder, a: Any, *shape: Any, **more: Any) -> Any:
    if "shape" in more or "newshape" in more:
        shape = (more.pop("shape", None) or more.pop("newshape"),)
    if more or not shape:
        raise unknown("reshape without a shape")
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    data = operand(builder, a)
    lengths = [wanted_place(builder, each, "a length") for each in sizes]
    if len(lengths) == 1 and lengths[0] == q.Affine(-1):
        lengths = [wanted_place(builder, data.size, "a length")]
    _, groups = _shaped(builder, data, lengths)
    return copied_or_not(data, lambda d: _shaped(builder, d, lengths)[0], joins(data, groups))


def _shaped(builder: Builder, data: Data, lengths: list[q.Affine]) -> tuple[Any, list[range]]:
    """A view of another shape, and the axes that NumPy has to join for it."""
    old = data.lengths
    if len(old) == len(lengths):
        for n, m in zip(old, lengths, strict=True):
            if n.is_const == m.is_const and m != q.Affine(-1):
                builder.sizes.same(n, m)
    lengths = [builder.sizes.resolved(n) for n in lengths]
    stand = g.Load(g.Array("", data.type, data.lengths))
    try:
        found = views.reshape(stand, lengths)
    except Refusal as refusal:
        names = sum((n for n in [*data.lengths, *lengths] if not n.is_const), start=q.Affine())
        raise frozen(builder, names, refusal) from None
    if not isinstance(found, g.View):
        return data, []
    names_of = found.vars

    def places(at: Any) -> Any:
        inner = dict(zip(names_of, at, strict=True))
        return [views.replaced(each, inner) for each in found.index]

    groups = [range(*o.indices(data.ndim)) for o, _ in views.groups(data.lengths, found.shape)]
    seen = data.seen(found.shape, places)
    seen.reshaped = data.entire
    return seen, groups


def line(builder: Builder, data: Data) -> Any:
    if data.ndim == 1:
        return data
    return _shaped(builder, data, [wanted_place(builder, data.size, "a length")])[0]


def _flat(builder: Builder, a: Any) -> Any:
    data = operand(builder, a)
    shares = joins(data, [range(data.ndim)], dense=True)
    return copied_or_not(data, lambda each: line(builder, each), shares)


def _flatten(builder: Builder, a: Any) -> Any:
    return line(builder, making.copied(builder, operand(builder, a)))


def _flip(builder: Builder, a: Any, axis: Any = None) -> Any:
    data = operand(builder, a)
    view = data.view
    for each in operations.axes_of(builder, axis, data.ndim):
        view = views.flip(view, each)
    return data.viewed(view)


def _expand(builder: Builder, a: Any, axis: Any) -> Any:
    data = operand(builder, a)
    many = axis if isinstance(axis, tuple | list) else (axis,)
    view = data.view
    for each in sorted(views.axis_of(data.ndim + len(many), int(n)) for n in many):
        view = views.expand(view, each)
    return data.viewed(view)


def _squeeze(builder: Builder, a: Any, axis: Any = None) -> Any:
    data = operand(builder, a)
    ones = [n for n, length in enumerate(data.lengths) if length == views.ONE]
    axes = ones if axis is None else operations.axes_of(builder, axis, data.ndim)
    key: list[Any] = [slice(None)] * data.ndim
    for each in axes:
        if data.lengths[each] != views.ONE:
            raise Refusal("np.squeeze", "an axis is not of length 1", "name others")
        key[each] = 0
    return data[tuple(key)]


def _diagonal(builder: Builder, a: Any, offset: int = 0, *, lock: bool = True) -> Any:
    data = operand(builder, a)
    if data.ndim != 2 or offset:
        raise unknown("np.diagonal of other than the main diagonal of two axes")
    one, other = data.lengths
    operations.shared(builder, one, other, "np.diagonal")
    found = data.seen(data.lengths[:1], lambda at: (at[0], at[0]))
    return locked(found, "np.diagonal") if lock else found


def _diag(builder: Builder, a: Any, k: int = 0) -> Any:
    data = operand(builder, a)
    if k:
        raise unknown("np.diag of other than the main diagonal")
    if data.ndim == 2:
        return _diagonal(builder, data)
    n = data.shape[0]
    made = making.copied(builder, making.full(builder, (n, n), 0, data.dtype))
    assign(_diagonal(builder, made, lock=False), Ellipsis, data)
    return made


def _trace(builder: Builder, a: Any) -> Any:
    return operations.reduce(builder, "sum", _diagonal(builder, a))


def _tril(builder: Builder, a: Any, k: Any = 0) -> Any:
    return making.triangle(builder, a, k, lower=True)


def _triu(builder: Builder, a: Any, k: Any = 0) -> Any:
    return making.triangle(builder, a, k, lower=False)


def _outer(builder: Builder, a: Any, b: Any) -> Any:
    one, other = (line(builder, each) for each in making.as_arrays(builder, (a, b)))
    return operations.outer(builder, np.multiply, one, other)


def _vdot(builder: Builder, a: Any, b: Any) -> Any:
    one, other = (line(builder, each) for each in making.as_arrays(builder, (a, b)))
    return operations.dot(builder, one, other)


def _concatenate(builder: Builder, given: Any, axis: Any = 0) -> Any:
    if axis is not None:
        return making.concatenate(builder, given, axis)
    values = [line(builder, each) for each in making.as_arrays(builder, given)]
    return making.concatenate(builder, values)


def _append(builder: Builder, a: Any, values: Any, axis: Any = None) -> Any:
    return _concatenate(builder, (a, values), axis)


def _trapezoid(builder: Builder, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = operand(builder, y)
    before = (slice(None),) * views.axis_of(y.ndim, axis)
    if x is not None:
        x = operand(builder, x)
        dx = _diff(builder, x, axis=axis if x.ndim > 1 else -1)
        dx = dx if dx.ndim > 1 else dx[(slice(None), *(None,) * (y.ndim - 1 - len(before)))]
    pairs = y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]
    return operations.reduce(builder, "sum", dx * pairs / 2.0, axis)


def _gradient(builder: Builder, f: Any, *spacing: Any, axis: Any = None) -> Any:
    f = operand(builder, f)
    axes = operations.axes_of(builder, axis, f.ndim)
    if isinstance(axis, tuple | list):  # in their order
        axes = tuple(views.axis_of(f.ndim, int(each)) for each in axis)
    for each in axes:
        short = Refusal(
            "np.gradient", "an axis may be of length 1", "give it two elements at least"
        )
        builder.sizes.need(f.lengths[each] - 2, short)
    steps = spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes)
    if len(steps) != len(axes) or any(operations.lengths_of(each) for each in steps):
        raise unknown("np.gradient with other than one distance for each axis")
    if f.dtype.kind != "f":
        raise unknown("np.gradient of whole numbers")
    found = [_differences(builder, f, n, step) for n, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _differences(builder: Builder, f: Data, axis: int, step: Any) -> Data:
    def at(*key: Any) -> Any:
        return f[(*(slice(None),) * axis, slice(*key))]

    made = making.empty(builder, f.shape, f.dtype)
    before = (slice(None),) * axis
    made[(*before, slice(1, -1))] = (at(2, None) - at(None, -2)) / (2.0 * step)
    made[(*before, slice(0, 1))] = (at(1, 2) - at(0, 1)) / step
    made[(*before, slice(-1, None))] = (at(-1, None) - at(-2, -1)) / step
    return made


def _hstack(builder: Builder, given: Any) -> Any:
    values = [_at_least(each, 1) for each in making.as_arrays(builder, given)]
    return making.concatenate(builder, values, 0 if values and values[0].ndim == 1 else 1)


def _vstack(builder: Builder, given: Any) -> Any:
    values = [_at_least(each, 2) for each in making.as_arrays(builder, given)]
    return making.concatenate(builder, values, 0)


def _column_stack(builder: Builder, given: Any) -> Any:
    values = [_at_least(each, 1) for each in making.as_arrays(builder, given)]
    return making.concatenate(builder, [v[:, None] if v.ndim == 1 else v for v in values], 1)


def _at_least(data: Data, rank: int) -> Data:
    """With new axes before its own."""
    return data if data.ndim >= rank else data[(None,) * (rank - data.ndim)]


def _axes_added(rank: int) -> Callable[..., Any]:
    """`np.atleast_1d` and so on, of one array."""

    def row(builder: Builder, a: Any) -> Any:
        [data] = making.as_arrays(builder, [a])
        return _at_least(data, rank)

    return row


def _broadcast_to(builder: Builder, a: Any, shape: Any) -> Any:
    data = operand(builder, a)
    lengths = making.lengths_from(builder, shape)
    if not isinstance(data, Data):
        data = Data.of(builder, operations.as_node(builder, data, "f64"))
    wide = operations.broadcast_lengths(builder, [data.lengths, lengths])
    if wide != tuple(map(builder.sizes.resolved, lengths)):
        raise Refusal("np.broadcast_to", "the shape does not fit the array", "give a wider one")
    own = data.lengths
    return locked(data.seen(lengths, lambda at: views.repeated(own, at)), "np.broadcast_to")


def locked(found: Data, name: str) -> Data:
    """A view that NumPy does not let be written."""
    found.locked = name
    return found


def _scan(function: str) -> Callable[..., Any]:
    def row(builder: Builder, a: Any, axis: Any = None, dtype: Any = None) -> Any:
        return operations.scan(builder, function, a, axis, dtype)

    return row


def _diff(builder: Builder, a: Any, n: int = 1, axis: int = -1) -> Any:
    if n != 1:
        raise unknown("np.diff with n")
    a = operand(builder, a)
    key: tuple[Any, ...] = (slice(None),) * views.axis_of(a.ndim, axis)
    return a[(*key, slice(1, None))] - a[(*key, slice(None, -1))]


def _shape(builder: Builder, a: Any) -> Any:
    return operand(builder, a).shape


def _size(builder: Builder, a: Any) -> Any:
    return operand(builder, a).size


def _copyto(builder: Builder, to: Any, value: Any) -> None:
    value = operand(builder, value)
    in_kind("np.copyto", to, value)
    assign(to, Ellipsis, value)


def _identity(builder: Builder, n: Any, dtype: Any = None) -> Any:
    return making.eye(builder, n, dtype=dtype)


def _einsum(builder: Builder, *args: Any, optimize: Any = None) -> Any:
    return operations.einsum(builder, *args)


def _item(builder: Builder, a: Any) -> Any:
    if a.ndim:
        raise unknown(".item of an array")
    return a


def _covariance(
    builder: Builder,
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
) -> Any:
    rows = []
    for each in (m,) if y is None else (m, y):
        data = operand(builder, each)
        if not isinstance(data, Data) or data.ndim not in (1, 2):
            raise unknown("np.cov of other than one or two axes")
        data = making.converted(builder, data, np.float64)
        rows.append(data[None] if data.ndim == 1 else data if rowvar else data.T)
    data = rows[0] if y is None else making.concatenate(builder, rows)
    data = data - operations.mean(builder, data, axis=1, keepdims=True)
    ddof = (0 if bias else 1) if ddof is None else ddof
    found = (data @ data.T) / operations.freedom(builder, data.shape[1], ddof)
    return _squeeze(builder, found)


def _fill(builder: Builder, a: Any, value: Any) -> None:
    assign(a, Ellipsis, value)


def _wide(name: str, instead: str) -> Callable[..., Any]:
    """A function whose results are int64, which kernels do not have."""

    def row(*_: Any, **__: Any) -> Any:
        raise Refusal(name, "its results are int64, and kernels have none", instead)

    return row


_COUNTED = "use np.sum(condition, dtype=np.int32)"
_PLACED = "use np.max or np.min, and look for the place outside"

FUNCTIONS: _Rows = {
    np.count_nonzero: _wide("np.count_nonzero", _COUNTED),
    np.argmax: _wide("np.argmax", _PLACED),
    np.argmin: _wide("np.argmin", _PLACED),
    np.sum: _reduction("sum"),
    np.prod: _reduction("prod"),
    np.max: _extreme("max"),
    np.amax: _extreme("max"),
    np.min: _extreme("min"),
    np.amin: _extreme("min"),
    np.any: _any("max"),
    np.all: _any("min"),
    np.mean: operations.mean,
    np.average: derived.average,
    np.ptp: derived.span,
    np.linalg.norm: derived.norm,
    np.var: operations.variance,
    np.std: _deviation,
    np.cumsum: _scan("sum"),
    np.cumprod: _scan("prod"),
    np.where: _where,
    np.clip: _clip,
    np.round: derived.rounded,
    np.nan_to_num: derived.finite,
    np.dot: operations.dot,
    np.vdot: _vdot,
    np.inner: derived.inner,
    np.tensordot: derived.tensordot,
    np.convolve: derived.convolved,
    np.correlate: derived.correlated,
    np.outer: _outer,
    np.einsum: _einsum,
    np.trace: _trace,
    np.cov: _covariance,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.reshape: _reshape,
    np.ravel: _flat,
    np.flip: _flip,
    np.flipud: lambda builder, a: _flip(builder, a, 0),
    np.fliplr: lambda builder, a: _flip(builder, a, 1),
    np.expand_dims: _expand,
    np.squeeze: _squeeze,
    np.repeat: derived.repeated,
    np.tile: derived.tiled,
    np.split: derived.split,
    np.lib.stride_tricks.sliding_window_view: derived.windows,
    np.broadcast_to: _broadcast_to,
    np.diagonal: _diagonal,
    np.diag: _diag,
    np.tril: _tril,
    np.triu: _triu,
    np.concatenate: _concatenate,
    np.stack: making.stack,
    np.hstack: _hstack,
    np.vstack: _vstack,
    np.column_stack: _column_stack,
    np.atleast_1d: _axes_added(1),
    np.atleast_2d: _axes_added(2),
    np.pad: making.padded,
    np.roll: making.rolled,
    np.diff: _diff,
    np.copy: making.copied,
    np.copyto: _copyto,
    np.append: _append,
    np.trapezoid: _trapezoid,
    np.gradient: _gradient,
    np.shape: _shape,
    np.size: _size,
    np.zeros_like: _like(0),
    np.ones_like: _like(1),
    np.empty_like: _like(None),
    np.full_like: _full_like,
    np.zeros: _filled(0),
    np.ones: _filled(1),
    np.empty: making.empty,
    np.ndarray: _ndarray,
    np.full: making.full,
    np.eye: making.eye,
    np.identity: _identity,
    np.arange: making.arange,
    np.linspace: making.linspace,
    np.array: _array,
    np.asarray: _asarray,
    np.ascontiguousarray: _ascontiguous,
}

METHODS: dict[str, Callable[..., Any]] = {
    "argmax": FUNCTIONS[np.argmax],
    "argmin": FUNCTIONS[np.argmin],
    "sum": _reduction("sum"),
    "prod": _reduction("prod"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "any": _any("max"),
    "all": _any("min"),
    "mean": operations.mean,
    "var": operations.variance,
    "std": _deviation,
    "cumsum": _scan("sum"),
    "cumprod": _scan("prod"),
    "clip": _clip,
    "round": derived.rounded,
    "repeat": derived.repeated,
    "dot": operations.dot,
    "reshape": _reshape,
    "ravel": _flat,
    "flatten": _flatten,
    "squeeze": _squeeze,
    "swapaxes": _swapaxes,
    "diagonal": _diagonal,
    "trace": _trace,
    "copy": making.copied,
    "astype": making.converted,
    "fill": _fill,
    "item": _item,
}

MAKERS = frozenset(
    {
        np.zeros,
        np.ones,
        np.empty,
        np.full,
        np.eye,
        np.identity,
        np.arange,
        np.linspace,
        np.array,
        np.ndarray,
    }
)
"""What may make arrays without being given one."""
