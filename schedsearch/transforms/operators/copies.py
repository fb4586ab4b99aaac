"""What overlapped tiling relies on and Exo does not look at, checked on the query AST."""

from __future__ import annotations

from schedsearch.analysis.walkers import shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, Steps


def check_copy(stmt: q.Stmt, depth: int) -> None:
    """Raise RewriteError unless Exo copies without conditions, as it does what is in bounds."""
    for _ in range(depth):
        stmt = stmt.body[0] if isinstance(stmt, q.For) else stmt
    if not isinstance(stmt, q.Assign):
        raise RewriteError("a tile would read outside of the producer's buffer")


def inline_copy(path: q.Path) -> Steps:
    """Store the value of the statement at `path` where the next one copies it to, not there."""
    ast = mirror((yield Op("simplify")))  # inline_assign compares indices as text
    store, copy = ast.by_path[path], ast.by_path[shifted(path, 1)]
    if not (
        isinstance(store, q.Assign)
        and isinstance(copy, q.Assign)
        and isinstance(copy.rhs, q.Read)
        and (copy.rhs.buf, copy.rhs.idx) == (store.buf, store.idx)
    ):
        raise RewriteError("the producer's rows are not the ones that are copied")
    after = mirror((yield Op("inline_assign", (At(path),))))
    if store.buf in q.used_vars((after.by_path[path],)):
        raise RewriteError("the copy is written in another way")
