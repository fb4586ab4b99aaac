"""Control expressions and conditions as z3's terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from schedsearch.analysis import conditions
from schedsearch.core import ast as q


class NoTerm(Exception):
    """An expression has no value that a solver could know."""


def integer(value: q.Affine, atom: Callable[[q.Leaf], Any]) -> Any:
    """A control expression; `atom` gives the terms of variables, strides and fields."""
    total: Any = z3.IntVal(value.const)
    for each, coefficient in value.terms:
        match each:
            case q.FloorDiv():
                part = integer(each.num, atom) / each.den  # z3's integer division floors
            case q.Mod():
                part = integer(each.num, atom) % each.den
            case _:
                part = atom(each)
        total = total + coefficient * part
    return total


def truth(
    cond: q.Expr,
    atom: Callable[[q.Leaf], Any],
    boolean: Callable[[q.Read | q.ReadConfig], Any],
) -> Any:
    """A condition; `boolean` gives the terms of arguments and fields. Raises NoTerm."""

    def leaf(of: conditions.Boolean) -> Any:
        return z3.BoolVal(bool(of.value)) if isinstance(of, q.Const) else boolean(of)

    found = conditions.truth(cond, lambda value: integer(value, atom), leaf)
    if found is None:
        raise NoTerm
    return found
