"""Whether a statement ever runs, shown by one execution in which it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from exo.core.LoopIR import LoopIR, T

from schedsearch.analysis.conditions import COMPARISONS
from schedsearch.core import ast as q
from schedsearch.transforms.exo.speed.facts import Undecided, value_of, variable

SIZES = (1007, 1024, 25, 1)
"""All sizes get one of these. Usual tiles fit into the first, and leave a rest of several."""
MOST_TRIED = 200

Branch = tuple[Any, str]
"""A statement, and which of its blocks."""
_Values = dict[q.Atom, int]


def runs(proc: Any, around: Sequence[Branch]) -> bool:
    """Whether values of the arguments and of the loops `around` a statement, the outermost first,
    are found for which it runs. Nothing is known otherwise."""
    return any(map(_Search(proc, around).from_size, SIZES))


class _Search:
    def __init__(self, proc: Any, around: Sequence[Branch]) -> None:
        self.proc, self.around = proc, around
        self.tried = 0

    def from_size(self, size: int) -> bool:
        sizes: _Values = {variable(a.name): size for a in self.proc.args if a.type is T.size}
        try:
            return all(_holds(p, sizes) for p in self.proc.preds) and self.enters(0, sizes)
        except KeyError:  # it hangs on an index, a stride, a config
            return False

    def enters(self, number: int, values: _Values) -> bool:
        """Whether what is inside of statement `number`, and of all after it, runs."""
        self.tried += 1
        if number == len(self.around):
            return True
        stmt, block = self.around[number]
        match stmt:
            case LoopIR.If():
                return _holds(stmt.cond, values) is (block == "body") and self.enters(
                    number + 1, values
                )
            case LoopIR.For():
                var = variable(stmt.iter)
                return any(
                    self.enters(number + 1, {**values, var: value})
                    for value in _iterations(stmt, values)
                    if self.tried < MOST_TRIED
                )
        raise Undecided


def _iterations(loop: Any, values: _Values) -> Iterator[int]:
    """The one in the middle, the last and the first: what is inside may run in some."""
    lo, hi = (q.evaluate_affine(value_of(e), values.__getitem__) for e in (loop.lo, loop.hi))
    if lo < hi:
        yield from dict.fromkeys(((lo + hi) // 2, hi - 1, lo))


def _holds(condition: Any, values: _Values) -> bool:
    match condition:
        case LoopIR.Const(val=bool()):
            return bool(condition.val)
        case LoopIR.BinOp(op="and"):
            return _holds(condition.lhs, values) and _holds(condition.rhs, values)
        case LoopIR.BinOp(op="or"):
            return _holds(condition.lhs, values) or _holds(condition.rhs, values)
        case LoopIR.BinOp() if condition.op in COMPARISONS:
            difference = value_of(condition.lhs) - value_of(condition.rhs)
            value = q.evaluate_affine(difference, values.__getitem__)
            return bool(COMPARISONS[condition.op](value, 0))
    raise Undecided
