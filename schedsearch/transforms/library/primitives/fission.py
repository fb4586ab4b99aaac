"""Split a loop (or `if`) between two of its statements.

```
for i in seq(0, n):        for i in seq(0, n):
    s1(i)             ->       s1(i)
    s2(i)                  for i in seq(0, n):
                               s2(i)
```

`lifts` scopes around the cut are split alike: one, or all that hold nothing else.
Not between two simple statements that write the same element, or one a constant away:
cutting a run of unrolled statements in two is never what one wants. Nor between the nests of a step
of time: the next step needs what the last nest made of the same array, and Exo may take seconds to
find out.
"""

from collections.abc import Iterator
from typing import TypeGuard

from schedsearch.analysis.accesses import accesses
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import After, Args, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for scope in q.walk(proc.body):
        if not _divisible(scope):
            continue
        for position in range(1, len(scope.body)):
            if isinstance(scope, q.For) and _handed_on(scope, position):
                continue
            before, after = scope.body[position - 1 : position + 1]
            cut_off = q.bound_in(scope.body[:position]) & q.used_vars(scope.body[position:])
            if not cut_off and not _alike(before, after):
                for lifts in sorted({1, _depth(proc, scope)}):
                    yield before, {"lifts": lifts}


def _handed_on(loop: q.For, position: int) -> bool:
    """Whether statements before and after a gap share an array of which all iterations of the loop
    use the same part, and one side assigns to it."""
    if loop.extent == 1:
        return False
    inner = [each for each in q.walk(loop.body) if isinstance(each, q.For)]
    moving = {loop.iter}
    for each in inner:
        if moving & (q.expr_vars(each.lo) | q.expr_vars(each.hi)):
            moving.add(each.iter)
    sides = [list(accesses(part)) for part in (loop.body[:position], loop.body[position:])]
    assigned = {stmt.buf for stmt in q.walk(loop.body) if isinstance(stmt, q.Assign)}
    for buf in assigned & {x.buf for x in sides[0]} & {x.buf for x in sides[1]}:
        places = [x.idx for side in sides for x in side if x.buf == buf]
        used = [q.expr_vars(index) for idx in places for index in idx]
        if all(places) and all(used) and not any(moving & each for each in used):
            return True
    return False


def _divisible(stmt: q.Stmt) -> TypeGuard[q.For | q.If]:
    return isinstance(stmt, q.For) or (isinstance(stmt, q.If) and not stmt.orelse)


def _depth(proc: q.Proc, scope: q.Stmt) -> int:
    """How many scopes can be split: this one, and those around it that hold nothing else."""
    depth, path = 1, scope.path[:-1]
    while path and "e" not in path:
        parent = proc.by_path[path]
        if not _divisible(parent) or len(parent.body) > 1:
            break
        depth, path = depth + 1, path[:-1]
    return depth


def _alike(before: q.Stmt, after: q.Stmt) -> bool:
    """Whether both write to elements of one buffer whose distance is constant."""
    simple = q.Assign | q.Reduce
    return (
        isinstance(before, simple)
        and isinstance(after, simple)
        and before.buf == after.buf
        and all((a - b).is_const for a, b in zip(before.idx, after.idx, strict=True))
    )


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("fission", (After(path), args["lifts"])),)
