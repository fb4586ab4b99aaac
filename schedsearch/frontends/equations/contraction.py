"""Products of three and more arrays, two at a time: the order is opt_einsum's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import reduce

from schedsearch.core import ast as q
from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.equations.extents import ZERO, Index, Read
from schedsearch.frontends.equations.meant import Meant, Term

USUAL = 128
"""The length of an index, for the order, where it is not known."""

_Factors = list[s.Expr]


def contracted(
    meant: Meant, hints: Mapping[str, int] | None, taken: Collection[str]
) -> tuple[list[Meant], Meant]:
    """Equations of temporaries, and the equation in terms of them. Without `hints` (lengths of
    indices) only where the nest of loops is deeper than any of two arrays at a time."""
    if meant.equation.project != "sum":
        return [], meant
    more: list[Meant] = []
    terms = []
    for term in meant.terms:
        factors = list(_factors(term.value)) if term.gone else []
        steps, left = _steps(meant, term, factors, hints, {*taken, *_names(more)})
        more += steps
        terms.append(left)
    return more, replace(meant, terms=tuple(terms))


def _names(more: list[Meant]) -> list[str]:
    return [each.target.name for each in more]


def _factors(expr: s.Expr) -> Iterator[s.Expr]:
    match expr:
        case s.Binary() if expr.op == "*":
            yield from _factors(expr.lhs)
            yield from _factors(expr.rhs)
        case _:
            yield expr


def _steps(
    meant: Meant,
    term: Term,
    factors: _Factors,
    hints: Mapping[str, int] | None,
    taken: Collection[str],
) -> tuple[list[Meant], Term]:
    arrays = [each for each in factors if isinstance(each, s.Access) and each.index]
    others = [each for each in factors if not (isinstance(each, s.Access) and each.index)]
    if len(arrays) < 3 or not all(map(_is_scalar, others)):
        return [], term
    inputs = [_plain(each, meant) for each in arrays]
    if None in inputs:
        return [], term
    kept = {index.name for index in meant.kept}
    sets = [frozenset(each) for each in inputs if each is not None]
    path = _path(sets, frozenset(kept), meant, hints)
    left = list(zip(arrays, sets, strict=True))
    made: list[Meant] = []
    deepest = 0
    for pair in path[:-1]:
        chosen = [left.pop(place) for place in sorted(pair, reverse=True)][::-1]
        inside = frozenset[str]().union(*(names for _, names in chosen))
        outside = kept.union(*(names for _, names in left))
        deepest = max(deepest, len(inside))
        name = _free(taken, len(made))
        step = _pair(meant, [each for each, _ in chosen], inside, inside & outside, name)
        made.append(step)
        left.append((step.equation.target, inside & outside))
    deepest = max(deepest, len(frozenset[str]().union(kept, *(names for _, names in left))))
    if hints is None and deepest >= len(frozenset[str]().union(kept, *sets)):
        return [], term
    value = _product([*others, *(each for each, _ in left)])
    names = frozenset[str]().union(*(names for _, names in left))
    return made, Term(value, tuple(index for index in term.gone if index.name in names))


def _is_scalar(expr: s.Expr) -> bool:
    return isinstance(expr, s.Number) or (isinstance(expr, s.Access) and not expr.index)


def _plain(access: s.Access, meant: Meant) -> list[str] | None:
    """The names of its indices, if there is nothing else and all begin at 0."""
    found = []
    for expr in access.index:
        if isinstance(expr, s.Number) and expr.value == 0:
            continue
        if not isinstance(expr, s.Access) or expr.name not in meant.indices:
            return None
        if meant.indices[expr.name].lo != ZERO:
            return None
        found.append(expr.name)
    return found


def _path(
    sets: list[frozenset[str]],
    kept: frozenset[str],
    meant: Meant,
    hints: Mapping[str, int] | None,
) -> list[tuple[int, ...]]:
    from opt_einsum.paths import auto  # it takes a tenth of a second to load

    lengths = {name: _long(index, hints or {}) for name, index in meant.indices.items()}
    path = auto(sets, kept, lengths)
    return [each for each in path if len(each) > 1]


def _long(index: Index, hints: Mapping[str, int]) -> int:
    assert index.hi is not None, "bounds are known"
    return index.hi.const if index.hi.is_const else hints.get(index.name, USUAL)


def _free(taken: Collection[str], number: int) -> str:
    name = f"pair{number + 1}"
    while name in taken:
        name += "_"
    return name


def _pair(
    meant: Meant, arrays: list[s.Access], inside: frozenset[str], left: frozenset[str], name: str
) -> Meant:
    place = meant.equation.place
    kept = tuple(index for index in meant.indices.values() if index.name in left)
    gone = tuple(index for index in meant.indices.values() if index.name in inside - left)
    target = s.Access(place, name, tuple(s.Access(place, index.name) for index in kept))
    value = _product(list(arrays))
    return Meant(
        s.Equation(place, target, value),
        Read(name, tuple(map(_variable, kept)), place),
        kept,
        {index.name: index for index in (*kept, *gone)},
        (Term(value, gone),),
        meant.kind,
        True,
    )


def _variable(index: Index) -> q.Affine:
    return q.as_affine(index.var)


def _product(factors: _Factors) -> s.Expr:
    return reduce(lambda one, other: s.Binary(one.place, "*", one, other), factors)
