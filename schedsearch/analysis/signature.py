"""Coarse features of a computation: similar procedures have many in common.

A feature is a text; loops are numbered by where the results use them, so that neither
names, sizes, types nor the order of loops matter. Of `C[i, j] += A[i, k] * B[k, j]`:

```
reduce           write 0,1        read 0,2        read 2,1        3 loops        *
```
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.core import ast as q


def signature(proc: q.Proc) -> tuple[str, ...]:
    """The features of all statements that store something, sorted; those of equal
    statements several times."""
    return tuple(sorted(_block(proc.body, ())))


def _block(body: tuple[q.Stmt, ...], around: tuple[q.Var, ...]) -> Iterator[str]:
    for stmt in body:
        if isinstance(stmt, q.Assign | q.Reduce):
            yield from _store(stmt, around)
        elif isinstance(stmt, q.Call):
            yield from _block(stmt.proc.body, around)
        inner = (*around, stmt.iter) if isinstance(stmt, q.For) else around
        for block in q.blocks(stmt):
            yield from _block(block, inner)


def _store(stmt: q.Assign | q.Reduce, around: tuple[q.Var, ...]) -> Iterator[str]:
    yield "reduce" if isinstance(stmt, q.Reduce) else "assign"
    yield f"{len(around)} loops"
    used = [var for index in stmt.idx for var in around if var in q.expr_vars(index)]
    order = list(dict.fromkeys([*used, *around]))
    yield f"write {_places(stmt.idx, order)}"
    for node in q.walk_expr(stmt.rhs):
        match node:
            case q.Read():
                yield f"read {_places(node.idx, order)}"
            case q.BinOp():
                yield node.op
            case q.Extern():
                yield node.name


def _places(idx: tuple[q.Affine, ...], order: list[q.Var]) -> str:
    """Per dimension the loops it depends on, `*` before one that strides."""
    return ",".join("+".join(_loops(index, order)) for index in idx)


def _loops(index: q.Affine, order: list[q.Var]) -> Iterator[str]:
    found = q.expr_vars(index)
    strides = {atom for atom, coefficient in index.terms if coefficient != 1}
    for number, var in enumerate(order):
        if var in found:
            yield f"*{number}" if var in strides else str(number)
