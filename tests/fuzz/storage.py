"""Random temporaries, scalars, windows, and calls that are given windows."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzz.indices import Buffer, Linear, Loop, Span, accesses, expressions, plus, reach
from fuzz.statements import Statements
from fuzz.writer import TYPES, TYPICAL, Lines, Scope, free_name, indent, nested

HELPERS = {
    "scale": """
@proc
def scale(length: size, dst: [{t}][length]):
    for a in seq(0, length):
        dst[a] = dst[a] + dst[a]
""",
    "add": """
@proc
def add(length: size, dst: [{t}][length], src: [{t}][length]):
    for a in seq(0, length):
        dst[a] += src[a]
""",
    "cross": """
@proc
def cross(dst: [{t}][2, 3], src: [{t}][3]):
    for a in seq(0, 2):
        for b in seq(0, 3):
            if a < b:
                dst[a, b] = src[b]
""",
}
"""Procedures to call."""


class Storage(Statements):
    def temporary(self, scope: Scope) -> Lines:
        """An array that is filled, and then used."""
        buffer = self.buffer(self.fresh(scope, "t"), self.kind(), self.pick(1, 2, 2))
        return self.filled(scope, buffer, self.block(scope.knowing(buffer)))

    def unused(self, scope: Scope) -> Lines:
        """A temporary that nothing uses, as rewrites leave some behind."""
        shape = self.pick("", "[4]", f"[{self.pick('8', *self.sizes)}, 2]")
        return [f"{self.fresh(scope, 'u')}: {self.type}{shape}", *self.item(scope)]

    def pipeline(self, scope: Scope) -> Lines:
        """A producer, and a consumer that reads some rows of it at a time."""
        buffer = self.buffer(self.fresh(scope, "t"), self.kind(), self.pick(2, 1, 2))
        lines, inner = Lines(), scope
        for _ in buffer.shape:
            header, inner = self.header(inner)
            lines.append(header)
        moving = inner.loops[len(scope.loops) :]
        ahead = self.number(0, len(moving) - 1)
        reads = []
        for by in range(self.number(1, 3)):
            index = [
                reach(
                    buffer,
                    dim,
                    plus(loop.name, by * (dim == ahead)),
                    loop.span.plus(by * (dim == ahead)),
                )
                for dim, loop in enumerate(moving)
            ]
            reads.append(f"{buffer.name}[{', '.join(index)}]")
        arrays = [b for b in scope.buffers if not b.fixed]
        targets = [b for b in arrays if len(b.shape) == len(moving)]
        target = self.draw(st.sampled_from(targets or [buffer]))
        index = [reach(target, dim, loop.name, loop.span) for dim, loop in enumerate(moving)]
        lines.append(
            f"{target.name}[{', '.join(index)}] {self.pick('=', '+=')} {' + '.join(reads)}"
        )
        users = nested(lines)
        if self.chance(3):
            users += self.item(scope.knowing(buffer))
        return self.filled(scope, buffer, users)

    def filled(self, scope: Scope, buffer: Buffer, users: Lines) -> Lines:
        """Allocation, a nest that assigns every element, and then what uses them."""
        shape = list(buffer.shape)
        on_stack = all(not (s.n or s.m) for s in shape) and self.chance(4)
        lines, inner = Lines(), scope
        for length in shape:
            last = length + Linear(-1)
            loop = Loop(free_name(inner), Span(Linear(), last))
            lines.append(f"for {loop.name} in seq(0, {length}):")
            inner = inner.inside(loop, length.at(TYPICAL))
        index = ", ".join(loop.name for loop in inner.loops[len(scope.loops) :])
        value = self.value_of(inner, self.source_type(inner, buffer.type))
        lines.append(f"{buffer.name}[{index}] = {value}")
        memory = " @ DRAM_STACK" if on_stack else ""
        return [f"{buffer.name}: {buffer.type}{buffer.tag}{memory}", *nested(lines), *users]

    def accumulator(self, scope: Scope) -> Lines:
        """A scalar that is set, used in a block, and stored."""
        buffer = self.buffer(self.fresh(scope, "s"), self.kind(), 0)
        known = scope.knowing(buffer)
        lines = [f"{buffer.name}: {buffer.type}"]
        start, term = (self.source_type(scope, buffer.type) for _ in range(2))
        lines.append(f"{buffer.name} = {self.value_of(scope, start)}")
        header, inner = self.header(known)
        lines += [header, *indent([f"{buffer.name} += {self.value_of(inner, term)}"])]
        targets = list(scope.buffers)
        if targets and not self.chance(3):
            place = self.draw(accesses(self.draw(st.sampled_from(targets)), scope.loops))
            return [*lines, f"{place} {self.pick('=', '+=')} {buffer.name}"]
        return [*lines, *self.block(known)]

    def value(self, scope: Scope) -> Lines:
        """A scalar that is set once, and used in what follows."""
        buffer = self.buffer(self.fresh(scope, "v"), self.kind(), 0)
        value = self.value_of(scope, self.source_type(scope, buffer.type))
        first = f"{buffer.name} = {value}"
        users: Lines = []
        for target in [b for b in scope.buffers if b.shape][:2]:
            place = self.draw(accesses(target, scope.loops))
            factor = f" * {place}" if target.type == buffer.type else ""
            users.append(f"{place} {self.pick('=', '+=')} {buffer.name}{factor}")
        return [f"{buffer.name}: {buffer.type}", first, *users, *self.block(scope.knowing(buffer))]

    def through(self, scope: Scope) -> Lines:
        """A value that is stored in a scalar of another type on its way."""
        buffer = self.buffer(self.fresh(scope, "v"), str(self.pick(*TYPES)), 0)
        target = self.pick(*scope.buffers)
        place = self.draw(accesses(target, scope.loops))
        value = self.value_of(scope, self.source_type(scope, buffer.type))
        user = self.pick(buffer.name, f"{buffer.name} * 2.0", f"{buffer.name} + {buffer.name}")
        return [
            f"{buffer.name}: {buffer.type}",
            f"{buffer.name} = {value}",
            f"{place} {self.pick('=', '+=')} {user}",
        ]

    def window(self, scope: Scope) -> Lines:
        """A named window of an array, used in a nest of its own."""
        arrays = [b for b in scope.buffers if b.shape and not b.fixed]
        if not arrays:
            return self.loop(scope)
        source = self.draw(st.sampled_from(arrays))
        access, lengths = self.windowed(scope, source)
        view = Buffer(self.fresh(scope, "w"), source.type, lengths, fixed=True)
        lines = [f"{view.name} = {access}"]
        known = scope.knowing(view)
        inner, nest = known, Lines()
        for length in lengths:
            name = free_name(inner)
            nest.append(f"for {name} in seq(0, {length}):")
            inner = inner.inside(Loop(name, Span(Linear(), length + Linear(-1))), length.const)
        nest += self.statement(inner)
        return [*lines, *nested(nest), *(self.item(known) if self.chance(2) else [])]

    def windowed(
        self, scope: Scope, source: Buffer, lengths: tuple[int, ...] = ()
    ) -> tuple[str, list[Linear]]:
        """A window expression with one or two dimensions, and its lengths."""
        rank = len(source.shape)
        kept = len(lengths) or min(rank, self.pick(1, 2))
        wanted = list(lengths) or [self.pick(1, 2, 3, 4, 6) for _ in range(kept)]
        open_dims = sorted(self.draw(st.permutations(range(rank)))[:kept])
        parts, found = [], []
        for dim in range(rank):
            text, span = self.draw(expressions(scope.loops))
            if dim not in open_dims:
                parts.append(reach(source, dim, text, span))
                continue
            length = wanted[len(found)]
            text = reach(source, dim, text, span)
            least = min(span.lo.const, 0) or min(span.lo.n, span.lo.m, 0)
            moved = Span(span.lo.scaled(0), span.hi + span.lo.scaled(-1)) if least else span
            source.reach(dim, moved.hi + Linear(length - 1))
            parts.append(f"{text} : {text} + {length}")
            found.append(Linear(length))
        return f"{source.name}[{', '.join(parts)}]", found

    def call(self, scope: Scope) -> Lines:
        """A call of a helper on windows of different arrays."""
        arrays = [b for b in scope.buffers if b.shape and not b.fixed and b.type == self.type]
        flat = [b for b in arrays if len(b.shape) > 1]
        if not arrays:
            return self.loop(scope)
        dst = self.draw(st.sampled_from(arrays))
        others = [b for b in arrays if b is not dst]
        length = self.pick(1, 2, 3, 4, 8)
        if not others or self.chance(4):
            self.called.add("scale")
            return [f"scale({length}, {self.windowed(scope, dst, (length,))[0]})"]
        src = self.draw(st.sampled_from(others))
        if dst in flat and self.chance(3):
            parts = self.windowed(scope, dst, (2, 3))[0], self.windowed(scope, src, (3,))[0]
            self.called.add("cross")
            return [f"cross({', '.join(parts)})"]
        self.called.add("add")
        windows = [self.windowed(scope, b, (length,))[0] for b in (dst, src)]
        return [f"add({length}, {', '.join(windows)})"]
