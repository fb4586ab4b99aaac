"""Keep a buffer in static memory, on request (`--static-buffers`).

```
for i in seq(0, n):                         for i in seq(0, n):
    t: f32[64, 64] @ DRAM             ->        t: f32[64, 64] @ DRAM_STATIC
    s                                           s
```

Static memory is there once for all calls, which costs nothing and takes buffers that are
too large for the stack. But a procedure that has some is not re-entrant: two threads that
call it at the same time get wrong results. So it is offered only on request, never
for several threads, and not allowed in parallel loops.
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.library.composites import place
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1

ON_REQUEST = True

MEMORY = "DRAM_STATIC"


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    if target.threads > 1:
        return
    for alloc in q.walk(proc.body):
        if isinstance(alloc, q.Alloc) and place.refusal(proc, alloc, MEMORY) is None:
            yield alloc, {}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    yield from place.move(ast, path, MEMORY)
