"""What affine inequalities say of each other: Fourier and Motzkin's elimination."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from schedsearch.core import ast as q

MANY = 400
"""Inequalities at a time. Elimination may square their number at each step."""


def at_least(lhs: q.Affine, rhs: q.Affine) -> q.Affine:
    """`lhs >= rhs`, as an expression that is not negative."""
    return lhs - rhs


def below(lhs: q.Affine, rhs: q.Affine) -> q.Affine:
    """`lhs < rhs`, of integers."""
    return rhs - lhs - 1


def holds(fact: q.Affine, facts: Iterable[q.Affine]) -> bool:
    """Whether `fact >= 0` follows from others. False if that is not known."""
    return projected([*facts, fact.scaled(-1) - 1], frozenset()) is None


def projected(facts: Iterable[q.Affine], kept: frozenset[q.Var]) -> tuple[q.Affine, ...] | None:
    """What inequalities say of the kept variables alone. None if they contradict each other.

    Over the rationals, made sharper where integers allow: what is said may be too little, but is
    never wrong.
    """
    rows = _with_divisions(facts)
    atoms = {atom for row in rows for atom, _ in row.terms if atom not in kept}
    found = _tidy(rows)
    while found is not None and atoms:
        costs = {atom: _cost(found, atom) for atom in atoms}
        atom = min(atoms, key=lambda each: (costs[each], q.atom_order(each)))
        atoms.discard(atom)
        found = _tidy(_without(found, atom))
        if found is not None and len(found) > MANY:
            return ()
    return None if found is None else tuple(found)


def _with_divisions(facts: Iterable[q.Affine]) -> list[q.Affine]:
    """The inequalities, and those that define quotients and remainders in them."""
    rows: list[q.Affine] = []
    queue, known, signed = list(facts), set[q.Atom](), list[q.FloorDiv | q.Mod]()
    while queue:
        row = queue.pop()
        rows.append(row)
        for atom, _ in row.terms:
            if isinstance(atom, q.FloorDiv | q.Mod) and atom not in known:
                known.add(atom)
                rest = atom.num - _times(atom, atom.den)
                if isinstance(atom, q.Mod):
                    rest = q.as_affine(atom)
                    whole = q.as_affine(q.FloorDiv(atom.num, atom.den)).scaled(atom.den)
                    queue += [atom.num - whole - rest, whole + rest - atom.num]
                queue += [rest, rest.scaled(-1) + atom.den - 1]
                signed.append(atom)
    for atom in signed:  # elimination over the rationals may lose it
        plain = [row for row in rows if not any(part in known for part, _ in row.terms)]
        if holds(atom.num, plain):
            rows.append(q.as_affine(q.FloorDiv(atom.num, atom.den)))
    return rows


def _times(atom: q.Atom, factor: int) -> q.Affine:
    return q.as_affine(atom).scaled(factor)


def _cost(rows: list[q.Affine], atom: q.Atom) -> int:
    signs = [row.coefficient(atom) for row in rows]
    return sum(c > 0 for c in signs) * sum(c < 0 for c in signs)


def _without(rows: list[q.Affine], atom: q.Atom) -> list[q.Affine]:
    out = [row for row in rows if not row.coefficient(atom)]
    lows = [row for row in rows if row.coefficient(atom) > 0]
    highs = [row for row in rows if row.coefficient(atom) < 0]
    for low in lows:
        for high in highs:
            a, b = low.coefficient(atom), -high.coefficient(atom)
            out.append(low.scaled(b) + high.scaled(a))
    return out


def _tidy(rows: Iterable[q.Affine]) -> list[q.Affine] | None:
    """Each inequality once, the sharpest of those that differ in the constant; None if one is
    false."""
    sharpest: dict[tuple[tuple[q.Atom, int], ...], int] = {}
    for row in rows:
        if not row.terms:
            if row.const < 0:
                return None
            continue
        factor = gcd(*(c for _, c in row.terms))
        terms = tuple((atom, c // factor) for atom, c in row.terms)
        const = row.const // factor
        sharpest[terms] = min(const, sharpest.get(terms, const))
    for terms, const in sharpest.items():
        opposite = sharpest.get(tuple((atom, -c) for atom, c in terms))
        if opposite is not None and const + opposite < 0:
            return None
    return [q.Affine(const, terms) for terms, const in sharpest.items()]
