"""From programs on arrays to loops, and to the text of an Exo module.

A statement becomes nests of loops. `needed_first` says which values of a statement are stored into
arrays of their own before, each by a nest; all others are computed where they are used, in
`element`, which has a row for each kind of node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.text import show_expr, show_proc
from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.bounds import Loop, lowest, never_negative, surely_positive
from schedsearch.frontends.functions import EXO_NAMES, SELECTIONS, module_text
from schedsearch.frontends.lowered import Lowered, Refusal
from schedsearch.frontends.names import naming
from schedsearch.frontends.plan import axes_joined, needed_first, operands, places, reads, shared
from schedsearch.frontends.views import replaced, show

HEADER = "from __future__ import annotations\n\nfrom exo import DRAM, proc"

RING = frozenset({"+", "-", "*", "neg"})
"""Operators whose last bits depend on last bits only: integers may wrap after several of them."""

NARROW = frozenset({"i8", "ui8", "ui16"})
"""Types with which C computes as `int`."""

ONE = q.Affine(1)

At = tuple[q.Affine, ...]


@dataclass
class _Work:
    """What grows while a program is lowered. `given` are expressions that are not negative, as the
    program asserts; `facts` are those that bounds need beside them."""

    file: str
    arrays: dict[g.Array, q.Var]
    counts: dict[tuple[q.Affine, str], q.Expr] = field(default_factory=dict)
    counting: list[q.Stmt] = field(default_factory=list)
    externs: set[str] = field(default_factory=set)
    given: list[q.Affine] = field(default_factory=list)
    facts: list[q.Affine] = field(default_factory=list)


@dataclass(frozen=True)
class _Block:
    """Where statements are written: `out`, in `loops`. `stored` are values that are in arrays.
    Where they are `guarded` nothing is asserted: conditions around, which Exo sees, exclude what is
    outside."""

    work: _Work
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

    def inside(self, loops: Sequence[Loop] = (), *, guarded: bool = False) -> _Block:
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
            raise Refusal(
                show(value), "it is negative, as a length or an index from an end", "change bounds"
            )
        facts, given = self.work.facts, self.work.given
        if not any(never_negative(fact - known) for known in (*facts, *given)):
            facts[:] = [*(each for each in facts if not never_negative(each - fact)), fact]


def lower(program: g.Program) -> Lowered:
    arrays = {a: g.fresh(a.name) for a in program.parameters if isinstance(a, g.Array)}
    work = _Work(program.file, arrays, given=[*_not_negative(program.asserts)])
    out: list[q.Stmt] = []
    block = _Block(work, out, 0, guarded=program.bounded)
    for array in arrays:
        with refusals(block):
            not_empty(array, block)
    for stmt in program.body:
        statement(stmt, block)
    body = (*work.counting, *out) or (q.Pass((0,)),)
    args = tuple(
        q.Arg(arrays[p], p.type, p.shape or None, mem="DRAM")
        if isinstance(p, g.Array)
        else q.Arg(p, "size")
        for p in program.parameters
    )
    facts = [q.BinOp(">=", each, q.Affine(), "bool") for each in work.facts]
    proc = q.Proc(program.name, args, (*program.asserts, *facts), body)
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


# -- statements ------------------------------------------------------------------------------------


@contextmanager
def refusals(block: _Block) -> Iterator[None]:
    """A refusal within is one of the block's line."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.at(block.work.file, block.line) from None


def statement(stmt: g.Statement, block: _Block) -> None:
    block = replace(block, line=stmt.line or block.line, stored={}, scalars={})
    with refusals(block):
        match stmt:
            case g.Allocate():
                allocate(stmt.array, block)
            case g.For():
                block.need(stmt.hi - stmt.lo)
                inner = block.inside([Loop(stmt.var, stmt.lo, stmt.hi)])
                for each in stmt.body:
                    statement(each, inner)
                loop(stmt.var, stmt.lo, stmt.hi, inner.out, block)
            case g.If():
                then, other = block.inside(guarded=True), block.inside(guarded=True)
                for each in stmt.body:
                    statement(each, then)
                for each in stmt.orelse:
                    statement(each, other)
                branch(stmt.condition, then, other, block)
            case g.Store():
                store(stmt, block)


def loop(var: q.Var, lo: q.Affine, hi: q.Affine, body: Sequence[q.Stmt], block: _Block) -> None:
    if body:
        block.out.append(q.For(block.path, var, lo, hi, tuple(body), False))


