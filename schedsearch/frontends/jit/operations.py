"""Operations on elements, comparisons, reductions and products, in NumPy's types."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views
from schedsearch.frontends.jit.building import Builder, broadcast_condition, shown
from schedsearch.frontends.jit.proxies import (
    Data,
    Index,
    Mask,
    Undefined,
    as_place,
    either,
)
from schedsearch.frontends.jit.sizes import FreezeError, quotients
from schedsearch.frontends.jit.variables import joined_kind, python_kinds
from schedsearch.frontends.jit.whole_numbers import span
from schedsearch.frontends.jit.zero_points import without_zero_points
from schedsearch.frontends.lowered import Refusal

APPLIED = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "true_divide": "/",
    "divide": "/",
    "negative": "neg",
    "maximum": "max",
    "minimum": "min",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "absolute": "abs",
    "fabs": "abs",
    "power": "pow",
    "floor": "floor",
    "log1p": "log1p",
    "expm1": "expm1",
    "rint": "rint",
    "arctan2": "atan2",
    "bitwise_and": "bit_and",
    "bitwise_or": "bit_or",
    "bitwise_xor": "bit_xor",
}
"""NumPy's functions of elements, and the graph's."""

BITS = ("bit_and", "bit_or", "bit_xor")

COMPARED = {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}

LARGEST_CONSTANT = 64
"""Elements of arrays of the surroundings that become constants."""


def operand(builder: Builder, value: Any) -> Any:
    """What operators take: Data, Index, Python numbers. NumPy's numbers are of their own type."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.generic):  # before float, which np.float64 is too
        kind = types.named(value.dtype, f"{type(value).__name__}({value})")
        return Data.of(builder, g.Constant(value.item(), kind))
    if isinstance(value, Data | Index | bool | int | float):
        return value
    if isinstance(value, list | tuple) and value:
        if any(isinstance(each, Data | Index) for each in value):
            from schedsearch.frontends.jit.making import stack

            return stack(builder, value, 0)
        value = np.array(value)
    if isinstance(value, np.ndarray):
        return constant_array(builder, value)
    if isinstance(value, Undefined):
        value()  # raises
    if isinstance(value, complex):
        raise Refusal(f"{value}", "kernels have no complex numbers", "compute both parts")
    raise Refusal(
        f"a value of type {type(value).__name__}",
        "it is neither an array nor a number",
        "give it as an argument of a known type",
    )


def constant_array(builder: Builder, value: Any) -> Data:
    if value.size > LARGEST_CONSTANT:
        raise Refusal(
            f"an array of {value.size} elements from around the function",
            f"at most {LARGEST_CONSTANT} become constants of the kernel",
            "give it as an argument",
        )
    kind = types.named(value.dtype, "an array from around the function")
    if not value.shape:
        return Data.of(builder, g.Constant(value.item(), kind))
    made = Data(builder, builder.allocate("constants", kind, views.shape_of(*value.shape)))
    for place in np.ndindex(*value.shape):
        at = views.shape_of(*place)
        builder.store(made.buffer, (), at, g.Constant(value[place].item(), kind))
    return made


def kind_of(value: Any) -> Any:
    """Its type, or a Python number's: as `ufunc.resolve_dtypes` has it."""
    if isinstance(value, Mask | bool):
        return np.dtype(bool)
    if isinstance(value, Data):
        if value.uncertain:
            raise either(value)
        return value.weak or types.DTYPES[value.type]
    return float if isinstance(value, float) else int


def resolved_types(
    ufunc: Any, values: Sequence[Any], dtype: Any = None
) -> tuple[tuple[str, ...], Any]:
    """The types to which NumPy converts the arguments, and that of the result, or with `dtype=`."""
    name = f"np.{ufunc.__name__}"
    given = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, np.dtype(dtype))}
    try:
        kinds = (*map(kind_of, values), *(None,) * ufunc.nout)
        found = ufunc.resolve_dtypes(kinds, **given)
    except TypeError as error:
        reason = str(error).split("\n")[0]
        raise Refusal(name, reason, "convert an operand (`astype`)") from None
    return tuple(types.named(each, name) for each in found[: ufunc.nin]), found[-1]


