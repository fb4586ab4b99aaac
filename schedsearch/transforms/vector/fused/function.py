"""The C function of a fused vector instruction.

It works on whole registers in the vector extension of gcc and clang, so that one text serves SSE,
AVX2, AVX-512 and NEON. An operation that the extension lacks (a conversion, a square root, a sum
over a register) is a loop over the lanes in an inlined snippet, which both compilers turn into the
one instruction meant. Only partial loads and stores and conversions of f16 name instructions.

It converts where Exo's C does (`analysis/conversions.py`): a term of a sum before it is
added. A sum is kept in the type that C adds in.

A minimum or maximum over the lanes begins with the element itself in each of them: it is its own
minimum, so that no other number is needed to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from schedsearch.analysis.conversions import promoted
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused import reverse, snippets, structures
from schedsearch.transforms.vector.fused.handing_on import begun, ended, state_registers
from schedsearch.transforms.vector.fused.model import (
    LANE,
    Fused,
    arithmetic,
    by_value,
    computed,
    fused_name,
    neighbours,
    reduced,
    strides,
)
from schedsearch.transforms.vector.fused.parts import parallel_parts
from schedsearch.transforms.vector.fused.recurrences import Recurrence
from schedsearch.transforms.vector.fused.recurring import carried_register, results
from schedsearch.transforms.vector.fused.rows import rows_written_out, totals_of_rows
from schedsearch.transforms.vector.fused.shifted import (
    Row,
    before_the_loop,
    handed_on,
    in_registers,
    loaded,
    shared_rows,
)
from schedsearch.transforms.vector.fused.states import States, law
from schedsearch.transforms.vector.fused.values import Value, Values, extreme_register


def c_function(fused: Fused) -> str:
    """C text of the instruction's function, after the snippets that it uses."""
    done = rows_written_out(fused) if fused.together else fused
    return Function(done, Values(done), name=fused_name(fused)).text()