def not_empty(array: g.Array, block: _Block) -> None:
    """Exo has no empty arrays."""
    for n in array.shape:
        block.need(n - 1)


def allocate(array: g.Array, block: _Block) -> q.Var:
    var = block.work.arrays[array] = g.fresh(array.name)
    not_empty(array, block)
    block.out.append(q.Alloc(block.path, var, array.type, array.shape, "DRAM"))
    return var


def branch(condition: q.Expr, then: _Block, other: _Block, block: _Block) -> None:
    if then.out or other.out:
        body = tuple(then.out) or (q.Pass(block.path),)
        block.out.append(q.If(block.path, _exo(condition), body, tuple(other.out)))


def _exo(condition: q.Expr) -> q.Expr:
    """Exo has no `!=`."""
    match condition:
        case q.BinOp("!=", a, b, kind):
            return q.BinOp("or", q.BinOp("<", a, b, kind), q.BinOp(">", a, b, kind), kind)
        case q.BinOp("and" | "or", a, b):
            return replace(condition, lhs=_exo(a), rhs=_exo(b))
        case _:
            return condition


def store(stmt: g.Store, block: _Block) -> None:
    """The nests of what the value needs, and those that store it."""
    whole = _permuted(_typed(stmt))
    parts = _parts(whole)
    for part in parts:
        prepare(part.value, block)
    if any(_read_late(part, block) for part in parts[1:]):
        parts = [whole]
        prepare(whole.value, block)
    for part in parts:
        put(part, block)


def put(stmt: g.Store, block: _Block) -> None:
    """Through a temporary where the array would be read after it is written, because NumPy computes
    the whole value first."""
    value = stmt.value
    into = _Target(block.work.arrays[stmt.array], stmt.array, stmt.vars, stmt.index)
    if not _accumulates(stmt) and isinstance(value, g.Reduce | g.Scan):
        keep(value, block)
    if value not in block.stored and _read_late(stmt, block):
        keep(value, block)
    compute(value, into, block, add=stmt.add)


def _parts(stmt: g.Store) -> list[g.Store]:
    """A sum in which there are reductions, one after another: `C = beta * C`, then the product is
    added to that, and needs no array of its own."""
    rest, sums = _split(stmt.value, minus=False)
    values = [*sums] if rest is None else [rest, *sums]
    return [
        replace(stmt, value=value, add=stmt.add or number > 0)
        for number, value in enumerate(values)
    ]


def _split(value: g.Value, *, minus: bool) -> tuple[g.Value | None, list[g.Reduce]]:
    """What is no reduction, and reductions, which together are the value, or its negative."""
    match value:
        case g.Reduce("sum", source, axes):
            return None, [g.Reduce("sum", _negative(source), axes) if minus else value]
        case g.Apply("+" | "-" as op, (a, b)):
            one, sums = _split(a, minus=minus)
            other, more = _split(b, minus=minus != (op == "-"))
            if sums or more:
                both = [each for each in (one, other) if each is not None]
                if len(both) == 2:
                    return replace(value, function="+", args=tuple(both)), sums + more
                return (both[0] if both else None), sums + more
        case _:
            pass
    return (_negative(value) if minus else value), []


def _negative(value: g.Value) -> g.Apply:
    return g.Apply("neg", (value,), value.type, value.shape)


def _typed(stmt: g.Store) -> g.Store:
    """The value in the array's type; a sum with an array of a narrower type is one of values."""
    value, kind = stmt.value, stmt.array.type
    if value.type == kind:
        return stmt
    if stmt.add and types.result_type(value.type, kind) != kind:
        own = g.View(g.Load(stmt.array), stmt.vars, value.shape, stmt.index)
        total = g.Apply("+", (types.cast(own, value.type), value), value.type, value.shape)
        return replace(stmt, value=types.cast(total, kind), add=False)
    return replace(stmt, value=types.cast(value, kind))


def _permuted(stmt: g.Store) -> g.Store:
    """Where the value is a transposed reduction, its own order, and indices in terms of that."""
    view = stmt.value
    if not (isinstance(view, g.View) and isinstance(view.source, g.Reduce | g.Scan)):
        return stmt
    names = tuple(g.fresh("") for _ in view.source.shape)
    lengths = dict(zip(view.vars, view.shape, strict=True))
    places = {}
    for name, place, n in zip(names, view.index, view.source.shape, strict=True):
        var = place.as_var
        if var in lengths and var not in places and lengths[var] == n:
            places[var] = q.as_affine(name)
        elif n != ONE:
            return stmt
    for var, n in lengths.items():
        if var not in places:
            if n != ONE:
                return stmt
            places[var] = q.Affine()
    back = {own: places[var] for own, var in zip(stmt.vars, view.vars, strict=True)}
    index = tuple(replaced(each, back) for each in stmt.index)
    return replace(stmt, vars=names, index=index, value=view.source)