def as_node(builder: Builder, value: Any, kind: str) -> g.Value:
    """An operand as a value of this type."""
    if isinstance(value, Mask):
        shape, own = value.lengths, types.computed(kind)
        one, zero = (views.broadcast_to(types.constant(n, own), shape) for n in (1, 0))
        return types.cast(g.Select(value.condition(), one, zero), kind)
    if isinstance(value, Data):
        if value.may and value.type == "f32" and kind != "f32":
            raise either(value)
        node = value.node()
        if isinstance(node, g.Constant) and value.weak:
            return types.constant(node.value, kind)
        if value.weak is int and kind in INTEGERS:
            refuse_wide(builder, value, kind)
        return types.cast(node, kind)
    place = as_place(builder, value)
    if place is not None:
        if place.is_const:
            return types.constant(place.const, kind)
        if limits := INTEGERS.get(kind):
            wide = Refusal(
                f"{shown(place)} as {types.DTYPES[kind]}",
                "it may lie outside of that type",
                "convert the array to a type that has it",
            )
            builder.sizes.need(q.Affine(limits[1]) - place, wide)
            builder.sizes.need(place - q.Affine(limits[0]), wide)
        return g.Count(place, kind)
    return types.constant(value, kind)


def computed_node(builder: Builder, value: Any, kind: str) -> g.Value:
    """An operand of this type, in the type in which functions compute it."""
    return types.cast(as_node(builder, value, kind), types.computed(kind))


def refuse_wide(builder: Builder, value: Data, kind: str) -> None:
    """A Python number that is not known, as an element of whole numbers: NumPy raises if it does
    not fit. It is computed from sizes that are numbers, or refused."""
    wide = Refusal(
        f"a whole number of Python as {types.DTYPES[kind]}",
        "it may lie outside of that type",
        "convert the array to a type that has it, or give np.int32",
    )
    if value.whole and value.whole <= builder.sizes.own:
        raise FreezeError(value.whole, wide)
    found = span(value.node(), builder.holds)
    low, high = INTEGERS[kind] or (0, 0)
    if found is None or found.relative or not low <= found.lo <= found.hi <= high:
        raise wide


def lengths_of(value: Any) -> g.Shape:
    return value.lengths if isinstance(value, Data) else ()


def broadcast_lengths(builder: Builder, shapes: Sequence[g.Shape]) -> g.Shape:
    """NumPy's rule. Two lengths that are sizes are the same size from now on."""
    rank = max(map(len, shapes), default=0)
    result = [views.ONE] * rank
    for shape in shapes:
        for axis, n in enumerate(shape, rank - len(shape)):
            n, other = builder.sizes.resolved(n), builder.sizes.resolved(result[axis])
            if other == views.ONE:
                result[axis] = n
            elif n != views.ONE and not builder.sizes.same(n, other):
                texts = " and ".join(f"({', '.join(map(shown, each))})" for each in shapes)
                refusal = Refusal(
                    f"shapes {texts}",
                    "they cannot be broadcast, or it cannot be seen that they can",
                    "give both the same lengths",
                )
                raise quotients(builder.sizes, n - other, refusal)
    return tuple(map(builder.sizes.resolved, result))


def broadcast_nodes(
    builder: Builder, nodes: Sequence[g.Value]
) -> tuple[tuple[g.Value, ...], g.Shape]:
    shape = broadcast_lengths(builder, [each.shape for each in nodes])
    return tuple(broadcast_node(builder, each, shape) for each in nodes), shape


def broadcast_node(builder: Builder, node: g.Value, shape: g.Shape) -> g.Value:
    own = tuple(map(builder.sizes.resolved, node.shape))
    return views.view(node, shape, lambda at: views.repeated(own, at))


def weak_result(values: Sequence[Any], ufunc: Any) -> type | None:
    """int or float where all operands are Python's numbers: so is the result."""
    if any(isinstance(v, Data) and not v.weak for v in values):
        return None
    kinds = {kind_of(v) for v in values}
    if np.dtype(bool) in kinds:
        return None
    floats = float in kinds or ufunc.__name__ in ("true_divide", "divide")
    return float if floats or ufunc.__name__ not in WHOLE else int