@dataclass
class Function:
    """The function of one instruction: `c` says its values, and `sums` in which type each sum is
    kept, and for which element."""

    fused: Fused
    c: Values
    sums: dict[str, tuple[str, str]] = field(default_factory=dict)
    name: str = ""

    def text(self) -> str:
        if self.fused.parts > 1:
            return self.in_parts()
        self.c.masked = self.fused.counted
        self.c.scans = self.fused.recurrence and self.law.scans
        extremes = [stmt for stmt in reduced(self.fused) if isinstance(stmt, q.Assign)]
        if self.fused.recurrence:
            extremes = []
        body = self.body()
        lines = [f"static inline __attribute__((always_inline)) void {self.name}("]
        lines += [f"    {', '.join(self.params())})", "{"]
        lanes = self.fused.lanes
        if self.fused.empty:  # masks are of one lane at least
            lines.append("    if (n < 1) return;")
        for uid, op in enumerate(self.fused.operands if self.fused.backwards else ()):
            if op.moves:
                lines.append(f"    x{uid} += n + {op.box[-1] - 2};")
        for name, (kind, address) in self.c.first.items():
            lines.append(f"    const {ELEMENT_TYPES[kind].c} {name} = *({address});")
        for name, (kind, _) in self.sums.items():
            kept = self.sum_registers(name)
            lines += [f"    {self.c.vec(kind)} {each} = {{0}};" for each in kept]
        for stmt in extremes:
            start = self.c.spread((self.c.element(stmt.buf, stmt.idx), stmt.type, False))[0]
            name = self.c.shared(stmt.buf, stmt.idx)
            kept = [extreme_register(name, chain) for chain in range(self.fused.chains)]
            lines += [f"    {self.c.vec(stmt.type)} {each} = {start};" for each in kept]
        if self.fused.recurrence:
            lines += [f"    {line}" for line in begun(self.law, self.c)]
        stores = any(op.written and op.moves for op in self.fused.operands)
        several = bool(extremes) or (bool(self.sums) and stores) or len(self.sums) > 1
        several = several or self.fused.chains > 1
        in_chains = several or self.fused.recurrence or self.fused.aligned
        if in_chains and self.fused.counted and not self.fused.whole:
            lines += self.counted_chains(body)
        elif self.fused.loops:
            lines.append(f"    for (long l = 0; l < n; l += {lanes}) {{")
            lines.append(f"        const long m = n - l < {lanes} ? n - l : {lanes};")
            lines += [f"        {line}" for line in body]
            lines.append("    }")
        elif self.fused.copies > 1:
            lines.append(f"    for (int v = 0; v < {self.fused.copies}; v++) {{")
            lines += [*(f"        {line}" for line in body), "    }"]
        else:
            lines += [f"    {line}" for line in body]
        lines += [f"    {line}" for line in self.added_up()]
        for stmt in extremes:
            lines += [f"    {line}" for line in self.joined(stmt)]
        if self.fused.recurrence:
            lines += [f"    {line}" for line in ended(self.law, self.c)]
        lines.append("}")
        function = snippets.guarded(self.name, "\n".join(lines))
        return "\n".join([*self.c.needed.values(), function])

    def added_up(self) -> Iterator[str]:
        """What the registers of each sum come to."""
        lanes = self.fused.lanes
        joined = {name: " + ".join(self.sum_registers(name)) for name in self.sums}
        if self.fused.together:
            yield from totals_of_rows(self.c, self.sums, joined)
            return
        for name, (kind, element) in self.sums.items():
            total = self.c.need(snippets.total(kind, lanes), kind)
            yield f"{element} += {total}({joined[name]});"

    def in_parts(self) -> str:
        """A function that has the instruction for one thread do each part of the iterations."""
        single = replace(self.fused, parts=1)
        one = Function(single, Values(single), name=fused_name(single))
        (extreme,) = reduced(self.fused)
        assert isinstance(extreme, q.Assign)
        text, uid = one.text(), extreme.buf.uid
        part = self.c.spread(("found[p].value", extreme.type, False))[0]
        start = self.c.spread((f"*x{uid}", extreme.type, False))[0]
        calls = parallel_parts(self.fused, uid, fused_name(single))
        lines = [f"static void {fused_name(self.fused)}(", f"    {', '.join(self.params())})", "{"]
        lines += [f"    {line}" for line in calls]
        total = extreme_register(self.c.shared(extreme.buf, extreme.idx), 0)
        lines.append(f"    {self.c.vec(extreme.type)} {total} = {start};")
        lines.append(f"    for (long p = 0; p < {self.fused.parts}; p++)")
        lines += [f"        {line}" for line in self.joins(extreme, [part])]
        lines += [f"    *x{uid} = {total}[0];", "}"]
        function = snippets.guarded(fused_name(self.fused), "\n".join(lines))
        return "\n".join([text, *self.c.needed.values(), function])

    def body(self) -> list[str]:
        if self.fused.recurrence:
            return list(self.recurring())
        lines = [line for stmt in self.fused.body for line in self.stmt(stmt)]
        return [*self.loaded_structures(), *lines, *self.stored_structures()]

    def loaded_structures(self) -> Iterator[str]:
        for uid, op in enumerate(self.fused.operands):
            if op.inner:
                yield f"{self.c.vec(op.type)} x{uid}_m[{structures.members(op)}];"
                if structures.loaded(self.fused, uid):
                    made = (structures.load, structures.partial_load)[self.c.masked]
                    yield self.moved_structures(uid, made)

    def stored_structures(self) -> Iterator[str]:
        for uid, op in enumerate(self.fused.operands):
            if op.inner and op.written:
                made = (structures.store, structures.partial_store)[self.c.masked]
                yield self.moved_structures(uid, made)

    def moved_structures(self, uid: int, made: Callable[..., snippets.Snippet]) -> str:
        """C that loads or stores the structures of an operand."""
        op, count = self.fused.operands[uid], f", {self.c.count}" * self.c.masked
        helper = self.c.need(made(op.type, self.fused.lanes, structures.members(op)), op.type)
        return f"{helper}({self.c.structures(uid)}, x{uid}_m{count});"

    def counted_chains(self, rest: Sequence[str]) -> Iterator[str]:
        """The loop of a counted instruction that reduces: whole registers in all chains, then in
        one, then what is left."""
        lanes, self.c.masked, length = self.fused.lanes, False, self.fused.length
        if length:
            yield f"    const long n = {length};"
        yield "    long l = 0;"
        if self.fused.aligned:
            yield from self.up_to_alignment(rest)
        rows = shared_rows(self.fused) if self.fused.shifted else []
        if rows:
            yield from self.shifted_chains(rows)
        most = 1 if rows else self.fused.chains
        for chains in sorted({most, 1}, reverse=True):
            if length and length < chains * lanes:
                continue
            yield f"    for (; n - l >= {chains * lanes}; l += {chains * lanes}) {{"
            for self.c.chain in range(chains):
                lines = [*self.asked_for(), *self.body()]
                yield from ("        {", *(f"            {x}" for x in lines), "        }")
            yield "    }"
        if length and length % lanes == 0:
            return
        yield "    {" if length else "    if (l < n) {"
        yield "        const long m = n - l;"
        yield from (f"        {line}" for line in rest)
        yield "    }"

    def asked_for(self) -> Iterator[str]:
        """What follows a row, as far away as what is being read is from the start of it."""
        first = {buf.uid: (buf, idx) for _, buf, idx in reversed(neighbours(self.fused))}
        for uid in self.fused.ahead:
            yield f"__builtin_prefetch({self.c.address(*first[uid])} + n);"

    def shifted_chains(self, rows: Sequence[Row]) -> Iterator[str]:
        """The loop over whole registers in all chains, as long as the next register of each row
        may be loaded, too."""
        lanes, chains = self.fused.lanes, self.fused.chains
        self.c.chain = 0
        enough = f"n - l >= {(chains + 1) * lanes}"
        yield f"    if ({enough}) {{"
        yield from (f"        {x}" for row in rows for x in before_the_loop(row, self.c))
        yield f"        for (; {enough}; l += {chains * lanes}) {{"
        yield from (f"            {x}" for row in rows for x in loaded(row, self.c, chains))
        for self.c.chain in range(chains):
            self.c.past = {
                read: text for row in rows for read, text in in_registers(row, self.c, self.c.chain)
            }
            yield from ("            {", *(f"                {x}" for x in self.body()))
            yield "            }"
        self.c.past = {}
        yield from (f"            {x}" for row in rows for x in handed_on(row, chains))
        yield from ("        }", "    }")

    def up_to_alignment(self, masked: Sequence[str]) -> Iterator[str]:
        """The iterations before those whose registers are aligned: of what is written, or of the
        first array that is read."""
        lanes, kind, address = self.fused.lanes, *self.aligned_address()
        size = ELEMENT_TYPES[kind].bits // 8
        yield f"    const long before = -(unsigned long)({address}) / {size} & {lanes - 1};"
        yield "    if (before) {"
        yield "        const long m = before < n ? before : n;"
        yield from (f"        {line}" for line in masked)
        yield "        l = m;"
        yield "    }"

    def aligned_address(self) -> tuple[str, str]:
        """The type of an array, and C of where it is accessed first."""
        kind, buf, idx = neighbours(self.fused)[0]
        return kind, self.c.address(buf, idx)

    def joined(self, stmt: q.Assign) -> Iterator[str]:
        """Join the chains of an extreme, then its lanes by halves: the statement itself says how,
        with a part of them in place of its term."""
        kind, lanes, name = stmt.type, self.fused.lanes, self.c.shared(stmt.buf, stmt.idx)
        turns = [lanes >> step for step in range(1, lanes.bit_length())]
        total, *parts = (extreme_register(name, chain) for chain in range(self.fused.chains))
        parts += [f"{self.c.need(snippets.turned(kind, lanes, n), kind)}({total})" for n in turns]
        yield from self.joins(stmt, parts)
        yield f"{self.c.element(stmt.buf, stmt.idx)} = {total}[0];"

    def joins(self, stmt: q.Assign, parts: Sequence[str]) -> Iterator[str]:
        """Join an extreme with that of each part, a register."""
        found, kind = reduction(stmt), stmt.type
        assert found is not None
        self.c.chain, total = 0, extreme_register(self.c.shared(stmt.buf, stmt.idx), 0)
        part = q.Var("part", _PART)
        value = with_part(stmt.rhs, found.term, q.Read(part, (), kind))
        again = self.c.convert(self.c.expr(value, promoted(kind)), kind)[0]
        for each in parts:
            yield f"{{ const {self.c.vec(kind)} x{_PART} = {each}; {total} = {again}; }}"

    def params(self) -> Iterator[str]:
        if self.fused.counted and not self.fused.length:
            yield "long n"
        for uid, op in enumerate(self.fused.operands):
            ctype = self.c.vec(op.type) if op.registers else ELEMENT_TYPES[op.type].c
            const = "" if op.written else "const "
            if op.places:
                yield from (f"{const}{ctype} *x{uid}_{place}" for place in range(op.places))
                continue
            yield f"{const}{ctype} {'' if by_value(op) else '*'}x{uid}"
            yield from (f"long x{uid}_s{dim}" for dim in strides(op))

    def stmt(self, stmt: q.Stmt) -> Iterator[str]:
        match stmt:
            case q.Alloc():
                yield f"{self.c.vec(stmt.type)} x{stmt.buf.uid};"
            case q.Assign() | q.Reduce():
                kind = arithmetic(stmt)
                assert kind is not None
                value = self.c.expr(stmt.rhs, kind)
                if self.fused.recurrence and self.c.fixed(stmt.buf):
                    register = extreme_register(self.c.shared(stmt.buf, stmt.idx), 0)
                    op = "+=" if isinstance(stmt, q.Reduce) else "="
                    yield f"{register} {op} {self.c.spread(value)[0]};"
                elif isinstance(stmt, q.Assign) and self.c.fixed(stmt.buf):
                    yield self.extreme(stmt, value)
                elif isinstance(stmt, q.Reduce) and self.c.fixed(stmt.buf):
                    yield self.accumulate(stmt, value)
                elif isinstance(stmt, q.Reduce):
                    total = computed(stmt.type)
                    element = q.Read(stmt.buf, stmt.idx, stmt.type)
                    before = self.c.convert(self.c.read(element), total)
                    term = self.c.convert(value, total)
                    yield self.write(stmt, (f"{before[0]} + {term[0]}", total, True))
                else:
                    yield self.write(stmt, value)
            case _:
                raise AssertionError(stmt)

    @property
    def law(self) -> Recurrence | States:
        found = law(self.fused.body, LANE)
        assert found is not None
        return found

    def recurring(self) -> Iterator[str]:
        """One register of a recurrence."""
        found = self.law
        if isinstance(found, States):
            yield from state_registers(found, self.c)
            for stmt in self.fused.body:
                yield from self.stmt(stmt)
            return
        if not found.carried:
            for stmt in self.fused.body[:-1]:
                yield from self.stmt(stmt)
            yield self.write(found.stmt, (results(found, self.c), found.stmt.type, True))
            return
        at = self.fused.body.index(found.stmt)
        parts = (self.fused.body[:at], self.fused.body[at + 1 :])
        early, late = ([line for stmt in part for line in self.stmt(stmt)] for part in parts)
        yield from carried_register(found, self.c, early)
        yield from late

    def accumulate(self, stmt: q.Reduce, value: Value) -> str:
        kind = promoted(stmt.type)
        name = self.c.shared(stmt.buf, stmt.idx)
        self.sums[name] = kind, self.c.element(stmt.buf, stmt.idx)
        text, _, _ = self.c.spread(self.c.convert(value, kind))
        if self.c.masked:
            first = self.c.need(snippets.first(kind, self.fused.lanes), kind)
            text = f"{first}({text}, {self.c.count})"
        return f"{self.sum_registers(name)[self.c.chain]} += {text};"

    def sum_registers(self, name: str) -> list[str]:
        """What a sum is kept in, by chain."""
        chains = self.fused.chains
        return [f"s{name}"] if chains == 1 else [f"s{name}_{chain}" for chain in range(chains)]

    def extreme(self, stmt: q.Assign, value: Value) -> str:
        """What a chain becomes; lanes beyond the last iteration stay as they are."""
        text = self.c.convert(value, stmt.type)[0]
        register = extreme_register(self.c.shared(stmt.buf, stmt.idx), self.c.chain)
        if self.c.masked:
            merge = self.c.need(snippets.masked_merge(stmt.type, self.fused.lanes), stmt.type)
            text = f"{merge}({text}, {register}, {self.c.count})"
        return f"{register} = {text};"

    def write(self, stmt: q.Assign | q.Reduce, value: Value) -> str:
        text, _, _ = self.c.spread(self.c.convert(value, stmt.type))
        uid = stmt.buf.uid
        if uid >= len(self.fused.operands):
            return f"x{uid} = {text};"
        if self.fused.operands[uid].inner:
            return f"{self.c.member(stmt.buf, stmt.idx)} = {text};"
        if self.fused.operands[uid].registers:
            register = self.c.register(stmt.buf)
            if self.c.masked and not self.fused.spare:
                merge = (
                    snippets.masked_merge if self.fused.whole or self.fused.once else snippets.merge
                )
                merged = self.c.need(merge(stmt.type, self.fused.lanes), stmt.type)
                text = f"{merged}({text}, {register}, {self.c.count})"
            if self.fused.in_order:  # loaded and stored once: else gcc unrolls fewer of them
                keep = self.c.need(snippets.in_order(stmt.type, self.fused.lanes), stmt.type)
                new = f"{self.c.vec(stmt.type)} sum = {text};"
                return f"{{ {new} {keep}(sum); {register} = sum; }}"
            return f"{register} = {text};"
        lanes, back = self.fused.lanes, self.fused.backwards
        if self.c.masked:
            partial = reverse.partial_store if back else snippets.partial_store
            store = self.c.need(partial(stmt.type, lanes), stmt.type)
            return f"{store}({self.c.address(stmt.buf, stmt.idx)}, {text}, {self.c.count});"
        if back:
            store = self.c.need(reverse.store(stmt.type, lanes), stmt.type)
            return f"{store}({self.c.address(stmt.buf, stmt.idx)}, {text});"
        return f"*({self.c.vec(stmt.type)}_u *)({self.c.address(stmt.buf, stmt.idx)}) = {text};"


_PART = 99
"""The local variable of what an extreme is joined with; operands and scalars have lower numbers."""


def with_part(expr: q.Expr, term: q.Expr, part: q.Read) -> q.Expr:
    """A minimum or maximum with another term."""
    if expr == term:
        return part
    if isinstance(expr, q.Extern):
        args = tuple(with_part(arg, term, part) for arg in expr.args)
        return q.Extern(expr.name, args, expr.type)
    return expr
