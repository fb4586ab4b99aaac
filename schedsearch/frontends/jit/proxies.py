"""Stand-ins for what a function is called with: arrays and scalars, indices, conditions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views
from schedsearch.frontends.jit.building import (
    SIZE_WORDS,
    Buffer,
    Builder,
    identity,
    shown,
    view_condition,
)
from schedsearch.frontends.jit.sizes import FreezeError
from schedsearch.frontends.lowered import Refusal

NO_BITS = Refusal(
    "bits of an index or size",
    "kernels have << and >> by constants and & with 2**n - 1 of them",
    "make it data: np.int32(i)",
)

NOT_A_NUMBER = Refusal(
    "a size or an index as a Python number",
    "it is not known while the function is traced",
    "give it as a constant of the function, or loop over it",
)


def control_flow(what: str, builder: Builder) -> Refusal:
    instead = "write np.where(condition, a, b)"
    if not builder.preprocess:
        instead = "use preprocess=True, which rewrites control flow, or np.where"
    return Refusal(what, "its value is not known while the function is traced", instead)


def unhashed(self: Any) -> int:
    raise Refusal(
        "an array or number as a key of a dict or set",
        "its value is not known while the function is traced",
        "compare with == and if",
    )


def as_text(*_: Any) -> str:
    raise Refusal(
        "an array or number as a text",
        "its value is not known while the function is traced",
        "make texts outside",
    )


def as_shown(self: Any) -> str:
    """Of use to debuggers, when the trace is over."""
    if self.builder.tracing:
        as_text()
    return object.__repr__(self)


class Undefined:
    """A variable that has no value, or not a certain one."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Refusal(
            object.__getattribute__(self, "_name"),
            "it has no value here, or one that depends on a branch or on how often a loop runs",
            "assign it before the loop or branch",
        )

    __getattr__ = __call__ = __getitem__ = __setitem__ = __iter__ = __bool__ = __len__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = __neg__ = __lt__ = __gt__ = _refuse
    __le__ = __ge__ = __index__ = __float__ = __int__ = __str__ = __format__ = _refuse
    __floordiv__ = __mod__ = __rpow__ = __abs__ = __pos__ = __contains__ = __eq__ = _refuse
    __hash__ = object.__hash__


