"""Costs of statements and instructions that do not depend on their surroundings. Each is
computed once per node."""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.functions import FUNCTIONS

LOAD = 0.5
"""Cost of a load where an operation costs 1: two loads a cycle."""
EXTERN = 12.0
"""Operations of a vectorised exponential or the like, about."""

Element = tuple[q.Var, tuple[q.Affine, ...]]


@q.per_node
def loads(stmt: q.Assign | q.Reduce) -> tuple[Element, ...]:
    """Every read on the right side, in textual order."""
    return tuple((read.buf, read.idx) for read in reads(stmt.rhs))


@q.per_node
def loaded(stmt: q.Assign | q.Reduce) -> frozenset[Element]:
    """The elements read, each once; a reduction also reads its target."""
    found = frozenset(loads(stmt))
    return found | {(stmt.buf, stmt.idx)} if isinstance(stmt, q.Reduce) else found


@q.per_node
def operations(stmt: q.Assign | q.Reduce) -> float:
    """Arithmetic of a statement; a product that is added takes one operation."""
    cost = float(isinstance(stmt, q.Reduce))
    for node in q.walk_expr(stmt.rhs):
        match node:
            case q.Extern():
                function = FUNCTIONS.get(node.name)
                cost += 1.0 if function and function.instruction else EXTERN
            case q.BinOp() | q.USub():
                cost += 1.0
    product = isinstance(stmt.rhs, q.BinOp) and stmt.rhs.op == "*"
    return cost - (product and isinstance(stmt, q.Reduce))


@q.per_node
def divisions(stmt: q.Stmt) -> tuple[frozenset[q.Var], ...]:
    """The variables of every division by a constant in a statement's own expressions."""
    parts = (part for part in q.stmt_parts(stmt) if isinstance(part, q.FloorDiv | q.Mod))
    return tuple(map(q.expr_vars, parts))


@dataclass(frozen=True)
class Instruction:
    """An instruction: its cost for a register; positions of the arguments that count what it does,
    of those it adds to, and of those that are registers."""

    cost: float
    counts: tuple[int, ...]
    added: frozenset[int]
    registers: frozenset[int]


@q.per_node
def instruction(proc: q.Proc) -> Instruction:
    simple = [s for s in q.walk(proc.body) if isinstance(s, q.Assign | q.Reduce)]
    written = {s.buf for s in simple}
    added = {s.buf for s in simple if isinstance(s, q.Reduce)}
    in_memory = [arg for arg in proc.args if arg.shape and arg.mem == "DRAM"]
    whole = [arg for arg in in_memory if arg.shape != (q.Affine(1),)]
    arithmetic = sum(operations(s) for s in simple)
    moved = sum(1.0 if arg.var in written else LOAD for arg in whole)
    ends = {loop.hi.as_var for loop in q.walk(proc.body) if isinstance(loop, q.For)}
    return Instruction(
        max(arithmetic + moved, LOAD),
        tuple(n for n, arg in enumerate(proc.args) if arg.var in ends),
        frozenset(n for n, arg in enumerate(proc.args) if arg.var in added),
        frozenset(n for n, arg in enumerate(proc.args) if _in_register(arg)),
    )


def _in_register(arg: q.Arg) -> bool:
    return arg.mem is not None and not arg.mem.startswith("DRAM")


@q.per_node
def register_operands(call: q.Call) -> tuple[frozenset[q.Var], ...]:
    """The variables of each register operand of an instruction."""
    return tuple(q.expr_vars(call.args[n]) for n in sorted(instruction(call.proc).registers))


@q.per_node
def accumulators(stmt: q.Stmt) -> frozenset[frozenset[q.Var]]:
    """The variables of every operand, not in memory, that instructions in a statement add to."""
    if isinstance(stmt, q.Call) and stmt.proc.instr:
        added = instruction(stmt.proc).added
        return frozenset(
            q.expr_vars(actual)
            for n, (formal, actual) in enumerate(zip(stmt.proc.args, stmt.args, strict=True))
            if n in added and formal.mem != "DRAM"
        )
    found: set[frozenset[q.Var]] = set()
    for block in q.blocks(stmt):
        for inner in block:
            found |= accumulators(inner)
    return frozenset(found)
