"""Carry out an innermost reduction on several vector registers at once.

```
for j in seq(0, n):                  t: f32[4, 8] @ VEC_F32X8
    s += A[i, j] * x[j]     ->       t[...] = 0.0
                                     for jo in seq(0, n / 32):
                                         for jv in seq(0, 4):
                                             t[jv, ...] += A[i, ...] * x[...]
                                     s += t[...]
                                     if n % 32 > 0:
                                         s += A[i, ...] * x[...]  # the last n % 32
```

For a loop with one `x += f(...)`, `x` an element that the loop does not move, whose
operands move with it by one element or not at all; scalars may be declared inside.
`chains` registers of `lanes` elements add independently, which hides the latency of
an addition; at the end an instruction adds them up. What they do not cover is the
argument `tail`: `none` (nothing is left), `cut` (a scalar loop), `masked` (an
instruction for the first `n` elements).

With `tile_rows` above 1, that many iterations of the loop around are carried out
together, each with chains of its own, so that they share what they read alike
(`x` above). Rows that the tile does not divide get a nest of their own.

A minimum or maximum over the whole loop is one instruction, where the loop runs at all:

```
for j in seq(0, n):
    m = max(m, A[i, j])     ->       vec_f32x8_max_...(n, m, A[i, 0:n])
```

Exo would not join registers in another order than that of the loop. The C of the instruction does,
in `chains` registers, where the floating-point contract allows it; with `parts`, each on a thread
(sums: `parallelize_reduction`). A sum beside assignments, or beside other sums, is one
instruction too, and takes no pass of its own:

```
for j in seq(0, n):
    y[i, j] = exp(x[i, j])  ->       vec_f32x8_exp_add_...(n, x[i, 0:n], y[i, 0:n], s)
    s += y[i, j]
```

With `at_once` so is a single sum. Its length is not known, and rows may be shorter than all chains
are together: the instruction goes on in one chain, and only then to its masked end.

With `tile_rows`, too, it goes along so many rows side by side, which have sums of their own; there
may be several for each row:

```
for i in seq(0, 64):                     for io in seq(0, 8):
    for j in seq(0, n):        ->            vec_f32x16_mul_add_...(n, y[8 * io:8 * io + 8],
        y[i] += A[i, j] * x[j]                                      A[8 * io:8 * io + 8, 0:n], x)
```

The registers of all rows are added up at once in the end, which short rows need most. Sums over
columns in the same loop (`s[j] += w[i] * A[i, j]`) are loaded and stored once for all rows.

With `aligned` a loop in one instruction begins with the iterations before a register that is
aligned, as that of `vectorise`. With `ahead` it goes along a row that was read before, as the
variance after the mean does, and asks for the elements that follow the row: the next one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.independence import divisible
from schedsearch.analysis.ranges import loops_at, ranges_at, trips
from schedsearch.analysis.walkers import fresh, loops, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS, PLAIN
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.core.text import show_access, show_affine
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.blocking import MOST_STREAMS, register_for
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.one_pass import sums_both_ways
from schedsearch.transforms.blocks.read_again import beyond_own_caches, read_again
from schedsearch.transforms.blocks.reductions import gaps
from schedsearch.transforms.blocks.skewing import may_be_long
from schedsearch.transforms.blocks.terms import first_dim, moves
from schedsearch.transforms.blocks.vectors import (
    TAILS,
    divide_loop,
    running_from_zero,
    use_instruction,
    worth_aligning,
)
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Proposal, Steps, Vector
from schedsearch.transforms.vector.fused.model import widest
from schedsearch.transforms.vector.fused.recognise import fuse
from schedsearch.transforms.vector.registers import memory_name

VERSION = 1
NORMAL_FORM = 6

MAX_REGISTERS = 32

MAX_PARTS = 1024
"""Each has a cache line on the stack."""

CHAINS = (8, 4, 2, 1)
"""Registers that add independently: two additions can start in each of the four cycles
that one takes, and most reductions wait for their loads anyway."""

TILES = ((8, 1), (4, 2), (4, 1))
"""Rows and chains of a tile: as many registers, and room for what the rows share."""

SIDE_BY_SIDE = (16, 8, 4)
"""Rows of one instruction: powers of two, whose registers are added up at once."""

SHORT_ROWS = 2
"""Registers of a row whose lanes' sum takes a good part of its time."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        lanes = max(target.vector_bits // (8 * widest(loop.body)), 1)
        reduce = _reduction(proc, loop, lanes)
        if reduce is None:
            continue
        shared = _shared(loop)
        if target.fp is FloatingPoint.STRICT and any(stmt.type in FLOATS for stmt in shared):
            continue
        beside = _side_by_side(proc, loop, lanes, target)
        if beside is not None and (_is_short(loop, lanes) or sums_both_ways(proc, loop)):
            yield loop, beside
            beside = None
        again = [beyond_own_caches(proc, buf, target) for buf in read_again(proc, loop)]
        most = MAX_REGISTERS // 2 // len(shared)
        shapes = [(1, n) for n in CHAINS if n <= most and _covers(loop, lanes * n)][:2]
        if _in_one(loop, reduce):
            parts = target.threads if _for_threads(proc, loop, target) else 1
            for _, chains in shapes:
                one: dict[str, ArgValue] = {"lanes": lanes, "chains": chains, "tile_rows": 1}
                one["tail"] = "masked"
                aligned = worth_aligning(proc, loop, lanes, target)
                yield from _in_one_form({**one, "aligned": True} if aligned else one, loop, again)
                if aligned:
                    yield loop, one
                if parts > 1 and _covers(loop, lanes * chains * parts):
                    yield loop, {**one, "parts": parts}
            continue
        one = {"lanes": lanes, "chains": CHAINS[1], "tile_rows": 1, "tail": "masked"}
        one["at_once"] = True
        rows = _rows(proc, loop, reduce)
        if rows is not None and _shares(reduce, loop, rows):
            tiles = [t for t in TILES if _covers(rows, t[0]) and _covers(loop, lanes * t[1])]
            # Rows share what they read: as many chains, and fewer loads (1.0 to 1.4 times).
            shapes = [*reversed(tiles[:2]), *shapes]
        elif worth_aligning(proc, loop, lanes, target):
            yield from _in_one_form({**one, "aligned": True}, loop, again)
        for tile_rows, chains in shapes:
            whole = divides(proc, lanes * chains, loop.hi - loop.lo)
            tail = "none" if whole else "masked"
            yield (
                loop,
                {"lanes": lanes, "chains": chains, "tile_rows": tile_rows, "tail": tail},
            )
        if beside is not None:
            yield loop, beside
        if loop.extent is None and may_be_long(proc, loop.path, loop.hi - loop.lo):
            yield loop, one
        if worth_aligning(proc, loop, lanes, target):
            yield loop, {**one, "aligned": True}


