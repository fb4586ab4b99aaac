"""Put the bodies of procedures in the place of their calls, and buffers in that of windows.

```
for i in seq(0, m):             for i in seq(0, m):
    w = y[i, 0:n]                   for j in seq(0, n):
    scale(n, w)            ->           y[i, j] = 2.0 * y[i, j]
```

All other rewrites are about loops and elements, which calls and windows hide. Instructions stay. A
loop of a callee that is called like one around it gets a name of its own, because windows of
instructions are written with names.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.walkers import fresh, names
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, At, Proposal, Steps

VERSION = 1
NORMAL_FORM = 1

MAX_CALLS = 100
"""Procedures that call others that call others have many more calls than lines."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    if next(_hidden(proc), None) is not None:
        yield None, {}


def _hidden(proc: q.Proc) -> Iterator[tuple[str, q.Path]]:
    """The operators that resolve calls and windows, with their places."""
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Call) and stmt.proc.instr is None:
            yield "inline", stmt.path
        elif isinstance(stmt, q.WindowStmt):
            yield "inline_window", stmt.path


def _called_alike(proc: q.Proc) -> Iterator[q.For]:
    """Loops with the name of an argument, or of a loop around them, that start at 0."""
    arguments = {arg.var.name for arg in proc.args}
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.For) and stmt.lo == q.Affine(0) and not stmt.parallel:
            above = (proc.by_path.get(stmt.path[:end]) for end in range(1, len(stmt.path)))
            around = {loop.iter.name for loop in above if isinstance(loop, q.For)}
            if stmt.iter.name in arguments | around:
                yield stmt


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    p = Cursors((yield None))
    if next(_hidden(p.ast), None) is None:
        raise RewriteError("there is no call and no window")
    calls = 0
    while (found := next(_hidden(p.ast), None)) is not None:
        operator, where = found
        calls += operator == "inline"
        if calls > MAX_CALLS:
            raise RewriteError(f"there are more than {MAX_CALLS} calls")
        yield from p.do(operator, At(where))
    while (loop := next(_called_alike(p.ast), None)) is not None:
        name = fresh(names(p.ast), loop.iter.name)
        lane = fresh(names(p.ast) | {name}, f"{name}l")
        yield from p.do("divide_loop", At(loop.path), 1, (name, lane), perfect=True)
        yield from p.do("unroll_loop", At((*loop.path, 0)))