class Index:
    """A whole number that is known when the kernel runs: sizes, variables of loops."""

    __array_priority__ = 1000

    def __init__(self, builder: Builder, value: q.Affine) -> None:
        self.builder = builder
        self.value = builder.sizes.resolved(value)

    @property
    def known(self) -> int | None:
        return self.value.const if self.value.is_const else None

    def _affine(self, other: Any, combine: Callable[[q.Affine, q.Affine], q.Affine]) -> Any:
        place = as_place(self.builder, other)
        if place is None:
            return NotImplemented
        return simplified(self.builder, combine(self.value, place))

    def _data(self, name: str, a: Any, b: Any) -> Any:
        from schedsearch.frontends.jit.operations import elementwise

        return elementwise(self.builder, getattr(np, name), (a, b), python=True)

    def __add__(self, other: Any) -> Any:
        found = self._affine(other, lambda a, b: a + b)
        return self._data("add", self, other) if found is NotImplemented else found

    def __radd__(self, other: Any) -> Any:
        found = self._affine(other, lambda a, b: b + a)
        return self._data("add", other, self) if found is NotImplemented else found

    def __sub__(self, other: Any) -> Any:
        found = self._affine(other, lambda a, b: a - b)
        return self._data("subtract", self, other) if found is NotImplemented else found

    def __rsub__(self, other: Any) -> Any:
        found = self._affine(other, lambda a, b: b - a)
        return self._data("subtract", other, self) if found is NotImplemented else found

    def _times(self, other: Any) -> Any:
        place = as_place(self.builder, other)
        if place is not None and (place.is_const or self.value.is_const):
            a, b = (self.value, place) if place.is_const else (place, self.value)
            return simplified(self.builder, a.scaled(b.const))
        return NotImplemented

    def __mul__(self, other: Any) -> Any:
        found = self._times(other)
        return self._data("multiply", self, other) if found is NotImplemented else found

    def __rmul__(self, other: Any) -> Any:
        found = self._times(other)
        return self._data("multiply", other, self) if found is NotImplemented else found

    def __truediv__(self, other: Any) -> Any:
        return self._data("true_divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._data("true_divide", other, self)

    def __pow__(self, other: Any) -> Any:
        return self._data("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._data("power", other, self)

    def __matmul__(self, other: Any) -> Any:
        raise Refusal("@", "an operand is a number", "multiply with *")

    def _divided(self, other: Any, how: Callable[[q.Affine, int], q.Affine], sign: str) -> Any:
        place = as_place(self.builder, other)
        if place is None or not place.is_const or place.const <= 0:
            raise self.frozen(
                place or q.Affine(),
                Refusal(
                    sign,
                    "indices are divided by positive constants only",
                    "give the divisor as a constant",
                ),
            )
        return simplified(self.builder, how(self.value, place.const))

    def frozen(self, other: q.Affine, refusal: Refusal) -> Exception:
        """Begin again with sizes as numbers, where that makes an expression affine."""
        return frozen(self.builder, self.value + other, refusal)

    def __floordiv__(self, other: Any) -> Any:
        return self._divided(other, q.floor_div, "//")

    def __mod__(self, other: Any) -> Any:
        return self._divided(other, q.modulo, "%")

    def __rfloordiv__(self, other: Any) -> Any:
        raise self.frozen(q.Affine(), NOT_A_NUMBER)

    __rmod__ = __rfloordiv__

    def __and__(self, other: Any) -> Any:
        if isinstance(other, Data):
            return NotImplemented
        if isinstance(other, int) and other > 0 and other & (other + 1) == 0:
            return self % (other + 1)
        raise NO_BITS

    def __rshift__(self, other: Any) -> Any:
        return self // self._power(other)

    def __lshift__(self, other: Any) -> Any:
        return self * self._power(other)

    def _power(self, bits: Any) -> int:
        if isinstance(bits, int) and 0 <= bits < 31:
            return int(2**bits)
        raise NO_BITS

    def __or__(self, other: Any) -> Any:
        if isinstance(other, Data):
            return NotImplemented
        raise NO_BITS

    def __invert__(self) -> Any:
        return -1 - self

    __rand__, __xor__, __ror__, __rxor__ = __and__, __or__, __or__, __or__

    def __neg__(self) -> Any:
        return simplified(self.builder, self.value.scaled(-1))

    def __pos__(self) -> Any:
        return self

    def _compare(self, other: Any, op: str) -> Any:
        place = as_place(self.builder, other)
        if place is None:
            from schedsearch.frontends.jit.operations import compare

            return compare(self.builder, op, self, other)
        sizes = self.builder.sizes
        less = {"<": (place, self.value, 1), "<=": (place, self.value, 0)}
        less |= {">": (self.value, place, 1), ">=": (self.value, place, 0)}
        if op in less:
            high, low, least = less[op]
            if sizes.never_negative(high - low - least):
                return True
            if sizes.never_negative(low - high - 1 + least):
                return False
        else:
            rest = sizes.resolved(self.value - place)
            if rest.is_const:
                return (rest.const == 0) == (op == "==")
            if sizes.never_negative(rest - 1) or sizes.never_negative(rest.scaled(-1) - 1):
                return op == "!="
        return condition(self.builder, q.BinOp(op, self.value, place, "bool"))

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "<=")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, ">")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, ">=")

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, "==")

    def __ne__(self, other: Any) -> Any:
        return self._compare(other, "!=")

    __hash__, __str__, __format__, __repr__ = unhashed, as_text, as_text, as_shown

    def __bool__(self) -> bool:
        found = self != 0
        return found if isinstance(found, bool) else bool(found)

    def __index__(self) -> int:
        if self.value.is_const:
            return self.value.const
        if not self.builder.preprocess:
            raise control_flow("a size or an index as a Python number", self.builder)
        raise self.frozen(q.Affine(), NOT_A_NUMBER)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from schedsearch.frontends.jit.functions import ufunc_call

        return ufunc_call(self.builder, ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        from schedsearch.frontends.jit.functions import function_call

        return function_call(self.builder, function, args, kwargs)


def frozen(builder: Builder, value: q.Affine, refusal: Refusal) -> Exception:
    names = q.expr_vars(value)
    if names and names <= builder.sizes.own:
        return FreezeError(frozenset(names), refusal)
    return refusal


def as_place(builder: Builder, value: Any) -> q.Affine | None:
    """An integer or an index as an affine expression; None for everything else."""
    if isinstance(value, Index):
        return builder.sizes.resolved(value.value)
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return q.Affine(int(value))
    return None


def simplified(builder: Builder, value: q.Affine) -> Any:
    value = builder.sizes.resolved(value)
    return value.const if value.is_const else Index(builder, value)


def wanted_place(builder: Builder, value: Any, what: str) -> q.Affine:
    """An index, a length or a bound. Raises Refusal for data."""
    place = as_place(builder, value)
    if place is not None:
        return place
    if isinstance(value, Data) and value.whole is not None:
        refusal = Refusal(what, "it is a product of sizes", SIZE_WORDS)
        if value.whole and value.whole <= builder.sizes.own:
            raise FreezeError(value.whole, refusal)
        raise refusal
    if isinstance(value, Data):
        raise Refusal(
            what,
            "it depends on data, and where a kernel reads and writes does not",
            SIZE_WORDS,
        )
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return q.Affine(operator.index(value))
    except TypeError:
        reason = f"{type(value).__name__} is no whole number"
        raise Refusal(what, reason, SIZE_WORDS) from None


def either(value: Data) -> Refusal:
    """Refuses what has another type in each case."""
    names = sorted(each.__name__ for each in value.may)
    own = value.weak.__name__ if value.weak else str(types.DTYPES[value.type])
    return Refusal(
        f"a number that is {own} or Python's {' or '.join(names)}, by a condition or a loop",
        "NumPy computes in another type with each",
        f"make both one type (np.{own}(...))" if not value.weak else "give both as floats",
    )


def condition(builder: Builder, expr: q.Expr) -> Mask:
    """A condition on indices."""
    return Mask.of(builder, g.Inside((), expr), (), index=expr)


class Data:
    """An array of the trace, or a scalar (rank 0). `view` says which elements of its buffer it is,
    in terms of the array that stands for that. `weak` is int or float for what takes the type of
    the array that it meets, as Python's numbers do; `whole`: sizes that a whole number is made of.
    """

    __array_priority__ = 1000
    weak: type | None
    whole: frozenset[q.Var] | None
    may: frozenset[type] = frozenset()
    """Python's numbers, int or float, that it is instead, by a condition."""
    locked = ""
    """The function that makes a view which NumPy does not let be written."""
    reshaped = False
    """Whether the view is all of its buffer, in the same order."""

    def __init__(
        self,
        builder: Builder,
        buffer: Buffer,
        view: g.Value | None = None,
        weak: type | None = None,
        whole: frozenset[q.Var] | None = None,
    ) -> None:
        self.builder = builder
        self.buffer = buffer
        self.view = view if view is not None else g.Load(buffer.stands)
        self.weak = weak
        self.whole = whole

    @classmethod
    def of(cls, builder: Builder, value: g.Value) -> Data:
        return cls(builder, Buffer(builder, value))

    # -- the graph --

    @property
    def lengths(self) -> g.Shape:
        return tuple(map(self.builder.sizes.resolved, self.view.shape))

    @property
    def type(self) -> str:
        return self.buffer.type

    def node(self) -> g.Value:
        """Its value here and now."""
        value = self.builder.use(self.buffer)
        if isinstance(self.view, g.View):
            return views.view(value, self.lengths, self.places)
        return value

    def places(self, at: Sequence[q.Affine]) -> tuple[q.Affine, ...]:
        """Where elements of it are in its buffer."""
        if not isinstance(self.view, g.View):
            return tuple(at)
        names = dict(zip(self.view.vars, at, strict=True))
        resolved = self.builder.sizes.resolved
        return tuple(resolved(views.replaced(each, names)) for each in self.view.index)

    def viewed(self, view: g.Value) -> Any:
        """The same buffer seen through a view of this view. Rank 0 is a copy, as in NumPy."""
        found = type(self)(self.builder, self.buffer, view)
        found.locked = self.locked
        return type(self).of(self.builder, found.node()) if not view.shape else found

    def seen(
        self, shape: g.Shape, places: Callable[[tuple[q.Affine, ...]], Sequence[views.Size]]
    ) -> Any:
        return self.viewed(views.view(self.view, shape, places))

    def seen_again(self) -> Data:
        """The same number, for another use."""
        found = Data(self.builder, self.buffer, weak=self.weak)
        found.may = self.may
        return found

    @property
    def entire(self) -> bool:
        """Whether it is all of its buffer, in the same order."""
        return self.reshaped or not isinstance(self.view, g.View)

    def same_place(self, other: Data) -> bool:
        if self.buffer is not other.buffer or self.lengths != other.lengths:
            return False
        _, at = identity(self.lengths)
        return self.places(at) == other.places(at)

    # -- what NumPy's arrays have --

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(simplified(self.builder, n) for n in self.view.shape)

    @property
    def ndim(self) -> int:
        return len(self.view.shape)

    @property
    def size(self) -> Any:
        total: Any = 1
        for n in self.shape:
            total = n * total
        return total

    @property
    def uncertain(self) -> bool:
        """Whether it is kept in another type than Python's number that it may be."""
        return bool(self.may) and self.type != "f64"

    @property
    def dtype(self) -> Any:
        if self.uncertain:
            raise either(self)
        return types.DTYPES[self.type]

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def real(self) -> Any:
        return self

    def __len__(self) -> int:
        if not self.ndim:
            raise Refusal("len", "a scalar has no length", "index it less")
        return operator.index(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self.ndim and isinstance(self.shape[0], int):
            return iter([self[i] for i in range(self.shape[0])])
        raise Refusal(
            "iteration over an array",
            "its length is a size, which is known when the kernel runs",
            "write a for loop over range(len(a))",
        )

    def __bool__(self) -> bool:
        raise control_flow("a condition on data", self.builder)

    def __float__(self) -> float:
        raise Refusal(
            "float() of data",
            "its value is not known while the function is traced",
            "leave it out, or use astype",
        )

    def __int__(self) -> int:
        raise Refusal(
            "int() of data", "its value is not known while the function is traced", SIZE_WORDS
        )

    def __index__(self) -> int:
        place = wanted_place(self.builder, self, "an index")
        raise Refusal(f"index {shown(place)}", "it is not known", SIZE_WORDS)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Refusal(
            "conversion to a NumPy array",
            "it has no elements while the function is traced",
            "use functions of NumPy that schedsearch knows",
        )

    def __complex__(self) -> complex:
        raise Refusal("complex()", "kernels have no complex numbers", "compute both parts")

    __hash__, __str__, __format__, __repr__ = unhashed, as_text, as_text, as_shown

    def transpose(self, *axes: Any) -> Any:
        if len(axes) == 1 and isinstance(axes[0], tuple | list):
            axes = tuple(axes[0])
        if axes == (None,):
            axes = ()
        return self.viewed(views.permute(self.view, axes or None))

    def __getitem__(self, key: Any) -> Any:
        from schedsearch.frontends.jit.indexing import masked, selected

        if isinstance(key, Mask):
            return masked(self, key)
        return self.viewed(selected(self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        from schedsearch.frontends.jit.indexing import assign

        if not self.ndim:
            raise Refusal("assignment to elements of a number", "it has none", "assign the name")
        assign(self, key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from schedsearch.frontends.jit.functions import ufunc_call

        return ufunc_call(self.builder, ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        from schedsearch.frontends.jit.functions import function_call

        return function_call(self.builder, function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        from schedsearch.frontends.jit.functions import method

        if name.startswith("__"):
            raise AttributeError(name)
        return method(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("shape", "dtype", "T", "flat", "strides"):
            raise Refusal(f"assignment to .{name}", "arrays keep it", "use reshape or astype")
        object.__setattr__(self, name, value)

    # -- operators --

    def _binary(self, name: str, a: Any, b: Any) -> Any:
        from schedsearch.frontends.jit.operations import elementwise

        return elementwise(self.builder, getattr(np, name), (a, b), python=True)

    def _in_place(self, name: str, other: Any) -> Any:
        from schedsearch.frontends.jit.indexing import assign

        result = self._binary(name, self, other)
        if not self.ndim:
            return result
        assign(self, Ellipsis, result, old=self, how=name, other=other)
        return self

    def __add__(self, other: Any) -> Any:
        return self._binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, self)

    def __iadd__(self, other: Any) -> Any:
        return self._in_place("add", other)

    def __sub__(self, other: Any) -> Any:
        return self._binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("subtract", other, self)

    def __isub__(self, other: Any) -> Any:
        return self._in_place("subtract", other)

    def __mul__(self, other: Any) -> Any:
        return self._binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("multiply", other, self)

    def __imul__(self, other: Any) -> Any:
        return self._in_place("multiply", other)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("true_divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("true_divide", other, self)

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place("true_divide", other)

    def __pow__(self, other: Any) -> Any:
        return self._binary("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._binary("power", other, self)

    def __ipow__(self, other: Any) -> Any:
        return self._in_place("power", other)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._binary("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._binary("remainder", other, self)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._in_place("floor_divide", other)

    def __imod__(self, other: Any) -> Any:
        return self._in_place("remainder", other)

    def __matmul__(self, other: Any) -> Any:
        from schedsearch.frontends.jit.operations import matmul

        return matmul(self.builder, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from schedsearch.frontends.jit.operations import matmul

        return matmul(self.builder, other, self)

    def __imatmul__(self, other: Any) -> Any:
        from schedsearch.frontends.jit.indexing import assign

        assign(self, Ellipsis, self @ other)
        return self

    def __neg__(self) -> Any:
        return self._unary("negative")

    def __pos__(self) -> Any:
        return self._unary("positive")

    def __abs__(self) -> Any:
        return self._unary("absolute")

    def _unary(self, name: str) -> Any:
        from schedsearch.frontends.jit.operations import elementwise

        return elementwise(self.builder, getattr(np, name), (self,), python=True)

    def _compared(self, op: str, other: Any) -> Any:
        from schedsearch.frontends.jit.operations import compare

        return compare(self.builder, op, self, other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(">=", other)

    def __eq__(self, other: Any) -> Any:
        return self._compared("==", other)

    def __ne__(self, other: Any) -> Any:
        return self._compared("!=", other)

    def _rounded(self, *_: Any) -> Any:
        raise Refusal(
            "round() or divmod() of data",
            "kernels have no such function",
            "use np.round or np.floor",
        )

    __round__ = __trunc__ = __divmod__ = __rdivmod__ = _rounded

    def __and__(self, other: Any) -> Any:
        return self._binary("bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return self._binary("bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return self._binary("bitwise_xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __iand__(self, other: Any) -> Any:
        return self._in_place("bitwise_and", other)

    def __ior__(self, other: Any) -> Any:
        return self._in_place("bitwise_or", other)

    def __ixor__(self, other: Any) -> Any:
        return self._in_place("bitwise_xor", other)

    def __lshift__(self, other: Any) -> Any:
        return self._binary("left_shift", self, other)

    def __rshift__(self, other: Any) -> Any:
        return self._binary("right_shift", self, other)

    def __ilshift__(self, other: Any) -> Any:
        return self._in_place("left_shift", other)

    def __irshift__(self, other: Any) -> Any:
        return self._in_place("right_shift", other)

    def __rlshift__(self, other: Any) -> Any:
        return self._binary("left_shift", other, self)

    def __rrshift__(self, other: Any) -> Any:
        return self._binary("right_shift", other, self)

    def __invert__(self) -> Any:
        from schedsearch.frontends.jit.operations import elementwise

        return elementwise(self.builder, np.invert, (self,), python=True)


class Mask(Data):
    """An array of truth values, or one: kept as 1.0 and 0.0 where it has to be stored, an argument
    as bytes. `index` is there for a condition on indices and sizes."""

    index: q.Expr | None = None
    shown = False
    """Whether there are views of it."""

    @classmethod
    def of(
        cls,
        builder: Builder,
        found: g.Condition | g.Value,
        shape: g.Shape | None = None,
        index: q.Expr | None = None,
    ) -> Mask:
        value: g.Value
        if isinstance(found, g.Compare | g.Inside | g.Logical):
            one, zero = (views.broadcast_to(g.Constant(n, "f32"), shape or ()) for n in (1.0, 0.0))
            value = g.Select(found, one, zero)
        else:
            value = found
        mask = cls(builder, Buffer(builder, value))
        mask.index = index
        return mask

    @property
    def dtype(self) -> Any:
        return np.dtype(bool)

    def condition(self) -> g.Condition:
        """As a condition on the elements of its shape."""
        if self.index is not None:
            return g.Inside((), self.index)
        value = self.builder.use(self.buffer)
        if isinstance(value, g.Select):
            if not isinstance(self.view, g.View):
                return value.condition
            return view_condition(value.condition, self.lengths, self.places)
        node = self.node()
        zero = views.broadcast_to(types.constant(0, node.type), node.shape)
        return g.Compare("!=", node, zero)

    def _logical(self, op: str, other: Any) -> Any:
        from schedsearch.frontends.jit.operations import logical

        return logical(self.builder, op, (self, other))

    def __and__(self, other: Any) -> Any:
        return self._logical("and", other) if _is_truth(other) else super().__and__(other)

    def __or__(self, other: Any) -> Any:
        return self._logical("or", other) if _is_truth(other) else super().__or__(other)

    def __xor__(self, other: Any) -> Any:
        if not _is_truth(other):
            return super().__xor__(other)
        return (self | other) & ~(self & other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __iand__(self, other: Any) -> Any:
        return self._changed(self & other)

    def __ior__(self, other: Any) -> Any:
        return self._changed(self | other)

    def __ixor__(self, other: Any) -> Any:
        return self._changed(self ^ other)

    def _changed(self, found: Any) -> Any:
        """In place: other names of it see the change."""
        if not self.ndim:
            return found
        alone = not isinstance(self.view, g.View) and self.buffer.array is None and not self.shown
        if self.builder.symbolic or not alone or getattr(found, "lengths", ()) != self.lengths:
            raise Refusal(
                "an operation in place on truth values",
                "arguments, views and loops do not see the change",
                "assign the name (`m = m & c`)",
            )
        self.buffer, self.view, self.index = found.buffer, found.view, found.index
        return self

    def viewed(self, view: g.Value) -> Any:
        found = super().viewed(view)
        if view.shape:
            self.shown = found.shown = True
        return found

    def __invert__(self) -> Any:
        from schedsearch.frontends.jit.operations import logical

        return logical(self.builder, "not", (self,))

    def __bool__(self) -> bool:
        what = "a condition on data" if self.index is None else "a condition on indices or sizes"
        raise control_flow(what, self.builder)


def _is_truth(value: Any) -> bool:
    """Whether it is of bool: of it and a number, NumPy's operators are those on bits."""
    if isinstance(value, Data | Index):
        return isinstance(value, Mask)
    return bool(np.asarray(value).dtype == bool)
