"""Carry out a reduction on several threads, each with an accumulator of its own.

```
for i in seq(0, n):                  s_parts: f32[2]
    s += x[i] * y[i]          ->     for ip in par(0, 2):
                                         s_own: f32
                                         s_own = 0.0
                                         for ii in seq(0, n / 2):
                                             s_own += x[...] * y[...]
                                         s_parts[ip] = s_own
                                     for ip in seq(0, 2):
                                         s += s_parts[ip]
```

For loops whose iterations share nothing but what they add to, elements or whole arrays (`y[j] +=
A[i, j] * x[i]`); never inside another parallel loop. A part has `length` iterations; what is left
of the loop comes after. An accumulator is a scalar, or an array that begins with a cache line, on
the thread's stack or heap: no two share a line, and the compiler sees that nobody else uses them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import touched
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.independence import divisible, on_threads, shared_buffers
from schedsearch.analysis.ranges import loops_at, ranges_at, trips
from schedsearch.analysis.walkers import fresh, names, next_path
from schedsearch.analysis.windows import views
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.library.composites.place import size_of
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Memory, Proposal, Span, Steps

VERSION = 1

BLOCK = 8192
"""Iterations of a part of a loop whose length is not known."""

STACK_BYTES = 4096
"""Largest accumulators, and results of all parts, on the stack."""


@dataclass(frozen=True)
class _Result:
    """A buffer that a loop adds to: the part of it, and the shape of that."""

    buf: q.Var
    type: str
    window: str
    shape: tuple[q.Affine, ...]


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    if target.threads > 1:
        for loop, results in _reductions(proc, proc.body, target.threads):
            rounded = any(result.type in FLOATS for result in results)
            length = _length(proc, loop, target.threads)
            if length and not (rounded and target.fp is FloatingPoint.STRICT):
                yield loop, {"length": length}


def _length(proc: q.Proc, loop: q.For, threads: int) -> int:
    """Of the part that a thread gets; 0 if the loop is too short for threads."""
    if loop.extent is None:
        return BLOCK if trips(loop, ranges_at(proc, loop.path[:-1]))[1] > BLOCK else 0
    # With fewer iterations one part more might be left.
    return loop.extent // threads if loop.extent >= threads * threads else 0


def _reductions(
    proc: q.Proc, body: tuple[q.Stmt, ...], threads: int
) -> Iterator[tuple[q.For, tuple[_Result, ...]]]:
    """The outermost loops that could be parallel but for what they add to."""
    for stmt in body:
        if isinstance(stmt, q.For):
            if stmt.parallel or divisible(proc, stmt, threads):
                continue
            if results := _results(proc, stmt):
                yield stmt, results
                continue
        for block in q.blocks(stmt):
            yield from _reductions(proc, block, threads)


def _results(proc: q.Proc, loop: q.For) -> tuple[_Result, ...]:
    """What iterations share, if they do nothing with it but add to it."""
    arrays, named = declared(proc), {view.buf for view in views(proc.body).values()}
    around = [x.iter.name for x in loops_at(proc, loop.path)]
    taken = Counter([*around, *(arg.var.name for arg in proc.args if arg.var not in arrays)])
    taken.update(var.name for var in arrays)
    if any(map(on_threads, loop.body)):
        return ()
    found = []
    for buf in shared_buffers(proc, loop) or ():
        places = _places(loop, buf)
        if not places or buf in named or buf not in arrays:
            return ()
        if taken[buf.name] > 1 or any(taken[name] > 1 for name in around):
            return ()  # windows are written with names
        found.append(_result(buf, arrays[buf].type, arrays[buf].shape, places, loop))
    return tuple(found)


def _places(loop: q.For, buf: q.Var) -> set[tuple[q.Affine, ...]]:
    """The elements that the loop adds to, none of which it moves; empty if it does anything else
    with the buffer."""
    found = set()
    for stmt in q.walk(loop.body):
        used = [(other, idx, writes) for other, idx, writes in touched(stmt) if other == buf]
        if not used:
            continue
        if not isinstance(stmt, q.Reduce) or stmt.buf != buf or len(used) > 1:
            return set()
        found.add(stmt.idx)
    moved = any(loop.iter in q.expr_vars(index) for idx in found for index in idx)
    return set() if moved else found


def _result(
    buf: q.Var,
    kind: str,
    whole: tuple[q.Affine, ...],
    places: set[tuple[q.Affine, ...]],
    loop: q.For,
) -> _Result:
    """Of a dimension in which it does not move, one element; of others, all."""
    parts, shape = [], []
    for extent, *indices in zip(whole, *places, strict=True):
        inside = any(var.uid > loop.iter.uid for index in indices for var in q.expr_vars(index))
        if inside or len({*indices}) > 1:
            parts.append(f"0:{show_affine(extent)}")
            shape.append(extent)
        else:
            parts.append(show_affine(indices[0]))
    window = f"{buf.name}[{', '.join(parts)}]" if parts else buf.name
    return _Result(buf, kind, window, tuple(shape))


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, length = ast.by_path[path], args["length"]
    results = _results(ast, loop) if isinstance(loop, q.For) else ()
    if not isinstance(loop, q.For) or not results:
        raise RewriteError("iterations of this loop share more than what they add to, or nothing")
    if any(around.parallel for around in loops_at(ast, path)):
        raise RewriteError("a loop around is parallel already")
    if type(length) is not int or length < 1:
        raise RewriteError("a part has one iteration at least")
    taken = names(ast)
    outer, inner = (fresh(taken, f"{loop.iter.name}{s}") for s in "pi")
    whole = loop.extent is not None and loop.extent % length == 0
    p = Cursors((yield None))
    if loop.lo != q.Affine(0):
        yield from p.do("shift_loop", At(path), 0)
    tail: dict[str, bool | str] = {"perfect": True} if whole else {"tail": "cut"}
    yield from p.do("divide_loop", At(path), length, (outer, inner), **tail)
    count = len(results)
    folds = 2 * count + 1
    own, parts = (
        [fresh(taken, f"{result.buf.name}_{word}") for result in results]
        for word in ("own", "parts")
    )
    for number, (result, name) in enumerate(zip(results, own, strict=True)):
        # Each of those before has an allocation, and a statement or loop that clears it.
        nest = (*path, 2 * number)
        yield from p.do("stage_mem", At(nest), result.window, name, accum=True)
        yield from _place(p, nest)
    for number, (result, name) in enumerate(zip(results, own, strict=True)):
        adding = Span((*path, folds + 2 * number), count)
        yield from p.do("stage_mem", adding, _whole(name, result.shape), parts[number])
    for number in range(count):
        yield from _for_each_part(p, path, folds + number, outer)
        path = next_path(path)
    yield from p.do("fission", After((*path, folds + count - 1)), 1)
    yield from p.do("parallelize_loop", At(path))


def _whole(name: str, shape: tuple[q.Affine, ...]) -> str:
    if not shape:
        return name
    return f"{name}[{', '.join(f'0:{show_affine(extent)}' for extent in shape)}]"


def _for_each_part(p: Cursors, loop: q.Path, position: int, outer: str) -> Steps:
    """Move an allocation out of the loop over parts, with an element for each of them."""
    alloc, around = (*loop, position), p.ast.by_path[loop]
    assert isinstance(around, q.For)
    # Of a loop that may be shorter than a part, there may be no parts.
    count = around.hi if around.extent else around.hi + 1
    yield from p.do("expand_dim", At(alloc), show_affine(count), outer)
    yield from p.do("lift_alloc", At(alloc))
    yield from _place(p, loop)


def _place(p: Cursors, path: q.Path) -> Steps:
    """Put what is allocated there on the stack if it is small, else at the start of a line."""
    alloc = p.ast.by_path[path]
    assert isinstance(alloc, q.Alloc)
    if alloc.shape:
        size = size_of(alloc)
        small = size is not None and size <= STACK_BYTES
        place = "DRAM_STACK_ALIGNED" if small else "DRAM_ALIGNED"
        yield from p.do("set_memory", At(path), Memory(place))
