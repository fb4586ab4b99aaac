"""The term of a sum, as a register block takes it: by which instruction, of which operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.conversions import value_type
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.core.element_types import PLAIN
from schedsearch.transforms.vector.fused.recognise import computable


def in_one_type(stmt: q.Assign | q.Reduce) -> bool:
    """Whether registers hold what is stored, and no value is converted on its way: there is no
    instruction for that."""
    return stmt.type in PLAIN and value_type(stmt.rhs, stmt.type) == stmt.type


def elements_of(stmt: q.Assign | q.Reduce) -> dict[q.Read, None]:
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
    return q.with_reads(expr, lambda read: values.get(read.buf, read))


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


def instruction_of(stmt: q.Assign | q.Reduce, along: q.For) -> str | None:
    """Name of the vector instruction for the statement along a loop, once an operand that
    lies across is packed; empty for one that has to be made."""
    if isinstance(stmt, q.Assign) or _is_composed(stmt.rhs):
        if not computable(stmt):
            return None
        operands = elements_of(stmt)
        moved = [operand_of(read, along) for read in operands if read.idx]
        fits = _given_once(operands) and None not in moved and moved.count("column") <= 1
        return "" if fits and {"vector", "column"} & {*moved} else None
    match _unsigned(stmt.rhs):
        case q.BinOp(op="*", lhs=q.Read() as lhs, rhs=q.Read() as rhs) as product:
            shapes = [operand_of(lhs, along), operand_of(rhs, along)]
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
        case q.Read() as read if operand_of(read, along) == "vector":
            return "add_vector"
    return None


def _is_composed(expr: q.Expr) -> bool:
    """Whether a term has an instruction of its own: a difference, a function, or a product of what
    is computed itself. A sum is split into its terms (`split_sum`), and elements that are
    multiplied become two operands (`fold_operand`)."""
    return product_of_terms(expr) or (isinstance(expr, q.BinOp) and expr.op == "-")


def product_of_terms(expr: q.Expr) -> bool:
    """Whether a term is a function, or a product, of what is computed itself."""
    match expr:
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


def operand_of(read: q.Read, along: q.For) -> str | None:
    """How a loop moves an operand: along its rows, across them, or not at all."""
    dim = first_dim(read.idx, along)
    if dim is None:
        # A scalar becomes a window of one element: it needs a dimension to cut it from.
        return "scalar" if read.idx else None
    if not moves(read.idx, along, dim):
        return None
    return "vector" if dim == len(read.idx) - 1 else "column"