def _in_one_form(args: dict[str, ArgValue], loop: q.For, again: list[bool]) -> Iterator[Proposal]:
    """`again`: for each row that is read again, whether its array fills more than the caches."""
    forms = [args, {**args, "ahead": True}] if again else [args]
    yield from ((loop, form) for form in (forms[::-1] if any(again) else forms))


def _side_by_side(
    proc: q.Proc, loop: q.For, lanes: int, target: Target
) -> dict[str, ArgValue] | None:
    """Arguments for instructions over several rows of the loop around; None if it has none."""
    rows = _rows_of_all(proc, loop)
    if rows is None or not may_be_long(proc, loop.path, loop.hi - loop.lo):
        return None
    if loop.extent is not None:
        lanes = min(lanes, register_for(loop.extent))
    room = 3 * target.vector_registers // 4 // len(_writes(loop))
    most = min(room, lanes, SIDE_BY_SIDE[0] if _is_short(loop, lanes) else MOST_STREAMS)
    number = next((n for n in SIDE_BY_SIDE if n <= most and _covers(rows, n)), 0)
    alone = replace(rows, hi=q.Affine(number), body=(loop,))
    if not (number and fuse(proc, alone, lanes, True, together=True)):
        return None
    args: dict[str, ArgValue] = {"lanes": lanes, "tile_rows": number, "tail": "masked"}
    return {**args, "chains": 1, "at_once": True}


