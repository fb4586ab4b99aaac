"""`simplify` of what it has not simplified yet.

Exo's `simplify` writes every expression of a procedure anew, whether it changes or not, and a block
of one nest among twenty asks for it twice. A statement of which it made an equal one is remembered,
with what that depends on: the next time it is left alone. What comes out is equal, and so is the
number of edits that count (`forwarding.MOST_EDITS`).
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from typing import Any

from exo.core.internal_cursors import Cursor, InvalidCursorError
from exo.core.LoopIR import LoopIR
from exo.rewrite import LoopIR_scheduling

from schedsearch.analysis.by_identity import ByIdentity, Same
from schedsearch.transforms.exo.speed.forwarding import edits, skipped

MOST_REMEMBERED = 16384

_BLOCKS = ("body", "orelse")

_exo_normalize = LoopIR_scheduling._DoNormalize
_exo_simplify = LoopIR_scheduling.DoSimplify


@dataclass(frozen=True)
class _Context:
    """What the result depends on besides the statement: arguments and asserts of the procedure, and
    ranges of the loops around."""

    args: tuple[Same, ...]
    preds: tuple[str, ...]
    ranges: dict[Any, Any]


@dataclass(frozen=True)
class _Simple:
    """Edits that Exo makes to give an equal statement: of `_DoNormalize`, and of `DoSimplify`."""

    context: _Context
    first: int
    second: int


_simple = ByIdentity[_Simple](MOST_REMEMBERED)


def patches() -> list[tuple[Any, str, Any]]:
    return [
        (LoopIR_scheduling, "_DoNormalize", _Normalize),
        (LoopIR_scheduling, "DoSimplify", _Simplify),
    ]


class _Normalize(_exo_normalize):  # type: ignore[misc, valid-type]
    """As Exo's. `known` are statements left alone, `seen` all others, by path: each as it was, its
    context, and the edits it took."""

    def __init__(self, proc: Any) -> None:
        root = proc._loopir_proc
        self.around = tuple(map(Same, root.args)), tuple(map(str, root.preds))
        self.known: dict[Any, _Simple] = {}
        self.seen: dict[Any, tuple[Any, _Context, int]] = {}
        self.equalities = 0
        self.fwd: Any
        super().__init__(proc)

    def map_stmts(self, stmts: Any) -> Any:
        context = _Context(*self.around, dict(self.env.env))
        for cursor in stmts:
            stmt, place = cursor._node, tuple(cursor._path)
            simple = _simple.get(stmt)
            if simple is not None and simple.context == context and not self.equalities:
                self.known[place] = simple
                self.fwd = skipped(self.fwd, simple.first)
            else:
                before = edits(self.fwd)
                self.map_s(cursor)
                self.seen[place] = (stmt, context, edits(self.fwd) - before)

    def map_s(self, cursor: Any) -> Any:
        """Under a condition that something equals a constant, that constant takes its place: of the
        normal form, so nothing there is left as it is."""
        node = cursor._node
        known = isinstance(node, LoopIR.If) and "==" in str(node.cond)
        self.equalities += known
        result = super().map_s(cursor)
        self.equalities -= known
        return result


class _Simplify(_exo_simplify):  # type: ignore[misc, valid-type]
    """As Exo's, step by step. Where no condition around says more, statements that are known are
    left alone, and what is as it was is noted."""

    def __init__(self, proc: Any) -> None:
        self.normal = LoopIR_scheduling._DoNormalize(proc)
        normalised = self.normal.result()
        self.same: set[Any] = set()
        self.facts: Any = ChainMap()
        self.ir = normalised._loopir_proc
        self.fwd: Any = lambda x: x
        super(_exo_simplify, self).__init__(normalised)
        if new_preds := self.map_exprs(self.ir.preds):
            self.ir, forward = Cursor.create(self.ir)._child_block("preds")._replace(new_preds)
            self.fwd = LoopIR_scheduling._compose(forward, self.fwd)

    def map_stmts(self, stmts: Any) -> Any:
        for cursor in stmts:
            place = tuple(cursor._path)
            simple = self.normal.known.get(place)
            if simple is not None and not self.facts:
                self.same.add(place)
                self.fwd = skipped(self.fwd, simple.second)
                continue
            before = edits(self.fwd)
            self.map_s(cursor)
            if place in self.normal.seen and not self.facts:
                self._note(cursor, place, edits(self.fwd) - before)

    def _note(self, cursor: Any, place: Any, second: int) -> None:
        old, context, first = self.normal.seen[place]
        try:
            new = self.fwd(cursor)._node
        except (InvalidCursorError, RecursionError):
            return  # it is gone, or Exo cannot tell
        if self._equal(old, new, place):
            self.same.add(place)
            _simple.put(new, _Simple(context, first, second))

    def _equal(self, old: Any, new: Any, place: Any) -> bool:
        if not isinstance(old, LoopIR.For | LoopIR.If):
            return bool(old == new)
        if type(old) is not type(new):
            return False
        for attr in _BLOCKS:
            inside, now = getattr(old, attr, []), getattr(new, attr, [])
            same = all((*place, (attr, n)) in self.same for n in range(len(inside)))
            if len(inside) != len(now) or not same:
                return False
        without: dict[str, Any] = {attr: [] for attr in _BLOCKS if hasattr(old, attr)}
        return bool(old.update(**without) == new.update(**without))
