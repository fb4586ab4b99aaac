"""What loops go over: ranges of which a bound is known when the kernel runs, and elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from schedsearch.core import ast as q
from schedsearch.frontends.jit.proxies import Data
from schedsearch.frontends.lowered import Refusal

UNROLLED = 16
"""Loops over constants of at most so many rounds are unrolled, as tracing does."""


@dataclass(frozen=True)
class Range:
    """`range` of which a bound is known when the kernel runs, or that is long."""

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


def items_of(values: Any) -> Items | None:
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
        return Items(Range(q.Affine(), values.lengths[0]), lambda i: values[i])
    return None
