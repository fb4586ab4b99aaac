"""Keep one array element that a loop does not move in a local scalar meanwhile.

```
for j in seq(0, n):                 y_s: f32
    y[i] += A[i, j] * x[j]    ->    y_s = y[i]
                                    for j in seq(0, n):
                                        y_s += A[i, j] * x[j]
                                    y[i] = y_s
```

Known as scalar replacement. The C compiler cannot do it for arguments: without
`restrict` it has to assume that `y` and `x` overlap. With it, reductions are
vectorised. The loop may read other elements of the array (triangular solves).
"""

from collections import defaultdict
from collections.abc import Iterator

from schedsearch.analysis.ranges import apart
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.core.text import show_access
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    taken = names(proc)
    arguments = {arg.var for arg in proc.args}
    for loop in loops(proc):
        around = proc.by_path.get(loop.path[:-1])
        for buf, idx in sorted(_elements(proc, loop), key=lambda item: item[0].uid):
            steady = isinstance(around, q.For) and not _uses(idx, around.iter)
            alone = isinstance(around, q.For) and len(around.body) == 1
            if buf not in arguments or (steady and alone):
                continue  # the loop around does not move it either: there it is proposed
            yield (
                loop,
                {
                    "element": show_access(buf, idx),
                    "name": fresh(taken, f"{buf.name}_s"),
                },
            )


def _elements(proc: q.Proc, loop: q.For) -> Iterator[tuple[q.Var, tuple[q.Affine, ...]]]:
    """Elements reduced into inside `loop`, which writes nothing else of their arrays, and reads
    nothing of them that might be the same element."""
    bound = {stmt.iter for stmt in q.walk((loop,)) if isinstance(stmt, q.For)}
    stored: defaultdict[q.Var, set[tuple[q.Affine, ...]]] = defaultdict(set)
    read: defaultdict[q.Var, set[tuple[q.Affine, ...]]] = defaultdict(set)
    reduced: set[q.Var] = set()
    opaque: set[q.Var] = set()
    for stmt in q.walk(loop.body):
        match stmt:
            case q.Assign() | q.Reduce():
                stored[stmt.buf].add(stmt.idx)
                if reduction(stmt) is not None:
                    reduced.add(stmt.buf)
            case q.Alloc():
                opaque.add(stmt.buf)
            case q.Call() | q.WindowStmt():
                opaque |= q.used_vars((stmt,))
        for part in q.stmt_parts(stmt):
            if isinstance(part, q.Read):
                read[part.buf].add(part.idx)
    for buf in reduced - opaque:
        (idx, *others) = stored[buf]
        steady = idx and not others and not any(_uses(idx, var) for var in bound)
        if steady and all(apart(proc, idx, other) for other in read[buf] - {idx}):
            yield buf, idx


def _uses(idx: tuple[q.Affine, ...], var: q.Var) -> bool:
    return any(var in q.expr_vars(index) for index in idx)


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("stage_mem", (At(path), args["element"], args["name"])),)
