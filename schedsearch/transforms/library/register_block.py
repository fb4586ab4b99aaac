"""Keep a tile of a reduction's result in vector registers.

```
for i in seq(0, 512):                     for io in seq(0, 64):
    for j in seq(0, 512):                     for jo in seq(0, 16):
        for k in seq(0, 512):         ->          acc: f32[8, 2, 16] @ VEC_F32X16
            C[i, j] += A[i, k] * B[k, j]          acc[...] = C[8 * io ..., 32 * jo ...]
                                                  for k in seq(0, 512):
                                                      acc[...] += A[...] * B[...]
                                                  C[8 * io ..., 32 * jo ...] = acc[...]
```

For any perfect nest around one `x[...] += a * b` (or `+= b`) with loops that `x`
does not depend on, and one loop along which `x` and the operands are contiguous
(an operand may also not depend on it). `rows` is the name of a second loop to
tile, empty for none; `tile_rows` times `tile_vectors` registers hold the result;
`inner` is the number of innermost reduction loops inside the tile. Other
reductions go outside, with the contiguous loop before them, so that a panel of
the contiguous operand stays in cache while the rows pass by.

Iterations that the tile does not divide get a nest of their own, after this one.

Tile sizes fill the register file of the target as BLIS does: `rows * vectors`
accumulators, `vectors` operands and one broadcast (Low et al., TOMS 2016).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.ops import After, Args, At, Op, Proposal, Steps, Vector
from schedsearch.transforms.vectors import C_TYPES, memory_name, set_name
from schedsearch.transforms.walkers import (
    ELEMENT_BITS,
    fresh,
    lanes,
    names,
    nests,
    vector_registers,
)

VERSION = 1

MAX_TILE = 64
"""Registers, elements of a register, reduction loops: none has more."""


@dataclass(frozen=True)
class _Nest:
    """A reduction nest: its loops, the contiguous one, those the result depends on."""

    loops: tuple[q.For, ...]
    stmt: q.Reduce
    along: q.For
    instruction: str

    @property
    def reductions(self) -> tuple[q.For, ...]:
        return tuple(loop for loop in self.loops if _dim(self.stmt.idx, loop) is None)

    def row_loops(self) -> Iterator[q.For]:
        """Loops that move the result by one along one dimension, others than `along`."""
        for loop in self.loops:
            dim = _dim(self.stmt.idx, loop)
            if loop is not self.along and dim is not None and _moves(self.stmt.idx, loop, dim):
                yield loop


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loops in nests(proc):
        nest = _match(proc, loops)
        if nest is None:
            continue
        width = lanes(target, ELEMENT_BITS[nest.stmt.type])
        for rows in [None, *nest.row_loops()]:
            for tile_rows, tile_vectors in _tiles(nest, rows, width, vector_registers(target)):
                for inner in sorted({1, len(nest.reductions)}):
                    yield (
                        loops[0],
                        {
                            "rows": rows.iter.name if rows else "",
                            "tile_rows": tile_rows,
                            "tile_vectors": tile_vectors,
                            "lanes": width,
                            "inner": inner,
                        },
                    )


def _match(proc: q.Proc, loops: tuple[q.For, ...]) -> _Nest | None:
    stmt = loops[-1].body[0]
    if not isinstance(stmt, q.Reduce) or stmt.type not in C_TYPES or not stmt.idx:
        return None
    distinct = {loop.iter.name for loop in loops} | {arg.var.name for arg in proc.args}
    if len(distinct) < len(loops) + len(proc.args):
        return None  # windows are written with names
    if any(loop.parallel or loop.lo != q.Affine(0) or loop.extent == 0 for loop in loops):
        return None
    if not _dense(proc, stmt):
        return None
    for loop in loops:
        if _moves(stmt.idx, loop, len(stmt.idx) - 1):
            instruction = _instruction(stmt, loop)
            reduced = any(_dim(stmt.idx, other) is None for other in loops)
            if instruction is not None and reduced:
                return _Nest(loops, stmt, loop, instruction)
    return None


def _dense(proc: q.Proc, stmt: q.Reduce) -> bool:
    """Whether every array of the statement is a contiguous array of its type in plain memory."""
    plain = {
        arg.var
        for arg in proc.args
        if not arg.window and (arg.type, arg.mem) == (stmt.type, "DRAM")
    }
    plain |= {
        s.buf
        for s in q.walk(proc.body)
        if isinstance(s, q.Alloc) and s.type == stmt.type and s.mem.startswith("DRAM")
    }
    return q.used_vars((stmt,)) - {v for i in _indices(stmt) for v in q.expr_vars(i)} <= plain


def _indices(stmt: q.Reduce) -> Iterator[q.Affine]:
    yield from stmt.idx
    for node in q.walk_expr(stmt.rhs):
        if isinstance(node, q.Read):
            yield from node.idx


def _dim(idx: tuple[q.Affine, ...], loop: q.For) -> int | None:
    """The first dimension whose index depends on the loop."""
    return next((d for d, index in enumerate(idx) if loop.iter in q.expr_vars(index)), None)


def _moves(idx: tuple[q.Affine, ...], loop: q.For, dim: int) -> bool:
    """Whether the loop moves the access by one along `dim`, and along nothing else."""
    used = [d for d, index in enumerate(idx) if loop.iter in q.expr_vars(index)]
    return used == [dim] and idx[dim].coefficient(loop.iter) == 1 and _plainly(idx[dim], loop)


def _plainly(index: q.Affine, loop: q.For) -> bool:
    """Whether the loop's variable is a term of its own, not inside a division."""
    return all(a == loop.iter or loop.iter not in q.expr_vars(a) for a, _ in index.terms)


