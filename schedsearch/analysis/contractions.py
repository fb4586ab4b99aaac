"""In which order does a sum of products take the fewest operations?

Of a product this asks only which loops each factor depends on. To sum the factors of some loops up
first, and then to multiply the rest by that, is to leave those loops out of the rest:
`sum_xy C[u, x] * X[x, y] * D[v, y]` is `sum_x C[u, x] * (sum_y X[x, y] * D[v, y])`. All orders are
compared: there are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations
from math import prod

from schedsearch.core import ast as q

GAIN = 0.9
"""Of the operations, if a sum is taken first: it needs an array, and a pass over that."""

MAX_FACTORS = 6
"""Of products that anybody looks at."""

LONG = 128
"""Iterations of a loop that may have any number."""

Loops = frozenset[q.Var]


@dataclass(frozen=True)
class Step:
    """In each iteration of these loops so many multiplications, and an addition if it is `summed`
    up what they give."""

    loops: Loops
    multiplications: int
    summed: bool = True


@dataclass(frozen=True)
class First:
    """What is summed up first: these factors, by number, over these loops. The sum depends on the
    loops of `kept`."""

    factors: tuple[int, ...]
    summed: Loops
    kept: Loops


@dataclass(frozen=True)
class Order:
    """The sum to take first, and all steps from then on."""

    first: First
    steps: tuple[Step, ...]


def operations_of(steps: Iterable[Step], extents: Mapping[q.Var, int]) -> int:
    """In loops of these lengths. The last multiplication and the addition are one."""
    return sum(
        prod(extents[each] for each in step.loops) * max(1, step.multiplications) for step in steps
    )


def with_bounds(used: frozenset[q.Var], loops: Iterable[q.For]) -> Loops:
    """The loops that a factor depends on which reads `used`, and those that the ends of these
    depend on. `loops`: the innermost first."""
    found = used
    iters = []
    for loop in loops:
        iters.append(loop.iter)
        if loop.iter in found:
            found |= q.expr_vars(loop.lo) | q.expr_vars(loop.hi)
    return found.intersection(iters)


def best_order(
    factors: tuple[Loops, ...], summed: Loops, extents: Mapping[q.Var, int]
) -> Order | None:
    """The sum to take first of a product in loops of these `extents`, the outermost first, of which
    some are `summed`; None if another way takes about as few operations. `factors`: the loops that
    each one depends on."""
    numbers = {var: q.Var("", number) for number, var in enumerate(extents)}
    found = _best_order(
        tuple(_renamed(each, numbers) for each in factors),
        _renamed(summed, numbers),
        tuple(extents.values()),
    )
    if found is None:
        return None
    own = {number: var for var, number in numbers.items()}
    first, steps = found.first, found.steps
    return Order(
        replace(first, summed=_renamed(first.summed, own), kept=_renamed(first.kept, own)),
        tuple(replace(step, loops=_renamed(step.loops, own)) for step in steps),
    )


def _renamed(loops: Loops, names: Mapping[q.Var, q.Var]) -> Loops:
    return Loops(names[each] for each in loops)


@lru_cache(maxsize=1024)
def _best_order(
    factors: tuple[Loops, ...], summed: Loops, lengths: tuple[int, ...]
) -> Order | None:
    """The same for loops that are called by their numbers: unrolled statements, and those of the
    next state, ask the same again, and six factors in as many loops take half a second."""
    extents = {q.Var("", number): length for number, length in enumerate(lengths)}
    loops, names = frozenset(extents), list(extents)
    search = _Search(extents)
    found = [
        (steps, -min(map(names.index, first.summed)), number, first)
        for number, first in enumerate(_firsts(factors, loops, summed))
        for steps in [search.apart(first, factors, loops, summed)]
    ]
    if not found:
        return None
    steps, *_, first = min(found, key=lambda each: (search.operations(each[0]), *each[1:3]))
    operations, factors = search.operations(steps), _sorted(*factors)
    at_once = search.operations(search.fewest(factors, loops, Loops()))
    best = search.operations(search.fewest(factors, loops, summed))
    few = operations <= GAIN * at_once and GAIN * operations <= best
    return Order(first, steps) if few else None


class _Search:
    """Compares the orders of products in loops of these lengths."""

    def __init__(self, extents: Mapping[q.Var, int]) -> None:
        self.extents = extents
        self.fewest = cache(self._fewest)

    def operations(self, steps: tuple[Step, ...]) -> int:
        return operations_of(steps, self.extents)

    def _fewest(self, factors: tuple[Loops, ...], loops: Loops, summed: Loops) -> tuple[Step, ...]:
        """The steps of a product in `loops`. Sums over none but those `summed` are taken first."""
        found: list[tuple[Step, ...]] = [(Step(loops, len(factors) - 1),)]
        for both, rest in _pairs(factors, loops):
            found.append((Step(both, 1, False), *self.fewest(rest, loops, summed)))
        found += [
            self.apart(each, factors, loops, summed) for each in _firsts(factors, loops, summed)
        ]
        return min(found, key=self.operations)

    def apart(
        self, first: First, factors: tuple[Loops, ...], loops: Loops, summed: Loops
    ) -> tuple[Step, ...]:
        parts = _sorted(*(factors[number] for number in first.factors))
        rest = (loops for number, loops in enumerate(factors) if number not in first.factors)
        return (
            *self.fewest(parts, first.kept | first.summed, first.summed),
            *self.fewest(_sorted(*rest, first.kept), loops - first.summed, summed - first.summed),
        )


def _pairs(factors: tuple[Loops, ...], loops: Loops) -> Iterator[tuple[Loops, tuple[Loops, ...]]]:
    """Two factors that are multiplied in fewer loops, as one, and all factors then."""
    for one, other in combinations(range(len(factors)), 2):
        both = factors[one] | factors[other]
        if both < loops:
            rest = [each for number, each in enumerate(factors) if number not in (one, other)]
            yield both, _sorted(*rest, both)


def _firsts(factors: tuple[Loops, ...], loops: Loops, over: Loops) -> Iterator[First]:
    """Every sum that can be taken first, over all loops that no other factor depends on."""
    numbers = range(len(factors))
    for count in range(1, len(factors) + 1):
        for chosen in combinations(numbers, count):
            used = Loops().union(*(factors[number] for number in chosen))
            rest = Loops().union(*(factors[number] for number in numbers if number not in chosen))
            summed = over & used - rest
            if summed and (count < len(factors) or used < loops):
                yield First(chosen, summed, used - summed)


def _sorted(*factors: Loops) -> tuple[Loops, ...]:
    """In an order of their own: that of factors does not count."""
    return tuple(sorted(factors, key=lambda loops: sorted(var.uid for var in loops)))
