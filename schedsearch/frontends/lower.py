"""From programs on arrays to loops, and to the text of an Exo module.

A statement becomes nests of loops. `plan.needed_first` says which values of a statement are stored
into arrays of their own before, each by a nest (`nests`); all others are computed where they are
used (`elements`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from schedsearch.core import ast as q
from schedsearch.core.text import show_expr, show_proc
from schedsearch.frontends import graph as g
from schedsearch.frontends.allocations import lifted
from schedsearch.frontends.block import (
    Block,
    Work,
    allocate,
    branch,
    exo_condition,
    loop,
    not_empty,
    refusals,
)
from schedsearch.frontends.bounds import Loop
from schedsearch.frontends.counts import counting, is_index
from schedsearch.frontends.functions import module_text
from schedsearch.frontends.lowered import Lowered
from schedsearch.frontends.names import naming
from schedsearch.frontends.nests import keep
from schedsearch.frontends.plan import made_of, reductions
from schedsearch.frontends.stores import store

HEADER = "from __future__ import annotations\n\nfrom exo import DRAM, proc"


def lower(program: g.Program) -> Lowered:
    arrays = {a: g.fresh(a.name) for a in program.parameters if isinstance(a, g.Array)}
    work = Work(program.file, arrays, given=[*_not_negative(program.asserts)])
    out: list[q.Stmt] = []
    block = Block(work, out, 0, guarded=program.bounded)
    for array in arrays:
        with refusals(block):
            not_empty(array, block)
    statements(program.body, block)
    moved = lifted(out, (*work.given, *work.facts))
    body = (*work.counting, *moved) or (q.Pass((0,)),)
    args = tuple(
        q.Arg(arrays[p], p.type, p.shape or None, mem="DRAM")
        if isinstance(p, g.Array)
        else q.Arg(p, "size")
        for p in program.parameters
    )
    facts = [q.BinOp(">=", each, q.Affine(), "bool") for each in work.facts]
    proc = q.Proc(program.name, args, (*map(exo_condition, program.asserts), *facts), body)
    name = naming(proc, work.externs)
    proc = replace(proc, name=name.procedure)
    above = [HEADER, *filter(None, [module_text(work.externs).rstrip()])]
    head = "\n\n".join(above) + "\n\n\n@proc\n"
    text = f"{head}{show_proc(proc, name)}\n"
    first = head.count("\n") + 2 + len(proc.asserts)
    lines = {n: line for n, line in enumerate(_lines(body), first) if line}
    written = program.written
    return Lowered(
        proc.name,
        text,
        tuple(name(arg.var) for arg in args),
        tuple(
            name(arg.var) for arg, p in zip(args, program.parameters, strict=True) if p in written
        ),
        tuple(show_expr(each, name) for each in proc.asserts),
        lines,
        program.file,
        order=program.order,
    )


def _not_negative(conditions: Sequence[q.Expr]) -> Iterator[q.Affine]:
    """Expressions that are not negative if conditions hold."""
    for each in conditions:
        match each:
            case q.BinOp("and", a, b):
                yield from _not_negative([a, b])
            case q.BinOp(op, q.Affine() as a, q.Affine() as b):
                if op in (">=", ">", "=="):
                    yield a - b - (op == ">")
                if op in ("<=", "<", "=="):
                    yield b - a - (op == "<")
            case _:
                pass


def _lines(body: tuple[q.Stmt, ...]) -> Iterator[int]:
    """The user's line of each line of a body's text."""
    for stmt in body:
        yield int(stmt.path[0])
        for number, block in enumerate(q.blocks(stmt)):
            if number:
                yield int(stmt.path[0])
            yield from _lines(block)


def statements(body: Sequence[g.Statement], block: Block) -> None:
    """One after another. What one has stored serves those after it, until an array that it is made
    of is written. Sums that several need are stored."""
    stored: dict[g.Value, q.Var] = {}
    known: dict[g.Value, frozenset[g.Array]] = {}
    values = [stmt.value for stmt in body if isinstance(stmt, g.Store)]
    uses = Counter(each for value in values for each in reductions(value)) if values[1:] else {}
    for stmt in body:
        here = replace(block, stored=stored if isinstance(stmt, g.Store) else {})
        if isinstance(stmt, g.Store) and uses:
            for each in reductions(stmt.value):
                if uses[each] > 1 and not (each is stmt.value and holds_all(stmt)):
                    keep(each, replace(here, line=stmt.line or here.line))
        statement(stmt, here)
        written = {each.array for each in g.statements((stmt,)) if isinstance(each, g.Store)}
        stored = {value: at for value, at in stored.items() if not made_of(value, known) & written}
        whole = isinstance(stmt, g.Store) and holds_all(stmt)
        if isinstance(stmt, g.Store) and whole and stmt.array not in made_of(stmt.value, known):
            stored[stmt.value] = block.work.arrays[stmt.array]
            known[stmt.value] |= {stmt.array}


def holds_all(stmt: g.Store) -> bool:
    """Whether an array is what its value is, which takes something to compute."""
    value, array = stmt.value, stmt.array
    plain = isinstance(value, g.Constant | g.Count | g.Load | g.View)
    same = (value.shape, value.type) == (array.shape, array.type)
    return same and not plain and not stmt.add and stmt.index == tuple(map(q.as_affine, stmt.vars))


def statement(stmt: g.Statement, block: Block) -> None:
    block = replace(block, line=stmt.line or block.line, scalars={})
    with refusals(block):
        match stmt:
            case g.Allocate():
                allocate(stmt.array, block)
            case g.For():
                block.need(stmt.hi - stmt.lo)
                inner = block.inside([Loop(stmt.var, stmt.lo, stmt.hi)])
                if not is_index(stmt.var, stmt.body):
                    block.work.running[stmt.var] = {}
                statements(stmt.body, inner)
                inner.out.extend(counting(stmt, block))
                loop(stmt.var, stmt.lo, stmt.hi, inner.out, block)
            case g.If():
                then, other = block.inside(guarded=True), block.inside(guarded=True)
                statements(stmt.body, then)
                statements(stmt.orelse, other)
                branch(stmt.condition, then, other, block)
            case g.Store():
                store(stmt, block)
