"""What rewritten functions call: loops, branches, calls and conditions, as they are traced.

A loop over a range with sizes is traced once, and again where a variable turns out to change: its
value then comes from storage that each round assigns. A branch on indices becomes one of the
kernel; of a branch on data both sides are traced, and `Select` chooses.
"""

from __future__ import annotations

import builtins
import sys
import types as python
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.jit import operations
from schedsearch.frontends.jit.building import Buffer, Builder, Predicate, finished, identity, where
from schedsearch.frontends.jit.functions import FUNCTIONS, MAKERS, function_call, ufunc_call
from schedsearch.frontends.jit.indexing import Masked, assign
from schedsearch.frontends.jit.proxies import (
    Data,
    Index,
    Mask,
    Undefined,
    as_place,
    control_flow,
    simplified,
    wanted_place,
)
from schedsearch.frontends.lowered import Refusal

UNROLLED = 16
"""Loops over constants of at most so many rounds are unrolled, as tracing does."""

UNROLLED_TOGETHER = 64
"""Rounds of loops in each other, beyond which inner ones are loops of the kernel."""

MOST_TURNS = 10_000
"""Rounds of `while` that are unrolled in one trace."""

PASSES = 8
_OWN = __name__.rpartition(".")[0]
CHANGING = frozenset(
    {
        *("append", "extend", "insert", "pop", "remove", "clear", "update", "add", "discard"),
        *("setdefault", "sort", "reverse", "popitem", "appendleft", "popleft"),
    }
)
"""Methods that change what they belong to."""

FOREIGN = frozenset(
    {print, builtins.open, builtins.input, builtins.next, builtins.exec, builtins.eval}
)
RANDOM = ("random", "time", "numpy.random", "secrets", "uuid", "os", "io")

Thunk = Callable[[], Any]


@dataclass(frozen=True)
class Range:
    """`range` of which a bound is known when the kernel runs, or that is long."""

    control: Control
    lo: q.Affine
    hi: q.Affine
    step: int = 1

    @property
    def trip(self) -> q.Affine:
        span = self.hi - self.lo if self.step > 0 else self.lo - self.hi
        if abs(self.step) == 1:
            return span
        return q.floor_div(span + (abs(self.step) - 1), abs(self.step))

    def __iter__(self) -> Iterator[Any]:
        if self.lo.is_const and self.hi.is_const:
            return iter(range(self.lo.const, self.hi.const, self.step))
        raise Refusal(
            "iteration over a range",
            "its length is known when the kernel runs",
            "write a for loop of its own, or functions of whole arrays",
        )

    def __len__(self) -> int:
        return len(list(self))


@dataclass(frozen=True)
class Items:
    """A loop over elements: what `item` gives for each place."""

    range: Range
    item: Callable[[Any], Any]

    def __iter__(self) -> Iterator[Any]:
        return map(self.item, self.range)


