"""Reduction nests: loops around one `x[...] += a * b`, or one `x[...] = min(x[...], a + b)`, as
register blocks need them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.conditions import in_dead_branch
from schedsearch.analysis.conversions import value_type
from schedsearch.analysis.ranges import ranges_at, trips
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import shifted
from schedsearch.core import ast as q
from schedsearch.core.element_types import PLAIN, VECTORS
from schedsearch.transforms.vector.fused.recognise import computable

MOST_ROWS = 16
"""Of a small triangle: each is a register."""

CORNERS = (q.Affine(0), q.Affine(1))
"""The contiguous loop of a triangle ends before the diagonal, or with it."""


@dataclass(frozen=True)
class ReductionNest:
    """A reduction nest: its loops, the contiguous one, the instruction for its statement
    (empty if one has to be made for it), and the operand to pack.

    `transposed`: the operand is contiguous along another loop, so it has to be packed.
    `converted`: the operands are other types, read into temporaries beside the statement;
    `stmt` reads them directly. `corner`: the outermost loop is the rows of a small triangle, of
    which each has its own length of the contiguous loop.
    """

    loops: tuple[q.For, ...]
    stmt: q.Assign | q.Reduce
    along: q.For
    instruction: str
    operand: q.Read
    transposed: bool
    converted: bool
    corner: bool = False

    @property
    def reductions(self) -> tuple[q.For, ...]:
        return tuple(loop for loop in self.loops if first_dim(self.stmt.idx, loop) is None)

    @property
    def operands(self) -> tuple[q.Read, ...]:
        """What the terms are made of."""
        return tuple(_terms_of(self.stmt))

    def row_loops(self) -> Iterator[q.For]:
        """Loops that move the result by one along one dimension, up or down, others than
        `along`."""
        for loop in self.loops:
            dim = first_dim(self.stmt.idx, loop)
            if loop is self.along or dim is None:
                continue
            if any(moves(self.stmt.idx, loop, dim, by) for by in (1, -1)):
                yield loop

    def packable(self, rows: q.For, inner: int) -> bool:
        """Whether `rows` uses the operand again, and what it and the `inner` innermost
        reductions read of it is a box, one loop to a dimension."""
        inside = [*self.reductions[len(self.reductions) - inner :], self.along]
        idx = self.operand.idx
        moving = [(loop, dim) for loop in inside if (dim := first_dim(idx, loop)) is not None]
        boxed = all(moves(idx, loop, dim) for loop, dim in moving)
        apart = len({dim for _, dim in moving}) == len(moving)
        return not self.corner and first_dim(idx, rows) is None and boxed and apart

    def siblings(self, first: q.Assign | None = None) -> Iterator[tuple[q.Path, int]]:
        """Gaps to split at so that the nest becomes perfect, but for its `first` values."""
        found = [*gaps(self.loops[: len(self.loops) - self.converted], self.stmt.path)]
        if first is not None:
            outer = [loop for loop in self.loops if loop not in self.reductions]
            before = gaps(outer, first.path)
            found = [(at, n) for at, n in found if self.stmt.path[: len(at)] == at]
            found += [(at, n) for at, n in before if first.path[: len(at)] != at]
        yield from found

    def first_values(self, proc: q.Proc) -> q.Assign | None:
        """The assignment of a constant or of an element of an array to each element of the result,
        if it comes directly before the loops of all reductions, which hold nothing else."""
        reduced = self.reductions
        if self.converted or self.corner or self.loops[-len(reduced) :] != reduced:
            return None
        path = reduced[0].path
        before = proc.by_path.get(shifted(path, -1)) if path[-1] else None
        if not isinstance(before, q.Assign) or any(len(loop.body) > 1 for loop in reduced):
            return None
        same = (before.buf, before.idx) == (self.stmt.buf, self.stmt.idx)
        plain = isinstance(before.rhs, q.Const) or (
            isinstance(before.rhs, q.Read)
            and before.rhs.idx
            and before.rhs.buf != self.stmt.buf
            and _operand(before.rhs, self.along) in ("vector", "scalar")
        )
        return before if same and plain else None


def gaps(loops: Sequence[q.For], inside: q.Path) -> Iterator[tuple[q.Path, int]]:
    """Where to split so that the loops, the outermost first, hold nothing but each other and what
    is at the path `inside`: each gap as the path of the statement before it and the number of loops
    around it; the last one comes before the nest, if any does."""
    paths = [inside[: len(loop.path) + 1] for loop in loops]
    at = [int(path[-1]) for path in paths]
    followed = [d for d, loop in enumerate(loops) if at[d] + 1 < len(loop.body)]
    if followed:
        yield paths[followed[-1]], followed[-1] + 1
    if preceded := [d for d, position in enumerate(at) if position]:
        yield shifted(paths[preceded[-1]], -1), preceded[-1] + 1


def reduction_nests(proc: q.Proc) -> Iterator[ReductionNest]:
    """Every nest of the procedure whose result can stay in vector registers: of every
    statement the longest perfect one, and the longest after splitting others off; then those of
    small triangles."""
    found: list[ReductionNest] = []
    for each in q.walk(proc.body):
        if not (isinstance(each, q.Assign | q.Reduce) and each.idx and in_one_type(each)):
            continue
        if reduction(each) is None or in_dead_branch(proc, each.path):
            continue
        direct = without_temporaries(proc, each)
        stmt = direct or each
        if not _dense(proc, stmt):
            continue
        whole = _loops_around(proc, stmt)
        alone = _perfect(whole, direct is not None)
        for loops in (whole, alone) if len(alone) < len(whole) else (whole,):
            nest = _as_reduction(proc, loops, stmt, direct is not None)
            if nest is not None:
                found.append(nest)
    yield from found
    yield from filter(None, (_with_rows(proc, nest) for nest in found))


def _with_rows(proc: q.Proc, nest: ReductionNest) -> ReductionNest | None:
    """The nest with the rows of a small triangle, if that is what it is a row of."""
    rows = proc.by_path.get(nest.loops[0].path[:-1])
    if not isinstance(rows, q.For) or rows.parallel or rows.lo != q.Affine(0):
        return None
    by = [loop for loop in nest.loops if rows.iter in q.expr_vars(loop.hi)]
    if by != [nest.along] or nest.along.hi - q.as_affine(rows.iter) not in CORNERS:
        return None
    dim = first_dim(nest.stmt.idx, rows)
    small = rows.extent is not None and 2 <= rows.extent <= MOST_ROWS
    alone = len(rows.body) == 1 and not (nest.converted or nest.transposed)
    if not (small and alone and dim is not None and moves(nest.stmt.idx, rows, dim)):
        return None
    return replace(nest, loops=(rows, *nest.loops), corner=True)


def in_one_type(stmt: q.Assign | q.Reduce) -> bool:
    """Whether registers hold what is stored, and no value is converted on its way: there is no
    instruction for that."""
    return stmt.type in PLAIN and value_type(stmt.rhs, stmt.type) == stmt.type


def _terms_of(stmt: q.Assign | q.Reduce) -> dict[q.Read, None]:
    """The elements that the term of a reduction reads, each once."""
    found = reduction(stmt)
    return dict.fromkeys(reads(found.term)) if found else {}


def without_temporaries(proc: q.Proc, stmt: q.Assign | q.Reduce) -> q.Assign | q.Reduce | None:
    """The statement with the elements that it reads by way of scalars, if the loop around
    it computes such scalars (of a sum: reads them) and does nothing else; else None."""
    loop = proc.by_path.get(stmt.path[:-1])
    if not isinstance(loop, q.For) or len(loop.body) == 1 or loop.body[-1] != stmt:
        return None
    values: dict[q.Var, q.Expr] = {}
    local: set[q.Var] = set()
    for before in loop.body[:-1]:
        match before:
            case q.Alloc(shape=()):
                local.add(before.buf)
            case q.Assign() if before.buf in local - values.keys():
                values[before.buf] = with_values(before.rhs, values)
            case _:
                return None
    if isinstance(stmt, q.Assign):
        direct = replace(stmt, rhs=with_values(stmt.rhs, values))
        return direct if reduction(direct) and not local & q.used_vars((direct,)) else None
    elements = {buf: e for buf, e in values.items() if isinstance(e, q.Read) and e.idx}
    if elements.keys() != local:
        return None
    match stmt.rhs:
        case q.BinOp(lhs=q.Read() as lhs, rhs=q.Read() as rhs):
            first, second = elements.get(lhs.buf), elements.get(rhs.buf)
            if first and second:
                return replace(stmt, rhs=replace(stmt.rhs, lhs=first, rhs=second))
        case q.Read() as read if element := elements.get(read.buf):
            return replace(stmt, rhs=element)
    return None


def with_values(expr: q.Expr, values: Mapping[q.Var, q.Expr]) -> q.Expr:
    """An expression with the values of scalars in place of reads of them."""
    match expr:
        case q.Read():
            return values.get(expr.buf, expr)
        case q.USub():
            return replace(expr, arg=with_values(expr.arg, values))
        case q.BinOp():
            lhs, rhs = with_values(expr.lhs, values), with_values(expr.rhs, values)
            return q.BinOp(expr.op, lhs, rhs, expr.type)
        case q.Extern():
            args = tuple(with_values(arg, values) for arg in expr.args)
            return q.Extern(expr.name, args, expr.type)
        case _:
            return expr


def _loops_around(proc: q.Proc, stmt: q.Assign | q.Reduce) -> tuple[q.For, ...]:
    """The loops around a statement, as far out as they are independent of each other and
    what else is in them may be split off."""
    loops: tuple[q.For, ...] = ()
    needed = q.used_vars((stmt,))
    for depth in range(len(stmt.path) - 1, 0, -1):
        loop = proc.by_path.get(stmt.path[:depth])
        if not isinstance(loop, q.For) or loop.parallel:
            break
        local = {s.buf for s in loop.body if isinstance(s, q.Alloc)}
        local |= {s.name for s in loop.body if isinstance(s, q.WindowStmt)}
        bounds = {var for inner in loops for var in q.expr_vars(inner.hi)}
        if loop.lo != q.Affine(0) or loop.extent == 0 or loop.iter in bounds or local & needed:
            break
        loops = (loop, *loops)
    return loops


def _perfect(loops: tuple[q.For, ...], converted: bool) -> tuple[q.For, ...]:
    """The innermost of `loops` that hold nothing but each other."""
    alone = int(converted)
    for loop in reversed(loops[: len(loops) - alone]):
        if len(loop.body) > 1:
            break
        alone += 1
    return loops[len(loops) - alone :]


def _as_reduction(
    proc: q.Proc, loops: tuple[q.For, ...], stmt: q.Assign | q.Reduce, converted: bool
) -> ReductionNest | None:
    distinct = {loop.iter.name for loop in loops} | {arg.var.name for arg in proc.args}
    if len(distinct) < len(loops) + len(proc.args):
        return None  # windows are written with names
    for loop in loops:
        if moves(stmt.idx, loop, len(stmt.idx) - 1):
            instruction = _instruction(stmt, loop)
            reduced = any(first_dim(stmt.idx, other) is None for other in loops)
            if instruction is not None and reduced:
                kinds = {_operand(read, loop): read for read in _terms_of(stmt)}
                transposed = "column" in kinds
                operand = kinds["column" if transposed else "vector"]
                return ReductionNest(loops, stmt, loop, instruction, operand, transposed, converted)
    return None


def _dense(proc: q.Proc, stmt: q.Assign | q.Reduce) -> bool:
    """Whether every array of the statement is a contiguous array in plain memory."""
    plain = {
        buf
        for buf, array in declared(proc).items()
        if not array.window and array.mem.startswith("DRAM") and array.type in VECTORS
    }
    return plain.issuperset([stmt.buf, *(read.buf for read in reads(stmt.rhs))])


def used_again(
    stmt: q.Assign | q.Reduce,
    kept: set[q.Var],
    loops: Sequence[q.For],
    temporaries: Sequence[q.Alloc] = (),
) -> bool:
    """Whether each of two operands is used for several elements of the result, which `kept` are:
    of two arrays, or of rows that lie apart in one, not parts of one value. `temporaries` are other
    values in each iteration of the loops around them."""
    reduced = {loop.iter for loop in loops} - kept
    changing = {
        each.buf: {loop.iter for loop in loops if len(loop.path) < len(each.path)}
        for each in temporaries
    }
    found = reduction(stmt)
    terms = {*reads(found.term)} if found else set()
    operands = {(read.buf, tuple(index.terms for index in read.idx)): read for read in terms}
    depends = [q.expr_vars(each) | changing.get(each.buf, set()) for each in operands.values()]
    return sum(bool(reduced & each and kept - each) for each in depends) > 1


def first_dim(idx: tuple[q.Affine, ...], loop: q.For) -> int | None:
    """The first dimension whose index depends on the loop."""
    return next((d for d, index in enumerate(idx) if loop.iter in q.expr_vars(index)), None)


def moves(idx: tuple[q.Affine, ...], loop: q.For, dim: int, by: int = 1) -> bool:
    """Whether the loop moves the access `by` 1 or -1 along `dim`, and along nothing else."""
    used = [d for d, index in enumerate(idx) if loop.iter in q.expr_vars(index)]
    return used == [dim] and idx[dim].coefficient(loop.iter) == by and _plainly(idx[dim], loop)


def _plainly(index: q.Affine, loop: q.For) -> bool:
    """Whether the loop's variable is a term of its own, not inside a division."""
    return all(a == loop.iter or loop.iter not in q.expr_vars(a) for a, _ in index.terms)


