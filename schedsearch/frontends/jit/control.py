"""What rewritten functions call: loops, branches, calls and conditions, as they are traced."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends.jit import operations
from schedsearch.frontends.jit.branches import Branch, facts
from schedsearch.frontends.jit.building import Builder
from schedsearch.frontends.jit.calling import called, has_stand_in, of_kind, refuse_outside
from schedsearch.frontends.jit.indexing import Masked, assign
from schedsearch.frontends.jit.iteration import Items, Range, items_of
from schedsearch.frontends.jit.loops import Loop
from schedsearch.frontends.jit.proxies import Data, Index, Mask, Undefined, as_place, control_flow
from schedsearch.frontends.jit.python_builtins import range_
from schedsearch.frontends.jit.variables import Thunk
from schedsearch.frontends.lowered import Refusal

UNROLLED_TOGETHER = 64
"""Rounds of loops in each other, beyond which inner ones are loops of the kernel."""

MOST_TURNS = 10_000
"""Rounds of `while` that are unrolled in one trace."""

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
        return called(self.builder, self.outside, self.rewritten, function, args, kwargs)

    def kind(self, value: Any) -> Any:
        """`value.__class__`"""
        return of_kind(self.builder, type, value)

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

    def is_(self, a: Any, b: Any) -> bool:
        """`a is b`"""
        for each in (a, b):
            if isinstance(each, Undefined):
                each()  # raises
        ours = [isinstance(each, Data | Index) for each in (a, b)]
        numbers = isinstance(a, int | float | np.generic) or isinstance(b, int | float | np.generic)
        if a is not b and (all(ours) or (any(ours) and numbers)):
            raise Refusal(
                "`is` of arrays or numbers", "it is not certain while they are traced", "use =="
            )
        return a is b

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

    def kept(self, value: Any) -> Any:
        """What a call gives, in a variable."""
        if isinstance(value, Iterator):
            raise Refusal(
                "an iterator in a variable",
                "it is used up while the function is traced",
                "make it a tuple, or write it where it is used",
            )
        return value

    def target(self, value: Any) -> Any:
        """What has elements assigned."""
        if isinstance(value, np.ndarray):
            raise Refusal(
                "assignment to an array from around the function",
                "a kernel writes its arguments only",
                "give it as an argument",
            )
        refuse_outside(self.outside, value)
        if not isinstance(value, Data) and self.builder.symbolic:
            raise Refusal(
                f"assignment to elements of a {type(value).__name__} in a loop or branch",
                "it would happen once, while the function is traced",
                "assign to elements of an array",
            )
        return value

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
        if old.ndim:
            in_place(name, old, other)
            return
        if isinstance(old, Mask):
            value[key] = in_place(name, old, other)
            return
        result = in_place(name, old, other)
        if not isinstance(result, Data) or not np.can_cast(result.dtype, value.dtype, "same_kind"):
            value[key] = result
            return
        assign(value, key, result, old=old, how=name, other=other)

    def augmented(self, name: str, value: Any, other: Any) -> Any:
        """`value += other`, of a name."""
        if isinstance(value, list | dict | set):
            refuse_outside(self.outside, value)
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
        items = items_of(iterable) if not isinstance(iterable, Range) else None
        many = isinstance(iterable, range) and len(iterable) > 4 and not escapes
        if many and len(iterable) * self.rounds > UNROLLED_TOGETHER:
            ends = q.Affine(iterable.start), q.Affine(iterable.stop)
            iterable = Range(*ends, iterable.step)
        if isinstance(iterable, Range):
            items = Items(iterable, lambda i: i)
        return Loop(self, items, iterable, tuple(names), frozenset(carried), escapes, thunks)

    def bounded(self, first: Any, op: str, bound: Any, step: int) -> Any:
        """The range of `while i < bound: ...; i += step`."""
        if as_place(self.builder, first) is None or as_place(self.builder, bound) is None:
            raise Refusal("while", "it ends on data", "loop over a range")
        end = bound if op in ("<", ">") else bound + (1 if step > 0 else -1)
        return range_(self.builder, first, end, step)

    def branch(
        self, test: Any, names: Sequence[str], live: Sequence[str], thunks: Sequence[Thunk]
    ) -> Branch:
        found = (
            operations.truth(self.builder, test) if isinstance(test, Data | Index) else bool(test)
        )
        if isinstance(found, Mask) and found.ndim:
            raise control_flow("if on an array", self.builder)
        return Branch(self.builder, found, tuple(names), frozenset(live), thunks)


def in_place(name: str, value: Any, other: Any) -> Any:
    return getattr(operator, IN_PLACE[name])(value, other)