def _accumulates(stmt: g.Store) -> bool:
    """Whether a reduction can take the array itself for its partial results."""
    match stmt.value:
        case g.Reduce():
            return not stmt.add or stmt.value.function == "sum"
        case _:
            return not stmt.add


def _read_late(stmt: g.Store, block: _Block) -> bool:
    """Whether the nest may read an element of the array after it has written it. An element may
    be read where it is written next, but not while a reduction has its partial result there."""
    own = [Loop(var, q.Affine(), n) for var, n in zip(stmt.vars, stmt.value.shape, strict=True)]
    at = places(own)
    found = reads(stmt.value, at, own, block.stored)
    copies = [Loop(g.fresh(""), loop.lo, loop.hi) for loop in found.loops]
    again = dict(zip([loop.var for loop in found.loops], places(copies), strict=True))
    loops = [*block.loops, *found.loops, *copies]
    for value, at in found.uses:
        if not (isinstance(value, g.Load) and value.array is stmt.array):
            continue
        if at == stmt.index and not isinstance(stmt.value, g.Reduce):
            continue
        elsewhere = tuple(replaced(each, again) for each in at)
        pairs = list(zip(stmt.index, elsewhere, strict=True))
        if not any(
            surely_positive(a - b, loops) or surely_positive(b - a, loops) for a, b in pairs
        ):
            return True
    return False


@dataclass(frozen=True)
class _Target:
    """Where the elements of a value go: `array[index]`, for the value's place `vars`."""

    buf: q.Var
    array: g.Array
    vars: tuple[q.Var, ...]
    index: At

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(var.name for var in self.vars)

    def at(self, at: At, block: _Block) -> At:
        names = dict(zip(self.vars, at, strict=True))
        found = tuple(replaced(each, names) for each in self.index)
        within(found, self.array.shape, block)
        return found


def within(at: At, shape: g.Shape, block: _Block) -> None:
    for place, n in zip(at, shape, strict=True):
        block.need(place)
        block.need(n - 1 - place)


# -- values in arrays ------------------------------------------------------------------------------


def prepare(value: g.Value, block: _Block) -> None:
    for each in needed_first(value, block.stored):
        keep(each, block)


def keep(value: g.Value, block: _Block) -> None:
    """Store a value into an array of its own."""
    if value in block.stored:
        return
    prepare(value, block)
    array = g.Array(_NAMES.get(type(value), "t"), value.type, value.shape)
    buf = allocate(array, block)
    own = tuple(g.fresh("") for _ in value.shape)
    compute(value, _Target(buf, array, own, tuple(map(q.as_affine, own))), block)
    block.stored[value] = buf


_NAMES = {g.Reduce: "total", g.Scan: "running"}


def compute(value: g.Value, into: _Target, block: _Block, *, add: bool = False) -> None:
    """The nests that give all elements of a value."""
    block = replace(block, shared=shared(value, block.stored))
    match value:
        case g.Reduce() if value not in block.stored:
            reduction(value, into, block, add=add)
        case g.Scan() if value not in block.stored:
            scan(value, into, block)
        case _:
            nest(
                value.shape,
                into.names,
                block,
                lambda at, b: assign(value, at, into, at, b, add=add),
            )


def nest(
    shape: g.Shape,
    names: Sequence[str],
    block: _Block,
    body: Callable[[At, _Block], None],
) -> None:
    """Loops over a shape, the last axis innermost. An axis of length 1 needs none."""
    if not shape:
        body((), block)
        return
    n, rest = shape[0], shape[1:]
    block.need(n)
    if n == ONE:
        nest(rest, names[1:], block, lambda at, b: body((q.Affine(), *at), b))
    elif not (n.is_const and n.const <= 0):
        var = g.fresh(names[0] if names else "")
        inner = block.inside([Loop(var, q.Affine(), n)])
        nest(rest, names[1:], inner, lambda at, b: body((q.as_affine(var), *at), b))
        loop(var, q.Affine(), n, inner.out, block)


