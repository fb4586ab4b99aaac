"""Pointers with one index as arrays of several: `A[(i * n + j) * m + k]` is `A[i, j, k]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import Any

from schedsearch.core import ast as q
from schedsearch.frontends.c.affine.facts import holds, projected

Monomial = tuple[q.Atom, ...]
"""A product of sizes, and of parts of them (`w / 2`), sorted."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of affine expressions times products of sizes."""

    parts: tuple[tuple[Monomial, q.Affine], ...]

    @staticmethod
    def of(value: q.Affine) -> Polynomial:
        return Polynomial((((), value),))

    def part(self, monomial: Monomial) -> q.Affine:
        return dict(self.parts).get(monomial, q.Affine())

    @property
    def affine(self) -> q.Affine | None:
        """The same, if it multiplies no sizes."""
        total = q.Affine()
        for monomial, part in self.parts:
            if not monomial:
                total = total + part
            elif len(monomial) == 1 and part.is_const:
                total = total + q.as_affine(monomial[0]).scaled(part.const)
            elif part != q.Affine():
                return None
        return total

    def divided(self, by: int) -> Polynomial | None:
        """A quotient without a remainder."""
        numbers = [n for _, e in self.parts for n in (e.const, *(c for _, c in e.terms))]
        if any(number % by for number in numbers):
            return None
        return Polynomial(tuple((m, _divided(e, by)) for m, e in self.parts))

    def split_by(self, size: q.Atom) -> tuple[Polynomial, q.Affine] | None:
        """How many times a size is in it, and what is left."""
        times, rest = Polynomial(()), q.Affine()
        for monomial, part in self.parts:
            if size in monomial:
                fewer = list(monomial)
                fewer.remove(size)
                times = times.plus(Polynomial(((tuple(fewer), part),)), 1)
            elif monomial:
                return None
            else:
                rest = part
        return times, rest

    def plus(self, other: Polynomial, sign: int) -> Polynomial:
        keys = dict.fromkeys([*dict(self.parts), *dict(other.parts)])
        return _polynomial((k, self.part(k) + other.part(k).scaled(sign)) for k in keys)


@dataclass(frozen=True)
class Need:
    """An access to a pointer: its (first) index, what is known there, in all cases and in each,
    and where it is."""

    index: Polynomial
    facts: tuple[q.Affine, ...]
    cases: tuple[tuple[q.Affine, ...], ...]
    node: Any


@dataclass(frozen=True)
class Layout:
    """Strides from the outermost to 1, as a factor and a product of sizes, and the extents of all
    dimensions but the first."""

    strides: tuple[tuple[int, Monomial], ...]
    inner: tuple[q.Affine, ...]

    def index(self, polynomial: Polynomial, facts: Sequence[q.Affine]) -> tuple[q.Affine, ...]:
        """The index into each dimension, where `facts` hold."""
        left = _moved(polynomial, [monomial for _, monomial in self.strides])
        out = [_divided(left.part(monomial), factor) for factor, monomial in self.strides]
        for at in range(len(self.inner), 0, -1):
            extent = self.inner[at - 1]
            for rows in (0, 1, -1):  # `i * n + n - 1 - j` is in row i
                within = out[at] + extent.scaled(rows)
                if holds(within, facts) and holds(extent - 1 - within, facts):
                    out[at - 1 : at + 1] = [out[at - 1] - rows, within]
                    break
        return tuple(out)


def polynomial(value: q.Affine | Polynomial) -> Polynomial:
    return Polynomial.of(value) if isinstance(value, q.Affine) else value


def simplest(value: Polynomial) -> q.Affine | Polynomial:
    found = value.affine
    return value if found is None else found


def common(value: Polynomial) -> Monomial:
    """The sizes that are factors of all parts."""
    monomials = [list(monomial) for monomial, _ in value.parts]
    found = []
    for atom in monomials[0] if monomials else ():
        if all(atom in each for each in monomials):
            found.append(atom)
            for each in monomials[1:]:
                each.remove(atom)
    return tuple(found)


def without(value: Polynomial, factor: Monomial) -> Polynomial:
    """A polynomial divided by a factor of all its parts."""
    parts = []
    for monomial, part in value.parts:
        rest = list(monomial)
        for atom in factor:
            rest.remove(atom)
        parts.append((tuple(rest), part))
    return Polynomial(tuple(parts))


def product(a: Polynomial, b: Polynomial, sizes: frozenset[q.Var]) -> Polynomial | None:
    """None if neither is made of sizes alone."""
    for left, right in ((a, b), (b, a)):
        factors = _expanded(right, sizes)
        if factors is not None:
            total: Polynomial = Polynomial(())
            for monomial, factor in factors:
                scaled = (
                    (tuple(sorted((*m, *monomial), key=q.atom_order)), e.scaled(factor))
                    for m, e in left.parts
                )
                total = total.plus(_polynomial(scaled), 1)
            return total
    return None


def factors_of(value: Polynomial, sizes: frozenset[q.Var]) -> tuple[int, Monomial] | None:
    """The number and the sizes whose product it is (`8 * n * m`). None of a sum."""
    found = value.affine
    if found is not None and len(found.terms) == 1 and not found.const:
        [(atom, number)] = found.terms
        return number, (atom,)
    factors = _expanded(value, sizes)
    if factors is None or len(factors) != 1:
        return None
    [(monomial, number)] = factors
    return number, monomial


