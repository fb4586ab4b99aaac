"""Exo source of fused vector instructions, and the C function that each calls.

The function works on whole registers in the vector extension of gcc and clang, so that one
text serves SSE, AVX2, AVX-512 and NEON. An operation that the extension lacks
(a conversion, a square root, a sum over a register) is a loop over the lanes in an
inlined snippet, which both compilers turn into the one instruction meant. Only
partial loads and stores name instructions, where there are masked ones.

It converts where Exo's C does (`analysis/conversions.py`): a term of a sum before it is
added. A sum is kept in the type that C adds in.

A minimum or maximum over the lanes begins with the element itself in each of them: it is its own
minimum, so that no other number is needed to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from schedsearch.analysis.conversions import promoted
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS
from schedsearch.frontends.functions import module_text
from schedsearch.transforms.vector.extension import define, execute, vector_set
from schedsearch.transforms.vector.fused import snippets
from schedsearch.transforms.vector.fused.elementary import elementary
from schedsearch.transforms.vector.fused.extremes import composed
from schedsearch.transforms.vector.fused.model import (
    LANE,
    Fused,
    Operand,
    arithmetic,
    body_lines,
    by_value,
    computed,
    fused_name,
    moving,
    place_index,
    place_of,
    reduced,
    strides,
)
from schedsearch.transforms.vector.fused.parts import parallel_parts
from schedsearch.transforms.vector.registers import memory_name


@cache
def fused_instruction(fused: Fused) -> Any:
    """The Exo procedure; the same object for equal instructions."""
    given = {name: _defined(name) for name in functions(fused)}
    for kind in register_kinds(fused):
        memory = memory_name(kind, fused.lanes)
        given[memory] = vector_set(kind, fused.lanes)[memory]
    name = fused_name(fused)
    return define(name, fused_source(fused), given)[name]


@cache
def _defined(name: str) -> Any:
    """A function that is not Exo's; equal to those that modules define."""
    return execute(name, module_text([name]), {})[name]


def functions(fused: Fused) -> list[str]:
    """External functions of the instruction that are not Exo's."""
    return [name for name in _externs(fused) if not FUNCTIONS[name].own]


def register_kinds(fused: Fused) -> tuple[str, ...]:
    """Element types of the vector memories the instruction uses."""
    return tuple(sorted({op.type for op in fused.operands if op.registers}))


def fused_source(fused: Fused) -> str:
    """Python text that defines the instruction; needs `extension.IMPORTS` before it, the
    vector sets of `register_kinds`, and `functions`."""
    name = fused_name(fused)
    params = ["n: size"] if fused.counted else []
    asserts = []
    if fused.counted and register_kinds(fused):
        asserts.append(f"    assert n <= {fused.lanes}")
    for uid, op in enumerate(fused.operands):
        if op.places:
            params += _place_params(uid, op)
            asserts += [f"    assert {condition}" for condition in _bounds(fused, uid, op)]
            continue
        params.append(f"x{uid}: {_window(fused, op)} @ {_memory(fused, op)}")
        if op.moves:
            asserts.append(f"    assert stride(x{uid}, {len(op.box) - 1}) == 1")
    code = c_function(fused)
    externs = [name for name in _externs(fused) if FUNCTIONS[name].own]
    return "\n".join(
        [
            *([f"from exo.libs.externs import {', '.join(externs)}", "", ""] if externs else []),
            "@instr(",
            f'    "{_call(fused)}",',
            '    """',
            *(f"    {line}" if line else "" for line in code.splitlines()),
            '    """,',
            ")",
            f"def {name}(",
            *(f"    {param}," for param in params),
            "):",
            *asserts,
            *_loops(fused),
            "",
        ]
    )


def _loops(fused: Fused) -> list[str]:
    lines = [f"for l in seq(0, {'n' if fused.counted else fused.lanes}):"]
    lines += [f"    {line}" for line in body_lines(fused)]
    if fused.copies > 1:
        lines = [f"for v in seq(0, {fused.copies}):", *(f"    {line}" for line in lines)]
    return [f"    {line}" for line in lines]


def _externs(fused: Fused) -> list[str]:
    parts = (part for stmt in fused.body for part in q.stmt_parts(stmt))
    return sorted({part.name for part in parts if isinstance(part, q.Extern)})


