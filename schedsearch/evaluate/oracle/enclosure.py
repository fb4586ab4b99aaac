"""The admissible results of a procedure: C that evaluates its query AST on intervals.

Neither Exo's code generator nor the kernels' compiler flags take part. Each value carries a bound
on the effect of roundings (`runtime/enclosure.h` has the arithmetic), so that every element of an
output has an interval of its own; where nothing rounds, it is one number. Loops, branches and
indices are evaluated as they are; an index out of bounds ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS, known_type
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.functions import FUNCTIONS
from schedsearch.evaluate.oracle.sampling import Dim, samples

# unit roundoff, what underflow may lose, largest run of integers, largest number.
# f64 is computed here with the same roundings: twice the bound.
_FORMATS = {
    "f16": "{0x1p-11, TINY_F16, 0x1p11, 65504.0}",
    "f32": "{0x1p-24, TINY_F32, 0x1p24, 0x1.fffffep127}",
    "f64": "{0x1p-52, TINY_F64, 0x1p53, 0x1.fffffffffffffp1023}",
}


def unknown_externs(proc: q.Proc) -> tuple[str, ...]:
    """External functions of `proc` whose meaning is not known here."""
    parts = (part for s in q.walk(inline_calls(proc).body) for part in q.stmt_parts(s))
    names = (part.name for part in parts if isinstance(part, q.Extern))
    return tuple(sorted({name for name in names if name not in FUNCTIONS}))


def enclosure_source(
    proc: q.Proc,
    context: str,
    fields: Sequence[str],
    fp: FloatingPoint = FloatingPoint.FAST,
) -> str:
    """C of `hs_enclose`, which evaluates `proc` under a contract; `context` is the C of its context
    struct, `fields` are the configuration fields in it (`Config.field`)."""
    body = list(_Emitter(inline_calls(proc), tuple(fields)).function())
    formats = [f"static const struct format {kind} = {text};" for kind, text in _FORMATS.items()]
    flushing = ["#define MAY_FLUSH"] if fp is FloatingPoint.FAST else []
    head = [*flushing, '#include "enclosure.h"', "#define USED __attribute__((unused))"]
    unused = [text.replace("static", "static USED", 1) for text in formats]
    return "\n".join([*head, context, *unused, *body, ""])


def repeated_terms(body: tuple[q.Stmt, ...], loops: tuple[q.For, ...] = ()) -> Iterator[q.Reduce]:
    """Sums that add the same term in many iterations of a loop around them, or multiples of their
    own target."""
    for stmt in body:
        if isinstance(stmt, q.Reduce):
            own = q.Read(stmt.buf, stmt.idx, stmt.type) in q.walk_expr(stmt.rhs)
            if own or any(_repeats(stmt, loop) for loop in loops):
                yield stmt
        inner = (*loops, stmt) if isinstance(stmt, q.For) else loops
        for block in q.blocks(stmt):
            yield from repeated_terms(block, inner)


def _repeats(stmt: q.Reduce, loop: q.For) -> bool:
    """Whether neither the element nor the term depends on the loop's variable, or on what other
    statements write in the loop."""
    used = q.expr_vars(stmt.rhs).union(*map(q.expr_vars, stmt.idx))
    others = (s for s in q.walk(loop.body) if s is not stmt)
    written = {s.buf for s in others if isinstance(s, q.Assign | q.Reduce)}
    return loop.iter not in used and not used & written


def expression_kind(expr: q.Expr, stored: str) -> str:
    """The one type of a data expression: the type of the elements that it reads or, if it is all
    constants, of its destination. Exo refuses expressions of several types."""
    for node in q.walk_expr(expr):
        if isinstance(node, q.Read | q.ReadConfig) and node.type != "bool":
            return known_type(node.type)
    return known_type(stored)


@dataclass(frozen=True)
class Layout:
    """How a buffer is addressed: C expressions of its extents and strides."""

    extents: tuple[str, ...]
    strides: tuple[str, ...]


def dense(extents: Sequence[str]) -> Layout:
    """Strides of a buffer without gaps."""
    strides = (" * ".join(extents[dim + 1 :]) or "1" for dim in range(len(extents)))
    return Layout(tuple(extents), tuple(strides))


@dataclass(kw_only=True)
class Indices:
    """Writes C of control expressions: of indices and conditions. The C has functions `floor_div`
    and `floor_mod`, and a `context`."""

    buffers: dict[q.Var, Layout] = field(default_factory=dict)

    def index(self, value: q.Affine) -> str:
        """C of a control expression, an int64_t."""
        terms = [f"{coefficient} * {self.atom(atom)}" for atom, coefficient in value.terms]
        return f"({' + '.join([*terms, f'INT64_C({value.const})'])})"

    def atom(self, atom: q.Atom) -> str:
        match atom:
            case q.Var():
                return name_of(atom)
            case q.FloorDiv():
                return f"floor_div({self.index(atom.num)}, {atom.den})"
            case q.Mod():
                return f"floor_mod({self.index(atom.num)}, {atom.den})"
            case q.StrideOf():
                return f"({self.buffers[atom.buf].strides[atom.dim]})"
            case q.ConfigField():
                return field_of(atom.config, atom.field)

    def truth(self, expr: q.Expr) -> str:
        match expr:
            case q.Const():
                return str(int(bool(expr.value)))
            case q.Read():
                return name_of(expr.buf)
            case q.ReadConfig():
                return field_of(expr.config, expr.field)
            case q.Affine():
                return self.index(expr)
            case q.BinOp():
                op = {"and": "&&", "or": "||"}.get(expr.op, expr.op)
                return f"({self.truth(expr.lhs)} {op} {self.truth(expr.rhs)})"
            case _:
                raise AssertionError("not a condition")


def name_of(var: q.Var) -> str:
    """Unique in C, and readable."""
    return f"{var.name}_{var.uid}"


def field_of(config: str, name: str) -> str:
    return f"((kernel_Context *)context)->{config}.{name}"


@dataclass
class _Emitter(Indices):
    proc: q.Proc
    fields: tuple[str, ...]
    cells: set[q.Var] = field(default_factory=set)
    arguments: dict[q.Var, int] = field(default_factory=dict)  # those of the cells, by position
    temporaries: Iterator[int] = field(default_factory=count)
    last: str = ""
    places: dict[q.Stmt, str] = field(default_factory=dict)

    @cached_property
    def repeated(self) -> frozenset[q.Stmt]:
        return frozenset(repeated_terms(self.proc.body))

    @cached_property
    def sampled(self) -> dict[q.Var, Dim]:
        return {loop: sample.range for sample in samples(self.proc) for loop in sample.loops}

    def function(self) -> Iterator[str]:
        written = written_buffers(self.proc.body)
        yield "void hs_enclose(const struct hs_arg *args, void *context, struct cell *const *cells,"
        yield "                struct cell *fields)"
        yield "{"
        yield "    (void)args, (void)context, (void)cells, (void)fields;"
        for position, arg in enumerate(self.proc.args):
            place = f"args[{position}]"
            if arg.type in q.CONTROL_TYPES:
                yield f"    USED const int64_t {name_of(arg.var)} = {place}.control;"
                continue
            dims = range(len(arg.shape or ()))
            extents = tuple(f"{place}.extents[{d}]" for d in dims)
            strides = tuple(f"{place}.strides[{d}]" for d in dims)
            self.buffers[arg.var] = Layout(extents, strides)
            if arg.var in written:
                self.cells.add(arg.var)
                self.arguments[arg.var] = position
                yield f"    USED struct cell *const {name_of(arg.var)} = cells[{position}];"
            else:
                ctype = ELEMENT_TYPES[arg.type].c
                yield f"    USED const {ctype} *const {name_of(arg.var)} = {place}.data;"
        yield from _indented(self.block(self.proc.body))
        yield "}"

    # -- statements ---------------------------------------------------------------

    def block(self, body: tuple[q.Stmt, ...]) -> Iterator[str]:
        heaps = [stmt for stmt in body if isinstance(stmt, q.Alloc) and stmt.shape]
        for stmt in body:
            yield from self.stmt(stmt)
        for stmt in reversed(heaps):
            yield f"free({name_of(stmt.buf)});"

    def stmt(self, stmt: q.Stmt) -> Iterator[str]:
        match stmt:
            case q.Assign() | q.Reduce():
                yield from self.write(stmt)
            case q.For():
                var, lo, hi = name_of(stmt.iter), self.index(stmt.lo), self.index(stmt.hi)
                yield f"const int64_t lo_{var} = {lo}, end_{var} = {hi};"
                held = self.held(stmt)
                if held:
                    place = self.element(held.buf, held.idx)
                    yield f"struct cell *const at_{var} = lo_{var} < end_{var} ? &{place} : NULL;"
                    yield f"struct cell sum_{var} = at_{var} ? *at_{var} : (struct cell){{0}};"
                    self.places[held] = f"&sum_{var}"
                yield f"for (int64_t {var} = lo_{var}; {var} < end_{var}; {var}++) {{"
                if (whole := self.sampled.get(stmt.iter)) is not None:
                    extent = self.buffers[whole.buf].extents[whole.dim]
                    yield f"    if (!hs_taken({var}, {extent})) continue;"
                yield from _indented(self.block(stmt.body))
                yield "}"
                if held:
                    yield f"if (at_{var}) *at_{var} = sum_{var};"
                    del self.places[held]
            case q.If():
                yield f"if ({self.truth(stmt.cond)}) {{"
                yield from _indented(self.block(stmt.body))
                if stmt.orelse:
                    yield "} else {"
                    yield from _indented(self.block(stmt.orelse))
                yield "}"
            case q.Alloc():
                yield from self.alloc(stmt)
            case q.WriteConfig():
                yield from self.setting(stmt)
            case q.Pass():
                pass
            case q.Call() | q.WindowStmt():
                raise AssertionError("calls and windows are resolved by inline_calls")

    def held(self, loop: q.For) -> q.Reduce | None:
        """The sum of a loop that adds to one element, which may be kept in registers meanwhile."""
        sums = [stmt for stmt in loop.body if isinstance(stmt, q.Reduce)]
        if len(sums) != 1 or any(q.blocks(stmt) for stmt in loop.body):
            return None
        used = [name for s in loop.body for x in q.stmt_exprs(s) for name in q.expr_vars(x)]
        bound = {loop.iter, *(s.buf for s in loop.body if isinstance(s, q.Alloc))}
        writes = [s for s in loop.body if isinstance(s, q.Assign | q.Reduce)]
        alone = sum(s.buf == sums[0].buf for s in writes) == 1 and sums[0].buf not in used
        fixed = not bound & {sums[0].buf}.union(*map(q.expr_vars, sums[0].idx))
        return sums[0] if alone and fixed else None

    def alloc(self, stmt: q.Alloc) -> Iterator[str]:
        name = name_of(stmt.buf)
        extents = tuple(f"{name}_{dim}" for dim in range(len(stmt.shape)))
        for extent, shape in zip(extents, stmt.shape, strict=True):
            yield f"const int64_t {extent} = {self.index(shape)};"
        self.buffers[stmt.buf] = dense(extents)
        self.cells.add(stmt.buf)
        if stmt.shape:
            yield f"struct cell *const {name} = hs_cells({' * '.join(extents)});"
        else:
            yield f"struct cell {name}[1] = {{0}};"

    def write(self, stmt: q.Assign | q.Reduce) -> Iterator[str]:
        kind = expression_kind(stmt.rhs, stmt.type)
        stored = known_type(stmt.type)
        place = self.places.get(stmt) or f"&{self.element(stmt.buf, stmt.idx)}"
        yield from self.converted(stmt.rhs, kind, stored)
        if isinstance(stmt, q.Assign):
            yield f"assign({place}, {self.last});"
            if isinstance(stmt.rhs, q.Const):
                yield f"({place})->state |= CONSTANT;"
        elif stored in INTEGERS:
            yield f"add_int({place}, {self.last}, {_limits(stored)});"
        else:
            yield f"add_float({place}, {self.last}, {int(stmt in self.repeated)});"

    def setting(self, stmt: q.WriteConfig) -> Iterator[str]:
        where = field_of(stmt.config, stmt.field)
        if isinstance(stmt.rhs, q.Affine):
            yield f"{where} = {self.index(stmt.rhs)};"
        elif stmt.type == "bool":
            yield f"{where} = {self.truth(stmt.rhs)};"
        else:
            kind = expression_kind(stmt.rhs, stmt.type)
            yield from self.converted(stmt.rhs, kind, stmt.type)
            yield f"assign(&{self.field(stmt)}, {self.last});"

    def field(self, place: q.WriteConfig | q.ReadConfig) -> str:
        return f"fields[{self.fields.index(f'{place.config}.{place.field}')}]"

    def converted(self, expr: q.Expr, kind: str, stored: str) -> Iterator[str]:
        """Statements that leave the value, converted to where it is stored, in `last`."""
        self.last = f"t{next(self.temporaries)}"
        yield f"struct enclosed {self.last} = {self.value(expr, kind)};"
        if kind != stored or stored in INTEGERS:  # C computes in int
            yield f"{self.last} = {_converted(self.last, kind, stored)};"

    # -- expressions ----------------------------------------------------------------

    def value(self, expr: q.Expr, kind: str) -> str:
        """C of a data expression of this type, a `struct enclosed`."""
        whole = kind in INTEGERS
        match expr:
            case q.Const():
                return _constant(float(expr.value), kind)
            case q.Read():
                element = self.element(expr.buf, expr.idx)
                if expr.buf not in self.cells:
                    return f"exactly({element})"
                return f"load_int(&{element})" if whole else f"load_float(&{element}, {kind})"
            case q.ReadConfig():
                return (
                    f"load_int(&{self.field(expr)})"
                    if whole
                    else f"load_float(&{self.field(expr)}, {kind})"
                )
            case q.USub():
                return f"negative({self.value(expr.arg, kind)})"
            case q.BinOp():
                lhs, rhs = self.value(expr.lhs, kind), self.value(expr.rhs, kind)
                if expr.op == "-":
                    rhs = f"negative({rhs})"
                name = {"+": "sum", "-": "sum", "*": "product", "/": "quotient"}[expr.op]
                return f"int_{name}({lhs}, {rhs})" if whole else f"{name}({lhs}, {rhs}, {kind})"
            case q.Extern():
                args = [self.value(arg, kind) for arg in expr.args]
                function = FUNCTIONS[expr.name]
                if whole and function.own:  # its C takes arguments of the type
                    args = [_converted(arg, kind, kind) for arg in args]
                if function.rounds:
                    args.append(kind)
                text = f"hs_{expr.name}({', '.join(args)})"
                return text if function.own or not whole else f"of_int({text})"
            case q.Affine() | q.Window():
                raise AssertionError("not a data expression")

    def element(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        held, name = self.buffers[buf], name_of(buf)
        parts = [
            f'at({self.index(i)}, {extent}, "{buf.name}", {dim}) * {stride}'
            for dim, (i, extent, stride) in enumerate(
                zip(idx, held.extents, held.strides, strict=True)
            )
        ]
        place = " + ".join(parts) or "0"
        if buf in self.arguments:
            return f"(*of_argument({name}, &args[{self.arguments[buf]}], {place}))"
        return f"{name}[{place}]"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _limits(kind: str) -> str:
    least, most = INTEGERS[kind]
    return f"{least}.0, {most}.0"


def _constant(value: float, kind: str) -> str:
    """A constant of the source in the type of its expression."""
    return f"exactly(({ELEMENT_TYPES[kind].c}){value!r})"


def _converted(value: str, kind: str, stored: str) -> str:
    """C that converts an expression of type `kind` to where it is stored."""
    if stored in INTEGERS:
        name = "int_as_int" if kind in INTEGERS else "float_as_int"
        return f"{name}({value}, {_limits(stored)})"
    return f"as_float({value}, ({ELEMENT_TYPES[stored].c}){value}.value, {stored})"
