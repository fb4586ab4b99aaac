"""Copy rows to columns in vector registers.

```
for k in seq(0, 512):            transpose_f32x16(64, 512, P[0:512, 0:64],
    for j in seq(0, 64):    ->                    A[0:64, 0:512])
        P[k, j] = A[j, k]
```

For two loops around one copy, of which one moves along the rows of one array and the other along
those of the other. A compiler reads or writes such copies element by element, a cache line for
each.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.arrays import declared
from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS, VECTORS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.reductions import moves
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, At, Proposal, Steps
from schedsearch.transforms.operators.transposing import Transpose

VERSION = 1
NORMAL_FORM = 5

LANES = (2, 4, 8, 16)


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        copy = _copy(proc, loop)
        if copy is not None:
            lanes = target.vector_bits // ELEMENT_BITS[copy.kind]
            if lanes in LANES:
                yield loop, {"lanes": lanes}


@dataclass(frozen=True)
class _Copy:
    """A copy of elements of `kind`; `swapped`: the outer loop runs along the rows it reads."""

    kind: str
    swapped: bool


def _copy(proc: q.Proc, outer: q.For) -> _Copy | None:
    """The copy in two loops if it transposes."""
    match outer.body:
        case (q.For(body=(q.Assign(rhs=q.Read() as read) as write,)) as inner,):
            pass
        case _:
            return None
    both, arrays = (outer, inner), declared(proc)
    if any(loop.lo != q.Affine(0) or loop.parallel for loop in both):
        return None
    if outer.iter in q.expr_vars(inner.hi) or write.buf == read.buf:
        return None
    kinds = {write.type, read.type}
    if len(kinds) > 1 or not kinds <= VECTORS:
        return None
    for array in (arrays.get(write.buf), arrays.get(read.buf)):
        if array is None or not array.dense or not array.mem.startswith("DRAM"):
            return None
    for swapped, (rows, columns) in ((False, both), (True, (inner, outer))):
        if _runs(write, columns, rows) and _runs(read, rows, columns):
            return _Copy(write.type, swapped)
    return None


def _runs(access: q.Assign | q.Read, down: q.For, along: q.For) -> bool:
    """Whether an access moves through columns with `down`, and along rows with `along`."""
    if not access.idx:
        return False
    *before, last = range(len(access.idx))
    return moves(access.idx, along, last) and any(moves(access.idx, down, d) for d in before)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, lanes = ast.by_path[path], args["lanes"]
    copy = _copy(ast, loop) if isinstance(loop, q.For) else None
    if copy is None:
        raise RewriteError("these are no two loops that copy rows to columns")
    if type(lanes) is not int or lanes not in LANES:
        raise RewriteError(f"registers have {', '.join(map(str, LANES))} lanes here")
    p = Cursors((yield None))
    if copy.swapped:
        yield from p.do("reorder_loops", At(path))
    yield from p.do("replace", At(path), Transpose(copy.kind, lanes))