def _instruction(stmt: q.Reduce, along: q.For) -> str | None:
    """Name of the vector instruction for the statement along a loop."""
    match stmt.rhs:
        case q.BinOp(op="*", lhs=q.Read() as lhs, rhs=q.Read() as rhs):
            shapes = (_operand(lhs, along), _operand(rhs, along))
            if "vector" in shapes and None not in shapes:
                return f"fma_{shapes[0]}_{shapes[1]}"
        case q.Read() as read if _operand(read, along) == "vector":
            return "add_vector"
    return None


def _operand(read: q.Read, along: q.For) -> str | None:
    if read.idx and _moves(read.idx, along, len(read.idx) - 1):
        return "vector"
    # A scalar becomes a window of one element: it needs a dimension to cut it from.
    return "scalar" if read.idx and _dim(read.idx, along) is None else None


def _tiles(
    nest: _Nest, rows: q.For | None, width: int, registers: int
) -> Iterator[tuple[int, int]]:
    """`(rows, vectors)` that leave registers for the operands; divisors where there are any."""
    extent = nest.along.extent
    possible = [n for n in (1, 2, 3, 4, 6) if extent is None or n * width <= extent]
    if not possible:
        return
    fitting = [n for n in possible if _fits(nest.along, n * width)] or possible
    if rows is None:
        yield 1, max(fitting)
        return
    for vectors in fitting:
        room = (registers - vectors - 1) // vectors
        best = max((d for d in range(1, room + 1) if _fits(rows, d)), default=1)
        if 2 * best <= room and (rows.extent or room) >= room:
            best = room  # no good divisor: a loop of its own for the last rows
        if best > 1:
            yield best, vectors


