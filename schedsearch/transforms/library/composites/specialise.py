"""Give sizes that are multiples of a vector or tile a copy of the nest of their own.

```
                              if n % 8 == 0:
for i in seq(0, n):               for i in seq(0, n):
    s(i)               ->             s(i)
                              else:
                                  for i in seq(0, n):
                                      s(i)
```

Inside, splits by a divisor of `factor` need no tail; the other copy keeps the procedure
valid for every size. `loops` are those whose lengths the condition is about: `all`, or
the `contiguous` ones, which move along the last dimension of an array.
"""

from collections.abc import Iterator

from schedsearch.analysis.accesses import accesses
from schedsearch.analysis.conditions import sizes_of
from schedsearch.analysis.walkers import element_bits, lanes, statement_count
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal, Steps

VERSION = 1

MULTIPLES = (1, 4)
"""Vectors per tile that splits inside may want to use."""

MAX_STATEMENTS = 24
"""Larger nests are not doubled: every later rewrite looks at both copies."""

MAX_FACTOR = 1024

LOOPS = ("all", "contiguous")


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for nest in proc.body:
        if not isinstance(nest, q.For) or statement_count((nest,)) > MAX_STATEMENTS:
            continue
        width = lanes(target, element_bits(nest.body))
        proposed = set()
        for kind in LOOPS:
            for multiple in MULTIPLES:
                lengths = _lengths(proc, nest, kind, width * multiple)
                if lengths and (lengths, multiple) not in proposed:
                    proposed.add((lengths, multiple))
                    yield nest, {"loops": kind, "factor": width * multiple}


def _lengths(proc: q.Proc, nest: q.For, kind: str, factor: int) -> tuple[q.Affine, ...]:
    """Lengths of loops in `nest` that depend on sizes only and may be no multiples of `factor`."""
    sizes = sizes_of(proc)
    moving = {
        var
        for a in accesses((nest,))
        if a.idx
        for var in q.expr_vars(a.idx[-1])
        if var not in sizes
    }
    found = {}
    for loop in q.walk((nest,)):
        if not isinstance(loop, q.For) or loop.lo != q.Affine(0) or loop.hi.is_const:
            continue
        wanted = kind == "all" or loop.iter in moving
        if wanted and q.expr_vars(loop.hi) <= sizes and not divides(proc, factor, loop.hi):
            found[loop.hi] = True
    return tuple(found)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    nest, kind, factor = ast.by_path.get(path), args["loops"], args["factor"]
    if not isinstance(factor, int) or not 2 <= factor <= MAX_FACTOR or kind not in LOOPS:
        raise RewriteError(f"factors are from 2 to {MAX_FACTOR}, loops one of {', '.join(LOOPS)}")
    lengths = _lengths(ast, nest, kind, factor) if isinstance(nest, q.For) else ()
    if len(path) != 1 or not lengths:
        raise RewriteError("there are no lengths to distinguish")
    condition = " and ".join(f"({show_affine(length)}) % {factor} == 0" for length in lengths)
    yield Op("specialize", (At(path), (condition,)))
