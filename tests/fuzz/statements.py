"""Random statements: assignments, nests, branches."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from fuzz.indices import Buffer, Linear, Loop, Span, accesses, expressions, reach
from fuzz.writer import Lines, Scope, Writer, free_name, indent, nested


class Statements(Writer):
    def loop(self, scope: Scope) -> Lines:
        header, inner = self.header(scope)
        return [header, *indent(self.block(inner))]

    def statement(self, scope: Scope) -> Lines:
        target = self.pick(*scope.buffers)
        place = self.draw(accesses(target, scope.loops))
        value = self.value_of(scope, self.source_type(scope, target.type))
        form = self.pick("{} += {}", "{} = {}", "{} += {}", "{} = {}", "{0} = {0} + {1}")
        return [str(form).format(place, value)]

    def twice(self, scope: Scope) -> Lines:
        """Two writes to one place."""
        target = self.pick(*scope.buffers)
        place = self.draw(accesses(target, scope.loops))
        kinds = [self.source_type(scope, target.type) for _ in range(2)]
        first, second = (self.value_of(scope, kind) for kind in kinds)
        return [f"{place} {self.pick('=', '+=')} {first}", f"{place} += {second}"]

    def nothing(self, scope: Scope) -> Lines:
        return ["pass", *self.item(scope)]

    def source_type(self, scope: Scope, wanted: str) -> str:
        """Mostly the target's own; else one that is converted, with or without loss."""
        others = {b.type for b in scope.buffers} - {wanted}
        return self.pick(wanted, *sorted(others))

    def value_of(self, scope: Scope, kind: str) -> str:
        """A sum or product of reads and constants of one type."""
        reads = [b for b in scope.buffers if b.type == kind]
        floats = kind.startswith("f")
        if not reads:
            return "1.0"

        def read() -> str:
            return self.draw(accesses(self.draw(st.sampled_from(reads)), scope.loops))

        match self.pick("read", "read", "product", "product", "sum", "sum", "other"):
            case "read":
                return read()
            case "product":
                first = self.draw(st.sampled_from(reads))
                second = self.draw(st.sampled_from([b for b in reads if b is not first] or reads))
                factors = [self.draw(accesses(b, scope.loops)) for b in (first, second)]
                return " * ".join(factors)
            case "sum":
                return " ".join([read(), self.pick("+", "-"), read(), *self.third(read)])
        forms = [f"-{read()}", f"{read()} - ({read()} - {read()})", f"{read()} + 2.0", "3.0"]
        forms += ["2.75", f"{read()} + 0.75", f"{read()} * (3.0 / 2.0)", f"{read()} / 3.0"]
        if floats:
            forms += [f"relu({read()})", f"select({read()}, {read()}, {read()}, 1.0)"]
            forms += [f"{read()} * 0.5"]
        else:
            forms += [f"ashr({read()}, 2)", f"sdiv({read()} - 7.0, 3)"]
            forms += [f"bit_and({read()}, {read()})", f"bit_xor({read()}, 5)"]
        return self.pick(*forms)

    def third(self, read: Callable[[], str]) -> Lines:
        return ["+", read()] if self.chance(3) else []

    def contraction(self, scope: Scope) -> Lines:
        """A reduction of products over two or three loops; operands move with some of them."""
        lines: Lines = []
        inner = scope
        for _ in range(self.pick(3, 3, 2)):
            header, inner = self.header(inner)
            lines.append(header)
        moving = inner.loops[len(scope.loops) :]
        arrays = [b for b in scope.buffers if b.shape] or list(scope.buffers)
        target, *operands = (arrays * 3)[:3]
        if self.chance(3):
            target, *operands = (self.draw(st.sampled_from(arrays)) for _ in range(3))
        if operands[1].type != operands[0].type:
            operands[1] = operands[0]

        def moved(buffer: Buffer, along: tuple[Loop, ...]) -> str:
            index = []
            for dim in range(len(buffer.shape)):
                loop = along[dim % len(along)]
                if buffer.fixed:
                    index.append("0")
                else:
                    index.append(reach(buffer, dim, loop.name, loop.span))
            return f"{buffer.name}[{', '.join(index)}]" if index else buffer.name

        one, last = (moving[0],), (moving[-1],)
        orders = [moving[:-1], one + last, last + moving[1:-1]]
        if self.chance(2):
            usual = [moving, moving[::-1], moving[1:], one + last, last + one]
            orders = [self.draw(st.sampled_from(usual)) for _ in range(3)]
        places = [moved(b, order) for b, order in zip((target, *operands), orders, strict=True)]
        lines.append(self.reduced(target, operands, places))
        return nested(lines)

    def reduced(self, target: Buffer, operands: list[Buffer], places: Lines) -> str:
        """The statement of a contraction."""
        return f"{places[0]} += {' * '.join(places[1:])}"

    def instructed(self, scope: Scope) -> Lines:
        """A nest as instructions carry out: arrays multiplied element by element, or a dot
        product, of a length that instructions have or a multiple of it."""
        arrays = [b for b in scope.buffers if b.shape and not b.fixed]
        wide = {"i8": "i32"}.get(self.type, self.type)
        factors = [b for b in arrays if b.type == self.type]
        if len(factors) < 2:
            return self.loop(scope)
        length = self.pick(4, 8, 16, 64)
        loop = Loop(free_name(scope), Span(Linear(), Linear(length - 1)))

        def along(buffer: Buffer) -> str:
            outer = [self.draw(expressions(scope.loops)) for _ in buffer.shape[1:]]
            index = [reach(buffer, dim, *each) for dim, each in enumerate(outer)]
            index.append(reach(buffer, len(outer), loop.name, loop.span))
            return f"{buffer.name}[{', '.join(index)}]"

        one, other = self.draw(st.permutations(factors))[:2]
        sums = [b for b in arrays if b.type == wide and b is not one and b is not other]
        if sums and self.chance(2):
            total = self.draw(accesses(self.draw(st.sampled_from(sums)), scope.loops))
            line = f"{total} += {along(one)} * {along(other)}"
        else:
            place = along(one)
            line = f"{place} = {place} * {along(other)}"
        return [f"for {loop.name} in seq(0, {length}):", *indent([line])]

    def branch(self, scope: Scope) -> Lines:
        condition = self.condition(scope)
        lines = [f"if {condition}:", *indent(self.block(self.deeper(scope)))]
        if self.chance(3):
            lines += ["else:", *indent(self.block(self.deeper(scope)))]
        return lines

    def condition(self, scope: Scope) -> str:
        sides = [loop.name for loop in scope.loops] + list(self.sizes)
        if self.configured and self.chance(2):
            return f"Mode.limit > {self.number(1, 4)}"
        if not sides:
            return "0 < 1"
        left = self.pick(*sides)
        right = str(self.pick(str(self.number(0, 6)), *sides, *(f"{s} - 1" for s in self.sizes)))
        simple = [f"{left} < {right}", f"{left} == {right}", f"{left} >= {right}"]
        simple += [f"{left} % {self.number(2, 4)} == {self.number(0, 1)}"]
        first = self.pick(*simple)
        if self.chance(6):
            return f"{first} {self.pick('and', 'or')} {self.pick(*sides)} > {self.number(0, 2)}"
        return first
