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

For any nest around one `x[...] += a * b` (or `+= b`) with loops that `x` does not
depend on, and one loop along which `x` and the operands are contiguous (an operand
may also not depend on it). Other statements in these loops are first split off into
loops of their own. `rows` is the name of a second loop to tile, empty for none;
`tile_rows` times `tile_vectors` registers hold the result; `inner` is the number of
innermost reduction loops inside the tile. Other reductions go outside, with the
contiguous loop before them, so that a panel of the contiguous operand stays in cache
while the rows pass by. With `pack` that panel is first copied to where its rows lie
next to each other, and turned if the contiguous loop runs across them (`B[j, k]`).
`depth`, if not 0, is how much of the innermost reduction the tile stays for.
`nest` counts the reductions that start at the same loop.

Iterations that the tile does not divide get a nest of their own, after this one. A
contiguous loop shorter than a register is done in one go by masked instructions.

Tile sizes are those of the analytic model of BLIS (Low et al., TOMS 2016): `rows *
vectors` accumulators, `vectors` operands and one broadcast fill the register file,
with as much arithmetic per load as possible; `depth` is such that the panel leaves the
first-level cache room for what is read of the other operand.
"""

from collections import Counter
from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocking import (
    MAX_DEPTH,
    masked,
    panel_depth,
    register_tiles,
    tile_width,
)
from schedsearch.transforms.factors import divides
from schedsearch.transforms.library.vectorise import replacement
from schedsearch.transforms.mirror import mirror
from schedsearch.transforms.ops import (
    After,
    Args,
    At,
    Index,
    Memory,
    Op,
    Proposal,
    Route,
    Steps,
    Vector,
)
from schedsearch.transforms.reductions import (
    ReductionNest,
    first_dim,
    reduction_nests,
    row_length,
)
from schedsearch.transforms.vectors import memory_name, set_name
from schedsearch.transforms.walkers import fresh, names, next_path, shifted

VERSION = 3

PACKED = 2
"""Position of a loop among its siblings once a panel is allocated and copied before it."""

Indices = tuple[q.Affine, ...]

MAX_TILE = 64
"""Registers, elements of a register, reduction loops: none has more."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    started: Counter[q.Path] = Counter()
    cache = (target.cache_bytes or (0,))[0]
    for nest in reduction_nests(proc):
        width = tile_width(proc, nest, target.vector_bits)
        first = nest.loops[0]
        for rows in [None, *nest.row_loops()] if nest.along.extent != 1 else []:
            for tile_rows, tile_vectors in register_tiles(
                proc, nest, rows, width, target.vector_registers
            ):
                args: dict[str, ArgValue] = {
                    "nest": started[first.path],
                    "rows": rows.iter.name if rows else "",
                    "tile_rows": tile_rows,
                    "tile_vectors": tile_vectors,
                    "lanes": width,
                    "depth": 0,
                }
                far_apart = row_length(proc, nest.operand) > 2 * width * tile_vectors
                for inner in sorted({1, len(nest.reductions)}):
                    if not nest.transposed:
                        yield first, {**args, "inner": inner, "pack": False}
                    if rows and (nest.transposed or far_apart) and nest.packable(rows, inner):
                        yield first, {**args, "inner": inner, "pack": True}
                        depth = panel_depth(nest, cache, tile_rows, tile_vectors * width)
                        if inner == 1 and depth:
                            yield first, {**args, "inner": 1, "pack": True, "depth": depth}
        started[first.path] += 1


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    nests = [nest for nest in reduction_nests(ast) if nest.loops[0].path == path]
    if not (isinstance(args["nest"], int) and 0 <= args["nest"] < len(nests)):
        raise RewriteError("there is no reduction that fits vector registers")
    nest = nests[args["nest"]]
    _check(nest, args)
    partial = masked(ast, nest, args["lanes"])
    if partial and args["tile_vectors"] > 1:
        raise RewriteError("there is less than one register to fill")
    for gap, around in nest.siblings():
        yield Op("fission", (After(gap), around))
    if nest.preceded:
        path = next_path(path)
    along, width = nest.along.iter.name, args["lanes"]
    rows = args["rows"]
    taken = names(ast)
    order = [loop.iter.name for loop in nest.loops]

    packed: int | None = None  # depth of the loop before which a panel is packed

    def path_of(name: str) -> q.Path:
        depths = range(1, order.index(name) + 1)
        outermost = shifted(path, PACKED) if packed == 0 else path
        return (*outermost, *(PACKED if depth == packed else 0 for depth in depths))

    def at(name: str) -> At:
        return At(path_of(name))

    def split(name: str, factor: int, suffix: str) -> Iterator[Op]:
        inner = fresh(taken, f"{name}{suffix}")
        yield Op("divide_loop", (at(name), factor, (name, inner)), (("perfect", True),))
        order.insert(order.index(name) + 1, inner)

    def cut(name: str, factor: int) -> Iterator[Op]:
        """Give what `factor` does not divide a nest of its own, after this one."""
        loop = next(loop for loop in nest.loops if loop.iter.name == name)
        if divides(ast, factor, loop.hi, loop.path):
            return
        point = f"{factor} * (({show_affine(loop.hi)}) / {factor})"
        yield Op(
            "cut_loop", (at(name), point if loop.extent is None else loop.extent // factor * factor)
        )
        if order.index(name):
            yield Op("fission", (After(path_of(name)), order.index(name)))

    if not partial:
        yield from cut(along, width * args["tile_vectors"])
    if rows:
        yield from cut(rows, args["tile_rows"])
    if args["depth"]:
        yield from cut(nest.reductions[-1].iter.name, args["depth"])
    # A divided loop keeps its name for the outer part.
    if partial:
        tile = [along]
    else:
        yield from split(along, width * args["tile_vectors"], "v")
        vector = order[order.index(along) + 1]
        yield from split(vector, width, "l")
        tile = [vector, order[order.index(vector) + 1]]
    if rows:
        yield from split(rows, args["tile_rows"], "r")
        tile = [order[order.index(rows) + 1], *tile]

    reductions = [loop.iter.name for loop in nest.reductions]
    if args["depth"]:
        yield from split(reductions[-1], args["depth"], "c")
        reductions.append(order[order.index(reductions[-1]) + 1])
    inner = reductions[len(reductions) - args["inner"] :]
    outside = [name for name in order if name not in (*inner, *tile)]
    if args["pack"] or args["inner"] < len(reductions):
        first = [name for name in (along, *reductions) if name in outside]
        if args["pack"]:  # every step of these loops has a panel of its own
            moving = [x.iter.name for x in nest.loops if first_dim(nest.operand.idx, x) is not None]
            first = [n for n in outside if n in moving and n not in first] + first
        outside = first + [name for name in outside if name not in first]
    for position, name in enumerate([*outside, *inner, *tile]):
        while order.index(name) > position:
            before = order.index(name) - 1
            yield Op("reorder_loops", (at(order[before]),))
            order[before : before + 2] = [order[before + 1], order[before]]

    if args["pack"]:
        panel = len(first)
        name = fresh(taken, f"{nest.operand.buf.name}_panel")
        home = path_of(order[panel])
        after = yield Op("stage_mem", (At(home), _panel(nest, args, inner, partial), name))
        if nest.transposed:
            after = yield Op("rearrange_dim", (At(home), _along_last(nest, args, inner)))
        if _divided(nest.operand.idx):
            yield from _straighten(mirror(after), shifted(home, PACKED), name)
        # Exo's heap is aligned to 16 bytes: most vectors would lie in two cache lines.
        yield Op("set_memory", (At(home), Memory("DRAM_ALIGNED")))
        packed = panel

    # The result's tile: staged around the innermost reductions, in registers.
    block = path_of(inner[0])
    staged = fresh(taken, f"{nest.stmt.buf.name}_tile")
    window = _window(nest, args, partial)
    after = yield Op("stage_mem", (At(block), window, staged))
    home = block[:-1]
    alloc, load, compute, store = ((*home, n) for n in range(4))
    if _divided(nest.stmt.idx):
        yield from _straighten(mirror(after), compute, staged)
    body = (*compute, *(0,) * (len(inner) + len(tile) - 1))
    kind = nest.stmt.type
    memory = Vector(kind, width, memory_name(kind, width))
    depth = (0,) if rows else ()
    if partial:
        yield Op("resize_dim", (At(alloc), len(depth), width, 0))
        yield Op("set_memory", (At(alloc), memory))
        after = yield Op("simplify")
        for where in ((*load, *depth), body, (*store, *depth)):
            after = yield replacement(mirror(after), where, width, counted=True)
        return
    yield Op("divide_dim", (At(alloc), len(depth), width))
    yield Op("set_memory", (At(alloc), memory))
    for copy in (load, store):
        new = (fresh(taken, "v"), fresh(taken, "l"))
        yield Op("divide_loop", (At((*copy, *depth)), width, new), (("perfect", True),))
    yield Op("simplify")
    prefix = set_name(kind, width)
    for where, name in ((load, "load"), (store, "store")):
        vector_set = Vector(kind, width, f"{prefix}_{name}")
        after = yield Op("replace", (At((*where, *depth, 0)), vector_set))
    if nest.converted:
        yield replacement(mirror(after), body, width, counted=False)
    else:
        yield Op("replace", (At(body), Vector(kind, width, f"{prefix}_{nest.instruction}")))


def _panel(nest: ReductionNest, args: Args, inner: list[str], partial: bool) -> str:
    """What the tile's loops read of the operand, as a window of its array. `partial`: the
    contiguous loop is not divided."""
    sizes = {loop.iter: loop.hi for loop in nest.loops if loop.iter.name in inner}
    blocks = {nest.along.iter: args["lanes"] * args["tile_vectors"]}
    if partial:
        sizes[nest.along.iter] = nest.along.hi
        blocks.clear()
    if args["depth"]:
        blocks[nest.reductions[-1].iter] = args["depth"]
    parts = []
    for index in nest.operand.idx:
        used = q.expr_vars(index)
        # The variable of a divided loop now counts blocks.
        for var in used & blocks.keys():
            low, size = index + q.as_affine(var).scaled(blocks[var] - 1), q.Affine(blocks[var])
            break
        else:
            low, size = index, q.Affine(0)
            for var in used & sizes.keys():
                low, size = index - q.as_affine(var), sizes[var]
        whole = f"{show_affine(low)} : {show_affine(low + size)}"
        parts.append(whole if size != q.Affine(0) else show_affine(low))
    return f"{nest.operand.buf.name}[{', '.join(parts)}]"


def _divided(idx: Indices) -> bool:
    """Whether an index contains a division, as behind `cut_loop` at a multiple of a size."""
    return any(isinstance(atom, q.FloorDiv) for index in idx for atom, _ in index.terms)


def _straighten(proc: q.Proc, path: q.Path, name: str) -> Iterator[Op]:
    """Write every index of the staged array `name` in the statement at `path` plainly:
    Exo's `simplify` leaves `n / 8 - n / 8` as it is."""
    root = proc.by_path[path]
    for stmt in q.walk((root,)):
        if isinstance(stmt, q.Assign | q.Reduce):
            for route, buf, idx in [(None, stmt.buf, stmt.idx), *_reads(stmt.rhs, ())]:
                for dim, index in enumerate(idx if buf.name == name else ()):
                    new = (Index(stmt.path, route, dim), show_affine(index))
                    yield Op("rewrite_expr", new)


def _reads(expr: q.Expr, route: Route) -> Iterator[tuple[Route | None, q.Var, Indices]]:
    """The reads of a sum's right side, with the way to each."""
    match expr:
        case q.Read():
            yield route, expr.buf, expr.idx
        case q.BinOp():
            yield from _reads(expr.lhs, (*route, "lhs"))
            yield from _reads(expr.rhs, (*route, "rhs"))


def _along_last(nest: ReductionNest, args: Args, inner: list[str]) -> tuple[int, ...]:
    """The panel's dimensions, that of the contiguous loop last."""
    inside = [loop for loop in nest.loops if loop.iter.name in inner or loop is nest.along]
    if args["depth"]:
        inside.append(nest.reductions[-1])
    moving = [{x for x in inside if x.iter in q.expr_vars(index)} for index in nest.operand.idx]
    dims = [loops for loops in moving if loops]
    last = dims.index({nest.along})
    return (*(dim for dim in range(len(dims)) if dim != last), last)


def _check(nest: ReductionNest, args: Args) -> None:
    """Refuse arguments that `propose` would not give: a trace may come from anywhere."""
    sizes = (args["tile_rows"], args["tile_vectors"], args["lanes"], args["inner"])
    if not all(isinstance(size, int) and 1 <= size <= MAX_TILE for size in sizes):
        raise RewriteError(f"tile sizes are whole numbers from 1 to {MAX_TILE}")
    if args["inner"] > len(nest.reductions):
        raise RewriteError(f"there are only {len(nest.reductions)} reduction loops")
    row_loops = {loop.iter.name: loop for loop in nest.row_loops()}
    if args["rows"] not in {"", *row_loops} or bool(args["rows"]) != (args["tile_rows"] > 1):
        raise RewriteError(f"rows of {args['rows']!r} cannot be tiled here")
    rows = row_loops.get(args["rows"])
    if args["pack"] is not False and not (rows and nest.packable(rows, args["inner"])):
        raise RewriteError("there is no panel to pack here")
    depth = args["depth"]
    if depth and not (args["inner"] == 1 and isinstance(depth, int) and 1 < depth <= MAX_DEPTH):
        raise RewriteError("the depth is a number of steps of the one reduction inside")
    if nest.transposed and not args["pack"]:
        raise RewriteError("the operand lies across: it has to be packed")


def _window(nest: ReductionNest, args: Args, partial: bool) -> str:
    """The result's tile as a window of its array, in terms of the loops outside."""
    tile = {
        args["rows"]: args["tile_rows"],
        nest.along.iter.name: args["lanes"] * args["tile_vectors"],
    }
    tiled = [loop for loop in nest.loops if loop.iter.name in tile]
    parts = []
    for index in nest.stmt.idx:
        loop = next((loop for loop in tiled if first_dim((index,), loop) == 0), None)
        if loop is None:
            parts.append(show_affine(index))
            continue
        if partial and loop is nest.along:
            low = index - q.as_affine(loop.iter)
            parts.append(f"{show_affine(low)} : {show_affine(low + loop.hi)}")
            continue
        size = tile[loop.iter.name]
        # The loop's variable now counts tiles.
        start = show_affine(index + q.as_affine(loop.iter).scaled(size - 1))
        parts.append(f"{start} : {start} + {size}")
    return f"{nest.stmt.buf.name}[{', '.join(parts)}]"