WHOLE = ("add", "subtract", "multiply", "power", "negative", "absolute", "maximum", "minimum")
"""Of whole numbers these are whole."""


def sizes_in(values: Sequence[Any]) -> frozenset[q.Var] | None:
    """Sizes that whole numbers depend on. None if other things are among them."""
    found: frozenset[q.Var] = frozenset()
    for value in values:
        if isinstance(value, Data):
            if value.whole is None:
                return None
            found |= value.whole
        elif isinstance(value, Index):
            found |= q.expr_vars(value.value)
        elif not isinstance(value, int):
            return None
    return found


def elementwise(
    builder: Builder, ufunc: Any, given: Sequence[Any], dtype: Any = None, *, python: bool = False
) -> Any:
    """A function of elements at the same places. Of Python's numbers alone an operator gives one
    of them (`python`), a function of NumPy one of its own, which is float64."""
    values = [operand(builder, each) for each in given]
    name = ufunc.__name__
    if name == "square":
        return elementwise(builder, np.multiply, (values[0], values[0]), dtype)
    if name == "reciprocal" and np.dtype(kind_of(values[0])).kind == "f":
        return elementwise(builder, np.true_divide, (1.0, values[0]), dtype)
    if name == "invert" and isinstance(values[0], Data) and values[0].type in INTEGERS:
        kind = values[0].type if dtype is None else types.named(dtype, "np.invert")
        low, high = INTEGERS[kind] or (-1, 0)
        return elementwise(builder, np.bitwise_xor, (values[0], -1 if low else high), dtype)
    if name == "positive":
        return _positive(builder, values[0], dtype, python)
    if name == "ceil":
        lower = elementwise(builder, np.floor, (elementwise(builder, np.negative, values, dtype),))
        return elementwise(builder, np.negative, (lower,))
    if name in ("left_shift", "right_shift", "floor_divide", "remainder") and dtype is not None:
        raise Refusal(f"np.{name} with dtype", "its operands say in which type", "use astype")
    if name in ("left_shift", "right_shift"):
        from schedsearch.frontends.jit.derived import shifted

        return shifted(builder, ufunc, values)
    if name in ("floor_divide", "remainder"):
        from schedsearch.frontends.jit.derived import divided

        found = divided(builder, ufunc, values)
        if python:
            found.weak = in_all_cases(values, lambda each: weak_result(each, ufunc))
        return found
    if name not in APPLIED:
        raise Refusal(
            f"np.{name}",
            "no function of kernels computes it exactly",
            f"write it with {', '.join(sorted({*APPLIED} - {'divide', 'fabs'}))}",
        )
    if name == "power" and dtype is None:
        found = _power(builder, values[0], values[1], python)
        if found is not None:
            return found
    weaks: list[type | None] = []

    def decided(values: Sequence[Any]) -> tuple[tuple[str, ...], str]:
        weaks.append(weak_result(values, ufunc) if python else None)
        if weaks[-1]:
            return ("f64",) * ufunc.nin, "f64"
        kinds, result = resolved_types(ufunc, values, dtype)
        return kinds, types.named(result, f"np.{name}")

    kinds, out = in_all_cases(values, decided)
    weak = None if None in weaks else float if float in weaks else int if weaks else None
    nodes = [computed_node(builder, v, kind) for v, kind in zip(values, kinds, strict=True)]
    broadcast, shape = broadcast_nodes(builder, nodes)
    whole = ("+", "-", "*", "/", "neg", "max", "min", "abs")
    if APPLIED[name] in BITS:
        if out not in INTEGERS:
            raise Refusal(f"np.{name} of {out}", "kernels have it of whole numbers", "use astype")
    elif APPLIED[name] not in whole and out not in types.FLOATS:
        raise Refusal(f"np.{name} of {out}", "kernels compute it of floats", "convert with astype")
    made = _folded(g.Apply(APPLIED[name], broadcast, types.computed(out), shape))
    result = Data.of(builder, types.cast(made, out))
    result.weak = weak
    result.may = frozenset(each for each in weaks if each and each is not weak)
    if weak is int:
        result.whole = sizes_in(values)
    return result