def _is_short(loop: q.For, lanes: int) -> bool:
    """Whether to add up a register's lanes takes about as long as all else."""
    return loop.extent is not None and loop.extent <= SHORT_ROWS * lanes


def _rows_of_all(proc: q.Proc, loop: q.For) -> q.For | None:
    """The loop directly around, if each of its iterations has all sums of its own. Statements
    beside the loop can have a loop of their own where rows and columns are summed in one pass."""
    one_pass = sums_both_ways(proc, loop)
    found = {
        _rows(proc, loop, s, alone=not one_pass) if isinstance(s, q.Reduce) else None
        for s in _shared(loop)
    }
    return found.pop() if len(found) == 1 else None


def _covers(loop: q.For, count: int) -> bool:
    return loop.extent is None or loop.extent >= count


def _reduction(proc: q.Proc, loop: q.For, lanes: int) -> q.Assign | q.Reduce | None:
    """The statement `x += ...`, or `x = max(x, ...)`, over the loop, if that has a vector form."""
    fused = fuse(proc, loop, lanes, counted=True)
    if fused is None or not any(op.moves for op in fused.operands):
        return None
    if any(op.registers or op.inner for op in fused.operands):
        return None
    shared = _shared(loop)
    if not shared:
        return None
    reduce = shared[0]
    if _in_one(loop, reduce) and not may_be_long(proc, loop.path, loop.hi - loop.lo):
        return None  # instructions for `n` elements are for one at least
    around = [loop.iter.name, *(arg.var.name for arg in proc.args)]
    around += [outer.iter.name for outer in loops_at(proc, loop.path[:-1])]
    if len(set(around)) < len(around):
        return None  # windows are written with names
    if any(isinstance(stmt, q.Reduce) and stmt.type not in PLAIN for stmt in shared):
        return None  # nor can registers of it be declared
    return reduce


def _shared(loop: q.For) -> list[q.Assign | q.Reduce]:
    """The statements that reduce into elements which all iterations share."""
    return [s for s in _writes(loop) if not any(loop.iter in q.expr_vars(i) for i in s.idx)]


def _writes(loop: q.For) -> list[q.Assign | q.Reduce]:
    """The statements that write more than scalars of the loop's own."""
    local = {stmt.buf for stmt in loop.body if isinstance(stmt, q.Alloc)}
    return [s for s in loop.body if isinstance(s, q.Assign | q.Reduce) and s.buf not in local]


def _in_one(loop: q.For, reduce: q.Assign | q.Reduce) -> bool:
    """Whether the whole loop is one instruction."""
    return isinstance(reduce, q.Assign) or len(_writes(loop)) > 1


def _for_threads(proc: q.Proc, loop: q.For, target: Target) -> bool:
    """Whether threads are offered parts: not where a loop around could be parallel."""
    if target.threads == 1 or not _has_parts(proc, loop):
        return False
    return not any(
        divisible(proc, outer, target.threads) for outer in loops_at(proc, loop.path[:-1])
    )


def _has_parts(proc: q.Proc, loop: q.For) -> bool:
    """Whether threads can have parts of a minimum or maximum over the loop."""
    alone = not any(outer.parallel for outer in loops_at(proc, loop.path[:-1]))
    return alone and len(_writes(loop)) == 1


def _rows(
    proc: q.Proc, loop: q.For, reduce: q.Assign | q.Reduce, alone: bool = True
) -> q.For | None:
    """The loop directly around, if every iteration has its own sum and the loop does the same.
    `alone`: there is nothing else in it."""
    rows = proc.by_path.get(loop.path[:-1])
    if not isinstance(rows, q.For) or (alone and len(rows.body) > 1) or rows.parallel:
        return None
    if rows.lo != q.Affine(0) or rows.iter in q.expr_vars(loop.lo) | q.expr_vars(loop.hi):
        return None
    dim = first_dim(reduce.idx, rows)
    return rows if dim is not None and moves(reduce.idx, rows, dim) else None


