"""Keep what a loop adds up in scalars, where it writes other elements of the same arrays.

```
for i in seq(0, n):                      for i in seq(0, n):
    for j in seq(0, i):                      f_s: f32
        f[i] += x[i] * x[j]      ->          f_s = f[i]
        f[j] += x[j] - x[i]                  for j in seq(0, i):
                                                 f_s += x[i] * x[j]
                                                 f[j] += x[j] - x[i]
                                             f[i] = f_s
```

Pairs with a force on both, symmetric matrices of which one triangle is read: elements that one
iteration adds to are other ones than the sum, but neither compilers nor `vectorise_reduction` see
that of one array. All sums of a loop at once; `stage_scalar` keeps one.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.ranges import apart, loops_at
from schedsearch.analysis.walkers import fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_access
from schedsearch.transforms.blocks.one_pass import stripped
from schedsearch.transforms.blocks.reductions import used_again
from schedsearch.transforms.blocks.terms import moves
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1
NORMAL_FORM = 1

Element = tuple[q.Var, tuple[q.Affine, ...]]


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if adds_beside(proc, loop) and not stripped(proc, proc.by_path.get(loop.path[:-1]), target):
            yield loop, {}


def adds_beside(proc: q.Proc, loop: q.For) -> bool:
    """Whether a loop adds up elements beside others of their array, and not in a product."""
    return bool(_sums(proc, loop)) and not _contracts(proc, loop)


def _contracts(proc: q.Proc, loop: q.For) -> bool:
    """Whether one is a product in which all operands are used again: blocks do more for these."""
    around = [*loops_at(proc, loop.path)]
    return any(isinstance(stmt, q.Reduce) and used_again(stmt, around) for stmt in loop.body)


def _sums(proc: q.Proc, loop: q.For) -> list[Element]:
    """Elements that an innermost loop only adds to, all others of their arrays being other ones, of
    which it writes some along rows."""
    if loop.parallel or not all(isinstance(s, q.Assign | q.Reduce | q.Alloc) for s in loop.body):
        return []
    stmts = [stmt for stmt in loop.body if isinstance(stmt, q.Assign | q.Reduce)]
    written = dict.fromkeys((stmt.buf, stmt.idx) for stmt in stmts)
    read = {(each.buf, each.idx) for stmt in stmts for each in reads(stmt.rhs)}
    found = []
    for buf, idx in written:
        if not idx or any(loop.iter in q.expr_vars(index) for index in idx):
            continue
        own = [stmt for stmt in stmts if (stmt.buf, stmt.idx) == (buf, idx)]
        if not all(isinstance(stmt, q.Reduce) for stmt in own) or (buf, idx) in read:
            continue
        others = {each for where, each in (*written, *read) if where == buf} - {idx}
        moved = [each for where, each in written if where == buf and each != idx]
        if any(moves(each, loop, len(each) - 1) for each in moved) and all(
            apart(proc, idx, other) for other in others
        ):
            found.append((buf, idx))
    return found


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path.get(path)
    sums = _sums(ast, loop) if isinstance(loop, q.For) else []
    if not sums:
        raise RewriteError("this loop adds to no element beside others of its array")
    p = Cursors((yield None))
    held, taken = p.at(path), names(ast)
    for buf, idx in sums:
        name = fresh(taken, f"{buf.name}_s")
        taken |= {name}
        yield from p.do("stage_mem", held, show_access(buf, idx), name)
