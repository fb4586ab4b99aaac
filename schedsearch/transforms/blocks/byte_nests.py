"""Which reduction nests are sums of products of bytes, and how an instruction does their tile."""

from __future__ import annotations

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.reductions import ReductionNest, longest_extent
from schedsearch.transforms.blocks.terms import first_dim, moves
from schedsearch.transforms.operators.byte_dots import LANES, STEPS, ByteDots

KINDS = frozenset({"i8", "ui8"})

MOST_VECTORS = 4

VNNI = {8: frozenset({"avx_vnni", "avx512_vnni"}), 16: frozenset({"avx512_vnni"})}
"""What a CPU needs, one of them, for registers of so many lanes."""


def sums_bytes(proc: q.Proc, nest: ReductionNest, rows: q.For | None, width: int) -> bool:
    """Whether the nest sums products of bytes in i32, with a tile along `rows` that reads its other
    operand row by row, four steps of the sum at a time."""
    summed = isinstance(nest.stmt, q.Reduce) and nest.stmt.type == "i32"
    if not (nest.converted and summed and rows and width in LANES):
        return False
    step = nest.reductions[-1]
    narrow = longest_extent(proc, nest.along) < width
    if longest_extent(proc, step) < STEPS or (narrow and nest.along.extent is None):
        return False
    other = _other(nest)
    if other is None or not {other.type, nest.operand.type} <= KINDS:
        return False
    *before, last = range(len(other.idx))
    down = first_dim(other.idx, rows)
    apart = down in before and moves(other.idx, rows, down)
    operand = first_dim(nest.operand.idx, step)
    across = operand is not None and moves(nest.operand.idx, step, operand)
    return apart and across and moves(other.idx, step, last) and nest.packable(rows, 1)


def largest_byte_tile(
    proc: q.Proc, nest: ReductionNest, width: int, registers: int
) -> dict[str, ArgValue] | None:
    """The tile of sums of bytes that loads least for its sums; None if these are none. A tile sums
    the operand of its rows once, and makes its vectors unsigned at each step."""
    found: dict[tuple[float, int], dict[str, ArgValue]] = {}
    for rows in nest.row_loops():
        if not sums_bytes(proc, nest, rows, width):
            continue
        for vectors in range(1, MOST_VECTORS + 1):
            tile_rows = int(min((registers - 2) // vectors - 1, longest_extent(proc, rows)))
            fits = vectors == 1 or longest_extent(proc, nest.along) >= vectors * width
            if fits and tile_rows > 1:
                size = tile_rows * vectors
                sizes: dict[str, ArgValue] = {"tile_rows": tile_rows, "tile_vectors": vectors}
                key = (size / (tile_rows + vectors), size)
                found.setdefault(key, {"rows": rows.iter.name, **sizes})
    return {**found[max(found)], "inner": 1, "pack": True, "bytes": True} if found else None


def _other(nest: ReductionNest) -> q.Read | None:
    """The operand that is not packed."""
    others = [read for read in reads(nest.stmt.rhs) if read != nest.operand]
    return others[0] if len(others) == 1 and others[0].idx else None


def tile_instruction(proc: q.Proc, loop: q.For, panel: str, partial: bool) -> ByteDots:
    """The instruction for a loop over fours of steps, with a tile inside whose one operand is
    the array named `panel`. `partial`: of less than one register in a row. Raises RewriteError if
    there is none."""
    loops = [loop]
    while len(loops[-1].body) == 1 and isinstance(inner := loops[-1].body[0], q.For):
        loops.append(inner)
    body = loops[-1].body
    stored = next((s for s in body if isinstance(s, q.Reduce)), None)
    read = {s.buf: s.rhs for s in body if isinstance(s, q.Assign) and isinstance(s.rhs, q.Read)}
    if stored is None or len(read) != 2 or loops[-1].extent != STEPS:
        raise RewriteError("these are no sums of four products")
    ((x, a),) = [each for each in read.items() if each[1].buf.name != panel]
    ((y, b),) = [each for each in read.items() if each[1].buf.name == panel]
    shape, row = declared(proc)[stored.buf].shape, -1
    if len(shape) == 3 - partial:
        (down,) = q.expr_vars(stored.idx[0])
        row = next(dim for dim, index in enumerate(a.idx) if down in q.expr_vars(index))
    words: dict[q.Var | q.Expr, str] = {x: "x", y: "y", a: "a", b: "b", stored.buf: "acc"}
    return ByteDots(
        rows=shape[0].const if row >= 0 else 1,
        vectors=1 if partial else shape[-2].const,
        lanes=shape[-1].const,
        kind_a=a.type,
        kind_b=b.type,
        rank=len(a.idx),
        row=row,
        body=tuple(_line(stmt, words) for stmt in body),
        columns=(loops[-2].extent or 0) if partial else 0,
    )


def _line(stmt: q.Stmt, words: dict[q.Var | q.Expr, str]) -> str:
    match stmt:
        case q.Alloc():
            return f"{words[stmt.buf]}: {stmt.type}"
        case q.Assign(rhs=q.Read() as read):
            return f"{words[stmt.buf]} = {words[read]}"
        case q.Reduce(rhs=q.BinOp(op="*", lhs=q.Read() as lhs, rhs=q.Read() as rhs)):
            return f"acc += {words[lhs.buf]} * {words[rhs.buf]}"
        case _:
            raise RewriteError("these are no sums of products")