def _shares(reduce: q.Assign | q.Reduce, loop: q.For, rows: q.For) -> bool:
    """Whether the rows read something alike along the loop."""
    return any(
        first_dim(read.idx, loop) is not None and first_dim(read.idx, rows) is None
        for read in reads(reduce.rhs)
    )


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path[path]
    shape = _checked(args)
    if args.get("at_once", False) is True and shape.rows > 1:
        yield from _rows_side_by_side(ast, loop, shape)
        return
    reduce = _reduction(ast, loop, shape.lanes) if isinstance(loop, q.For) else None
    if not isinstance(loop, q.For) or reduce is None:
        raise RewriteError("there is no sum over this loop that has a vector form")
    rows = _rows(ast, loop, reduce)
    if shape.rows > 1 and rows is None:
        raise RewriteError("there are no rows around this loop")
    p = Cursors((yield None))
    held = p.at(path)
    in_one = _in_one(loop, reduce) or args.get("at_once", False) is True
    if loop.lo != q.Affine(0) and not in_one:
        yield from p.do("shift_loop", held, 0)
    if shape.parts > 1 and not (in_one and _has_parts(ast, loop)):
        raise RewriteError("threads can have parts of a minimum or maximum alone")
    if in_one or isinstance(reduce, q.Assign):
        if shape.rows > 1 or shape.tail != "masked":
            raise RewriteError("a loop in one instruction has one row and a masked tail")
        path = yield from running_from_zero(p, path)
        ways: dict[str, Any] = {"chains": shape.chains, "parts": shape.parts}
        ways["aligned"] = args.get("aligned", False) is True
        ways["ahead"] = args.get("ahead", False) is True
        yield from use_instruction(p, path, shape.lanes, True, **ways)
        return
    taken = names(ast)
    plan = _Plan(p, shape, loop, reduce, taken)
    if rows is None or shape.rows == 1:
        yield from plan.registers(held, tiled=False)
        return
    new = (rows.iter.name, fresh(taken, f"{rows.iter.name}r"))
    whole = rows.extent is not None and rows.extent % shape.rows == 0
    tail = TAILS["none" if whole else "cut"]
    yield from p.do("divide_loop", p.at(rows.path), shape.rows, new, **tail)
    yield from plan.registers(held, tiled=True)
    if not whole:
        yield from plan.registers(p.at((*next_path(rows.path), 0)), tiled=False)


@dataclass(frozen=True)
class _Shape:
    lanes: int
    chains: int
    rows: int
    tail: str
    parts: int


def _rows_side_by_side(ast: q.Proc, loop: q.Stmt, shape: _Shape) -> Steps:
    """Make so many rows of the loop around an instruction, and each of those that are left."""
    if not isinstance(loop, q.For) or _reduction(ast, loop, shape.lanes) is None:
        raise RewriteError("there is no sum over this loop that has a vector form")
    around = _rows_of_all(ast, loop)
    if around is None or shape.tail != "masked" or shape.parts > 1:
        raise RewriteError("there are no rows with sums of their own around this loop")
    p = Cursors((yield None))
    held = p.at(loop.path)
    for gap, lifts in gaps((around,), loop.path):
        yield from p.do("fission", After(gap), lifts)
    path = p.path(held)[:-1]
    length, possible = loop.hi - loop.lo, trips(loop, ranges_at(ast, loop.path[:-1]))
    if possible[0] < 1:
        condition = f"{show_affine(length - length.const)} > {-length.const}"
        yield from p.do("specialize", At(path), (condition,))
        path = (*path, 0)
    if loop.lo != q.Affine(0):
        yield from p.do("shift_loop", p.at((*path, 0)), 0)
    rows = p.at(path)
    if around.extent != shape.rows:
        new = (around.iter.name, fresh(names(ast), f"{around.iter.name}r"))
        whole = divides(ast, shape.rows, around.hi, around.path)
        yield from p.do("divide_loop", rows, shape.rows, new, **TAILS["none" if whole else "cut"])
        if not whole:
            rest = (*next_path(p.path(rows)), 0)
            yield from use_instruction(p, rest, shape.lanes, True)
        rows = p.at(p.path(rows, 0))
    way: dict[str, Any] = {"chains": shape.chains, "together": True}
    yield from use_instruction(p, p.path(rows), shape.lanes, True, **way)