def assign(
    value: g.Value, at: At, into: _Target, kept: At, block: _Block, *, add: bool = False
) -> None:
    """One element of a value, stored into the place of `kept`."""
    if isinstance(value, g.Select) and isinstance(value.condition, g.Inside):
        then, other = block.inside(guarded=True), block.inside(guarded=True)
        assign(value.then, at, into, kept, then, add=add)
        assign(value.other, at, into, kept, other, add=add)
        branch(inside(value.condition, at), then, other, block)
    elif isinstance(value, g.Cast) and value not in block.stored:
        write(into, kept, typed(value.source, at, block), block, add=add)
    else:
        write(into, kept, element(value, at, block), block, add=add)


def write(into: _Target, at: At, rhs: q.Expr, block: _Block, *, add: bool = False) -> None:
    """An assignment converts to the type of what it stores into, as C does."""
    kind = q.Reduce if add else q.Assign
    block.out.append(kind(block.path, into.buf, into.at(at, block), rhs, into.array.type))


def reduction(value: g.Reduce, into: _Target, block: _Block, *, add: bool) -> None:
    """Into the target: what the function is of nothing, or the first element, then all others."""
    gone = tuple(value.source.shape[axis] for axis in sorted(value.axes))
    first = tuple(q.Affine() for _ in gone)
    function = value.function

    def begin(at: At, b: _Block) -> None:
        if function in ("sum", "prod"):
            write(into, at, number(int(function == "prod"), value.type), b)
        else:
            for n in gone:
                b.need(n - 1)
            assign(value.source, axes_joined(value, at, first), into, at, b)

    def step(at: At, b: _Block) -> None:
        kept = at[: len(value.shape)]
        place = axes_joined(value, kept, at[len(kept) :])
        if function == "sum":
            assign(value.source, place, into, kept, b, add=True)
        else:
            running = q.Read(into.buf, into.at(kept, b), value.type)
            other = settled(value.source, place, b)
            write(into, kept, combined(function, running, other, value.type, b), b)

    if not add:
        nest(value.shape, into.names, block, begin)
    nest((*value.shape, *gone), into.names, block, step)


def combined(function: str, a: q.Expr, b: q.Expr, kind: str, block: _Block) -> q.Expr:
    if function in ("max", "min"):
        return extern(EXO_NAMES[function], (a, b), kind, block)
    return q.BinOp({"sum": "+", "prod": "*"}[function], a, b, kind)


def scan(value: g.Scan, into: _Target, block: _Block) -> None:
    """A running value for each line along the axis."""
    axis, function = value.axis, value.function
    others = (*value.shape[:axis], *value.shape[axis + 1 :])
    n = value.shape[axis]

    def line(at: At, b: _Block) -> None:
        running = _Target(scalar("running", value.type, b), g.Array("", value.type), (), ())
        read = q.Read(running.buf, (), value.type)
        if function in ("max", "min"):
            b.need(n - 1)
            first = (*at[:axis], q.Affine(), *at[axis:])
            write(running, (), element(value.source, first, b), b)
        else:
            write(running, (), number(int(function == "prod"), value.type), b)

        def step(along: At, inner: _Block) -> None:
            place = (*at[:axis], *along, *at[axis:])
            if function == "sum":
                assign(value.source, place, running, (), inner, add=True)
            else:
                other = settled(value.source, place, inner)
                write(running, (), combined(function, read, other, value.type, inner), inner)
            write(into, place, read, inner)

        nest((n,), into.names[axis : axis + 1], b, step)

    nest(others, (*into.names[:axis], *into.names[axis + 1 :]), block, line)


# -- elements --------------------------------------------------------------------------------------


def element(value: g.Value, at: At, block: _Block) -> q.Expr:
    """An element as an expression; statements that it needs before are written to the block."""
    if value in block.stored:
        within(at, value.shape, block)
        return q.Read(block.stored[value], at, value.type)
    if (value, at) in block.scalars:
        return q.Read(block.scalars[value, at], (), value.type)
    found = fused(value, at, block)
    if value in block.shared:
        block.scalars[value, at] = var = in_scalar(found, value.type, block)
        return q.Read(var, (), value.type)
    return found


def fused(value: g.Value, at: At, block: _Block) -> q.Expr:
    """The table from nodes to expressions."""
    match value:
        case g.Constant():
            return number(value.value, value.type)
        case g.Count():
            return counted(value, block)
        case g.Load():
            within(at, value.shape, block)
            return q.Read(block.work.arrays[value.array], at, value.type)
        case g.View():
            return element(*next(operands(value, at)), block)
        case g.Apply():
            return applied(value, at, block)
        case g.Select():
            return chosen(value, at, block)
        case g.Cast():
            return converted(value, at, block)
        case g.Reduce() | g.Scan():
            raise AssertionError("it is stored before")


