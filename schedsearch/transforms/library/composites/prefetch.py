"""Ask for the cache lines that a loop needs some iterations later.

```
for k in seq(0, 64):              for k in seq(0, 56):
    y += A[k, 0] * x[k]     ->        y += A[k, 0] * x[k]
                                      prefetch_f32(A[k + 8, 0:1])
                                  for k in seq(56, 64):
                                      y += A[k, 0] * x[k]
```

For arrays through which a loop of short iterations moves row by row; what moves
along a row is left to the hardware. The last iterations have a
loop of their own, so that only elements are named which the loop does use.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import touched
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS, VECTORS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.operators.ops import After, Args, At, Op, Proposal, Steps
from schedsearch.transforms.operators.prefetching import Prefetch

VERSION = 1

DISTANCES = (2, 8)
"""Iterations ahead: for the second level of cache, and for memory."""

MAX_DISTANCE = 64

MAX_BODY = 256
"""Iterations of loops inside one iteration: beyond it the hardware is far ahead itself."""

LINES = 4
"""Cache lines of an array asked for per iteration."""

Place = tuple[q.Affine, ...]


@dataclass(frozen=True)
class _Stream:
    """What `loop` touches first of `buf` in an iteration, and how much from there in a row."""

    loop: q.For
    buf: q.Var
    kind: str
    places: tuple[tuple[Place, int], ...]


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        for stream in _streams(proc, loop):
            for distance in DISTANCES:
                if (loop.extent or 0) > 2 * distance:
                    line = target.line_bytes
                    yield loop, {"buffer": stream.buf.name, "distance": distance, "line": line}


def _streams(proc: q.Proc, loop: q.For) -> Iterator[_Stream]:
    """Arrays that `loop` moves through in steps of rows, if its iterations are short."""
    inside = {s.iter: s for s in q.walk(loop.body) if isinstance(s, q.For)}
    trips = 1
    for inner in inside.values():
        trips *= inner.extent or MAX_BODY + 1
    lows_zero = all(inner.lo == q.Affine(0) for inner in inside.values())
    if not (loop.extent and loop.lo.is_const) or loop.parallel or trips > MAX_BODY or not lows_zero:
        return
    arrays = _arrays(proc)
    scope = _names_at(proc, loop)
    found: dict[q.Var, dict[Place, int]] = {}
    for stmt in q.walk(loop.body):
        if isinstance(stmt, q.If):
            return  # what it guards may not be touched at all
        for buf, low, length in _touched(stmt):
            place = tuple(_first(index, inside) for index in low)
            steady = [index for index in place if index is not None]
            if buf not in arrays or len(steady) < len(place) or not _by_rows(steady, loop):
                continue
            used = {buf}.union(*map(q.expr_vars, steady))
            if all(scope.count(var.name) == 1 for var in used):
                row = found.setdefault(buf, {})
                length += sum(low[-1].coefficient(v) * (s.hi.const - 1) for v, s in inside.items())
                row[tuple(steady)] = max(row.get(tuple(steady), 0), length)
    for buf, places in found.items():
        yield _Stream(loop, buf, arrays[buf], tuple(places.items()))


def _arrays(proc: q.Proc) -> dict[q.Var, str]:
    """Arrays in plain memory, with their element types."""
    return {
        buf: array.type
        for buf, array in declared(proc).items()
        if array.shape and array.mem == "DRAM" and array.type in VECTORS
    }


def _names_at(proc: q.Proc, loop: q.For) -> list[str]:
    """Every name that may be meant at the start of the loop's body."""
    bound = [arg.var.name for arg in proc.args] + [loop.iter.name]
    for depth in range(1, len(loop.path)):
        around = proc.by_path.get(loop.path[:depth])
        if isinstance(around, q.For):
            bound.append(around.iter.name)
    return bound + [s.buf.name for s in q.walk(proc.body) if isinstance(s, q.Alloc)]


def _touched(stmt: q.Stmt) -> Iterator[tuple[q.Var, Place, int]]:
    """Array accesses: the first element, and how many follow in the last dimension."""
    for buf, idx, _ in touched(stmt):
        if idx:
            low = tuple(i.lo if isinstance(i, q.Interval) else i for i in idx)
            span = idx[-1].hi - idx[-1].lo if isinstance(idx[-1], q.Interval) else q.Affine(1)
            yield buf, low, max(span.const, 1) if span.is_const else 1


def _first(index: q.Affine, inside: dict[q.Var, q.For]) -> q.Affine | None:
    """The index in the first iteration of the loops inside; None if that is not its least."""
    kept = []
    for atom, coefficient in index.terms:
        if isinstance(atom, q.Var) and atom in inside:
            if coefficient < 0:
                return None
        elif isinstance(atom, q.Var):
            kept.append((atom, coefficient))
        else:
            return None
    return q.affine(index.const, tuple(kept))


def _by_rows(place: list[q.Affine], loop: q.For) -> bool:
    return any(index.coefficient(loop.iter) > 0 for index in place[:-1]) and not any(
        index.coefficient(loop.iter) < 0 for index in place
    )


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    name, distance, line = args["buffer"], args["distance"], args["line"]
    loop = ast.by_path.get(path)
    streams = _streams(ast, loop) if isinstance(loop, q.For) else ()
    stream = next((stream for stream in streams if stream.buf.name == name), None)
    if stream is None:
        raise RewriteError(f"no loop moves through {name!r} row by row here")
    if not isinstance(line, int) or not 16 <= line <= 1024:
        raise RewriteError("a cache line has 16 to 1024 bytes")
    most = min(stream.loop.extent or 0, MAX_DISTANCE + 1) - 1
    if not isinstance(distance, int) or isinstance(distance, bool) or not 1 <= distance <= most:
        raise RewriteError(f"distances are from 1 to {most} here")
    yield Op("cut_loop", (At(path), stream.loop.hi.const - distance))
    per_line = line * 8 // ELEMENT_BITS[stream.kind]
    windows = [
        _window(stream, place, distance, offset)
        for place, length in stream.places
        for offset in range(0, length, per_line)
    ]
    for window in windows[:LINES]:
        yield Op("insert_noop_call", (After((*path, 0)), Prefetch(stream.kind), (window,)))


def _window(stream: _Stream, place: Place, distance: int, offset: int) -> str:
    """The element `offset` further along the row, `distance` iterations later."""
    *rows, last = (index + distance * index.coefficient(stream.loop.iter) for index in place)
    low = last + offset
    parts = [*map(show_affine, rows), f"{show_affine(low)}:{show_affine(low + 1)}"]
    return f"{stream.buf.name}[{', '.join(parts)}]"