class Control:
    """The name `__b` of rewritten functions."""

    def __init__(
        self, builder: Builder, rewritten: Callable[[Any], Any], outside: dict[int, str]
    ) -> None:
        self.outside = outside
        self.builder = builder
        self.rewritten = rewritten
        self.rounds = 1
        self.turns = 0

    # -- calls --

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        builder = self.builder
        if isinstance(function, Data | Index):
            raise Refusal("a call of an array or number", "it is no function", "index it")
        if function in (isinstance, type, hasattr, callable) and args:
            return self._of_kind(function, *args, **kwargs)
        if function in (range, len, max, min, abs, float, int, bool, sum, enumerate, zip):
            return getattr(self, f"_{function.__name__}")(*args, **kwargs)
        if isinstance(function, np.ufunc):
            if any(isinstance(each, Data | Index) for each in args):
                return ufunc_call(builder, function, "__call__", args, kwargs)
            return function(*args, **kwargs)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.ufunc) and any(isinstance(each, Data | Index) for each in args):
            return ufunc_call(builder, owner, function.__name__, args, kwargs)
        if isinstance(function, type) and issubclass(function, np.generic):
            if len(args) == 1 and isinstance(args[0], Data | Index):
                return operations_converted(builder, args[0], function)
            return function(*args, **kwargs)
        if hashable(function) and function in FUNCTIONS:
            if function in MAKERS or any(map(has_stand_in, (*args, *kwargs.values()))):
                return function_call(builder, function, args, kwargs)
            return function(*args, **kwargs)
        self._allowed(function, owner)
        module = getattr(function, "__module__", "") or ""
        if (
            module.startswith("numpy")
            and not isinstance(function, type)
            and any(map(has_stand_in, (*args, *kwargs.values())))
        ):
            return function_call(builder, function, args, kwargs)
        if isinstance(owner := getattr(function, "__self__", None), Data):
            return function(*args, **kwargs)
        original = getattr(function, "__schedsearch_function__", None)
        if original is not None:
            function = original
        return self.rewritten(function)(*args, **kwargs)

    def _of_kind(self, function: Any, value: Any, *more: Any, **kwargs: Any) -> Any:
        """`isinstance`, `type`, `hasattr`: of what a stand-in stands for, where that is certain."""
        name = function.__name__
        words = (
            "what it is in Python is not certain here",
            "decide it outside, with other functions",
        )
        if isinstance(value, Undefined):
            value()  # raises
        if isinstance(value, Range | Items):
            raise Refusal(f"{name}() of a range", *words)
        if not isinstance(value, Data | Index):
            return function(value, *more, **kwargs)
        kinds = self._kinds(value)
        found: set[Any]
        if function is type:
            found = {kinds[0]} if len(kinds) == 1 and not more and not kwargs else set()
        elif function is isinstance:
            found = {issubclass(each, *more) for each in kinds}
        else:
            name = more[0] if more else "__call__"
            found = {any(name in vars(c) for c in each.__mro__) for each in kinds}
        if len(found) != 1:
            raise Refusal(f"{function.__name__}() of a number or condition", *words)
        return found.pop()

    def _kinds(self, value: Any) -> tuple[type, ...]:
        """What Python's type may be."""
        if isinstance(value, Index):
            return (int,)
        if value.ndim:
            return (np.ndarray,)
        if isinstance(value, Mask):
            return (bool, np.bool_)
        if value.weak is int or (value.weak and value.buffer.array in self.builder.scalars):
            return (value.weak,)
        if value.weak:  # a whole number, or not, by a branch
            return (int, float)
        return (types.DTYPES[value.type].type, np.ndarray, int, float)

    def kind(self, value: Any) -> Any:
        """`value.__class__`"""
        return self._of_kind(type, value)

    def _allowed(self, function: Any, owner: Any) -> None:
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", "") or ""
        if isinstance(owner, python.ModuleType):
            module = owner.__name__
        if hashable(function) and function in FOREIGN:
            raise Refusal(
                f"{name}()", "it would happen while the function is traced only", "leave it out"
            )
        base = f"{type(owner).__module__}" if owner is not None else ""
        if any(each == m or each.startswith(f"{m}.") for each in (module, base) for m in RANDOM):
            raise Refusal(
                f"{module or base}.{name}",
                "its value would be that of the trace, in every call",
                "compute it before, and give it as an argument",
            )
        if isinstance(owner, list | dict | set) and name in CHANGING:
            self._inside(owner)
        if isinstance(owner, list | dict | set) and name in CHANGING and self.builder.symbolic:
            raise Refusal(
                f".{name} of a {type(owner).__name__} in a loop or branch",
                "it would happen once, while the function is traced",
                "assign to elements of an array",
            )
        if module.startswith("numpy.linalg") or ".linalg" in module or "fft" in module:
            raise Refusal(
                f"np.linalg.{name}" if "linalg" in module else f"{module}.{name}",
                "kernels do not call libraries",
                "write it with loops, or call it outside",
            )

    def _range(self, *bounds: Any) -> Any:
        places = [wanted_place(self.builder, each, "a bound of range") for each in bounds]
        places = [self.builder.sizes.resolved(each) for each in places]
        if len(places) == 1:
            places.insert(0, q.Affine())
        if len(places) == 2:
            places.append(q.Affine(1))
        lo, hi, step = places
        if not step.is_const or step.const == 0:
            raise Refusal("range", "its step is no constant, or 0", "give it as a constant")
        if lo.is_const and hi.is_const:
            found = range(lo.const, hi.const, step.const)
            if len(found) <= UNROLLED:
                return found
        return Range(self, lo, hi, step.const)

    def _len(self, value: Any) -> Any:
        if isinstance(value, Data):
            if not value.ndim:
                raise Refusal("len", "a scalar has no length", "index it less")
            return value.shape[0]
        return len(value)

    def _max(self, *values: Any, **kwargs: Any) -> Any:
        return self._chosen(max, ">", values, kwargs)

    def _min(self, *values: Any, **kwargs: Any) -> Any:
        return self._chosen(min, "<", values, kwargs)

    def _chosen(self, function: Any, op: str, values: Any, kwargs: Any) -> Any:
        """Python's: the first one, unless another is greater."""
        if len(values) == 1:
            values = tuple(values[0])
        if not any(isinstance(each, Data | Index) for each in values):
            return function(*values, **kwargs)
        if kwargs:
            raise Refusal(f"{function.__name__} with {[*kwargs]}", "it is unknown", "leave it out")
        result = values[0]
        for each in values[1:]:
            if any(isinstance(v, Data) and v.ndim for v in (result, each)):
                raise Refusal(
                    f"{function.__name__} of arrays",
                    "Python compares whole arrays",
                    f"use np.{function.__name__}imum",
                )
            if isinstance(result, Data) or isinstance(each, Data):
                better = operations.compare(self.builder, op, each, result)
            else:
                better = each > result if op == ">" else each < result
            if isinstance(better, bool):
                result = each if better else result
            else:
                result = operations.select(self.builder, better, each, result, python=True)
        return result

    def _abs(self, value: Any) -> Any:
        if isinstance(value, Index):
            if self.builder.sizes.never_negative(value.value):
                return value
            return operations.elementwise(self.builder, np.absolute, (value,), python=True)
        return abs(value)

    def _float(self, value: Any = 0.0) -> Any:
        if isinstance(value, Index) or (isinstance(value, Data) and not value.ndim):
            node = operations.as_node(self.builder, value, "f64")
            found = Data.of(self.builder, node)
            found.weak = float
            return found
        return float(value)

    def _int(self, value: Any = 0, *more: Any) -> Any:
        if isinstance(value, Index):
            return value
        return int(value, *more)

    def _bool(self, value: Any = False) -> Any:
        return operations.truth(self.builder, value)

    def _sum(self, values: Any, start: Any = 0) -> Any:
        if isinstance(values, Data) and not isinstance(values.shape[0], int):
            return operations.reduce(self.builder, "sum", values, 0, values.dtype) + start
        return sum(values, start)

    def _enumerate(self, values: Any, start: Any = 0) -> Any:
        items = self._items(values)
        if items is None:
            return enumerate(values, start)
        first = as_place(self.builder, start)
        if first is None:
            raise Refusal("enumerate", "its start is no whole number", "give an int")
        return Items(items.range, lambda i: (i + start, items.item(i)))

    def _zip(self, *many: Any, **kwargs: Any) -> Any:
        found = [self._items(each) for each in many]
        if not any(found):
            return zip(*many, **kwargs)  # noqa: B905
        if not all(found):
            raise Refusal("zip", "only some of its arguments are arrays", "loop over indices")
        ranges = [each.range for each in found if each]
        for each in ranges[1:]:
            operations.shared(self.builder, ranges[0].trip, each.trip, "zip")
        return Items(ranges[0], lambda i: tuple(each.item(i) for each in found if each))

    def _items(self, values: Any) -> Items | None:
        """A loop over what has no known length."""
        if isinstance(values, Items):
            return values
        if isinstance(values, Range):
            if values.lo != q.Affine() or values.step != 1:
                raise Refusal("zip or enumerate", "a range does not begin at 0", "use indices")
            return Items(values, lambda i: i)
        if isinstance(values, Data) and values.ndim:
            if isinstance(values.shape[0], int) and values.shape[0] <= UNROLLED:
                return None
            return Items(Range(self, q.Affine(), values.lengths[0]), lambda i: values[i])
        return None

    # -- conditions --

    def and_(self, *thunks: Thunk) -> Any:
        return self._combined("and", thunks)

    def or_(self, *thunks: Thunk) -> Any:
        return self._combined("or", thunks)

    def _combined(self, op: str, thunks: Sequence[Thunk]) -> Any:
        """Python's `and` and `or`, which end where a value decides, and give that value."""
        known: list[Mask] = []
        value: Any = None
        for position, thunk in enumerate(thunks):
            value = thunk()
            if isinstance(value, Data) and value.ndim:
                raise control_flow("`and`, `or` of arrays", self.builder)
            if isinstance(value, Mask):
                known.append(value)
            elif known and not isinstance(value, bool):
                raise control_flow(f"`{op}` of conditions and numbers", self.builder)
            elif isinstance(value, Data | Index):
                if position < len(thunks) - 1:
                    raise control_flow(f"`{op}` of numbers", self.builder)
            elif bool(value) is (op == "or"):
                return value
        if not known:
            return value
        return operations.logical(self.builder, op, known)

    def not_(self, value: Any) -> Any:
        if isinstance(value, Data | Index):
            return operations.logical(self.builder, "not", (value,))
        return not value

    def concrete(self, value: Any, what: str) -> bool:
        """A condition that has to be known: around `break`, `return`, or of `while`."""
        self.turns += what == "while"
        if self.turns > MOST_TURNS:
            raise Refusal(
                "while", f"it does not end within {MOST_TURNS} rounds of tracing", "use range"
            )
        if isinstance(value, Index | Data):
            found = operations.truth(self.builder, value)
            if isinstance(found, bool):
                return found
            raise Refusal(
                what,
                "whether it happens is known when the kernel runs",
                "loop over a range, and choose values with if or np.where",
            )
        return bool(value)

    def require(self, value: Any) -> None:
        """`assert`: of indices and sizes it becomes one of the kernel."""
        found = self.concrete_or_none(value)
        if found is None:
            mask = operations.truth(self.builder, value)
            if mask.index is None:
                raise Refusal("assert", "it is on data", "check data before the call")
            for each in facts(mask.index):
                refusal = Refusal("assert", "it does not hold for all rounds", "leave it out")
                self.builder.sizes.need(each, refusal)
        elif not found:
            raise Refusal("assert", "it does not hold", "give other arguments")

    def concrete_or_none(self, value: Any) -> bool | None:
        found = operations.truth(self.builder, value)
        return found if isinstance(found, bool) else None

    def raises(self) -> None:
        """Before `raise`."""
        if self.builder.symbolic:
            raise Refusal(
                "raise in a loop or branch",
                "whether it happens is known when the kernel runs",
                "check arguments before the call",
            )

    def ternary(self, test: Any, then: Thunk, other: Thunk) -> Any:
        branch = self.branch(test, ("value",), ("value",), (lambda: None,))
        value: Any = None
        for side in branch:
            value = then() if side else other()
            branch.end(lambda: value)  # noqa: B023
        return branch.leave(lambda: value)[0]

    # -- assignment --

    slice = builtins.slice

    def target(self, value: Any) -> Any:
        """What has elements assigned."""
        if isinstance(value, np.ndarray):
            raise Refusal(
                "assignment to an array from around the function",
                "a kernel writes its arguments only",
                "give it as an argument",
            )
        self._inside(value)
        if not isinstance(value, Data) and self.builder.symbolic:
            raise Refusal(
                f"assignment to elements of a {type(value).__name__} in a loop or branch",
                "it would happen once, while the function is traced",
                "assign to elements of an array",
            )
        return value

    def _inside(self, value: Any) -> None:
        if (name := self.outside.get(id(value))) is not None:
            raise Refusal(
                f"a change of {name}",
                "it is from around the function, and would change in the trace only",
                "return what changes it",
            )

    def item(self, value: Any, key: Any) -> Any:
        """`value[key]`"""
        if isinstance(value, np.ndarray) and has_stand_in(key):
            value = operations.constant_array(self.builder, value)
        return value[key]

    def augment(self, value: Any, key: Any, name: str, other: Any) -> None:
        """`value[key] += other`"""
        if not isinstance(value, Data) or isinstance(key, Mask):
            self.target(value)
            old = value[key]
            masked = isinstance(old, Masked)
            value[key] = old.changed(name, other) if masked else in_place(name, old, other)
            return
        old = value[key]
        if old.ndim or isinstance(old, Mask):
            in_place(name, old, other)
            return
        result = in_place(name, old, other)
        if not isinstance(result, Data) or not np.can_cast(result.dtype, value.dtype, "same_kind"):
            value[key] = result
            return
        assign(value, key, result, old=old, how=name, other=other)

    def augmented(self, name: str, value: Any, other: Any) -> Any:
        """`value += other`, of a name."""
        if isinstance(value, list | dict | set):
            self._inside(value)
        if isinstance(value, list) and self.builder.symbolic:
            raise Refusal("+= of a list in a loop or branch", "it happens once", "use an array")
        if isinstance(value, np.ndarray):
            self.target(value)
        return in_place(name, value, other)

    # -- loops and branches --

    def loop(
        self,
        iterable: Any,
        names: Sequence[str],
        carried: Sequence[str],
        escapes: str,
        *thunks: Thunk,
    ) -> Loop:
        items = self._items(iterable) if not isinstance(iterable, Range) else None
        many = isinstance(iterable, range) and len(iterable) > 4 and not escapes
        if many and len(iterable) * self.rounds > UNROLLED_TOGETHER:
            ends = q.Affine(iterable.start), q.Affine(iterable.stop)
            iterable = Range(self, *ends, iterable.step)
        if isinstance(iterable, Range):
            items = Items(iterable, lambda i: i)
        return Loop(self, items, iterable, tuple(names), frozenset(carried), escapes, thunks)

    def bounded(self, first: Any, op: str, bound: Any, step: int) -> Any:
        """The range of `while i < bound: ...; i += step`."""
        if as_place(self.builder, first) is None or as_place(self.builder, bound) is None:
            raise Refusal("while", "it ends on data", "loop over a range")
        end = bound if op in ("<", ">") else bound + (1 if step > 0 else -1)
        return self._range(first, end, step)

    def branch(
        self, test: Any, names: Sequence[str], live: Sequence[str], thunks: Sequence[Thunk]
    ) -> Branch:
        found = (
            operations.truth(self.builder, test) if isinstance(test, Data | Index) else bool(test)
        )
        if isinstance(found, Mask) and found.ndim:
            raise control_flow("if on an array", self.builder)
        return Branch(self, found, tuple(names), frozenset(live), thunks)