def _fits(loop: q.For, factor: int) -> bool:
    """Whether `factor` divides a constant loop; loops of unknown length are cut anyway, at
    powers of two."""
    if loop.extent is None:
        return factor & (factor - 1) == 0
    return loop.extent % factor == 0


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    nest = _nest_at(ast, path)
    _check(nest, args)
    along, width = nest.along.iter.name, args["lanes"]
    rows = args["rows"]
    taken = names(ast)
    order = [loop.iter.name for loop in nest.loops]

    def path_of(name: str) -> q.Path:
        return (*path, *(0,) * order.index(name))

    def at(name: str) -> At:
        return At(path_of(name))

    def split(name: str, factor: int, suffix: str) -> Iterator[Op]:
        inner = fresh(taken, f"{name}{suffix}")
        yield Op("divide_loop", (at(name), factor, (name, inner)), (("perfect", True),))
        order.insert(order.index(name) + 1, inner)

    def cut(name: str, factor: int) -> Iterator[Op]:
        """Give what `factor` does not divide a nest of its own, after this one."""
        loop = next(loop for loop in nest.loops if loop.iter.name == name)
        if loop.extent is not None and loop.extent % factor == 0:
            return
        point = f"{factor} * (({show_affine(loop.hi)}) / {factor})"
        yield Op(
            "cut_loop", (at(name), point if loop.extent is None else loop.extent // factor * factor)
        )
        if order.index(name):
            yield Op("fission", (After(path_of(name)), order.index(name)))

    yield from cut(along, width * args["tile_vectors"])
    if rows:
        yield from cut(rows, args["tile_rows"])
    # A divided loop keeps its name for the outer part.
    yield from split(along, width * args["tile_vectors"], "v")
    vector = order[order.index(along) + 1]
    yield from split(vector, width, "l")
    lane = order[order.index(vector) + 1]
    tile = [vector, lane]
    if rows:
        yield from split(rows, args["tile_rows"], "r")
        tile = [order[order.index(rows) + 1], *tile]

    reductions = [loop.iter.name for loop in nest.reductions]
    inner = reductions[len(reductions) - args["inner"] :]
    outside = [name for name in order if name not in (*inner, *tile)]
    if args["inner"] < len(reductions):
        first = [along, *(name for name in outside if name in reductions)]
        outside = first + [name for name in outside if name not in first]
    for position, name in enumerate([*outside, *inner, *tile]):
        while order.index(name) > position:
            before = order.index(name) - 1
            yield Op("reorder_loops", (at(order[before]),))
            order[before : before + 2] = [order[before + 1], order[before]]

    # The result's tile: staged around the innermost reductions, in registers.
    block = path_of(inner[0])
    staged = fresh(taken, f"{nest.stmt.buf.name}_tile")
    window = _window(nest, args)
    yield Op("stage_mem", (At(block), window, staged))
    home = block[:-1]
    alloc, load, compute, store = ((*home, n) for n in range(4))
    yield Op("divide_dim", (At(alloc), 1 if rows else 0, width))
    kind = nest.stmt.type
    yield Op("set_memory", (At(alloc), Vector(kind, width, memory_name(kind, width))))
    depth = (0,) if rows else ()
    for copy in (load, store):
        new = (fresh(taken, "v"), fresh(taken, "l"))
        yield Op("divide_loop", (At((*copy, *depth)), width, new), (("perfect", True),))
    yield Op("simplify")
    prefix = set_name(kind, width)
    below = (0,) * (len(inner) + len(tile) - 1)
    for where, name in (
        ((*load, *depth, 0), "load"),
        ((*store, *depth, 0), "store"),
        ((*compute, *below), nest.instruction),
    ):
        yield Op("replace", (At(where), Vector(kind, width, f"{prefix}_{name}")))


def _nest_at(ast: q.Proc, path: q.Path) -> _Nest:
    for loops in nests(ast):
        nest = _match(ast, loops) if loops[0].path == path else None
        if nest is not None:
            return nest
    raise RewriteError("there is no reduction nest that fits vector registers")


def _check(nest: _Nest, args: Args) -> None:
    """Refuse arguments that `propose` would not give: a trace may come from anywhere."""
    sizes = (args["tile_rows"], args["tile_vectors"], args["lanes"], args["inner"])
    if not all(isinstance(size, int) and 1 <= size <= MAX_TILE for size in sizes):
        raise RewriteError(f"tile sizes are whole numbers from 1 to {MAX_TILE}")
    if args["inner"] > len(nest.reductions):
        raise RewriteError(f"there are only {len(nest.reductions)} reduction loops")
    row_loops = {loop.iter.name for loop in nest.row_loops()}
    if args["rows"] not in {"", *row_loops} or bool(args["rows"]) != (args["tile_rows"] > 1):
        raise RewriteError(f"rows of {args['rows']!r} cannot be tiled here")


def _window(nest: _Nest, args: Args) -> str:
    """The result's tile as a window of its array, in terms of the loops outside."""
    tile = {
        args["rows"]: args["tile_rows"],
        nest.along.iter.name: args["lanes"] * args["tile_vectors"],
    }
    tiled = [loop for loop in nest.loops if loop.iter.name in tile]
    parts = []
    for index in nest.stmt.idx:
        loop = next((loop for loop in tiled if _dim((index,), loop) == 0), None)
        if loop is None:
            parts.append(show_affine(index))
            continue
        size = tile[loop.iter.name]
        # The loop's variable now counts tiles.
        low = show_affine(index + q.as_affine(loop.iter).scaled(size - 1))
        parts.append(f"{low} : {low} + {size}")
    return f"{nest.stmt.buf.name}[{', '.join(parts)}]"
