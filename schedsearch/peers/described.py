"""The arguments of a procedure, described."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.arguments.layout import Buffer, layout
from schedsearch.peers.array_text import DTYPES
from schedsearch.peers.arrays import Argument, Fill

_SCALAR = Fill(0.95, 1.05)
"""Factors near one, so that a value that is multiplied in place hundreds of times stays a number.
"""


def arguments(
    proc: q.Proc, binding: Binding, fills: Mapping[str, Fill] | None = None
) -> tuple[Argument, ...]:
    """The arguments of `proc`; `fills` replaces the usual contents, by argument."""
    body = inline_calls(proc).body
    writes, divide = {var.name for var in written_buffers(body)}, set(_diagonals(body))
    found = []
    for arg, item in zip(proc.args, layout(proc, binding), strict=True):
        name = arg.var.name
        if not isinstance(item, Buffer):
            found.append(Argument(name, item, arg.type == "bool"))
            continue
        usual = Fill() if item.shape else _SCALAR
        if arg.var in divide and len({*item.shape}) == 1:
            usual = Fill(diagonal=2.0 * item.shape[-1])
        found.append(
            Argument(
                name,
                dtype=DTYPES[item.type],
                shape=item.shape,
                strides=item.strides,
                window=arg.window and bool(item.shape),
                written=name in writes,
                fill=(fills or {}).get(name, usual),
            )
        )
    return tuple(found)


def _diagonals(body: tuple[q.Stmt, ...]) -> Iterator[q.Var]:
    """Matrices that a solve or a factorisation divides by the diagonal of, which has to outweigh
    the rest of a row: else roundings would grow from step to step."""
    for stmt in q.walk(body):
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        for part in q.walk_expr(stmt.rhs):
            if not (isinstance(part, q.BinOp) and part.op == "/" and isinstance(part.rhs, q.Read)):
                continue
            if len(part.rhs.idx) == 2 and part.rhs.idx[0] == part.rhs.idx[1]:
                yield part.rhs.buf