def hashable(value: Any) -> bool:
    if isinstance(value, Data | Index):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True


def has_stand_in(value: Any) -> bool:
    if isinstance(value, Data | Index):
        return True
    if isinstance(value, tuple | list):
        return any(map(has_stand_in, value))
    if isinstance(value, slice):
        return any(map(has_stand_in, (value.start, value.stop, value.step)))
    return False


def operations_converted(builder: Builder, value: Any, dtype: Any) -> Any:
    from schedsearch.frontends.jit.making import converted

    return converted(builder, value, dtype)


IN_PLACE = {
    "add": "iadd",
    "subtract": "isub",
    "multiply": "imul",
    "true_divide": "itruediv",
    "power": "ipow",
    "floor_divide": "ifloordiv",
    "remainder": "imod",
    "matmul": "imatmul",
    "bitwise_and": "iand",
    "bitwise_or": "ior",
    "bitwise_xor": "ixor",
    "left_shift": "ilshift",
    "right_shift": "irshift",
}


def in_place(name: str, value: Any, other: Any) -> Any:
    import operator

    return getattr(operator, IN_PLACE[name])(value, other)


def value_of(thunk: Thunk, name: str) -> Any:
    try:
        return thunk()
    except NameError:
        return Undefined(name)


def is_whole(value: Any) -> bool:
    return isinstance(value, Index) or (isinstance(value, int) and not isinstance(value, bool))


