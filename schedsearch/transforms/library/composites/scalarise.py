"""Write out the small loops of an iteration, and keep its small arrays in scalars.

```
for e in seq(0, n):                        for e in seq(0, n):
    t: f32[2]                                  t_0: f32
    for i in seq(0, 2):                        t_1: f32
        t[i] = a[i, e] * b[e]      ->          t_0 = a[0, e] * b[e]
    for i in seq(0, 2):                        t_1 = a[1, e] * b[e]
        c[i, e] += t[1 - i]                    c[0, e] += t_1
                                               c[1, e] += t_0
```

Many small problems side by side: inverses of matrices, nodes of a lattice, filters in series (whose
loops hand on a scalar). Proposed where the loop goes along the rows of arrays outside of it, or
from structure to structure: the values of a problem may be together, `A[e, i, j]`. Then there need
be no arrays inside, if elements are made of others of their structure.

With `lanes` it is carried out in vector registers (`vectorise`): each is then what a scalar is now.
Scalars alone gain nothing where compilers do not see that. Where iterations share sums,
`vectorise_reduction` goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from math import prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.ranges import loops_at
from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.element_types import PLAIN
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.reductions import kept_loops, used_again
from schedsearch.transforms.blocks.short_rows import sums_short_rows
from schedsearch.transforms.blocks.terms import moves
from schedsearch.transforms.library.composites import vectorise
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, At, Memory, Proposal, Steps
from schedsearch.transforms.vector.fused.model import widest
from schedsearch.transforms.vector.fused.structures import structure

VERSION = 1
NORMAL_FORM = 1

MOST_STATEMENTS = 320
"""Of an iteration that is written out."""
MOST_ELEMENTS = 64
"""Of its arrays together: registers and what of them the first cache holds."""
LONG_ROWS = 8
"""Members of a structure that fill a register by themselves, or most of one."""
MANY = 32
"""Problems side by side."""
TWICE = 512
"""Bits of registers of which half ones are tried as well: shuffles may take half as long."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        lanes = max(target.vector_bits // (8 * widest(loop.body)), 1)
        if not _can_be(proc, loop):
            continue
        structures = _structures(proc, loop)
        gains = not sums_short_rows(loop) and _gains(proc, loop, max(lanes, LONG_ROWS))
        if structures and not gains:
            continue
        halves = structures and target.vector_bits >= TWICE
        for each in (lanes // 2, lanes) if halves else (lanes,):
            if each > 1 and not _shares(loop) and (loop.extent is None or loop.extent >= each):
                whole = divides(proc, each, loop.hi - loop.lo)
                yield loop, {"lanes": each, "tail": "none" if whole else "masked"}
        if not structures:
            yield loop, {}


def _shares(loop: q.For) -> bool:
    """Whether iterations add to the same elements."""
    local = {s.buf for s in q.walk(loop.body) if isinstance(s, q.Alloc)}
    return any(
        s.buf not in local and not any(loop.iter in q.expr_vars(index) for index in s.idx)
        for s in q.walk(loop.body)
        if isinstance(s, q.Reduce)
    )


def _can_be(proc: q.Proc, loop: q.For) -> bool:
    arrays = [s for s in q.walk(loop.body) if isinstance(s, q.Alloc) and s.shape]
    if not all(extent.is_const for array in arrays for extent in array.shape):
        return False
    if sum(prod(extent.const for extent in s.shape) for s in arrays) > MOST_ELEMENTS:
        return False
    count = None if loop.parallel else _written_out(loop.body, {})
    if count is None or count > MOST_STATEMENTS:
        return False
    small = bool(arrays) or _hands_on(loop) or bool(_structures(proc, loop))
    return small and _along(proc, loop)


def _hands_on(loop: q.For) -> bool:
    """Whether loops inside set a scalar that was begun before them: filters in series."""
    own = {s.buf for s in loop.body if isinstance(s, q.Alloc)}
    inside = [s for each in q.walk(loop.body) if isinstance(each, q.For) for s in each.body]
    return any(isinstance(s, q.Assign) and s.buf in own and not s.idx for s in inside)


def _written_out(body: tuple[q.Stmt, ...], values: Mapping[q.Atom, int]) -> int | None:
    """How many statements there are once all loops are written out; None if their bounds are no
    numbers then, or it has other statements."""
    total = 0
    for stmt in body:
        match stmt:
            case q.Assign() | q.Reduce() | q.Alloc() | q.Pass():
                total += 1
            case q.If():
                for block in (stmt.body, stmt.orelse):
                    inside = _written_out(block, values)
                    if inside is None:
                        return None
                    total += inside
            case q.For(parallel=False):
                if (q.expr_vars(stmt.lo) | q.expr_vars(stmt.hi)) - values.keys():
                    return None
                low, high = (q.evaluate_affine(e, values.__getitem__) for e in (stmt.lo, stmt.hi))
                for value in range(low, min(high, low + MOST_STATEMENTS)):
                    inside = _written_out(stmt.body, {**values, stmt.iter: value})
                    if inside is None or total > MOST_STATEMENTS:
                        return None
                    total += inside
            case _:
                return None
    return total


Element = tuple[q.Var, tuple[q.Affine, ...]]


def _used(stmt: q.Assign | q.Reduce) -> Iterator[tuple[Element, bool]]:
    """The elements of a statement, and whether it writes them."""
    yield (stmt.buf, stmt.idx), True
    yield from (((read.buf, read.idx), False) for read in reads(stmt.rhs))


def _simple(loop: q.For) -> list[q.Assign | q.Reduce]:
    return [s for s in q.walk(loop.body) if isinstance(s, q.Assign | q.Reduce)]


def _along(proc: q.Proc, loop: q.For) -> bool:
    """Whether the loop goes along rows or structures wherever it does not stay, and only adds to
    what stays."""
    local = {s.buf for s in q.walk(loop.body) if isinstance(s, q.Alloc)}
    structures = _structures(proc, loop)
    goes = False
    for stmt in _simple(loop):
        for (buf, idx), written in _used(stmt):
            if not any(loop.iter in q.expr_vars(each) for each in idx):
                if written and buf not in local and isinstance(stmt, q.Assign):
                    return False
                continue
            if buf not in structures and not moves(idx, loop, len(idx) - 1):
                return False
            goes = True
    return goes


def _structures(proc: q.Proc, loop: q.For) -> dict[q.Var, int]:
    """Arrays of which each iteration has a structure of its own, and their dimensions outside of
    structures."""
    arrays = declared(proc)
    inside = {s.iter for s in q.walk(loop.body) if isinstance(s, q.For)}
    found: dict[q.Var, set[tuple[q.Affine, ...] | None]] = {}
    for (buf, idx), _ in chain.from_iterable(map(_used, _simple(loop))):
        start = structure(arrays[buf], idx, loop.iter) if buf in arrays else None
        if start is not None:
            given = all(q.expr_vars(each) <= inside for each in idx[len(start) :])
            fixed = not any(q.expr_vars(each) & inside for each in start)
            start = start if given and fixed and arrays[buf].type in PLAIN else None
        found.setdefault(buf, set()).add(start)
    alone = {buf: next(iter(starts)) for buf, starts in found.items() if len(starts) == 1}
    return {buf: len(start) for buf, start in alone.items() if start is not None}


def _gains(proc: q.Proc, loop: q.For, row: int) -> bool:
    """Whether registers are of no more use elsewhere: structures are many, their rows are short,
    each element is made of others, and no sum over loops around or row of results uses structures
    again."""
    structures, arrays = _structures(proc, loop), declared(proc)
    inner = [each for each in q.walk(loop.body) if isinstance(each, q.For)]
    around = [*loops_at(proc, loop.path)]
    local = {s.buf for s in q.walk(loop.body) if isinstance(s, q.Alloc)}
    rows = set[q.Var]()
    for stmt in _simple(loop):
        if isinstance(stmt, q.Reduce) and used_again(stmt, around):
            return False
        if stmt.buf not in local and stmt.buf not in structures:
            rows |= kept_loops(stmt, around) - {loop.iter}
    for (buf, idx), _ in chain.from_iterable(map(_used, _simple(loop))):
        if buf in structures:
            long = arrays[buf].shape[-1].const >= row
            if rows - frozenset().union(*map(q.expr_vars, idx)) or (
                long and any(moves(idx, each, len(idx) - 1) for each in inner)
            ):
                return False
    scalars = any(isinstance(stmt, q.Alloc) for stmt in loop.body)
    mixed = scalars or any(_mixes(loop, stmt, structures) for stmt in _simple(loop))
    return mixed and (loop.extent is None or loop.extent >= MANY)


def _mixes(loop: q.For, stmt: q.Assign | q.Reduce, structures: Mapping[q.Var, int]) -> bool:
    """Whether an element is made of other ones of structures."""
    inside = {s.iter for s in q.walk(loop.body) if isinstance(s, q.For)}

    def place(idx: tuple[q.Affine, ...]) -> list[q.Affine]:
        """The indices that do not stay the same in an iteration."""
        return [index for index in idx if index.is_const or q.expr_vars(index) & inside]

    (_, *read) = (element for element, _ in _used(stmt))
    return any(buf in structures and place(idx) != place(stmt.idx) for buf, idx in read)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path.get(path)
    if not isinstance(loop, q.For) or not _can_be(ast, loop):
        raise RewriteError("there is no loop with small arrays, along the rows of others")
    p = Cursors((yield None))
    held = p.at(path)
    while isinstance(inner := _first(p.stmt(held), q.For), q.For):
        yield from p.do("unroll_loop", At(inner.path))
        if _computes_bounds(inner):
            yield from p.do("simplify")
    yield from p.do("simplify")
    while array := _first(p.stmt(held), q.Alloc):
        if isinstance(array, q.Alloc) and array.mem != "DRAM":  # others hold arrays alone
            yield from p.do("set_memory", At(array.path), Memory("DRAM"))
        yield from p.do("unroll_buffer", At(array.path), 0)
    if args:
        yield from vectorise.steps(p.ast, p.path(held), {**args, "unroll": 1})


def _computes_bounds(loop: q.For) -> bool:
    """Whether loops inside have a bound like `i + 1`, which Exo does not see to be a number."""
    ends = [end for s in q.walk(loop.body) if isinstance(s, q.For) for end in (s.lo, s.hi)]
    return any(loop.iter in q.expr_vars(end) and end != q.as_affine(loop.iter) for end in ends)


def _first(loop: q.Stmt, kind: type[q.For] | type[q.Alloc]) -> q.Stmt | None:
    """The first loop inside, or the first array."""
    assert isinstance(loop, q.For)
    found = (stmt for stmt in q.walk(loop.body) if isinstance(stmt, kind))
    return next((s for s in found if not (isinstance(s, q.Alloc) and not s.shape)), None)
