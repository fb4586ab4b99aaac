"""Where Exo's `simplify` would take `e % m` for `e` although `e` may be negative (7 of
`exo/compat.py`): it compares only the upper bound of `e` with `m`."""

from __future__ import annotations

from typing import Any

from exo.core.LoopIR import LoopIR

from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.analysis.ranges import bounds
from schedsearch.core import ast as q
from schedsearch.transforms.exo.canonical import Canonicaliser
from schedsearch.transforms.exo.mirror import blocks, to_affine

_KEPT = 20_000

_with_modulo: ByIdentity[bool] = ByIdentity(_KEPT)
"""Whether there is a `%` in a statement."""


def drops_modulo(procedure: Any) -> bool:
    """Whether `simplify` of the procedure would do so."""
    looked = _Modulos({})
    looked.proc(procedure._loopir_proc)
    return looked.found


class _Modulos(Canonicaliser):
    """Looks at every `%`. Loops and branches without any are left as they are."""

    found = False

    def stmt(self, s: Any) -> Any:
        return super().stmt(s) if not blocks(s) or _has_modulo(s) else s

    def callee(self, proc: Any) -> Any:
        return proc

    def note(self, e: Any) -> None:
        super().note(e)
        if isinstance(e, LoopIR.BinOp) and e.op == "%":
            self.note_modulo(to_affine(e.lhs, self.env), e.rhs.val)

    def note_modulo(self, num: q.Affine, den: int) -> None:
        terms = tuple((atom, c) for atom, c in num.terms if c % den)
        low, high = bounds(q.Affine(num.const if num.const % den else 0, terms), self.ranges)
        self.found |= low < 0 and high < den


def _has_modulo(stmt: Any) -> bool:
    known = _with_modulo.get(stmt)
    if known is None:
        inside = any(_has_modulo(each) for block in blocks(stmt) for each in block)
        known = _with_modulo.put(stmt, inside or any(map(_is_modulo_in, _own(stmt))))
    return known


def _own(stmt: Any) -> list[Any]:
    """The expressions of a statement, without those of statements inside."""
    match stmt:
        case LoopIR.For():
            return [stmt.lo, stmt.hi]
        case LoopIR.If():
            return [stmt.cond]
        case LoopIR.Assign() | LoopIR.Reduce():
            return [*stmt.idx, stmt.rhs]
        case LoopIR.WriteConfig() | LoopIR.WindowStmt():
            return [stmt.rhs]
        case LoopIR.Call():
            return list(stmt.args)
    return []


def _is_modulo_in(e: Any) -> bool:
    match e:
        case LoopIR.BinOp():
            return e.op == "%" or _is_modulo_in(e.lhs) or _is_modulo_in(e.rhs)
        case LoopIR.USub():
            return _is_modulo_in(e.arg)
        case LoopIR.Read() | LoopIR.WindowExpr():
            return any(map(_is_modulo_in, e.idx))
        case LoopIR.Interval():
            return _is_modulo_in(e.lo) or _is_modulo_in(e.hi)
        case LoopIR.Point():
            return _is_modulo_in(e.pt)
        case LoopIR.Extern():
            return any(map(_is_modulo_in, e.args))
    return False
