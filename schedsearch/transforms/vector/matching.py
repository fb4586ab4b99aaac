"""Which instruction can carry out a loop nest, decided on query ASTs alone.

A nest matches if it is the instruction's body, statement by statement, with other names:
equal loops, equal operations, and every operand of the instruction a window of an array
in the right memory, laid out as the instruction asserts. Exo's own unification is asked
only then, and its answer compared with ours: it does not look at memories, and not at
asserts on every path (exo issue 758).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schedsearch.analysis.arrays import Array, declared
from schedsearch.analysis.ranges import Ranges, bounds, ranges_at
from schedsearch.core import ast as q


@dataclass(frozen=True)
class Context:
    """The surroundings of a nest: arrays that are laid out densely, and ranges."""

    arrays: dict[q.Var, Array]
    ranges: Ranges


def context_of(proc: q.Proc, path: q.Path) -> Context:
    """Of the statement at `path`. Windows are left out: their strides are not known."""
    arrays = {var: array for var, array in declared(proc).items() if not array.window}
    return Context(arrays, ranges_at(proc, path[:-1]))


def kinds_of(nest: q.For, context: Context) -> frozenset[tuple[str, str]]:
    """Element types and memories of the arrays that a nest uses, as instructions name them."""
    arrays = (context.arrays.get(var) for var in q.used_vars((nest,)))
    return frozenset((a.type, "DRAM" if a.mem.startswith("DRAM") else a.mem) for a in arrays if a)


@q.per_node
def _skeleton(stmt: q.Stmt) -> tuple[object, ...]:
    inside = [_skeleton(inner) for block in q.blocks(stmt) for inner in block]
    return (type(stmt), *inside)


def alike(instruction: q.Proc, nest: q.For) -> bool:
    """Whether a nest has the same kinds of statements as the instruction. A quick test: other
    nests cannot match."""
    return len(instruction.body) == 1 and _skeleton(instruction.body[0]) == _skeleton(nest)


def match(instruction: q.Proc, nest: q.For, context: Context) -> tuple[q.Expr, ...] | None:
    """Arguments with which the instruction replaces `nest`; None if it cannot."""
    if len(instruction.body) != 1 or not isinstance(instruction.body[0], q.For):
        return None
    matcher = _Matcher(instruction, context)
    if not matcher.stmt(instruction.body[0], nest) or not matcher.sound():
        return None
    return matcher.arguments()


@dataclass
class _Operand:
    """The array behind an operand of the instruction, and its element at index 0."""

    buf: q.Var
    outer: tuple[q.Affine, ...]
    base: tuple[q.Affine, ...]


class _Matcher:
    def __init__(self, instruction: q.Proc, context: Context) -> None:
        self.instruction = instruction
        self.context = context
        self.args = {arg.var: arg for arg in instruction.args}
        self.loops: dict[q.Var, q.Var] = {}
        self.sizes: dict[q.Var, q.Affine] = {}
        self.operands: dict[q.Var, _Operand] = {}

    # -- structure -----------------------------------------------------------

    def stmt(self, pattern: q.Stmt, found: q.Stmt) -> bool:
        match pattern, found:
            case q.For(), q.For():
                if pattern.lo != q.Affine(0) or found.lo != q.Affine(0) or found.parallel:
                    return False
                if not self.extent(pattern.hi, found.hi):
                    return False
                self.loops[pattern.iter] = found.iter
                return len(pattern.body) == len(found.body) and all(
                    self.stmt(p, f) for p, f in zip(pattern.body, found.body, strict=True)
                )
            case q.Assign(), q.Assign():
                return self.write(pattern, found)
            case q.Reduce(), q.Reduce():
                return self.write(pattern, found)
            case _:
                return False

    def write(self, pattern: q.Assign | q.Reduce, found: q.Assign | q.Reduce) -> bool:
        into = self.access(pattern.buf, pattern.idx, found.buf, found.idx)
        return into and self.expr(pattern.rhs, found.rhs)

    def extent(self, pattern: q.Affine, found: q.Affine) -> bool:
        """A constant has to be the same; a size of the instruction takes any one value."""
        size = pattern.as_var
        if size is None:
            return pattern == found
        inside = any(loop in q.expr_vars(found) for loop in self.loops.values())
        return not inside and self.sizes.setdefault(size, found) == found

    def expr(self, pattern: q.Expr, found: q.Expr) -> bool:
        match pattern, found:
            case q.Const(), q.Const():
                return pattern == found
            case q.Read(), q.Read():
                return self.access(pattern.buf, pattern.idx, found.buf, found.idx)
            case q.USub(), q.USub():
                return self.expr(pattern.arg, found.arg)
            case q.BinOp(), q.BinOp():
                return (
                    pattern.op == found.op
                    and self.expr(pattern.lhs, found.lhs)
                    and self.expr(pattern.rhs, found.rhs)
                )
            case q.Extern(), q.Extern():
                return (
                    pattern.name == found.name
                    and len(pattern.args) == len(found.args)
                    and all(self.expr(p, f) for p, f in zip(pattern.args, found.args, strict=True))
                )
            case _:
                return False

    def access(
        self,
        pattern: q.Var,
        pattern_idx: tuple[q.Affine, ...],
        found: q.Var,
        found_idx: tuple[q.Affine, ...],
    ) -> bool:
        arg, array = self.args.get(pattern), self.context.arrays.get(found)
        rank = len(pattern_idx)
        if arg is None or array is None or not 1 <= rank <= len(found_idx):
            return False
        if any(atom not in self.loops for index in pattern_idx for atom, _ in index.terms):
            return False
        same_memory = arg.mem == array.mem or (arg.mem == "DRAM" and array.mem.startswith("DRAM"))
        if arg.type != array.type or not same_memory:
            return False
        outer, inner = found_idx[:-rank], found_idx[-rank:]
        base = tuple(f - self.renamed(p) for p, f in zip(pattern_idx, inner, strict=True))
        used = frozenset[q.Var]().union(*(q.expr_vars(index) for index in (*outer, *base)))
        if used & set(self.loops.values()):
            return False
        operand = self.operands.setdefault(pattern, _Operand(found, outer, base))
        return (operand.buf, operand.outer, operand.base) == (found, outer, base)

    def renamed(self, index: q.Affine) -> q.Affine:
        """An index of the instruction in the loops of the nest."""
        return q.substituted(index, lambda atom: q.as_affine(self.loops[atom]))  # type: ignore[index]

    # -- conditions of the instruction ----------------------------------------

    def sound(self) -> bool:
        bound = all(
            arg.var in (self.operands if arg.shape is not None else self.sizes)
            for arg in self.instruction.args
        )
        return bound and self.apart() and all(map(self.holds, self.instruction.asserts))

    def apart(self) -> bool:
        """Whether no array is two operands: instructions load before they store, and Exo
        refuses aliased arguments."""
        return len({operand.buf for operand in self.operands.values()}) == len(self.operands)

    def holds(self, condition: q.Expr) -> bool:
        """`size <= constant` and `stride(operand, dim) == constant`; nothing else is relied on."""
        match condition:
            case q.BinOp(op="==", lhs=q.Affine(terms=((q.StrideOf() as of, 1),)), rhs=q.Affine()):
                return self.stride(of.buf, of.dim) == condition.rhs
            case q.BinOp(op="<=", lhs=q.Affine() as size, rhs=q.Affine(terms=()) as limit):
                if size.as_var not in self.sizes:
                    return False
                low, high = bounds(self.sizes[size.as_var], self.context.ranges)
                return low >= 1 and high <= limit.const
            case _:
                return False

    def stride(self, pattern: q.Var, dim: int) -> q.Affine | None:
        """Elements from one index to the next along `dim` of an operand, if constant."""
        operand = self.operands[pattern]
        after = self.context.arrays[operand.buf].shape[len(operand.outer) + dim + 1 :]
        stride = 1
        for extent in after:
            if not extent.is_const:
                return None
            stride *= extent.const
        return q.Affine(stride)

    def arguments(self) -> tuple[q.Expr, ...]:
        return tuple(self.argument(arg) for arg in self.instruction.args)

    def argument(self, arg: q.Arg) -> q.Expr:
        if arg.shape is None:
            return self.sizes[arg.var]
        operand = self.operands[arg.var]
        extents: Iterable[q.Affine] = (
            self.sizes[size] if (size := n.as_var) else n for n in arg.shape
        )
        window = (q.Interval(low, low + n) for low, n in zip(operand.base, extents, strict=True))
        return q.Window(operand.buf, (*operand.outer, *window), arg.type)
