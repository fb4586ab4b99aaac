"""Which factors of a product are computed once, before the loops that use them again?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, prod

from schedsearch.analysis.contractions import MAX_FACTORS
from schedsearch.analysis.conversions import Route, value_type
from schedsearch.analysis.ranges import Ranges, bind_loops, ranges_of_args
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.text import show_expr
from schedsearch.transforms.blocks.columns import other_columns, with_gaps
from schedsearch.transforms.blocks.reductions import used_again
from schedsearch.transforms.blocks.terms import moves, operand_of, without_temporaries
from schedsearch.transforms.operators.outward import (
    changes,
    loops_around,
    movable,
    order_of,
    unchanging,
)
from schedsearch.transforms.operators.products import Leaf, factors_of, part_of

REUSED = 8
"""How often each gathered value is used: one gather takes as long as some products."""

THREE = 3
"""Factors that are one more than an instruction multiplies."""


@dataclass(frozen=True)
class Operand:
    """Factors of a statement's product, by number, and the loops to move them out of, the
    innermost first; those in `kept` change their product. `shaped` are the factors that depend on
    these: the result is laid out like the one that depends on all, or as the loops are, those
    `across` last."""

    stmt: q.Assign | q.Reduce
    text: str
    shaped: tuple[q.Expr, ...]
    factors: tuple[int, ...]
    leaves: tuple[Leaf, ...]
    loops: tuple[q.For, ...]
    kept: frozenset[q.Var]
    across: q.Var | None = None

    @property
    def route(self) -> Route | None:
        """The way to the part that is the product of the factors; None if there is none."""
        return part_of(self.leaves, self.factors)

    @property
    def order(self) -> list[q.Var]:
        """The loops of the result's dimensions. Of a pair those along the statement's rows are the
        last, so that vectors of it are loaded at once."""
        if len(self.shaped) == 1:
            [shaped] = self.shaped
            if self.across is not None:
                return sorted(order_of(shaped), key=lambda var: var == self.across)
            return order_of(shaped, by_step=isinstance(shaped, q.Read) and len(self.factors) == 1)
        along = q.expr_vars(self.stmt.idx[-1]) if self.stmt.idx else frozenset()
        return sorted((loop.iter for loop in reversed(self.loops)), key=lambda var: var in along)


def operands_of(proc: q.Proc, every: bool = False) -> Iterator[Operand]:
    """`every`: also those that others are better than, which earlier traces have."""
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        leaves = tuple(factors_of(stmt.rhs))
        if not 2 <= len(leaves) <= MAX_FACTORS or value_type(stmt.rhs, stmt.type) not in FLOATS:
            continue
        loops = tuple(loops_around(proc, stmt))
        gather = other_columns(proc, stmt, loops_around(proc, stmt, before=inf)) is None
        along = _along_rows(stmt, loops)
        columns = along and any(_is_column(leaf, along) for leaf, _ in leaves)
        if not columns or _is_product(proc, stmt, loops):
            along = None
        around = (
            _operand(stmt, leaves, number, loops, ranges, gather, along)
            for number in range(len(leaves))
        )
        found = {operand.factors: operand for operand in around if operand}
        if (every or not found) and (pair := _pair(stmt, leaves, loops, ranges)):
            yield pair
        for operand in sorted(found.values(), key=_elements):
            if every or not any(operand.kept < other.kept for other in found.values()):
                yield operand


def _operand(
    stmt: q.Assign | q.Reduce,
    leaves: tuple[Leaf, ...],
    number: int,
    loops: tuple[q.For, ...],
    ranges: Ranges,
    gather: bool,
    along: q.For | None,
) -> Operand | None:
    """The operand around factor `number`; None if no loop uses its values again, or all there
    is to it is an array, unless that has gaps along the columns and `gather` is wanted, or a
    vector `along` the rows of the result is a column of it."""
    columns = q.expr_vars(stmt.idx[-1]) if stmt.idx else {loop.iter for loop in loops[:1]}
    loops = movable(loops, q.expr_vars(leaves[number][0]), ranges)
    iters = {loop.iter for loop in loops}
    used = [q.expr_vars(leaf) for leaf, _ in leaves]
    depends = [iters if loops and changes(loops[0], each) else each & iters for each in used]
    kept = depends[number]
    factors = tuple(other for other in range(len(leaves)) if depends[other] <= kept)
    parts = [leaves[factor][0] for factor in factors]
    if not kept or len(parts) == len(leaves):
        return None
    plain = len(parts) == 1 and isinstance(parts[0], q.Read)
    others = [leaf for other, (leaf, _) in enumerate(leaves) if other not in factors]
    gathered = plain and gather and with_gaps(parts[0], loops, columns)
    across = along.iter if plain and along and _is_column(parts[0], along) else None
    if plain and not (gathered or across or _twice(stmt, parts[0], others)):
        return None
    if any(map(q.may_change, parts)):
        return None
    around = tuple(unchanging(loops, frozenset().union(*map(q.expr_vars, parts))))
    least = REUSED if plain else 2
    if all(loop.iter in kept or (loop.extent or least) < least for loop in around):
        return None
    text = " * ".join(map(show_expr, parts))
    shaped = (leaves[number][0],)
    return Operand(stmt, text, shaped, factors, leaves, around, frozenset(kept), across)


def _along_rows(stmt: q.Assign | q.Reduce, loops: Sequence[q.For]) -> q.For | None:
    """The innermost loop, if it goes along the rows of a result that has several."""
    along = len(stmt.idx) > 1 and loops and moves(stmt.idx, loops[0], len(stmt.idx) - 1)
    return loops[0] if along else None


def _is_product(proc: q.Proc, stmt: q.Assign | q.Reduce, loops: Sequence[q.For]) -> bool:
    """Whether a sum has blocks, which pack their operand: no factor is another in each
    iteration."""
    direct = without_temporaries(proc, stmt)
    if direct is None and loops and changes(loops[0], q.expr_vars(stmt.rhs)):
        return False
    return used_again(direct or stmt, loops)


def _is_column(read: q.Expr, along: q.For) -> bool:
    return isinstance(read, q.Read) and operand_of(read, along) == "column"


def _pair(
    stmt: q.Assign | q.Reduce, leaves: tuple[Leaf, ...], loops: tuple[q.For, ...], ranges: Ranges
) -> Operand | None:
    """The two factors of three or more whose product has the fewest elements; None if the loops do
    not use those again."""
    if len(leaves) < THREE or any(q.may_change(leaf) for leaf, _ in leaves):
        return None
    pairs = (_joined(stmt, leaves, each, loops, ranges) for each in combinations(leaves, 2))
    found = [pair for pair in pairs if pair]
    return min(found, key=_elements, default=None)


def _joined(
    stmt: q.Assign | q.Reduce,
    leaves: tuple[Leaf, ...],
    pair: tuple[Leaf, Leaf],
    loops: tuple[q.For, ...],
    ranges: Ranges,
) -> Operand | None:
    parts = [leaf for leaf, _ in pair]
    used = frozenset().union(*map(q.expr_vars, parts))
    around = tuple(unchanging(movable(loops, used, ranges), used))
    kept = used & {loop.iter for loop in around}
    again = [loop.extent or REUSED for loop in around if loop.iter not in kept]
    summed = kept.difference(*map(q.expr_vars, stmt.idx))
    if not summed or prod(again) < REUSED:
        return None
    text = " * ".join(map(show_expr, parts))
    shaped = tuple(part for part in parts if q.expr_vars(part) & kept)
    numbers = tuple(leaves.index(leaf) for leaf in pair)
    return Operand(stmt, text, shaped, numbers, leaves, around, kept)


def _elements(found: Operand) -> tuple[int, float]:
    """Loops of unknown length, and elements for each of their iterations."""
    kept = [loop.extent for loop in found.loops if loop.iter in found.kept]
    return kept.count(None), prod(extent or 1 for extent in kept)


def _twice(stmt: q.Assign | q.Reduce, read: q.Expr, others: Iterable[q.Expr]) -> bool:
    """Whether a vector of another operand is of the same array, and this one is not the vector."""
    assert isinstance(read, q.Read)
    along = q.expr_vars(stmt.idx[-1]) if stmt.idx else frozenset()
    return not along & q.expr_vars(read) and any(
        isinstance(other, q.Read) and other.buf == read.buf and along & q.expr_vars(other)
        for other in others
    )