def _instruction(stmt: q.Assign | q.Reduce, along: q.For) -> str | None:
    """Name of the vector instruction for the statement along a loop, once an operand that
    lies across is packed; empty for one that has to be made."""
    if isinstance(stmt, q.Assign) or _is_composed(stmt.rhs):
        if not computable(stmt):
            return None
        operands = _terms_of(stmt)
        moved = [_operand(read, along) for read in operands if read.idx]
        fits = _given_once(operands) and None not in moved and moved.count("column") <= 1
        return "" if fits and {"vector", "column"} & {*moved} else None
    match _unsigned(stmt.rhs):
        case q.BinOp(op="*", lhs=q.Read() as lhs, rhs=q.Read() as rhs) as product:
            shapes = [_operand(lhs, along), _operand(rhs, along)]
            # Exo lets no instruction have one array twice. It may be packed from rows that
            # the other operand is not read from, as in what is left of a triangle.
            if lhs.buf == rhs.buf and ("column" not in shapes or along.hi.is_const):
                return None
            if None in shapes or shapes.count("column") > 1 or shapes == ["scalar", "scalar"]:
                return None
            if product != stmt.rhs:
                return ""
            first, second = ("vector" if shape == "column" else shape for shape in shapes)
            return f"fma_{first}_{second}"
        case q.Read() as read if _operand(read, along) == "vector":
            return "add_vector"
    return None


