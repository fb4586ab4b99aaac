"""Which loop runs along the columns of a sum: that of the result, or another one where an operand
has gaps along that, or where it is too short for a register."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import dropwhile
from math import prod
from typing import TypeGuard

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.contractions import LONG
from schedsearch.core import ast as q
from schedsearch.transforms.blocks.reductions import kept_loops, used_again
from schedsearch.transforms.blocks.terms import first_dim, in_one_type, moves, operand_of

NEIGHBOURS = 8
"""So many are worth a vector."""

FULL = 16
"""Columns that fill a register, or most of two."""

REUSED = 8
"""Products of each element that is copied, at least."""

GATHERED = 2
"""A gathered element is copied again, to a panel."""

USES = 32
"""So often a copied element is used, at least, where columns are few: to copy it takes as long as
some products."""


@dataclass(frozen=True)
class Columns:
    """A sum in `loops`, the outermost first, of which `across` may run along the columns; it moves
    the result along dimension `dim`."""

    loops: tuple[q.For, ...]
    across: q.For
    dim: int


def other_columns(
    proc: q.Proc, stmt: q.Stmt, loops: Iterable[q.For], width: int = 0
) -> Columns | None:
    """Another loop for the columns of a sum, where an operand is read with gaps along them, and to
    copy result and operands takes no longer than to gather that operand. `loops`, the innermost
    first, are those around the sum. With the `width` of a register: where they fill less than half
    of one, and what is copied is used `USES` times; of several loops the one that copies least."""
    if not _can_be_laid_out(stmt, proc):
        return None
    terms, around = _terms(stmt), _around(stmt, loops)
    columns = next((x for x in around if moves(stmt.idx, x, len(stmt.idx) - 1)), None)
    if columns is None or not used_again(stmt, around):
        return None
    apart = [read for read in terms if columns.iter in q.expr_vars(read)]
    apart = [read for read in apart if with_gaps(read, around, {columns.iter})]
    few = bool(width) and not apart and 2 * (columns.extent or width) < width
    if not (apart or few):
        return None
    if few:
        most = _elements({loop.iter for loop in around}, around) // USES
    else:
        most = GATHERED * sum(_elements(q.expr_vars(read), around) for read in apart)
    choices: list[tuple[int, Columns]] = []
    for across in reversed(around):
        dim = first_dim(stmt.idx, across)
        if dim is None or across is columns or not moves(stmt.idx, across, dim):
            continue
        moved = [read for read in terms if across.iter in q.expr_vars(read)]
        if not moved or any(operand_of(read, across) is None for read in moved):
            continue
        turned = [kept_loops(stmt, around), *map(q.expr_vars, moved)]
        copied = sum(_elements(variables, around) for variables in turned)
        if (across.extent or FULL) >= FULL and not {*moved} & {*apart} and copied <= most:
            choices.append((copied if few else 0, Columns(around, across, dim)))
    return min(choices, key=lambda each: each[0], default=(0, None))[1]


def scattered_columns(proc: q.Proc, stmt: q.Stmt, loops: Iterable[q.For]) -> Columns | None:
    """Another loop for the columns of a sum that has gaps in its result, filled by a few taps: a
    transposed convolution, `y[o, k * j + s] += x[c, j] * w[c, o, s]`, whose channels come first."""
    if not _can_be_laid_out(stmt, proc):
        return None
    terms, around = _terms(stmt), _around(stmt, loops)
    last = len(stmt.idx) - 1
    columns = next((loop for loop in around if moves(stmt.idx, loop, last)), None)
    gaps = any(abs(stmt.idx[last].coefficient(loop.iter)) > 1 for loop in around)
    kept = kept_loops(stmt, around)
    again = prod(loop.extent or LONG for loop in around if loop.iter not in kept)
    if columns is None or not gaps or (columns.extent or LONG) >= NEIGHBOURS or again < REUSED:
        return None
    for across in reversed(around):
        dim = first_dim(stmt.idx, across)
        if dim in (None, last) or not moves(stmt.idx, across, dim):
            continue
        moved = [read for read in terms if across.iter in q.expr_vars(read)]
        rows = moved and all(operand_of(read, across) for read in moved)
        if rows and (across.extent or FULL) >= FULL:
            return Columns(around, across, dim)
    return None


def _can_be_laid_out(stmt: q.Stmt, proc: q.Proc) -> TypeGuard[q.Reduce]:
    """Whether it is a sum of one type, into an array that can be copied."""
    if not isinstance(stmt, q.Reduce) or len(stmt.idx) < 2 or not in_one_type(stmt):
        return False
    array = declared(proc).get(stmt.buf)
    plain = array is not None and array.dense and not array.window
    return plain and all(map(q.expr_vars, stmt.idx))


def _terms(stmt: q.Reduce) -> tuple[q.Read, ...]:
    """The elements that a sum reads, each once."""
    return tuple(dict.fromkeys(reads(stmt.rhs)))


def _around(stmt: q.Reduce, loops: Iterable[q.For]) -> tuple[q.For, ...]:
    """The loops around a sum, the outermost first, from the first one that it depends on."""
    used = frozenset().union(*map(q.expr_vars, (*stmt.idx, stmt.rhs)))
    return tuple(dropwhile(lambda loop: loop.iter not in used, tuple(loops)[::-1]))


def _elements(variables: Collection[q.Var], loops: Iterable[q.For]) -> int:
    return prod(loop.extent or LONG for loop in loops if loop.iter in variables)


def with_gaps(read: q.Expr, loops: Iterable[q.For], columns: Collection[q.Var]) -> bool:
    """Whether the loops run through elements that are apart along `columns`: `2 * v`, or `2 * v +
    r` with a short `r`, but not `8 * io + ii` where `ii` runs to 8."""
    assert isinstance(read, q.Read)
    last = read.idx[-1] if read.idx else q.Affine()
    if not any(abs(last.coefficient(var)) > 1 for var in columns):
        return False
    steps = [(abs(last.coefficient(loop.iter)), -(loop.extent or NEIGHBOURS)) for loop in loops]
    run = 1  # of neighbours
    for step, extent in sorted(steps):  # of equal steps, the longest loop first
        if step == run:
            run *= -extent
    return run < NEIGHBOURS and any(step > 1 for step, _ in steps)