def unchanged(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is Index and type(b) is Index:
        return bool(a.value == b.value)
    if isinstance(a, Data) and isinstance(b, Data):
        same = type(a) is type(b) and a.weak == b.weak
        return same and a.buffer is b.buffer and a.same_place(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(unchanged, a, b))
    simple = (int, float, str, bool, type(None))
    return isinstance(a, simple) and type(a) is type(b) and bool(a == b)


def joined_kind(name: str, values: Sequence[Any]) -> tuple[str, type | None]:
    """The type of a variable that has either of several values."""
    strong: set[str] = set()
    weak: type = int
    for each in values:
        if isinstance(each, Undefined):
            continue
        if isinstance(each, Mask) or not isinstance(each, Data | Index | int | float | np.generic):
            kind = "truth values" if isinstance(each, Mask | bool) else type(each).__name__
            raise Refusal(
                name,
                f"it changes in a loop or branch, and is {kind} there",
                "use arrays and numbers only",
            )
        if isinstance(each, bool):
            raise Refusal(name, "it changes in a loop or branch, and is a bool", "use 1.0 and 0.0")
        if isinstance(each, np.generic):
            strong.add(types.named(each.dtype, name))
        elif isinstance(each, Data) and not each.weak:
            strong.add(each.type)
        elif isinstance(each, float) or (isinstance(each, Data) and each.weak is float):
            weak = float
    if len(strong) > 1:
        raise Refusal(
            name,
            f"it changes its type in a loop or branch: {' and '.join(sorted(strong))}",
            "convert it with astype",
        )
    return (strong.pop(), None) if strong else ("f64", weak)


@dataclass
class Carried:
    """A variable that rounds hand on: `first` is its value before the loop. It keeps that
    (`kind` "same"), or grows by `step` in each round, or is in storage (`data`)."""

    name: str
    first: Any
    kind: str = "same"
    step: int = 0
    data: Data | None = None
    next: Any = None


class Loop:
    """`for` of a rewritten function."""

    def __init__(
        self,
        control: Control,
        items: Items | None,
        iterable: Any,
        names: tuple[str, ...],
        carried: frozenset[str],
        escapes: str,
        thunks: Sequence[Thunk],
    ) -> None:
        self.control, self.builder = control, control.builder
        self.items, self.iterable, self.names = items, iterable, names
        if items is not None and escapes:
            raise Refusal(
                f"{escapes} in a loop over a size",
                "how many rounds there are would depend on data",
                "end the range earlier, or choose values with if",
            )
        if items is None and not hasattr(iterable, "__iter__"):
            raise Refusal("for", f"{type(iterable).__name__} is not iterable", "use range")
        self.changed = False
        self.carried: dict[str, Carried] = {}
        if items is None:
            return
        values = [value_of(t, n) for t, n in zip(thunks, names, strict=True)]
        for name, value in zip(names, values, strict=True):
            if name in carried:
                self.carried[name] = Carried(name, value)
                strong = isinstance(value, Data) and not isinstance(value, Mask)
                if strong and not value.ndim and not value.weak:
                    self.stored(self.carried[name], value.type, None, ())

    def stored(self, each: Carried, kind: str, weak: type | None, lengths: g.Shape) -> None:
        """Let a variable be in storage, which holds its first value before the loop."""
        buffer = self.builder.allocate(each.name, kind, lengths)
        if not isinstance(each.first, Undefined):
            node = operations.as_node(
                self.builder, operations.operand(self.builder, each.first), kind
            )
            node = operations.broadcast_node(self.builder, node, buffer.shape)
            self.builder.store(buffer, *identity(buffer.shape), node)
        each.kind, each.data = "data", Data(self.builder, buffer, weak=weak)

    def __iter__(self) -> Iterator[Any]:
        if self.items is None:
            count = len(self.iterable) if isinstance(self.iterable, range) else 1
            self.control.rounds *= max(count, 1)
            yield from self.iterable
            self.control.rounds //= max(count, 1)
            return
        span = self.items.range
        trip = self.builder.sizes.resolved(span.trip)
        forward = span.step == 1
        lo, hi = (span.lo, span.hi) if forward else (q.Affine(), trip)
        builder = self.builder
        for _ in range(PASSES):
            self.changed = False
            var = g.fresh("i")
            at = q.as_affine(var)
            place = at if forward else span.lo + at.scaled(span.step)
            self.round = at - lo
            moved = dict(builder.moved)
            with builder.loop(var, lo, hi) as block:
                yield self.items.item(simplified(builder, place))
            if not self.changed:
                builder.close(block, var, lo, hi)
                return
            builder.moved = moved
            for each in self.carried.values():
                self._settle(each)
        raise Refusal(
            ", ".join(self.carried), "the type or shape changes in each round", "use one array"
        )

    def _settle(self, each: Carried) -> None:
        """What the next pass supposes of a variable that has changed."""
        new, each.next = each.next, None
        if new is None:
            return
        if is_whole(each.first) and is_whole(new) and each.kind == "same":
            step = as_place(self.builder, new - each.first)
            if step is not None and step.is_const:
                each.kind, each.step = "step", step.const
                return
            raise Refusal(
                each.name,
                "a whole number changes in a loop other than by a constant",
                "compute it from the variable of the loop",
            )
        if each.kind == "step":
            raise Refusal(each.name, "it changes in different ways", "use a float")
        kind, weak = joined_kind(each.name, (each.first, new))
        lengths = operations.lengths_of(new)
        first = each.first
        if not isinstance(first, Undefined):
            own = operations.lengths_of(operations.operand(self.builder, first))
            if len(own) != len(lengths) or not all(map(self.builder.sizes.same, own, lengths)):
                raise Refusal(each.name, "its shape changes in a loop", "use one array throughout")
        if isinstance(first, Undefined):
            trip = self.items.range.trip if self.items else q.Affine()
            refusal = Refusal(each.name, "the loop may have no round", "assign it before")
            self.builder.sizes.need(trip - 1, refusal)
        self.stored(each, kind, weak, tuple(map(self.builder.sizes.resolved, lengths)))

    def begin(self, *thunks: Thunk) -> tuple[Any, ...]:
        values = [value_of(t, n) for t, n in zip(thunks, self.names, strict=True)]
        for n, name in enumerate(self.names):
            each = self.carried.get(name)
            if each is None:
                continue
            if each.kind == "same":
                values[n] = each.first
            elif each.kind == "step":
                total = as_place(self.builder, each.first)
                assert total is not None
                values[n] = simplified(self.builder, total + self.round.scaled(each.step))
            elif isinstance(each.first, Undefined):
                values[n] = each.first
            else:
                data = each.data
                assert data is not None
                values[n] = Data(self.builder, data.buffer, weak=data.weak)
        self.given = dict(zip(self.names, values, strict=True))
        return tuple(values)

    def end(self, *thunks: Thunk) -> None:
        if self.items is None:
            return
        values = {n: value_of(t, n) for t, n in zip(thunks, self.names, strict=True)}
        assigned: list[tuple[Carried, Any]] = []
        for each in self.carried.values():
            new, given = values[each.name], self.given[each.name]
            if each.kind == "same":
                if not unchanged(new, given):
                    self._change(each, new)
            elif each.kind == "step":
                step = as_place(self.builder, new - given) if is_whole(new) else None
                if step is None or not step.is_const or step.const != each.step:
                    self._change(each, new)
            else:
                assert each.data is not None
                kind, weak = joined_kind(each.name, (each.data, new))
                if (kind, weak) != (each.data.type, each.data.weak):
                    self._change(each, new)
                else:
                    assigned.append((each, new))
        if not self.changed:
            self._hand_on(assigned)

    def _change(self, each: Carried, new: Any) -> None:
        each.next = new
        self.changed = True

    def _hand_on(self, assigned: list[tuple[Carried, Any]]) -> None:
        """Assign what the next round begins with: all at once."""
        builder = self.builder
        stored = {each.data.buffer: each for each, _ in assigned if each.data is not None}
        body = builder.block
        ready: list[tuple[Data, Any]] = []
        news = [new.buffer for _, new in assigned if isinstance(new, Data)]
        alone = {b for b in news if news.count(b) == 1 and b.block is body and b not in stored}
        alone -= {b for b in alone if b.sources or b.moved}
        for each, new in assigned:
            data = each.data
            assert data is not None
            if isinstance(new, Data) and new.buffer is data.buffer and new.same_place(data):
                continue
            self._aliases(each, new, body.written, alone)
            if isinstance(new, Data) and new.buffer in stored:
                from schedsearch.frontends.jit.making import copied

                new = copied(builder, new) if new.ndim else self._apart(new)
            ready.append((data, new))
        for data, new in ready:
            node = operations.as_node(builder, operations.operand(builder, new), data.type)
            shape = data.lengths
            own = tuple(map(builder.sizes.resolved, node.shape))
            if len(own) != len(shape) or not all(map(builder.sizes.same, own, shape)):
                raise Refusal("a variable of a loop", "its shape changes", "use one array")
            add = False
            if isinstance(node, g.Apply) and node.function == "+":
                one, other = node.args
                if isinstance(one, g.Load) and one.array is data.buffer.array:
                    node, add = other, True
            builder.store(data.buffer, *identity(shape), node, add, carried=True)

    def _apart(self, value: Data) -> Data:
        buffer = self.builder.allocate("t", value.type, ())
        self.builder.store(buffer, (), (), value.node())
        return Data(self.builder, buffer, weak=value.weak)

    def _aliases(self, each: Carried, new: Any, written: set[g.Array], alone: set[Buffer]) -> None:
        """Two names of one array, of which one is a copy here: neither may be written. `alone` are
        arrays that this round made for one name."""
        data = each.data
        assert data is not None
        if not data.ndim:
            return
        reason = f"{each.name} is assigned in a loop, and may be another name of it"
        known = []
        own = data.buffer.array
        assert own is not None
        for value in (each.first, new):
            if not isinstance(value, Data):
                continue
            if value is new and value.buffer in alone:
                continue
            if value.buffer.sources:
                known.append(own)
            if value.buffer.array is None:
                value.buffer.moved = reason
            else:
                known.append(value.buffer.array)
        if any(array in written for array in (*known, *([own] if known else []))):
            raise Refusal(
                f"assignment to elements, where {each.name} is assigned in a loop",
                "both may be one array in some rounds",
                f"assign to {each.name}[:], or copy it",
            )
        for array in (*known, *([own] if known else [])):
            self.builder.moved[array] = reason

    def leave(self, *thunks: Thunk) -> tuple[Any, ...]:
        values = [value_of(t, n) for t, n in zip(thunks, self.names, strict=True)]
        if self.items is None:
            return tuple(values)
        found: list[Any] = []
        for name in self.names:
            each = self.carried.get(name)
            if each is None:
                found.append(Undefined(name))
            elif each.kind == "same":
                found.append(each.first)
            elif each.kind == "step":
                total = as_place(self.builder, each.first)
                assert total is not None
                found.append(simplified(self.builder, total + self._rounds().scaled(each.step)))
            else:
                assert each.data is not None
                found.append(Data(self.builder, each.data.buffer, weak=each.data.weak))
        return tuple(found)

    def _rounds(self) -> q.Affine:
        assert self.items is not None
        trip = self.items.range.trip
        refusal = Refusal("a loop", "its bounds may be the wrong way round", "order them")
        self.builder.sizes.need(trip, refusal)
        return trip

    def target(self, thunk: Thunk, name: str, counts: bool = False) -> Any:
        """The variable of the loop, after it. `counts`: that of `while`."""
        if self.items is None:
            return value_of(thunk, name)
        if counts:
            span = self.items.range
            return simplified(self.builder, span.lo + self._rounds().scaled(span.step))
        return Undefined(name)


class Branch:
    """`if` of a rewritten function."""

    def __init__(
        self,
        control: Control,
        test: bool | Mask,
        names: tuple[str, ...],
        live: frozenset[str],
        thunks: Sequence[Thunk],
    ) -> None:
        self.control, self.builder, self.test = control, control.builder, test
        self.names, self.live = names, live
        self.before = tuple(value_of(t, n) for t, n in zip(thunks, names, strict=True))
        self.ends: list[tuple[Any, ...]] = []
        self.first = self.builder.buffers
        self.nodes: list[dict[str, g.Value]] = []
        self.blocks: list[Any] = []

    def __iter__(self) -> Iterator[bool]:
        test = self.test
        if isinstance(test, bool):
            yield test
        elif test.index is not None:
            yield from self._of_indices(test.index)
        else:
            yield from self._of_data(test)

    def _of_indices(self, condition: q.Expr) -> Iterator[bool]:
        from schedsearch.frontends.jit.building import Block

        builder = self.builder
        for side in (True, False):
            known = facts(condition if side else operations.negated(condition))
            sizes, equal = builder.sizes, dict(builder.sizes.equal)
            count = len(sizes.guards)
            sizes.guards += known
            sizes.branches += 1
            with builder.inside(Block("if")) as block:
                yield side
            sizes.branches -= 1
            del sizes.guards[count:]
            if q.expr_vars(condition) <= sizes.own:
                for each in sizes.equal.keys() - equal:
                    if each not in sizes.implied:
                        sizes.local.append((each, sizes.equal[each], *where()))
                sizes.equal = equal
            self.blocks.append(block)

    def _of_data(self, mask: Mask) -> Iterator[bool]:
        builder = self.builder
        for side in (True, False):
            chosen = mask if side else operations.logical(builder, "not", (mask,))
            depth = len(builder.predicates)

            def condition(shape: g.Shape, chosen: Mask = chosen) -> g.Condition:
                return operations.stretched(builder, chosen, shape)

            builder.predicates.append(Predicate(condition, depth))
            yield side
            builder.predicates.pop()

    def begin(self, *_: Thunk) -> tuple[Any, ...]:
        return self.before

    def end(self, *thunks: Thunk) -> None:
        values = tuple(value_of(t, n) for t, n in zip(thunks, self.names, strict=True))
        self.ends.append(values)
        if isinstance(self.test, Mask) and self.test.index is not None:
            nodes = {}
            for name, value in zip(self.names, values, strict=True):
                if isinstance(value, Data) and not isinstance(value, Mask) and name in self.live:
                    nodes[name] = value.node()
            self.nodes.append(nodes)

    def leave(self, *thunks: Thunk) -> tuple[Any, ...]:
        if isinstance(self.test, bool):
            return tuple(value_of(t, n) for t, n in zip(thunks, self.names, strict=True))
        found: list[Any] = []
        for n, name in enumerate(self.names):
            one, other = (values[n] for values in self.ends)
            if unchanged(one, other):
                found.append(one)
            elif name not in self.live or any(
                isinstance(each, Undefined) or each is None for each in (one, other)
            ):
                found.append(Undefined("the result" if name == "__ret" else name))
            else:
                found.append(self._joined(name, one, other))
        if self.blocks:
            self._append()
        return tuple(found)

    def _append(self) -> None:
        assert isinstance(self.test, Mask)
        assert self.test.index is not None
        body, orelse = map(finished, self.blocks)
        condition = self.test.index
        if not body and orelse:
            condition, body, orelse = operations.negated(condition), orelse, body
        if body:
            stmt = g.If(condition, body, orelse, self.builder.line())
            self.builder.block.statements.append(stmt)

    def _joined(self, name: str, one: Any, other: Any) -> Any:
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            return tuple(
                a if unchanged(a, b) else self._joined_at(name, a, b, n)
                for n, (a, b) in enumerate(zip(one, other, strict=True))
            )
        if isinstance(self.test, Mask) and self.test.index is None:
            if isinstance(one, Data) and isinstance(other, Data):
                self._same_lengths(name, one, other)
            if not (isinstance(one, Mask | bool) and isinstance(other, Mask | bool)):
                joined_kind(name, (one, other))
            found = operations.select(self.builder, self.test, one, other, python=True)
            return self._no_alias(name, found, one, other)
        nodes = [each.get(name) for each in self.nodes]
        return self._stored(name, (one, other), nodes)

    def _joined_at(self, name: str, one: Any, other: Any, n: int) -> Any:
        if isinstance(self.test, Mask) and self.test.index is None:
            return self._joined(name, one, other)
        if any(isinstance(each, Data) for each in (one, other)):
            raise Refusal(
                name, "it is a tuple that a branch on indices changes", "use names of their own"
            )
        return self._stored(name, (one, other), [None, None])

    def _no_alias(self, name: str, found: Any, *values: Any) -> Any:
        """`found` is a copy here, which in Python is one of two arrays. Those are not written from
        here on, and not used once `found` is, if they have other names."""
        reason = f"{name} is one of two arrays, by a condition"
        if not isinstance(found, Data) or not found.ndim:
            return found
        for side, each in zip(self.ends, values, strict=True):
            if not isinstance(each, Data) or not each.ndim:
                continue
            self.builder.fix(each.buffer, reason)
            names = sum(v.buffer is each.buffer for v in leaves(side))
            if each.buffer.number <= self.first or names > 1:
                found.buffer.sources += (each.buffer,)
            found.buffer.sources += each.buffer.sources
            if each.locked:
                self.builder.fix(found.buffer, each.locked)
        return found

    def _same_lengths(self, name: str, one: Data, other: Data) -> None:
        same = len(one.lengths) == len(other.lengths)
        if not same or not all(map(self.builder.sizes.same, one.lengths, other.lengths)):
            raise Refusal(name, "its shape depends on a branch", "give both the same shape")

    def _stored(self, name: str, values: Sequence[Any], nodes: Sequence[g.Value | None]) -> Data:
        """Storage that each side of a branch on indices assigns."""
        builder = self.builder
        kind, weak = joined_kind(name, values)
        one, other = values
        if isinstance(one, Data) and isinstance(other, Data):
            self._same_lengths(name, one, other)
        shape = next((e.lengths for e in values if isinstance(e, Data)), ())
        buffer = builder.allocate("t" if name == "__ret" else name, kind, shape)
        assert buffer.array is not None
        for value, node, block in zip(values, nodes, self.blocks, strict=True):
            if node is None:
                node = operations.as_node(builder, operations.operand(builder, value), kind)
            node = operations.broadcast_node(builder, types.cast(node, kind), buffer.shape)
            block.statements.append(
                g.Store(buffer.array, *identity(buffer.shape), node, line=builder.line())
            )
        builder.changes(buffer.array)
        found: Data = self._no_alias(name, Data(builder, buffer, weak=weak), *values)
        return found


def leaves(value: Any) -> Iterator[Data]:
    """The arrays among values."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, Data):
        yield value


def facts(condition: q.Expr) -> list[q.Affine]:
    """Expressions that are 0 at least where a condition holds."""
    assert isinstance(condition, q.BinOp)
    if condition.op == "and":
        return facts(condition.lhs) + facts(condition.rhs)
    if condition.op == "or":
        return []
    a, b = condition.lhs, condition.rhs
    assert isinstance(a, q.Affine)
    assert isinstance(b, q.Affine)
    return {
        "<": [b - a - 1],
        "<=": [b - a],
        ">": [a - b - 1],
        ">=": [a - b],
        "==": [a - b, b - a],
        "!=": [],
    }[condition.op]


def is_users(function: Any) -> bool:
    """Whether a function is not of Python itself, or of NumPy."""
    whole = getattr(function, "__module__", "") or ""
    module = whole.split(".")[0]
    foreign = module in sys.stdlib_module_names or module == "numpy"
    return (not foreign or module == "__main__") and not whole.startswith(_OWN)