def _is_composed(expr: q.Expr) -> bool:
    """Whether a term has an instruction of its own: a difference, a function, or a product of what
    is computed itself. A sum is split into its terms (`split_sum`), and elements that are
    multiplied become two operands (`fold_operand`)."""
    match expr:
        case q.BinOp(op="-"):
            return True
        case q.BinOp(op="*"):
            return any(map(_is_computed, (expr.lhs, expr.rhs)))
        case q.USub() | q.Extern():
            return _is_computed(expr)
        case _:
            return False


def _is_computed(expr: q.Expr) -> bool:
    """Whether an expression is more than a product of elements and numbers."""
    match expr:
        case q.BinOp(op="*"):
            return any(map(_is_computed, (expr.lhs, expr.rhs)))
        case q.USub():
            return _is_computed(expr.arg)
        case _:
            sums = isinstance(expr, q.BinOp) and expr.op in ("+", "-")
            return sums or isinstance(expr, q.Extern)


def _given_once(operands: Iterable[q.Read]) -> bool:
    """Whether each array is one operand of an instruction: Exo lets none have an array twice. Reads
    at constant distances are of one window."""
    places: dict[q.Var, tuple[q.Affine, ...]] = {}
    return all(
        (a - b).is_const
        for read in operands
        for a, b in zip(read.idx, places.setdefault(read.buf, read.idx), strict=True)
    )


