"""Carry out a loop whose iterations need the result of the one before in vector registers.

```
for j in seq(0, n):
    a[i, j + 1] = (
        0.5 * (a[i, j] + a[i, j + 2])   ->   vec_f64x8_mul_..., n elements of a[i, 0:n + 2]
        + x[i, j]
    )
```

For one assignment or reduction that is linear in the element before, or in the two before, by
factors that are the same in all iterations: sweeps of Gauss-Seidel, filters, running sums. In the
element before also by a factor of each iteration's own (gates, weights, back substitution of a
tridiagonal system), or as a minimum or maximum of sums (alignments, edit distances, time warping,
envelopes), also between limits (stores that are empty or full). Or for scalars that iterations hand
on, `s = 0.5 * s + x[j]`, with what is computed of them: the history of a filter in variables
(`y2 = y1; y1 = y0`), its two states, or up to four that need each other, in scalars or arrays
(rotations, trackers, affine gaps). All else of the expression is computed for a whole register
first. Then each lane adds those below it times powers of the factor, and one register waits for the
one before it with one multiply-add instead of `lanes` times a whole expression. The loop may also
go backwards through all of its arrays (`y[n - 2 - j] = 0.5 * y[n - 1 - j] + x[n - 2 - j]`), since
Exo counts up only.

The instruction is for one iteration at least; a loop that may have none is kept for that case.
Powers of a factor are further from the order as written than a sum: only `fast` allows them. A
sum without a factor is one in another order, which `reassociate` allows, too. Integers are exact,
so that `strict` allows theirs. Minima and maxima of floats are for `fast`: in another order they
may treat NaN in another way.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import allows
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.skewing import may_be_long
from schedsearch.transforms.blocks.vectors import running_from_zero, use_instruction
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps
from schedsearch.transforms.vector.fused.backwards import mirrored
from schedsearch.transforms.vector.fused.model import widest
from schedsearch.transforms.vector.fused.recognise import fuse
from schedsearch.transforms.vector.fused.states import law

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        found = law((mirrored(loop) or loop).body, loop.iter)
        if found is None or not allows(target.fp, found.contract):
            continue
        full = target.vector_bits // (8 * widest(loop.body))
        for lanes in (full, full // 2):
            short = loop.extent is not None and loop.extent < lanes
            if lanes < 2 or short or not may_be_long(proc, loop.path, loop.hi - loop.lo):
                continue
            if fuse(proc, loop, lanes, counted=True, in_turn=True) is not None:
                yield loop, {"lanes": lanes}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, lanes = ast.by_path.get(path), args["lanes"]
    if not isinstance(loop, q.For) or type(lanes) is not int:
        raise RewriteError("lanes are a whole number, of a loop")
    if fuse(ast, loop, lanes, counted=True, in_turn=True) is None:
        raise RewriteError("the iterations of this loop are no linear recurrence")
    p = Cursors((yield None))
    path = yield from running_from_zero(p, path)
    yield from use_instruction(p, path, lanes, counted=True, in_turn=True)