def _window(fused: Fused, op: Operand) -> str:
    if not op.box:
        return op.type
    extents = [str(extent) for extent in op.box]
    if op.moves:
        span = op.box[-1] - 1
        counted = fused.counted and not fused.reads_whole(op)
        extents[-1] = (f"n + {span}" if span else "n") if counted else str(fused.lanes + span)
    return f"[{op.type}][{', '.join(extents)}]"


def _place_params(uid: int, op: Operand) -> list[str]:
    """Parameters of an array that is given whole: its sizes, the places, itself."""
    dims = range(len(op.box))
    params = [f"x{uid}_n{dim}: size" for dim in dims]
    params += [
        f"{place_index(uid, place, dim).name}: index" for place in range(op.places) for dim in dims
    ]
    return [*params, f"x{uid}: {op.type}[{', '.join(f'x{uid}_n{dim}' for dim in dims)}] @ DRAM"]


def _bounds(fused: Fused, uid: int, op: Operand) -> list[str]:
    """Asserts on the places, from which Exo sees that the body stays inside the array."""
    length = "n" if fused.counted else str(fused.lanes)
    conditions = []
    for place in range(op.places):
        for dim in range(len(op.box)):
            name = place_index(uid, place, dim).name
            runs = dim == len(op.box) - 1 and moving(fused, uid, place)
            conditions += [f"{name} >= 0", f"{name} + {length if runs else 1} <= x{uid}_n{dim}"]
    return conditions


def _memory(fused: Fused, op: Operand) -> str:
    return memory_name(op.type, fused.lanes) if op.registers else "DRAM"


def _call(fused: Fused) -> str:
    """C text of a call, with Exo's place holders."""
    args = ["{n}"] if fused.counted else []
    for uid, op in enumerate(fused.operands):
        if op.places:
            args += [_pointer(uid, op, place) for place in range(op.places)]
        elif not op.box:
            args.append(f"*{{x{uid}}}" if by_value(op) else f"{{x{uid}}}")
        else:
            args.append(f"{'' if by_value(op) else '&'}{{x{uid}_data}}")
        args += [f"{{x{uid}}}.strides[{dim}]" for dim in strides(op)]
    return f"{fused_name(fused)}({', '.join(args)});"


def _pointer(uid: int, op: Operand, place: int) -> str:
    """C text of a place in an array that is given whole: its rows follow each other."""
    offset = ""
    for dim in range(len(op.box)):
        index = f"{{{place_index(uid, place, dim).name}}}"
        offset = f"({offset}) * {{x{uid}_n{dim}}} + {index}" if offset else index
    return f"&{{x{uid}}}[{offset}]"


def c_function(fused: Fused) -> str:
    """C text of the instruction's function, after the snippets that it uses."""
    return _Function(fused).text()


Value = tuple[str, str, bool]
"""C text, element type, and whether it is a register rather than a scalar."""