def _unsigned(expr: q.Expr) -> q.Expr:
    """A product without the signs of its factors."""
    match expr:
        case q.USub():
            return _unsigned(expr.arg)
        case q.BinOp(op="*"):
            return replace(expr, lhs=_unsigned(expr.lhs), rhs=_unsigned(expr.rhs))
        case _:
            return expr


def _operand(read: q.Read, along: q.For) -> str | None:
    """How a loop moves an operand: along its rows, across them, or not at all."""
    dim = first_dim(read.idx, along)
    if dim is None:
        # A scalar becomes a window of one element: it needs a dimension to cut it from.
        return "scalar" if read.idx else None
    if not moves(read.idx, along, dim):
        return None
    return "vector" if dim == len(read.idx) - 1 else "column"


def longest_extent(proc: q.Proc, loop: q.For) -> float:
    """An upper bound of a loop's number of iterations; infinite if not known."""
    return trips(loop, ranges_at(proc, loop.path[:-1]))[1]


def row_length(proc: q.Proc, read: q.Read) -> float:
    """Elements from one row of the array to the next; infinite if not known."""
    shape = declared(proc)[read.buf].shape
    return shape[-1].const if shape and shape[-1].is_const else inf


def step_length(proc: q.Proc, nest: ReductionNest) -> float:
    """Elements of the operand from one step of the innermost reduction to the next; infinite if not
    known."""
    dim = first_dim(nest.operand.idx, nest.reductions[-1])
    shape = declared(proc)[nest.operand.buf].shape
    inside = shape[dim + 1 :] if dim is not None else ()
    return prod(x.const if x.is_const else inf for x in inside) * (dim is not None)
