"""In which order does a sum of products take the fewest operations?

Of a product this asks only which loops each factor depends on. To sum the factors of some loops up
first, and then to multiply the rest by that, is to leave those loops out of the rest:
`sum_xy C[u, x] * X[x, y] * D[v, y]` is `sum_x C[u, x] * (sum_y X[x, y] * D[v, y])`. All orders are
compared: there are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import inf, prod

from schedsearch.core import ast as q

GAIN = 0.9
"""Of the operations, if a sum is taken first: it needs an array, and a pass over that."""

Loops = frozenset[q.Var]


@dataclass(frozen=True)
class First:
    """What is summed up first: these factors, by number, over these loops. The sum depends on the
    loops of `kept`."""

    factors: tuple[int, ...]
    summed: Loops
    kept: Loops


def first_sum(
    factors: tuple[Loops, ...], summed: Loops, extents: Mapping[q.Var, int]
) -> First | None:
    """The sum to take first of a product in loops of these `extents`, the outermost first, of which
    some are `summed`; None if another way takes about as few operations. `factors`: the loops that
    each one depends on."""

    def iterations(loops: Loops) -> int:
        return prod(extents[each] for each in loops)

    def at_once(factors: tuple[Loops, ...], loops: Loops) -> int:
        """The last multiplication and the addition are one operation."""
        return iterations(loops) * max(1, len(factors) - 1)

    def pairs(factors: tuple[Loops, ...], loops: Loops) -> Iterator[tuple[int, tuple[Loops, ...]]]:
        """Two factors that fewer loops multiply before: the operations, and what is left."""
        for one, other in combinations(range(len(factors)), 2):
            both = factors[one] | factors[other]
            if both < loops:
                rest = [f for number, f in enumerate(factors) if number not in (one, other)]
                yield iterations(both), _sorted(*rest, both)

    @cache
    def in_pairs(factors: tuple[Loops, ...], loops: Loops) -> float:
        """The fewest operations if all sums are taken at once."""
        found = (count + in_pairs(rest, loops) for count, rest in pairs(factors, loops))
        return min(at_once(factors, loops), *found, inf)

    @cache
    def fewest(factors: tuple[Loops, ...], loops: Loops, over: Loops) -> float:
        found = [count + fewest(rest, loops, over) for count, rest in pairs(factors, loops)]
        found += [apart(each, factors, loops, over) for each in _firsts(factors, loops, over)]
        return min(at_once(factors, loops), *found, inf)

    def apart(first: First, factors: tuple[Loops, ...], loops: Loops, over: Loops) -> float:
        parts = _sorted(*(factors[number] for number in first.factors))
        rest = (f for number, f in enumerate(factors) if number not in first.factors)
        return fewest(parts, first.kept | first.summed, first.summed) + fewest(
            _sorted(*rest, first.kept), loops - first.summed, over - first.summed
        )

    loops, order = frozenset(extents), list(extents)
    found = [
        (apart(each, factors, loops, summed), -min(map(order.index, each.summed)), number, each)
        for number, each in enumerate(_firsts(factors, loops, summed))
    ]
    if not found:
        return None
    operations, *_, first = min(found)
    few = operations <= GAIN * in_pairs(_sorted(*factors), loops)
    return first if few and GAIN * operations <= fewest(_sorted(*factors), loops, summed) else None


def _firsts(factors: tuple[Loops, ...], loops: Loops, over: Loops) -> Iterator[First]:
    """Every sum that can be taken first, over all loops that no other factor depends on."""
    numbers = range(len(factors))
    for count in range(1, len(factors) + 1):
        for chosen in combinations(numbers, count):
            used = frozenset().union(*(factors[number] for number in chosen))
            rest = frozenset().union(
                *(factors[number] for number in numbers if number not in chosen)
            )
            summed = over & used - rest
            if summed and (count < len(factors) or used < loops):
                yield First(chosen, summed, used - summed)


def _sorted(*factors: Loops) -> tuple[Loops, ...]:
    """In an order of their own: the order of factors does not count."""
    return tuple(sorted(factors, key=lambda loops: sorted(var.uid for var in loops)))
