"""The least values of affine expressions, over loops and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedsearch.core import ast as q


@dataclass(frozen=True)
class Loop:
    """`var` from `lo` to `hi - 1`."""

    var: q.Var
    lo: q.Affine
    hi: q.Affine


def lowest(value: q.Affine, loops: Sequence[Loop]) -> q.Affine | None:
    """The least value over the loops, the outermost first, as an expression of sizes. None if it
    is not found: quotients are only followed where nothing else depends on their variables."""
    for loop in reversed(loops):
        terms: list[q.Affine] = [q.Affine(value.const)]
        depends = [atom for atom, _ in value.terms if q.mentions_atom(atom, loop.var)]
        for atom, factor in value.terms:
            part: q.Affine | None = q.as_affine(atom)
            if atom in depends:
                part = _extreme(atom, loop, least=factor > 0, alone=len(depends) == 1)
            if part is None:
                return None
            terms.append(part.scaled(factor))
        value = sum(terms[1:], terms[0])
    return value


def _extreme(atom: q.Atom, loop: Loop, *, least: bool, alone: bool) -> q.Affine | None:
    match atom:
        case q.Var():
            return loop.lo if least else loop.hi - 1
        case q.Mod():
            return q.Affine(0 if least else atom.den - 1)
        case q.FloorDiv() if alone:
            sign = 1 if least else -1
            inner = lowest(atom.num.scaled(sign), [loop])
            return None if inner is None else q.floor_div(inner.scaled(sign), atom.den)
        case _:
            return None


def least_value(value: q.Affine) -> int | None:
    """The least value of an expression of sizes, which are 1 at least; None if it has none, or is
    not found. `m - m % 3` is also `3 * (m / 3)`."""
    found = [_least_of_terms(value)]
    for atom, factor in value.terms:
        if isinstance(atom, q.Mod) and factor < 0:
            whole = atom.num - q.floor_div(atom.num, atom.den).scaled(atom.den)
            if q.as_affine(atom) != whole:
                other = value + (whole - q.as_affine(atom)).scaled(factor)
                found.append(least_value(other))
    return max((each for each in found if each is not None), default=None)


def _least_of_terms(value: q.Affine) -> int | None:
    total = value.const
    for atom, factor in value.terms:
        match atom:
            case q.Mod():
                total += min(factor * (atom.den - 1), 0)
            case q.FloorDiv():
                least = least_value(atom.num.scaled(1 if factor > 0 else -1))
                if least is None:
                    return None
                part = least // atom.den if factor > 0 else -(-least // atom.den)
                total += abs(factor) * part
            case _:
                if factor < 0:
                    return None
                total += factor
    return total


def lowered(value: q.Affine) -> q.Affine:
    """Not more than this one, with fewer quotients: `-2 * (n / 2)` is `-n` at least."""
    total = q.Affine(value.const)
    for atom, factor in value.terms:
        part = q.as_affine(atom).scaled(factor)
        if isinstance(atom, q.FloorDiv) and factor > 0:
            part = q.floor_div(lowered(atom.num), atom.den).scaled(factor)
        elif isinstance(atom, q.FloorDiv) and factor % atom.den == 0:
            part = lowered(atom.num.scaled(factor // atom.den))
        total = total + part
    return total


def never_negative(value: q.Affine) -> bool:
    """Whether an expression of sizes is 0 at least, whatever they are."""
    least = least_value(value)
    return least is not None and least >= 0


def lengthened(value: q.Affine, known: Sequence[q.Affine]) -> q.Affine | None:
    """An expression that is 1 at least, and not less than this one; `known` are not negative. It
    is longer where this one may be 0, or where it is not known how far down it goes."""
    for base in (q.Affine(), *known):
        least = least_value(value - base)
        if least is not None:
            return value + max(0, 1 - least)
    longer, found = q.Affine(value.const), False
    for atom, factor in value.terms:
        part = q.as_affine(atom)
        if isinstance(atom, q.FloorDiv) and factor > 0 and least_value(atom.num) is None:
            most = lengthened(atom.num, ())
            if most is None:
                return None
            part, found = q.floor_div(most + (atom.den - 1), atom.den), True
        longer = longer + part.scaled(factor)
    if found:
        return lengthened(longer, known)
    gone = [(atom, factor) for atom, factor in value.terms if factor < 0]
    if not gone or not all(never_negative(q.as_affine(atom)) for atom, _ in gone):
        return None
    return lengthened(value - q.affine(0, tuple(gone)), ())


def surely_positive(value: q.Affine, loops: Sequence[Loop]) -> bool:
    """Whether an expression is shown to be 1 at least."""
    low = lowest(value, loops)
    return low is not None and never_negative(low - 1)
