"""Blocks of statements that grow while a program is lowered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.frontends import graph as g
from schedsearch.frontends.bounds import Loop, lowest, never_negative
from schedsearch.frontends.lowered import Refusal
from schedsearch.frontends.plan import At


@dataclass
class Work:
    """What grows while a program is lowered. `given` are expressions that are not negative, as the
    program asserts; `facts` are those that bounds need beside them. `counts` are made in
    `counting`, before all else; `running` are those of loops that count as they run, by type and
    step."""

    file: str
    arrays: dict[g.Array, q.Var]
    counts: dict[tuple[q.Affine, q.Affine, int, str], q.Var] = field(default_factory=dict)
    running: dict[q.Var, dict[tuple[str, int], q.Var]] = field(default_factory=dict)
    counting: list[q.Stmt] = field(default_factory=list)
    externs: set[str] = field(default_factory=set)
    given: list[q.Affine] = field(default_factory=list)
    facts: list[q.Affine] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """Where statements are written: `out`, in `loops`. `stored` are values that are in arrays.
    Where they are `guarded` nothing is asserted: conditions around, which Exo sees, exclude what is
    outside."""

    work: Work
    out: list[q.Stmt]
    line: int
    loops: tuple[Loop, ...] = ()
    guarded: bool = False
    stored: dict[g.Value, q.Var] = field(default_factory=dict)
    shared: frozenset[g.Value] = frozenset()
    scalars: dict[tuple[g.Value, At], q.Var] = field(default_factory=dict)

    @property
    def path(self) -> q.Path:
        """Statements have no places before Exo has read them: they carry the user's line."""
        return (self.line,)

    def inside(self, loops: Sequence[Loop] = (), *, guarded: bool = False) -> Block:
        return replace(
            self,
            out=[],
            loops=(*self.loops, *loops),
            guarded=self.guarded or guarded,
            scalars=dict(self.scalars),
        )

    def need(self, value: q.Affine) -> None:
        """`value >= 0` is a fact that bounds depend on: asserted, if sizes do not imply it."""
        fact = None if self.guarded else lowest(value, self.loops)
        if fact is None or never_negative(fact):
            return
        if fact.is_const:
            reason = f"it would be outside of an array by {-fact.const}, or a length negative"
            raise Refusal("index", reason, "change bounds of slices or loops")
        facts, given = self.work.facts, self.work.given
        if not any(never_negative(fact - known) for known in (*facts, *given)):
            facts[:] = [*(each for each in facts if not never_negative(each - fact)), fact]


@contextmanager
def refusals(block: Block) -> Iterator[None]:
    """A refusal within is one of the block's line."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.at(block.work.file, block.line) from None
    except RecursionError:
        deep = Refusal("expression", "it is too deep", "store parts of it into arrays")
        raise deep.at(block.work.file, block.line) from None


def loop(var: q.Var, lo: q.Affine, hi: q.Affine, body: Sequence[q.Stmt], block: Block) -> None:
    if body:
        block.out.append(q.For(block.path, var, lo, hi, tuple(body), False))


def not_empty(array: g.Array, block: Block) -> None:
    """Exo has no empty arrays."""
    for n in array.shape:
        block.need(n - 1)


def room(shape: g.Shape, block: Block) -> g.Shape:
    """Lengths of a temporary. Where nothing is asserted, those that may be 0 get one more:
    conditions around exclude what is outside, not what is empty."""
    known = (q.Affine(), *block.work.given, *block.work.facts)

    def sure(n: q.Affine) -> bool:
        least = lowest(n - 1, block.loops)
        if least is None or not block.guarded:
            return not block.guarded
        return any(never_negative(least - each) for each in known)

    return tuple(n if sure(n) else n + 1 for n in shape)


def allocate(array: g.Array, block: Block) -> q.Var:
    var = block.work.arrays[array] = g.fresh(array.name)
    not_empty(array, block)
    block.out.append(q.Alloc(block.path, var, array.type, array.shape, "DRAM"))
    return var


def number(value: float, kind: str) -> q.Expr:
    if kind in INTEGERS:
        return q.Const(int(value), kind)
    value = float(value)
    if not isfinite(value):
        raise Refusal(f"the constant {value}", "Exo has finite numbers only", "use a finite one")
    return q.Const(value, kind)


def scalar(name: str, kind: str, block: Block) -> q.Var:
    return allocate(g.Array(name, kind), block)


def in_scalar(expr: q.Expr, kind: str, block: Block, name: str = "t") -> q.Var:
    """A temporary that holds an expression: it has the type, and integers have wrapped."""
    var = scalar(name, kind, block)
    block.out.append(q.Assign(block.path, var, (), expr, kind))
    return var


def branch(condition: q.Expr, then: Block, other: Block, block: Block) -> None:
    if then.out or other.out:
        body = tuple(then.out) or (q.Pass(block.path),)
        block.out.append(q.If(block.path, exo_condition(condition), body, tuple(other.out)))


def exo_condition(condition: q.Expr) -> q.Expr:
    """Exo has no `!=`."""
    match condition:
        case q.BinOp("!=", a, b, kind):
            return q.BinOp("or", q.BinOp("<", a, b, kind), q.BinOp(">", a, b, kind), kind)
        case q.BinOp("and" | "or", a, b):
            return replace(condition, lhs=exo_condition(a), rhs=exo_condition(b))
        case _:
            return condition


def within(at: At, shape: g.Shape, block: Block) -> None:
    for place, n in zip(at, shape, strict=True):
        block.need(place)
        block.need(n - 1 - place)