def _positive(builder: Builder, value: Any, dtype: Any, python: bool) -> Any:
    from schedsearch.frontends.jit.making import converted

    if python and weak_result((value,), np.positive):
        return value
    [kind], _ = resolved_types(np.positive, (value,), dtype)
    return converted(builder, value, types.DTYPES[kind])


def in_all_cases(values: Sequence[Any], decided: Callable[[Sequence[Any]], Any]) -> Any:
    """What is decided by types of operands. Refused, if it differs with what they may be."""
    mixed = next((n for n, v in enumerate(values) if isinstance(v, Data) and v.may), None)
    if mixed is None:
        return decided(values)
    value = values[mixed]
    cases = []
    for weak in (value.weak, *sorted(value.may, key=str)):
        case = Data(value.builder, value.buffer, value.view, weak, value.whole)
        cases.append(in_all_cases([*values[:mixed], case, *values[mixed + 1 :]], decided))
    if any(each != cases[0] for each in cases):
        raise either(value)
    return cases[0]


def _folded(node: g.Apply) -> g.Value:
    """Constants of constants are computed, as NumPy would."""
    if node.shape or not all(isinstance(each, g.Constant) for each in node.args):
        return node
    dtype = types.DTYPES[node.type]
    name = next(n for n, f in APPLIED.items() if f == node.function)
    arguments = [dtype.type(each.value) for each in node.args if isinstance(each, g.Constant)]
    with np.errstate(all="ignore"):
        value = getattr(np, name)(*arguments)
    if not np.isfinite(value):
        raise Refusal(
            f"np.{name} of constants", f"it is {value}", "kernels have finite constants only"
        )
    return g.Constant(value.item(), node.type)


def _power(builder: Builder, base: Any, exponent: Any, python: bool) -> Any:
    """Small whole exponents are products, as in NumPy; 0.5 is a root. None: pow."""
    value: Any = exponent
    if isinstance(exponent, Data) and not exponent.ndim:
        node = exponent.node()
        value = node.value if isinstance(node, g.Constant) and exponent.weak else None
    if not isinstance(value, int | float):
        return None
    if kind_of(base) == np.dtype("f2") and isinstance(value, int):
        wide = Data.of(builder, computed_node(builder, base, "f16"))
        found = _power(builder, wide, value, python)
        return None if found is None else Data.of(builder, types.cast(found.node(), "f16"))
    floats = kind_of(base) is float or kind_of(base) in (np.dtype("f4"), np.dtype("f8"))
    if isinstance(value, float) and not floats:
        return None
    if value == 0.5 and floats:
        return elementwise(builder, np.sqrt, (base,), python=python)
    if value == int(value) and 1 <= value <= 4:
        result = base
        for _ in range(int(value) - 1):
            result = elementwise(builder, np.multiply, (result, base), python=python)
        return result if value > 1 else elementwise(builder, np.multiply, (base, 1), python=python)
    if value in (-1, -2) and floats:
        below = (
            base if value == -1 else elementwise(builder, np.multiply, (base, base), python=python)
        )
        return elementwise(builder, np.true_divide, (1.0, below), python=python)
    return None


def compare(builder: Builder, op: str, a: Any, b: Any) -> Any:
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return op == "!="
    values = [operand(builder, each) for each in (a, b)]
    if any(isinstance(each, Mask) for each in values):
        raise Refusal(f"{op} of truth values", "they are no numbers", "use &, | and ~")
    ufunc = getattr(np, next(name for name, sign in COMPARED.items() if sign == op))

    def decided(values: Sequence[Any]) -> tuple[str, ...]:
        if all(not isinstance(v, Data) or v.weak for v in values):
            return ("f64", "f64")
        return resolved_types(ufunc, values)[0]

    kinds = in_all_cases(values, decided)
    nodes = [computed_node(builder, v, kind) for v, kind in zip(values, kinds, strict=True)]
    (lhs, rhs), shape = broadcast_nodes(builder, nodes)
    return Mask.of(builder, g.Compare(op, lhs, rhs), shape)