def split_by(
    value: Polynomial, number: int, monomial: Monomial, sizes: frozenset[q.Var]
) -> tuple[Polynomial, q.Affine] | None:
    """How many times a number and sizes are in a polynomial, and what is left. None where that is
    not known."""
    factors = _expanded(value, sizes) if value.affine is None else None
    if factors is not None:
        value = _polynomial((each, q.Affine(by)) for each, by in factors)
    times = value.divided(number) if number > 0 else None
    rest = q.Affine()
    for atom in monomial:
        split = None if times is None else times.split_by(atom)
        if split is None:
            return None
        times, rest = split
        if rest != q.Affine() and len(monomial) > 1:
            return None
    return None if times is None else (times, rest.scaled(number))


def _polynomial(parts: Iterable[tuple[Monomial, q.Affine]]) -> Polynomial:
    return Polynomial(tuple((m, e) for m, e in parts if e != q.Affine()))


def _expanded(value: Polynomial, sizes: frozenset[q.Var]) -> list[tuple[Monomial, int]] | None:
    """Products of sizes and their constant factors."""
    out: list[tuple[Monomial, int]] = []
    for monomial, part in value.parts:
        for atom, coefficient in part.terms:
            if not _is_size(atom, sizes):
                return None
            out.append((tuple(sorted((*monomial, atom), key=q.atom_order)), coefficient))
        if part.const:
            out.append((monomial, part.const))
    return out


def _is_size(atom: q.Atom, sizes: frozenset[q.Var]) -> bool:
    if isinstance(atom, q.FloorDiv):
        return all(_is_size(each, sizes) for each, _ in atom.num.terms)
    return isinstance(atom, q.Var) and atom in sizes


def _moved(value: Polynomial, monomials: Sequence[Monomial]) -> Polynomial:
    """`n + j` is `1 * n + j` where `n` is a stride."""
    rest = value.part(())
    for monomial in monomials:
        if len(monomial) == 1 and (coefficient := rest.coefficient(monomial[0])):
            own = q.as_affine(monomial[0]).scaled(coefficient)
            change = Polynomial(((monomial, q.Affine(coefficient)),))
            value = value.plus(Polynomial.of(own), -1).plus(change, 1)
    return value


def _divided(value: q.Affine, factor: int) -> q.Affine:
    return q.Affine(value.const // factor, tuple((a, c // factor) for a, c in value.terms))


def layout(needs: Sequence[Need]) -> Layout | None:
    """The strides that all accesses have in common, or None."""
    monomials = {m for need in needs for m, _ in need.index.parts} | {()}
    ordered = sorted(monomials, key=len, reverse=True)
    moved = [_moved(need.index, ordered) for need in needs]
    strides: list[tuple[int, Monomial]] = []
    for monomial in ordered:
        numbers = [
            number
            for each in moved
            for number in (each.part(monomial).const, *(c for _, c in each.part(monomial).terms))
        ]
        strides.append((gcd(*numbers) or 1 if monomial else 1, monomial))
    inner = []
    for (factor, monomial), (finer, smaller) in pairwise(strides):
        rest = list(monomial)
        for var in smaller:
            if var not in rest:
                return None
            rest.remove(var)
        if len(rest) != 1 or factor % finer:
            return None
        inner.append(q.as_affine(rest[0]).scaled(factor // finer))
    return Layout(tuple(strides), tuple(inner))


def extent(
    accesses: Sequence[tuple[q.Affine, tuple[q.Affine, ...]]], sizes: Sequence[q.Var], top: q.Var
) -> q.Affine | None:
    """The least extent that all accesses, each with what is known there, stay below. None if no
    affine expression in sizes is that."""
    positive = [q.as_affine(size) - 1 for size in sizes]
    found: list[q.Affine] = []
    halves: list[q.Affine] = []
    constant: set[int] = set()
    for number, (index, facts) in enumerate(accesses):
        equal = (q.as_affine(top) - index, index - q.as_affine(top))
        rows = projected([*facts, *equal], frozenset((*sizes, top)))
        if rows is None:
            constant.add(number)  # it is never executed
        for row in rows or ():
            if row.coefficient(top) == -1:
                candidate = row + q.as_affine(top) + 1
                found += [] if candidate in found else [candidate]
                if candidate.is_const:
                    constant.add(number)
            elif (coefficient := row.coefficient(top)) < -1:
                rest = row - q.as_affine(top).scaled(coefficient)
                halves.append(q.floor_div(rest, -coefficient) + 1)

    def fits(each: q.Affine, but: set[int]) -> bool:
        return all(
            number in but or holds(each - 1 - index, facts)
            for number, (index, facts) in enumerate(accesses)
        )

    enough = [each for each in found if fits(each, set())]
    enough = enough or [each for each in halves if fits(each, set())]
    for each in enough:
        if all(holds(other - each, positive) for other in enough):
            return each
    if enough or not found:
        return enough[0] if enough else q.Affine(1)
    # that constants are within is asserted
    return next((each for each in found if not each.is_const and fits(each, constant)), None)