def typed(value: g.Value, at: At, block: _Block) -> q.Expr:
    """An element that is to be converted. Exo gives constants the type of what they meet or are
    stored into: an expression of nothing else goes through a temporary of its type."""
    found = settled(value, at, block)
    return found if _reads(found) else q.Read(in_scalar(found, value.type, block), (), value.type)


def _reads(expr: q.Expr) -> bool:
    return any(isinstance(part, q.Read) for part in q.walk_expr(expr))


def number(value: float, kind: str) -> q.Expr:
    if kind in INTEGERS:
        return q.Const(int(value), kind)
    value = float(value)
    if not isfinite(value):
        raise Refusal(f"the constant {value}", "Exo has finite numbers only", "use a finite one")
    return q.Const(value, kind)


def scalar(name: str, kind: str, block: _Block) -> q.Var:
    return allocate(g.Array(name, kind), block)


def in_scalar(expr: q.Expr, kind: str, block: _Block) -> q.Var:
    """A temporary that holds an expression: it has the type, and integers have wrapped."""
    var = scalar("t", kind, block)
    block.out.append(q.Assign(block.path, var, (), expr, kind))
    return var


def settled(value: g.Value, at: At, block: _Block) -> q.Expr:
    return wrapped(element(value, at, block), value.type, block)


def applied(value: g.Apply, at: At, block: _Block) -> q.Expr:
    function, kind = value.function, value.type
    if function not in RING:
        if function == "/" and kind in INTEGERS:
            raise Refusal("/", "integers would be divided", "convert them to floats")
        args = [settled(each, at, block) for each in value.args]
        if function == "/":
            return q.BinOp("/", args[0], args[1], kind)
        return extern(EXO_NAMES[function], args, kind, block)
    args = [element(each, at, block) for each in value.args]
    whole = ring(function, args, kind)
    if kind in NARROW and bound(whole) >= 2**31:
        whole = ring(function, [wrapped(each, kind, block) for each in args], kind)
    return whole


def ring(function: str, args: Sequence[q.Expr], kind: str) -> q.Expr:
    if function == "neg":
        return q.USub(args[0], kind)
    return q.BinOp(function, args[0], args[1], kind)


def wrapped(expr: q.Expr, kind: str, block: _Block) -> q.Expr:
    """An expression whose value is that of its type: C computes with narrow integers as `int`."""
    if kind in NARROW and isinstance(expr, q.BinOp | q.USub):
        return q.Read(in_scalar(expr, kind, block), (), kind)
    return expr


def bound(expr: q.Expr) -> int:
    """How far from 0 an expression of narrow integers may be, in C's `int`."""
    match expr:
        case q.BinOp("*", a, b):
            return bound(a) * bound(b)
        case q.BinOp(_, a, b):
            return bound(a) + bound(b)
        case q.USub(a):
            return bound(a)
        case q.Const():
            return abs(int(expr.value))
        case q.Read() | q.Extern():
            return max(map(abs, INTEGERS[expr.type] or ()))
        case _:
            raise AssertionError("it is no value")


def extern(name: str, args: Sequence[q.Expr], kind: str, block: _Block) -> q.Expr:
    if kind in INTEGERS and not FUNCTIONS[name].whole:
        raise Refusal(name.rstrip("_"), "it is of floats", "convert its arguments (`astype`)")
    block.work.externs.add(name)
    if not any(map(_reads, args)):
        args = [q.Read(in_scalar(args[0], kind, block), (), kind), *args[1:]]
    return q.Extern(name, tuple(args), kind)


def converted(value: g.Cast, at: At, block: _Block) -> q.Expr:
    """Through a scalar: an assignment converts as C does."""
    return q.Read(in_scalar(typed(value.source, at, block), value.type, block), (), value.type)


# -- conditions ------------------------------------------------------------------------------------

Written = Callable[[_Block], q.Expr]
"""An expression that is written into the block where it is needed."""


def chosen(value: g.Select, at: At, block: _Block) -> q.Expr:
    def then(b: _Block) -> q.Expr:
        return settled(value.then, at, b)

    def other(b: _Block) -> q.Expr:
        return settled(value.other, at, b)

    condition = value.condition
    if isinstance(condition, g.Logical) and not _on_places(condition):
        one, two = (_short(each(block), value.type, block) for each in (then, other))
        return pick(condition, at, lambda _: one, lambda _: two, value.type, block)
    return pick(condition, at, then, other, value.type, block)


