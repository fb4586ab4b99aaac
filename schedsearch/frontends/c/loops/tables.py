"""Constant arrays of whole numbers that indices are made of: `f[y - cy[q]][x - cx[q]]`.

Kernels have no indices that are data. A loop that goes through such a table is written out, so that
each of its iterations knows the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends import graph
from schedsearch.frontends.c.c_types import CType
from schedsearch.frontends.c.trees import names_in, walk

MOST_UNROLLED = 64
"""Iterations of a loop that is written out."""


def values(
    array: graph.Array, kind: CType, given: Mapping[tuple[int, ...], object]
) -> dict[tuple[q.Affine, ...], int]:
    """The numbers of a constant array by their indices; others are 0. Empty if not all of them are
    known, or its type has one not."""
    low = 0 if kind.unsigned else -(2 ** (kind.bits - 1))
    whole: dict[tuple[int, ...], int] = {}
    for at, each in given.items():
        if not isinstance(each, q.Affine) or not each.is_const:
            return {}
        if kind.floating or not low <= each.const < low + 2**kind.bits:
            return {}
        whole[at] = each.const
    places = product(*(range(extent.const) for extent in array.shape))
    return {tuple(map(q.Affine, place)): whole.get(place, 0) for place in places}


def numbers(first: q.Affine, ends: Sequence[q.Affine], step: int) -> range | None:
    """The values of a loop's variable, if they are known and few."""
    if len(ends) != 1 or not first.is_const or not ends[0].is_const:
        return None
    found = range(first.const, ends[0].const + (1 if step > 0 else -1), step)
    return found if len(found) <= MOST_UNROLLED else None


def looked_up(
    body: Any, name: str, is_table: Callable[[str], bool], places: frozenset[str]
) -> bool:
    """Whether a variable chooses numbers of a table that indices in a loop's body are made of."""
    for node in walk(body):
        match node:
            case c_ast.ArrayRef():
                inside = node.subscript
            case c_ast.Decl() if node.init is not None and (
                node.name in places or isinstance(node.type, c_ast.PtrDecl)
            ):
                inside = node.init
            case c_ast.Assignment() if isinstance(node.lvalue, c_ast.ID):
                inside = node.rvalue if node.lvalue.name in places else None
            case _:
                inside = None
        if inside is not None and any(
            name in names_in(each.subscript) and is_table(_base(each))
            for each in walk(inside)
            if isinstance(each, c_ast.ArrayRef)
        ):
            return True
    return False


def _base(node: Any) -> str:
    while isinstance(node, c_ast.ArrayRef):
        node = node.name
    return node.name if isinstance(node, c_ast.ID) else ""