@dataclass(frozen=True)
class _Plan:
    """How one sum is put into registers; `loop` and `reduce` are the original ones."""

    p: Cursors
    shape: _Shape
    loop: q.For
    reduce: q.Reduce
    taken: frozenset[str]

    def registers(self, held: Cursor, tiled: bool) -> Steps:
        """Operators for a loop that is, if `tiled`, alone in a loop over rows."""
        p, lanes, chains, tail = self.p, self.shape.lanes, self.shape.chains, self.shape.tail
        outer, vector, lane = (fresh(self.taken, f"{self.loop.iter.name}{s}") for s in "ovl")
        new = (outer, vector if chains > 1 else lane)
        yield from divide_loop(p, held, lanes * chains, new, lanes, tail)
        if tiled and tail != "none":
            yield from p.do("fission", After(p.path(held)), 1)
        if chains > 1:
            inner = p.at(p.path(held, 0))
            yield from p.do("divide_loop", inner, lanes, (vector, lane), perfect=True)
        # The loops that become the accumulators' dimensions go outside, each element of
        # the accumulators is a scalar there, and then they go back inside.
        dims = (chains > 1) + 1
        for _ in range(dims):
            yield from p.do("reorder_loops", held)
        depth = tiled + dims
        staged = fresh(self.taken, f"{self.reduce.buf.name}_sums")
        home = p.path(held)
        nest = home[:-depth]
        reduce = p.ast.by_path[(*home, self.loop.body.index(self.reduce))]
        assert isinstance(reduce, q.Reduce)  # in terms of the loops that are around it now
        window = show_access(reduce.buf, reduce.idx)
        yield from p.do("stage_mem", held, window, staged, accum=True)
        yield from p.do("autolift_alloc", At(home), n_lifts=depth, keep_dims=True)
        # Exo forwards no cursor through this operator.
        inside = (*next_path(nest), *(0,) * (depth - 1))
        alloc, (clear, held, total) = p.at(nest), (p.at((*inside, n)) for n in range(3))
        yield from p.do("fission", After(p.path(clear)), depth)
        yield from p.do("fission", After(p.path(held)), depth)
        for _ in range(depth):
            yield from p.do("reorder_loops", At(p.path(held)[:-1]))
        element = reduce.type
        yield from p.do("set_memory", alloc, Vector(element, lanes, memory_name(element, lanes)))
        yield from use_instruction(p, p.path(clear)[:-1], lanes, counted=False)
        yield from use_instruction(p, p.path(held, *(0,) * depth), lanes, counted=False)
        yield from use_instruction(p, p.path(total)[:-dims], lanes, counted=False)


def _checked(args: Args) -> _Shape:
    """The arguments, if `propose` could have given them: a trace may come from anywhere."""
    parts = args.get("parts", 1)
    shape = _Shape(args["lanes"], args["chains"], args["tile_rows"], args["tail"], parts)
    numbers = (shape.lanes, shape.chains, shape.rows)
    if not all(type(number) is int and number >= 1 for number in (*numbers, parts)):
        raise RewriteError("lanes, chains, rows and parts are whole numbers from 1 on")
    if parts > MAX_PARTS:
        raise RewriteError(f"{MAX_PARTS} parts are enough")
    if shape.chains * shape.rows > MAX_REGISTERS or shape.tail not in TAILS:
        raise RewriteError(f"there is no vector form with {numbers} and tail {shape.tail!r}")
    return shape