def _on_places(condition: g.Condition) -> bool:
    match condition:
        case g.Logical():
            return any(map(_on_places, condition.args))
        case _:
            return isinstance(condition, g.Inside)


def _short(expr: q.Expr, kind: str, block: _Block) -> q.Expr:
    """An expression that may be written several times."""
    if isinstance(expr, q.Read | q.Const):
        return expr
    return q.Read(in_scalar(expr, kind, block), (), kind)


def pick(
    condition: g.Condition, at: At, then: Written, other: Written, kind: str, block: _Block
) -> q.Expr:
    """One of two: by `if` where the condition is on the place, else by a function."""
    match condition:
        case g.Inside():
            var = scalar("t", kind, block)
            yes, no = block.inside(guarded=True), block.inside(guarded=True)
            for inner, written in ((yes, then), (no, other)):
                rhs = written(inner)
                inner.out.append(q.Assign(block.path, var, (), rhs, kind))
            branch(inside(condition, at), yes, no, block)
            return q.Read(var, (), kind)
        case g.Logical("not", (negated,)):
            return pick(negated, at, other, then, kind, block)
        case g.Logical(op, (first, *rest)):
            if not rest:
                return pick(first, at, then, other, kind, block)
            left = g.Logical(op, tuple(rest))

            def tail(b: _Block) -> q.Expr:
                return pick(left, at, then, other, kind, b)

            if op == "and":
                return pick(first, at, tail, other, kind, block)
            return pick(first, at, then, tail, kind, block)
        case g.Compare():
            return compared(condition, at, then(block), other(block), kind, block)
        case _:
            raise AssertionError("a condition has parts")


_SELECTS = {
    "<": ("<", False, False),
    ">": ("<", True, False),
    "<=": ("<=", False, False),
    ">=": ("<=", True, False),
    "==": ("==", False, False),
    "!=": ("==", False, True),
}
"""The function for a comparison, and whether it takes the operands, and the results, swapped."""


def compared(
    condition: g.Compare, at: At, then: q.Expr, other: q.Expr, kind: str, block: _Block
) -> q.Expr:
    own = condition.lhs.type
    lhs, rhs = (settled(each, at, block) for each in (condition.lhs, condition.rhs))
    op, turned, inverted = _SELECTS[condition.op]
    name = SELECTIONS[op]
    if turned:
        lhs, rhs = rhs, lhs
    if own != kind:  # functions take one type: the condition as 0 or 1, converted
        truth = extern(name, (lhs, rhs, number(1, own), number(0, own)), own, block)
        mask = q.Read(in_scalar(truth, kind, block), (), kind)
        name, lhs, rhs = SELECTIONS["<"], number(0, kind), mask
    if inverted:
        then, other = other, then
    return extern(name, (lhs, rhs, then, other), kind, block)


def inside(condition: g.Inside, at: At) -> q.Expr:
    """The condition in terms of the loops."""
    names = dict(zip(condition.vars, at, strict=True))

    def put(expr: q.Expr) -> q.Expr:
        match expr:
            case q.Affine():
                return replaced(expr, names)
            case q.BinOp():
                return replace(expr, lhs=put(expr.lhs), rhs=put(expr.rhs))
            case _:
                return expr

    return put(condition.condition)


def counted(value: g.Count, block: _Block) -> q.Expr:
    """A scalar that loops count up; before all else, if it is of sizes only."""
    work = block.work
    variables = q.expr_vars(value.value)
    if variables & {loop.var for loop in block.loops}:
        return _count(value, block)
    key = value.value, value.type
    if key not in work.counts:
        work.counts[key] = _count(value, _Block(work, work.counting, block.line))
    return work.counts[key]


def _count(value: g.Count, block: _Block) -> q.Expr:
    # counted in a type that is exact: additions of 1 to f32 come to an end at 2**24
    kind = "i32" if value.type in INTEGERS else "f64"
    var = scalar("count", kind, block)
    block.out.append(q.Assign(block.path, var, (), number(value.value.const, kind), kind))
    for atom, factor in value.value.terms:
        step = q.Reduce(block.path, var, (), number(factor, kind), kind)
        loop(g.fresh(""), q.Affine(), q.as_affine(atom), [step], block)
    read = q.Read(var, (), kind)
    return (
        read if value.type == kind else q.Read(in_scalar(read, value.type, block), (), value.type)
    )
