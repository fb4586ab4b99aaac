"""Buffers that a procedure accesses by several names, and writes."""

from __future__ import annotations

from schedsearch.core import ast as q


def aliased(proc: q.Proc) -> str | None:
    """Two names of one buffer, if named windows of it are used beside it, or beside each other,
    and one of them is written (or given to a call)."""
    behind: dict[q.Var, q.Var] = {}
    used: dict[q.Var, set[q.Var]] = {}
    written: set[q.Var] = set()

    def touch(var: q.Var, writes: bool = False) -> None:
        buffer = behind.get(var, var)
        used.setdefault(buffer, set()).add(var)
        if writes:
            written.add(buffer)

    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.WindowStmt):
            source = stmt.window.buf
            behind[stmt.name] = behind.get(source, source)
            continue
        if isinstance(stmt, q.Assign | q.Reduce):
            touch(stmt.buf, writes=True)
        for part in (part for expr in q.stmt_exprs(stmt) for part in q.walk_expr(expr)):
            if isinstance(part, q.Read | q.Window):
                touch(part.buf, writes=isinstance(stmt, q.Call))
    for buffer in sorted(written, key=lambda var: var.uid):
        names = sorted(used[buffer], key=lambda var: var.uid)
        if len(names) > 1:
            return f"{names[0].name} and {names[1].name}"
    return None