@dataclass
class _Function:
    """The C function of one instruction, and the helpers it turns out to need."""

    fused: Fused
    needed: dict[str, str] = field(default_factory=dict)
    sums: dict[int, str] = field(default_factory=dict)
    masked: bool = False
    chain: int = 0

    def text(self) -> str:
        if self.fused.parts > 1:
            return self.in_parts()
        self.masked = self.fused.counted
        extremes = [stmt for stmt in reduced(self.fused) if isinstance(stmt, q.Assign)]
        body = self.body()
        lines = [f"static inline __attribute__((always_inline)) void {fused_name(self.fused)}("]
        lines += [f"    {', '.join(self.params())})", "{"]
        lanes = self.fused.lanes
        if self.fused.empty:  # masks are of one lane at least
            lines.append("    if (n < 1) return;")
        for uid, kind in self.sums.items():
            lines += [f"    {self.vec(kind)} {each} = {{0}};" for each in self.sum_registers(uid)]
        for stmt in extremes:
            start = self.spread((f"*x{stmt.buf.uid}", stmt.type, False))[0]
            for chain in range(self.fused.chains):
                lines.append(f"    {self.vec(stmt.type)} {_extreme(stmt.buf, chain)} = {start};")
        stores = any(op.written and op.moves for op in self.fused.operands)
        in_chains = bool(extremes) or (bool(self.sums) and stores)
        if in_chains and self.fused.counted and not self.fused.whole:
            lines += self.counted_chains(body)
        elif self.fused.counted and not self.fused.whole:
            lines.append(f"    for (long l = 0; l < n; l += {lanes}) {{")
            lines.append(f"        const long m = n - l < {lanes} ? n - l : {lanes};")
            lines += [f"        {line}" for line in body]
            lines.append("    }")
        elif self.fused.copies > 1:
            lines.append(f"    for (int v = 0; v < {self.fused.copies}; v++) {{")
            lines += [*(f"        {line}" for line in body), "    }"]
        else:
            lines += [f"    {line}" for line in body]
        for uid, kind in self.sums.items():
            total = " + ".join(self.sum_registers(uid))
            total = f"{self.need(snippets.total(kind, lanes), kind)}({total})"
            lines.append(f"    *x{uid} += {total};")
        for stmt in extremes:
            lines += [f"    {line}" for line in self.joined(stmt)]
        lines.append("}")
        function = snippets.guarded(fused_name(self.fused), "\n".join(lines))
        return "\n".join([*self.needed.values(), function])

    def in_parts(self) -> str:
        """A function that has the instruction for one thread do each part of the iterations."""
        one = _Function(replace(self.fused, parts=1))
        (extreme,) = reduced(self.fused)
        assert isinstance(extreme, q.Assign)
        text, uid = one.text(), extreme.buf.uid
        part = self.spread(("found[p].value", extreme.type, False))[0]
        start = self.spread((f"*x{uid}", extreme.type, False))[0]
        calls = parallel_parts(self.fused, uid, fused_name(one.fused))
        lines = [f"static void {fused_name(self.fused)}(", f"    {', '.join(self.params())})", "{"]
        lines += [f"    {line}" for line in calls]
        lines.append(f"    {self.vec(extreme.type)} {_extreme(extreme.buf, 0)} = {start};")
        lines.append(f"    for (long p = 0; p < {self.fused.parts}; p++)")
        lines += [f"        {line}" for line in self.joins(extreme, [part])]
        lines += [f"    *x{uid} = {_extreme(extreme.buf, 0)}[0];", "}"]
        function = snippets.guarded(fused_name(self.fused), "\n".join(lines))
        return "\n".join([text, *self.needed.values(), function])

    def body(self) -> list[str]:
        return [line for stmt in self.fused.body for line in self.stmt(stmt)]

    def counted_chains(self, rest: Sequence[str]) -> Iterator[str]:
        """The loop of a counted instruction that reduces: whole registers in all chains, then in
        one, then what is left."""
        lanes, self.masked = self.fused.lanes, False
        yield "    long l = 0;"
        for chains in sorted({self.fused.chains, 1}, reverse=True):
            yield f"    for (; n - l >= {chains * lanes}; l += {chains * lanes}) {{"
            for self.chain in range(chains):
                yield from ("        {", *(f"            {x}" for x in self.body()), "        }")
            yield "    }"
        yield "    if (l < n) {"
        yield "        const long m = n - l;"
        yield from (f"        {line}" for line in rest)
        yield "    }"

    def joined(self, stmt: q.Assign) -> Iterator[str]:
        """Join the chains of an extreme, then its lanes by halves: the statement itself says how,
        with a part of them in place of its term."""
        kind, lanes, total = stmt.type, self.fused.lanes, _extreme(stmt.buf, 0)
        turns = [lanes >> step for step in range(1, lanes.bit_length())]
        parts = [_extreme(stmt.buf, chain) for chain in range(1, self.fused.chains)]
        parts += [f"{self.need(snippets.turned(kind, lanes, n), kind)}({total})" for n in turns]
        yield from self.joins(stmt, parts)
        yield f"*x{stmt.buf.uid} = {total}[0];"

    def joins(self, stmt: q.Assign, parts: Sequence[str]) -> Iterator[str]:
        """Join an extreme with that of each part, a register."""
        found, kind = reduction(stmt), stmt.type
        assert found is not None
        self.chain, total = 0, _extreme(stmt.buf, 0)
        part = q.Var("part", _PART)
        value = with_part(stmt.rhs, found.term, q.Read(part, (), kind))
        again = self.convert(self.expr(value, promoted(kind)), kind)[0]
        for each in parts:
            yield f"{{ const {self.vec(kind)} x{_PART} = {each}; {total} = {again}; }}"

    def params(self) -> Iterator[str]:
        if self.fused.counted:
            yield "long n"
        for uid, op in enumerate(self.fused.operands):
            ctype = self.vec(op.type) if op.registers else ELEMENT_TYPES[op.type].c
            const = "" if op.written else "const "
            if op.places:
                yield from (f"{const}{ctype} *x{uid}_{place}" for place in range(op.places))
                continue
            yield f"{const}{ctype} {'' if by_value(op) else '*'}x{uid}"
            yield from (f"long x{uid}_s{dim}" for dim in strides(op))

    @property
    def count(self) -> str:
        """Iterations of a register: those that are left, or all."""
        return "n" if self.fused.whole else "m"

    def vec(self, kind: str) -> str:
        """The register type."""
        name, text = snippets.types(kind, self.fused.lanes)
        self.needed.setdefault(name, text)
        return name

    def need(self, helper: snippets.Snippet, *kinds: str) -> str:
        """Name of a helper that works on registers of `kinds`."""
        for kind in kinds:
            self.vec(kind)
        name, text = helper
        self.needed.setdefault(name, text)
        return name

    # -- statements ------------------------------------------------------------

    def stmt(self, stmt: q.Stmt) -> Iterator[str]:
        match stmt:
            case q.Alloc():
                yield f"{self.vec(stmt.type)} x{stmt.buf.uid};"
            case q.Assign() | q.Reduce():
                kind = arithmetic(stmt)
                assert kind is not None
                value = self.expr(stmt.rhs, kind)
                if isinstance(stmt, q.Assign) and self.fixed(stmt.buf):
                    yield self.extreme(stmt, value)
                elif isinstance(stmt, q.Reduce) and self.fixed(stmt.buf):
                    yield self.accumulate(stmt, value)
                elif isinstance(stmt, q.Reduce):
                    total = computed(stmt.type)
                    before = self.convert(self.read(q.Read(stmt.buf, stmt.idx, stmt.type)), total)
                    term = self.convert(value, total)
                    yield self.write(stmt, (f"{before[0]} + {term[0]}", total, True))
                else:
                    yield self.write(stmt, value)
            case _:
                raise AssertionError(stmt)

    def fixed(self, buf: q.Var) -> bool:
        """Whether it is an operand that the lanes share."""
        return buf.uid < len(self.fused.operands) and not self.fused.operands[buf.uid].moves

    def accumulate(self, stmt: q.Reduce, value: Value) -> str:
        kind = promoted(stmt.type)
        self.sums[stmt.buf.uid] = kind
        text, _, _ = self.spread(self.convert(value, kind))
        if self.masked:
            text = (
                f"{self.need(snippets.first(kind, self.fused.lanes), kind)}({text}, {self.count})"
            )
        return f"{self.sum_registers(stmt.buf.uid)[self.chain]} += {text};"

    def sum_registers(self, uid: int) -> list[str]:
        """What a sum is kept in, by chain."""
        chains = self.fused.chains
        return [f"s{uid}"] if chains == 1 else [f"s{uid}_{chain}" for chain in range(chains)]

    def extreme(self, stmt: q.Assign, value: Value) -> str:
        """What a chain becomes; lanes beyond the last iteration stay as they are."""
        text, register = self.convert(value, stmt.type)[0], _extreme(stmt.buf, self.chain)
        if self.masked:
            merge = self.need(snippets.masked_merge(stmt.type, self.fused.lanes), stmt.type)
            text = f"{merge}({text}, {register}, {self.count})"
        return f"{register} = {text};"

    def write(self, stmt: q.Assign | q.Reduce, value: Value) -> str:
        text, _, _ = self.spread(self.convert(value, stmt.type))
        uid = stmt.buf.uid
        if uid >= len(self.fused.operands):
            return f"x{uid} = {text};"
        if self.fused.operands[uid].registers:
            register = self.register(stmt.buf)
            if self.masked:
                merge = snippets.masked_merge if self.fused.whole else snippets.merge
                merged = self.need(merge(stmt.type, self.fused.lanes), stmt.type)
                text = f"{merged}({text}, {register}, {self.count})"
            return f"{register} = {text};"
        if self.masked:
            store = self.need(snippets.partial_store(stmt.type, self.fused.lanes), stmt.type)
            return f"{store}({self.address(stmt.buf, stmt.idx)}, {text}, {self.count});"
        return f"*({self.vec(stmt.type)}_u *)({self.address(stmt.buf, stmt.idx)}) = {text};"

    # -- expressions -------------------------------------------------------------

    def expr(self, expr: q.Expr, kind: str) -> Value:
        match expr:
            case q.Const():
                return _constant(expr.value, kind), kind, False
            case q.Read():
                return self.convert(self.read(expr), kind)
            case q.USub():
                text, _, register = self.expr(expr.arg, kind)
                return f"(-{text})", kind, register
            case q.BinOp():
                left, right = self.expr(expr.lhs, kind), self.expr(expr.rhs, kind)
                return f"({left[0]} {expr.op} {right[0]})", kind, left[2] or right[2]
            case q.Extern() if made := composed(expr, kind, partial(self.composed, kind)):
                return made, kind, True
            case q.Extern():
                args = [self.spread(self.expr(arg, kind))[0] for arg in expr.args]
                asked = expr.name, kind, self.fused.lanes
                helper = self.need(elementary(*asked) or snippets.extern(*asked), kind)
                return f"{helper}({', '.join(args)})", kind, True
            case _:
                raise AssertionError(expr)

    def composed(
        self, kind: str, helper: Callable[[str, int], snippets.Snippet], *parts: q.Expr | str
    ) -> str:
        """C of a call of a helper, with parts of an expression or C as arguments."""
        values = [
            part if isinstance(part, str) else self.spread(self.expr(part, kind))[0]
            for part in parts
        ]
        return f"{self.need(helper(kind, self.fused.lanes), kind)}({', '.join(values)})"

    def read(self, read: q.Read) -> Value:
        uid, kind = read.buf.uid, read.type
        if uid >= len(self.fused.operands):
            return f"x{uid}", kind, True
        op = self.fused.operands[uid]
        if self.fixed(read.buf) and op.written:
            return _extreme(read.buf, self.chain), kind, True
        if by_value(op):
            return f"x{uid}", kind, False
        if op.registers:
            return self.register(read.buf), kind, True
        address = self.address(read.buf, read.idx)
        if LANE not in q.expr_vars(read.idx[-1]):
            return f"(*({address}))", kind, False
        if self.masked and not self.fused.reads_whole(op):
            load = self.need(snippets.partial_load(kind, self.fused.lanes), kind)
            return f"{load}({address}, {self.count})", kind, True
        return f"(*(const {self.vec(kind)}_u *)({address}))", kind, True

    def register(self, buf: q.Var) -> str:
        """The register of an operand, one of several if there are `copies`."""
        box = self.fused.operands[buf.uid].box
        several = self.fused.copies > 1 and len(box) > 1 and box[-2] == self.fused.copies
        return f"x{buf.uid}[v]" if several else f"x{buf.uid}[0]"

    def address(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        """Pointer to the element of the first lane."""
        op = self.fused.operands[buf.uid]
        parts = [f"x{buf.uid}_{place_of(idx)}" if op.places else f"x{buf.uid}"]
        for dim in strides(op):
            if idx[dim].const:
                parts.append(f"{idx[dim].const} * x{buf.uid}_s{dim}")
        if idx and idx[-1].const:
            parts.append(str(idx[-1].const))
        if self.chain and idx and LANE in q.expr_vars(idx[-1]):
            parts.append(str(self.chain * self.fused.lanes))
        looped = self.fused.counted and not self.fused.whole
        if looped and idx and LANE in q.expr_vars(idx[-1]):
            parts.append("l")
        return " + ".join(parts)

    def convert(self, value: Value, kind: str) -> Value:
        text, before, register = value
        if before == kind:
            return value
        if not register:
            return f"(({ELEMENT_TYPES[kind].c}){text})", kind, False
        helper = self.need(snippets.conversion(before, kind, self.fused.lanes), before, kind)
        return f"{helper}({text})", kind, True

    def spread(self, value: Value) -> Value:
        """The value as a register."""
        text, kind, register = value
        if register:
            return value
        return f"{self.need(snippets.spread(kind, self.fused.lanes), kind)}({text})", kind, True


_PART = 99
"""The local variable of what an extreme is joined with; operands and scalars have lower numbers."""


def _extreme(buf: q.Var, chain: int) -> str:
    """The register of an operand that all lanes are reduced to."""
    return f"m{buf.uid}_{chain}"


def with_part(expr: q.Expr, term: q.Expr, part: q.Read) -> q.Expr:
    """A minimum or maximum with another term."""
    if expr == term:
        return part
    if isinstance(expr, q.Extern):
        args = tuple(with_part(arg, term, part) for arg in expr.args)
        return q.Extern(expr.name, args, expr.type)
    return expr


def _constant(value: bool | int | float, kind: str) -> str:
    if kind == "i32":
        return str(int(value))
    return f"{float(value)!r}{'f' if kind == 'f32' else ''}"
