"""NumPy's einsum as an equation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from schedsearch.core.errors import UserError
from schedsearch.frontends import types
from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.equations.build import Equations, understood
from schedsearch.frontends.lowered import Refusal

_HERE = s.Place(1, 1)

Dim = tuple[str, bool]
"""An index, and whether the operand has length 1 there, which is repeated."""


@dataclass(frozen=True)
class Subscripts:
    """The indices of each operand and of the result."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


def einsum(subscripts: str, operands: Sequence[tuple[tuple[int, ...], Any]]) -> Equations:
    """`numpy.einsum` of arrays of these shapes and NumPy types. Lengths are symbolic; those given
    decide about the order of products, and where a length of 1 is repeated. Raises UserError for
    what NumPy refuses, and for types that kernels do not have."""
    found = parsed(subscripts, tuple(len(shape) for shape, _ in operands))
    kinds = tuple(_named(subscripts, dtype) for _, dtype in operands)
    lengths: dict[str, int] = {}
    for names, (shape, _) in zip(found.operands, operands, strict=True):
        own: dict[str, int] = {}
        for name, n in zip(names, shape, strict=True):
            if own.setdefault(name, n) != n:
                _refuse(subscripts, f"index {name} has the lengths {own[name]} and {n}")
            if lengths.get(name, 1) not in (1, n) and n != 1:
                _refuse(subscripts, f"index {name} has the lengths {lengths[name]} and {n}")
            lengths[name] = max(n, lengths.get(name, 1))
    dims = tuple(
        tuple((name, n == 1 and lengths[name] > 1) for name, n in zip(names, shape, strict=True))
        for names, (shape, _) in zip(found.operands, operands, strict=True)
    )
    many = len(operands) > 2
    return _made(subscripts, dims, found.result, kinds, tuple(lengths.items()) if many else ())


def _named(subscripts: str, dtype: Any) -> str:
    try:
        return types.named(dtype, f"einsum {subscripts!r}")
    except Refusal as refusal:
        construct, reason, _ = refusal.parts
        raise UserError(f"{construct}: {reason}; convert the operand (`astype`)") from None


def _refuse(subscripts: str, reason: str) -> NoReturn:
    raise UserError(f"einsum {subscripts!r}: {reason}; write it as for numpy.einsum")


@cache
def parsed(subscripts: str, ranks: tuple[int, ...]) -> Subscripts:
    """Indices are letters, those that an ellipsis stands for `e0`, `e1`, ..., the last `e0`."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        _refuse(subscripts, f"it is of {len(inputs)} operands, and {len(ranks)} are given")
    operands = []
    longest = 0
    for each, rank in zip(inputs, ranks, strict=True):
        letters = each.replace("...", "", 1)
        _check(subscripts, letters)
        dots = rank - len(letters)
        if dots < 0 or (dots and "..." not in each):
            _refuse(subscripts, f"{each!r} is for {len(letters)} axes, and the operand has {rank}")
        longest = max(longest, dots)
        operands.append(_spread(each, dots))
    result = _result(subscripts, operands, right if arrow else None, longest)
    return Subscripts(tuple(operands), result)


def _check(subscripts: str, letters: str) -> None:
    for letter in letters:
        if not (letter.isascii() and letter.isalpha()):
            _refuse(subscripts, f"{letter!r} is no letter")


def _spread(text: str, dots: int) -> tuple[str, ...]:
    before, ellipsis, after = text.partition("...")
    middle = [f"e{n}" for n in reversed(range(dots))] if ellipsis else []
    return (*before, *middle, *after)


def _result(
    subscripts: str, operands: list[tuple[str, ...]], asked: str | None, longest: int
) -> tuple[str, ...]:
    dots = tuple(f"e{n}" for n in reversed(range(longest)))
    counts = Counter(name for names in operands for name in names if len(name) == 1)
    if asked is None:
        return (*dots, *sorted(name for name, times in counts.items() if times == 1))
    letters = asked.replace("...", "", 1)
    _check(subscripts, letters)
    if longest and "..." not in asked:
        _refuse(subscripts, "the result has no ellipsis, and operands have")
    if unknown := set(letters) - counts.keys():
        _refuse(subscripts, f"no operand has the index {min(unknown)}")
    if len(set(letters)) < len(letters):
        _refuse(subscripts, "the result has an index twice")
    return _spread(asked, longest)


@cache
def _made(
    subscripts: str,
    dims: tuple[tuple[Dim, ...], ...],
    result: tuple[str, ...],
    kinds: tuple[str, ...],
    lengths: tuple[tuple[str, int], ...],
) -> Equations:
    """Names of arrays have a digit, those of indices are letters or come from an ellipsis."""
    statements: list[s.Statement] = []
    factors: list[s.Expr] = []
    for number, (axes, kind) in enumerate(zip(dims, kinds, strict=True)):
        name = f"a{number}"
        sizes = tuple(s.Number(_HERE, 1) if one else _size(index) for index, one in axes)
        statements.append(s.Declaration(_HERE, name, kind, sizes))
        places = tuple(s.Number(_HERE, 0) if one else s.Access(_HERE, i) for i, one in axes)
        factors.append(s.Access(_HERE, name, places))
    value = reduce(lambda one, other: s.Binary(_HERE, "*", one, other), factors)
    target = s.Access(_HERE, "result", tuple(s.Access(_HERE, index) for index in result))
    statements.append(s.Equation(_HERE, target, value))
    text = s.Text(subscripts, "einsum")
    return understood(
        statements,
        text,
        name="_".join(["einsum", *re.findall("[A-Za-z]+", subscripts)]),
        default=types.result_type(*kinds, construct=f"einsum {subscripts!r}"),
        given={},
        folder=Path(),
        hints=dict(lengths) if lengths else None,
    )


def _size(index: str) -> s.Expr:
    return s.Access(_HERE, f"n_{index}")


def dtype_of(equations: Equations) -> np.dtype[Any]:
    """Of the result."""
    return types.DTYPES[equations.kinds["result"]]


def lengths_of(found: Subscripts, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Of indices, where operands with length 1 are repeated."""
    lengths: dict[str, int] = {}
    for names, shape in zip(found.operands, shapes, strict=True):
        for name, n in zip(names, shape, strict=True):
            lengths[name] = max(n, lengths.get(name, 1))
    return lengths


def result_shape(found: Subscripts, arrays: Sequence[Any]) -> tuple[int, ...]:
    lengths = lengths_of(found, [each.shape for each in arrays])
    return tuple(lengths[name] for name in found.result)
