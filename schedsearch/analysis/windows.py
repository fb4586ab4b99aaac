"""Windows: which elements of which buffer a name stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from schedsearch.analysis.accesses import touched
from schedsearch.core import ast as q

Index = q.Interval | q.Affine


@dataclass(frozen=True)
class View:
    """The meaning of a name: `buf[idx]`, or all of `buf` if there are no indices.

    An `Interval` keeps its dimension: its `lo` is added to the index used there.
    """

    buf: q.Var
    idx: tuple[Index, ...] | None = None

    def at(self, idx: Iterable[Index]) -> View:
        """The part of this view that `idx` selects, one index to a dimension that it keeps."""
        if self.idx is None:
            return View(self.buf, tuple(idx))
        own = iter(idx)
        return View(
            self.buf,
            tuple(_within(i, next(own)) if isinstance(i, q.Interval) else i for i in self.idx),
        )

    def dim(self, dim: int) -> int:
        """The dimension of the buffer that is dimension `dim` of the view."""
        if self.idx is None:
            return dim
        return [d for d, index in enumerate(self.idx) if isinstance(index, q.Interval)][dim]


def _within(kept: q.Interval, own: Index) -> Index:
    if isinstance(own, q.Interval):
        return q.Interval(kept.lo + own.lo, kept.lo + own.hi)
    return kept.lo + own


Views = Mapping[q.Var, View]
"""The meaning of the names of windows; other names stand for themselves."""


def views(body: tuple[q.Stmt, ...]) -> dict[q.Var, View]:
    """The windows that statements name, those of windows resolved to the buffer behind."""
    found: dict[q.Var, View] = {}
    for stmt in q.walk(body):
        if isinstance(stmt, q.WindowStmt):
            found[stmt.name] = of_window(stmt.window, found)
    return found


def of_window(window: q.Window, known: Views) -> View:
    return known.get(window.buf, View(window.buf)).at(window.idx)


def behind(var: q.Var, known: Views) -> q.Var:
    """The buffer that a name stands for, or for a part of."""
    return known[var].buf if var in known else var


def aliased(proc: q.Proc) -> str | None:
    """Two names of one buffer, if named windows of it are used beside it, or beside each other,
    and one of them is written (or given to a call)."""
    known = views(proc.body)
    used: dict[q.Var, set[q.Var]] = {}
    written: set[q.Var] = set()
    for var, writes in _uses(proc.body):
        used.setdefault(behind(var, known), set()).add(var)
        if writes:
            written.add(behind(var, known))
    for buffer in sorted(written, key=lambda var: var.uid):
        names = sorted(used[buffer], key=lambda var: var.uid)
        if len(names) > 1:
            return f"{names[0].name} and {names[1].name}"
    return None


def _uses(body: tuple[q.Stmt, ...]) -> Iterator[tuple[q.Var, bool]]:
    """Names of arrays that statements use, windows that they name aside, and whether they may
    write them."""
    for stmt in q.walk(body):
        if not isinstance(stmt, q.WindowStmt):
            for buf, _, writes in touched(stmt):
                yield buf, writes or isinstance(stmt, q.Call)