def truth(builder: Builder, value: Any) -> Any:
    """A bool, or a Mask, of anything."""
    if isinstance(value, Mask):
        return value
    if isinstance(value, Data):
        return compare(builder, "!=", value, 0)
    if isinstance(value, Index):
        return value != 0
    if isinstance(value, list | tuple | np.ndarray):
        return compare(builder, "!=", operand(builder, value), 0)
    return bool(value)


def logical(builder: Builder, op: str, given: Sequence[Any]) -> Any:
    values = [truth(builder, each) for each in given]
    if op == "not":
        value = values[0]
        if isinstance(value, bool):
            return not value
        if value.index is not None:
            found = negated(value.index)
            return Mask.of(builder, g.Inside((), found), (), index=found)
        return Mask.of(builder, g.Logical("not", (value.condition(),)), value.lengths)
    ends = op == "or"  # a value that decides alone
    if any(each is ends for each in values) and all(lengths_of(v) == () for v in values):
        return ends
    masks = [each for each in values if isinstance(each, Mask)]
    if any(each is ends for each in values):
        shape = broadcast_lengths(builder, [each.lengths for each in masks])
        found = q.BinOp("==", q.Affine(0), q.Affine(0 if ends else 1), "bool")
        return Mask.of(builder, broadcast_condition(g.Inside((), found), shape), shape)
    if not masks:
        return not ends
    if len(masks) == 1:
        return Mask.of(builder, masks[0].condition(), masks[0].lengths, masks[0].index)
    if all(each.index is not None for each in masks):
        index: Any = masks[0].index
        for each in masks[1:]:
            index = q.BinOp(op, index, each.index, "bool")  # type: ignore[arg-type]
        return Mask.of(builder, g.Inside((), index), (), index=index)
    shape = broadcast_lengths(builder, [each.lengths for each in masks])
    conditions = tuple(stretched(builder, each, shape) for each in masks)
    return Mask.of(builder, g.Logical(op, conditions), shape)


def stretched(builder: Builder, mask: Mask, shape: g.Shape) -> g.Condition:
    """A mask's condition on the elements of a larger shape."""
    if mask.index is not None:
        return broadcast_condition(g.Inside((), mask.index), shape)
    own = mask.lengths
    if own == shape:
        return mask.condition()
    view = views.view(mask.view, shape, lambda at: views.repeated(own, at))
    return Mask(builder, mask.buffer, view).condition()


def negated(expr: q.Expr) -> q.Expr:
    assert isinstance(expr, q.BinOp)
    if expr.op in ("and", "or"):
        op = "or" if expr.op == "and" else "and"
        return q.BinOp(op, negated(expr.lhs), negated(expr.rhs), "bool")
    return q.BinOp(g.OPPOSITE[expr.op], expr.lhs, expr.rhs, "bool")


def select(builder: Builder, mask: Any, then: Any, other: Any, *, python: bool = False) -> Any:
    """`np.where` with three arguments; of Python's numbers, `a if c else b` (`python`)."""
    condition = truth(builder, mask)
    values = [operand(builder, each) for each in (then, other)]
    if isinstance(condition, bool):
        condition = Mask.of(
            builder,
            g.Inside((), q.BinOp("==", q.Affine(0), q.Affine(0 if condition else 1), "bool")),
            (),
        )
    if all(isinstance(each, Mask | bool) for each in values):
        inverse = logical(builder, "not", (condition,))
        one = logical(builder, "and", (condition, values[0]))
        return logical(builder, "or", (one, logical(builder, "and", (inverse, values[1]))))
    weak: type | None = None
    if python:
        kind, weak = joined_kind("a number that a condition chooses", values)
    else:
        kind = types.named(in_all_cases(values, _common), "np.where")
    nodes = [computed_node(builder, each, kind) for each in values]
    shape = broadcast_lengths(builder, [condition.lengths, *(each.shape for each in nodes)])
    chosen, rest = (broadcast_node(builder, each, shape) for each in nodes)
    made = g.Select(stretched(builder, condition, shape), chosen, rest)
    result = Data.of(builder, types.cast(made, kind))
    result.weak = weak if not shape else None
    if python and not shape:
        result.may = python_kinds(values) - {weak}
    return result


