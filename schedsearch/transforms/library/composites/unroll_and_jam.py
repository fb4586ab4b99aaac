"""Unroll an outer loop inside the loops it contains.

```
for i in seq(0, 8):                  for i in seq(0, 4):
    for k in seq(0, n):         ->       for k in seq(0, n):
        y[i] += A[i, k] * x[k]               y[2 * i] += A[2 * i, k] * x[k]
                                             y[2 * i + 1] += A[2 * i + 1, k] * x[k]
```

What iterations share (`x[k]`) is loaded once for all of them, and their sums are
independent chains (Callahan, Carr and Kennedy, PLDI 1990). So are recurrences, such as running
sums (`y[i, j] = y[i, j - 1] + x[i, j]`, or in a scalar), of which one alone waits for its own last
result. Temporaries are copied.
Iterations that the factor does not divide get a loop of their own.
"""

from collections.abc import Iterator

from schedsearch.analysis.accesses import accesses
from schedsearch.analysis.walkers import loops, statement_count
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.jam import jam_steps, jammable
from schedsearch.transforms.blocks.skewing import recurs
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1

_Element = tuple[q.Var, tuple[q.Affine, ...]]

FACTORS = (2, 4, 8)

STREAMS = 4
"""Largest factor where every copy writes along a row of its own: more of them defeat the
hardware's prefetchers and write buffers. Copies that sum into one element each, or all into one
row, have none, and those of a recurrence wait for themselves."""

MAX_STATEMENTS = 64
"""Statements inside the outer loop afterwards, of a size that Exo still handles fast."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if not _contains_loop(loop) or not jammable(loop):
            continue
        in_turn = any(map(recurs, _innermost(loop)))
        if not in_turn and not _shares(loop) and not any(map(_carries, _innermost(loop))):
            continue
        most = STREAMS if _writes_rows(loop) and not in_turn else max(FACTORS)
        for factor in (factor for factor in FACTORS if factor <= most):
            small = factor * statement_count(loop.body) <= MAX_STATEMENTS
            if small and (loop.extent is None or factor <= loop.extent):
                yield loop, {"factor": factor}


def _contains_loop(loop: q.For) -> bool:
    return any(isinstance(stmt, q.For) for stmt in loop.body)


def _writes_rows(loop: q.For) -> bool:
    """Whether innermost loops write along rows, each iteration of `loop` along its own."""
    return any(
        access.writes and {inner.iter, loop.iter} <= {v for i in access.idx for v in q.expr_vars(i)}
        for inner in _innermost(loop)
        for access in accesses(inner.body)
    )


def _innermost(loop: q.For) -> Iterator[q.For]:
    for inner in q.walk(loop.body):
        if isinstance(inner, q.For) and not _contains_loop(inner):
            yield inner


def _carries(loop: q.For) -> bool:
    """Whether an iteration reads what the one before it left in the same element; what is
    only summed up does not count, as vectors can do that."""
    left, wanted, given = set[_Element](), set[_Element](), set[_Element]()
    for stmt in q.walk(loop.body):
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        fixed = [
            access
            for access in accesses((stmt,))
            if not any(loop.iter in q.expr_vars(index) for index in access.idx)
        ]
        stored = {(access.buf, access.idx) for access in fixed if access.writes}
        wanted |= {(access.buf, access.idx) for access in fixed if not access.writes} - given
        left |= stored
        if isinstance(stmt, q.Assign):
            given |= stored  # by this iteration
    return bool(left & wanted)


def _shares(loop: q.For) -> bool:
    """Whether an element that loops inside move through is the same in every iteration, or
    (stencils) is also touched in another one."""
    local = {stmt.buf for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc)}
    inside = {stmt.iter for stmt in q.walk(loop.body) if isinstance(stmt, q.For)}
    places: dict[tuple[q.Var, tuple[object, ...]], set[tuple[int, ...]]] = {}
    for access in accesses(loop.body):
        used = {var for index in access.idx for var in q.expr_vars(index)}
        if access.buf in local or not used & inside:
            continue
        if loop.iter not in used:
            return True
        terms = tuple(index.terms for index in access.idx)
        places.setdefault((access.buf, terms), set()).add(
            tuple(index.const for index in access.idx if loop.iter in q.expr_vars(index))
        )
    return any(len(group) > 1 for group in places.values())


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    yield from jam_steps(ast, path, args["factor"])
