"""Indices of staged arrays, written plainly."""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.conversions import Route
from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.transforms.operators.ops import Index, Op

Indices = tuple[q.Affine, ...]


def divided(idx: Indices) -> bool:
    """Whether an index contains a division, as behind `cut_loop` at a multiple of a size."""
    return any(isinstance(atom, q.FloorDiv) for index in idx for atom, _ in index.terms)


def straighten(proc: q.Proc, path: q.Path, name: str) -> Iterator[Op]:
    """Write every index of the staged array `name` in the statement at `path` plainly:
    Exo's `simplify` leaves `n / 8 - n / 8` as it is."""
    root = proc.by_path[path]
    for stmt in q.walk((root,)):
        if isinstance(stmt, q.Assign | q.Reduce):
            for route, buf, idx in [(None, stmt.buf, stmt.idx), *_reads(stmt.rhs, ())]:
                for dim, index in enumerate(idx if buf.name == name else ()):
                    new = (Index(stmt.path, route, dim), show_affine(index))
                    yield Op("rewrite_expr", new)


def _reads(expr: q.Expr, route: Route) -> Iterator[tuple[Route | None, q.Var, Indices]]:
    """The reads of a sum's right side, with the way to each."""
    match expr:
        case q.Read():
            yield route, expr.buf, expr.idx
        case q.BinOp():
            yield from _reads(expr.lhs, (*route, "lhs"))
            yield from _reads(expr.rhs, (*route, "rhs"))