def _common(values: Sequence[Any]) -> Any:
    return np.add.resolve_dtypes((*map(kind_of, values), None))[-1]


# -- reductions ------------------------------------------------------------------------------------


def axes_of(builder: Builder, axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    found = []
    for each in axis if isinstance(axis, tuple | list) else (axis,):
        place = as_place(builder, each)
        if place is None or not place.is_const:
            raise Refusal("axis", "it is no number", "give it as a constant")
        found.append(views.axis_of(rank, place.const))
    if len(set(found)) < len(found):
        raise Refusal("axis", "it names an axis twice", "name each once")
    return tuple(sorted(found))


def reduce(
    builder: Builder,
    function: str,
    value: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
) -> Any:
    data = operand(builder, value)
    if not isinstance(data, Data):
        data = Data.of(builder, as_node(builder, data, "f64"))
    if isinstance(data, Mask) and dtype is not None:
        data = Data.of(builder, as_node(builder, data, types.named(dtype, f"np.{function}")))
    if isinstance(data, Mask):
        raise Refusal(
            f"np.{function} of truth values",
            "the result is int64",
            "give dtype=np.int32, or sum np.where(mask, 1.0, 0.0)",
        )
    kind = types.named(dtype, f"np.{function}") if dtype is not None else ""
    kind = kind or types.reduced_type(function, data.type)
    axes = axes_of(builder, axis, data.ndim)
    node = types.cast(types.cast(data.node(), kind), types.computed(kind))
    if function in ("max", "min"):
        for each in axes:
            empty = Refusal(f"np.{function}", "there may be no elements", "give it one at least")
            builder.sizes.need(node.shape[each] - 1, empty)
    found: g.Value = types.cast(g.Reduce(function, node, axes) if axes else node, kind)
    if keepdims:
        for each in axes:
            found = views.expand(found, each)
    return Data.of(builder, found)


def number_of(data: Data, axes: Sequence[int]) -> Any:
    """How many elements are along axes."""
    total: Any = 1
    for each in axes:
        total = data.shape[each] * total
    return total


def mean(
    builder: Builder, value: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False
) -> Any:
    from schedsearch.frontends.jit.making import as_array

    data = as_array(builder, value)
    if isinstance(data, Mask):
        data = select(builder, data, 1.0, np.float64(0.0))
    if dtype is None and data.type == "f16":
        wide = Data.of(builder, types.cast(data.node(), "f32"))
        found = mean(builder, wide, axis, None, keepdims)
        return Data.of(builder, types.cast(found.node(), "f16"))
    if dtype is None and data.type not in ("f32", "f64"):
        dtype = np.float64
    total = reduce(builder, "sum", data, axis, dtype, keepdims)
    count = number_of(data, axes_of(builder, axis, data.ndim))
    return elementwise(builder, np.true_divide, (total, count))


def variance(
    builder: Builder,
    value: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
) -> Any:
    from schedsearch.frontends.jit.making import as_array

    data = as_array(builder, value)
    middle = mean(builder, data, axis, dtype, True)
    away = elementwise(builder, np.subtract, (data, middle))
    total = reduce(builder, "sum", away * away, axis, dtype, keepdims)
    count = number_of(data, axes_of(builder, axis, data.ndim))
    found = elementwise(builder, np.true_divide, (total, freedom(builder, count, ddof)))
    return Data.of(builder, types.cast(found.node(), total.type))  # whatever type ddof has


def freedom(builder: Builder, count: Any, ddof: Any) -> Any:
    """`count - ddof`, of which NumPy warns where it is not above 0, and divides by 0."""
    if isinstance(ddof, int | float) and not ddof:
        return count
    rest = count - ddof
    place = as_place(builder, int(rest) if isinstance(rest, float) and rest == int(rest) else rest)
    none = Refusal(
        "ddof", "it may be as many as there are elements, or more", "give more elements than that"
    )
    if place is not None:
        builder.sizes.need(place - 1, none)
        return rest
    if isinstance(rest, int | float):
        if rest <= 0:
            raise none
        return rest
    return elementwise(builder, np.maximum, (rest, 0), python=True)


def scan(builder: Builder, function: str, value: Any, axis: Any = None, dtype: Any = None) -> Any:
    from schedsearch.frontends.jit.making import as_array

    data = as_array(builder, value)
    if axis is None:
        from schedsearch.frontends.jit.functions import line

        data = line(builder, data)
    kind = types.named(dtype, f"np.cum{function}") if dtype is not None else ""
    kind = kind or types.reduced_type(function, data.type)
    if isinstance(data, Mask) and dtype is None:
        construct = f"np.cum{function} of truth values"
        raise Refusal(construct, "the result is no float", "give dtype=np.int32")
    (place,) = axes_of(builder, axis, data.ndim)
    own = types.computed(kind) if function in ("max", "min") else kind
    found = g.Scan(function, types.cast(types.cast(data.node(), kind), own), place)
    return Data.of(builder, types.cast(found, kind))


# -- products --------------------------------------------------------------------------------------


def contraction(
    builder: Builder,
    a: Data,
    b: Data,
    shape: g.Shape,
    from_a: Callable[[tuple[q.Affine, ...]], Sequence[views.Size]],
    from_b: Callable[[tuple[q.Affine, ...]], Sequence[views.Size]],
    axes: tuple[int, ...],
) -> Data:
    """Sums over axes of products of elements, in a common shape."""
    if isinstance(a, Mask) or isinstance(b, Mask):
        raise Refusal("a product of truth values", "they are no numbers", "use np.where")
    kinds, _ = resolved_types(np.multiply, (a, b))
    kind = types.computed(kinds[0])
    one, other = types.cast(a.node(), kind), types.cast(b.node(), kind)
    if kind == "i32" and axes:
        parted = without_zero_points(one, other, shape, from_a, from_b, axes)
        if parted is not None:
            return Data.of(builder, parted)
    lhs, rhs = views.view(one, shape, from_a), views.view(other, shape, from_b)
    product = g.Apply("*", (lhs, rhs), kind, shape)
    found = g.Reduce("sum", product, axes) if axes else product
    return Data.of(builder, types.cast(found, kinds[0]))


def shared(builder: Builder, a: q.Affine, b: q.Affine, what: str) -> q.Affine:
    if not builder.sizes.same(a, b):
        text = f"lengths {shown(a)} and {shown(b)} are not the same"
        raise quotients(builder.sizes, a - b, Refusal(what, text, "give both the same length"))
    return builder.sizes.resolved(a)


def matmul(builder: Builder, one: Any, other: Any) -> Any:
    a, b = operand(builder, one), operand(builder, other)
    if not isinstance(a, Data) or not isinstance(b, Data) or not a.ndim or not b.ndim:
        raise Refusal("@", "an operand is a number", "multiply with *")
    n = shared(builder, a.lengths[-1], b.lengths[0 if b.ndim == 1 else -2], "@")
    left, right = a.lengths[:-2], b.lengths[:-2]
    batch = broadcast_lengths(builder, [left, right])
    rows = a.lengths[-2:-1]
    columns = b.lengths[-1:] if b.ndim > 1 else ()
    shape = (*batch, *rows, *columns, n)
    count, last = len(batch), len(shape) - 1

    def from_a(at: tuple[q.Affine, ...]) -> list[q.Affine]:
        return [*views.repeated(left, at[:count]), *at[count : count + len(rows)], at[last]]

    def from_b(at: tuple[q.Affine, ...]) -> list[q.Affine]:
        return [*views.repeated(right, at[:count]), at[last], *at[count + len(rows) : last]]

    return contraction(builder, a, b, shape, from_a, from_b, (last,))


def dot(builder: Builder, one: Any, other: Any) -> Any:
    a, b = operand(builder, one), operand(builder, other)
    if not isinstance(a, Data) or not isinstance(b, Data) or not a.ndim or not b.ndim:
        from schedsearch.frontends.jit.making import as_arrays

        return elementwise(builder, np.multiply, as_arrays(builder, (a, b)))
    if b.ndim > 2:
        raise Refusal("np.dot", "an operand has more than two axes", "use np.einsum or @")
    return matmul(builder, a, b)


def outer(builder: Builder, ufunc: Any, one: Any, other: Any) -> Any:
    """`ufunc.outer`."""
    a, b = operand(builder, one), operand(builder, other)
    a = (
        a.seen((*a.lengths, *(views.ONE,) * len(lengths_of(b))), lambda at: at[: a.ndim])
        if lengths_of(b)
        else a
    )
    return elementwise(builder, ufunc, (a, b))


def einsum(builder: Builder, subscripts: Any, *given: Any) -> Any:
    """From left to right, two operands at a time."""
    if not isinstance(subscripts, str):
        raise Refusal("np.einsum", "its first argument is no text", "write subscripts")
    values = [operand(builder, each) for each in given]
    text = _without_ellipses(subscripts.replace(" ", ""), [len(lengths_of(v)) for v in values])
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not arrow:
        letters = sorted(set(left) - {","})
        right = "".join(each for each in letters if left.count(each) == 1)
    if len(terms) != len(values) or not set(right) <= set(left) or len(set(right)) != len(right):
        raise Refusal(f"np.einsum {subscripts!r}", "it does not fit its operands", "correct it")
    result, names = _own(builder, values[0], terms[0])
    for position, (value, term) in enumerate(zip(values[1:], terms[1:], strict=True), 1):
        other, more = _own(builder, value, term)
        later = set(right).union(*terms[position + 1 :])
        result, names = _pair(builder, result, names, other, more, later)
    gone = tuple(n for n, each in enumerate(names) if each not in right)
    if gone:
        result = reduce(builder, "sum", result, gone, dtype=result.dtype)
        names = "".join(each for each in names if each in right)
    return result.transpose([names.index(each) for each in right]) if names else result


def _without_ellipses(text: str, ranks: Sequence[int]) -> str:
    """With letters for the axes that ellipses stand for: the last axis has the same one."""
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if "..." not in text or len(terms) != len(ranks):
        return text
    pool = "".join(each for each in string.ascii_letters if each not in text)
    counts = [n - len(t.replace("...", "")) for t, n in zip(terms, ranks, strict=True)]
    spelled = [
        t.replace("...", pool[: max(n, 0)][::-1]) for t, n in zip(terms, counts, strict=True)
    ]
    longest = pool[: max((n for t, n in zip(terms, counts, strict=True) if "." in t), default=0)]
    if not arrow:
        letters = sorted(set(left) - {",", "."})
        right = "..." + "".join(each for each in letters if left.count(each) == 1)
    return f"{','.join(spelled)}->{right.replace('...', longest[::-1])}"


def _own(builder: Builder, value: Any, term: str) -> tuple[Data, str]:
    """An operand with each letter once: repeated ones are diagonals."""
    if not isinstance(value, Data) or value.ndim != len(term):
        raise Refusal(f"np.einsum {term!r}", "its operand has another rank", "correct it")
    names = "".join(dict.fromkeys(term))
    if names == term:
        return value, term
    for each in names:
        lengths = [n for n, letter in zip(value.lengths, term, strict=True) if letter == each]
        for n in lengths[1:]:
            shared(builder, lengths[0], n, f"np.einsum {term!r}")
    shape = tuple(value.lengths[term.index(each)] for each in names)
    return value.seen(shape, lambda at: [at[names.index(each)] for each in term]), names


def _pair(
    builder: Builder, a: Data, names: str, b: Data, more: str, later: set[str]
) -> tuple[Data, str]:
    lengths = dict(zip(names, a.lengths, strict=True))
    for each, n in zip(more, b.lengths, strict=True):
        n = shared(builder, lengths[each], n, "np.einsum") if each in lengths else n
        lengths[each] = n
    kept = "".join(each for each in lengths if each in later)
    order = kept + "".join(each for each in lengths if each not in later)
    shape = tuple(builder.sizes.resolved(lengths[each]) for each in order)
    found = contraction(
        builder,
        a,
        b,
        shape,
        lambda at: [at[order.index(each)] for each in names],
        lambda at: [at[order.index(each)] for each in more],
        tuple(range(len(kept), len(order))),
    )
    return found, kept
