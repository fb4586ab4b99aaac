"""Random procedures as source text: nests of loops, branches, windows, calls, temporaries.

What is drawn is kept small (some hundred iterations), and numbers small and whole, so that
arithmetic is exact in any order. Not everything that is drawn passes Exo's front end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from fuzz.indices import SIZES, Buffer, Linear, Loop, Span, accesses, expressions, plus, reach

ITERATIONS = 700
"""Of one nest, with sizes taken as `TYPICAL`."""

TYPICAL = 9

VALUES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
"""Of sizes, and lengths of loops."""

NAMES = ("i", "j", "k", "l", "o", "p", "q", "r", "u", "v")


@dataclass(frozen=True)
class Generated:
    """The text of a module with the procedure `fuzzed`, and sizes to call it with."""

    text: str
    sizes: tuple[Mapping[str, int], ...]


STATEMENTS = 12
"""That loops, branches and temporaries are made for; then they end."""

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


@st.composite
def procedures(draw: st.DrawFn) -> Generated:
    return _Writer(draw).module()


@dataclass
class _Scope:
    """Loops around, buffers that may be read or written, and iterations that are left."""

    loops: tuple[Loop, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    left: float = ITERATIONS
    depth: int = 0

    def inside(self, loop: Loop, turns: float) -> _Scope:
        return _Scope((*self.loops, loop), self.buffers, self.left / max(turns, 1), self.depth + 1)

    def knowing(self, *buffers: Buffer) -> _Scope:
        return _Scope(self.loops, (*self.buffers, *buffers), self.left, self.depth)


Lines = list[str]


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines or ["pass"]]


def free_name(scope: _Scope) -> str:
    """Of a loop inside."""
    used = {loop.name for loop in scope.loops}
    return next(name for name in NAMES if name not in used)


@dataclass
class _Writer:
    draw: st.DrawFn
    buffers: list[Buffer] = field(default_factory=list)
    sizes: tuple[str, ...] = ()
    called: set[str] = field(default_factory=set)
    left: int = STATEMENTS

    def pick(self, *choices: object) -> object:
        return self.draw(st.sampled_from(choices))

    def chance(self, one_in: int) -> bool:
        """Shrinks to no."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    # -- the module ------------------------------------------------------------------

    def module(self) -> Generated:
        self.sizes = SIZES[: self.pick(0, 0, 0, 1, 1, 2)]
        self.type = str(self.pick("f32", "f32", "f32", "f64", "i32", "i8"))
        self.configured = self.chance(12)
        args = self.arguments()
        scope = _Scope(buffers=tuple(args))
        body: Lines = ["Mode.limit = 3"] if self.configured else []
        first = str(self.pick("item", "item", "contraction", "pipeline", "item", "contraction"))
        body += getattr(self, first)(scope)
        for _ in range(self.pick(0, 0, 1, 2)):
            body += self.item(scope)
        head = ", ".join(
            [f"{size}: size" for size in self.sizes] + [f"{b.name}: {b.type}{b.tag}" for b in args]
        )
        asserts = [self.sized(size) for size in self.sizes]
        text = "\n".join(
            [
                "from __future__ import annotations",
                "from exo import proc, config, DRAM",
                "from exo.libs.memories import DRAM_STACK",
                "from exo.libs.externs import relu, select",
                *(["@config", "class Mode:", "    limit: size"] if self.configured else []),
                *(HELPERS[name].format(t=self.type) for name in sorted(self.called)),
                "@proc",
                f"def fuzzed({head}):",
                *indent([*(f"assert {text}" for text, _ in asserts if text), *body]),
            ]
        )
        for buffer in self.buffers:
            if not buffer.fixed:
                shape = ", ".join(map(str, buffer.shape))
                text = text.replace(buffer.tag, f"[{shape}]" if shape else "")
        return Generated(text + "\n", self.calls([fits for _, fits in asserts]))

    def sized(self, size: str) -> tuple[str, tuple[int, ...]]:
        """An assert about a size, and the sizes that hold it."""
        by = self.number(2, 4)
        conditions = {
            "": VALUES,
            f"{size} % {by} == 0": tuple(by * v for v in VALUES[:5]),
            f"{size} > {by}": tuple(v for v in VALUES if v > by),
            f"{size} <= {by + 4}": tuple(v for v in VALUES if v <= by + 4),
        }
        chosen = str(self.pick("", *conditions))
        return chosen, conditions[chosen]

    def calls(self, values: list[tuple[int, ...]]) -> tuple[Mapping[str, int], ...]:
        """The least sizes, and two others."""
        if not values:
            return ({},)
        found = [dict(zip(self.sizes, (v[0] for v in values), strict=True))]
        for _ in range(2):
            chosen = [self.pick(*v) for v in values]
            found.append(dict(zip(self.sizes, chosen, strict=True)))
        return tuple({tuple(each.items()): each for each in found}.values())

    def arguments(self) -> list[Buffer]:
        ranks = self.pick(None, None, (2, 2, 2), (1, 2, 1), (1, 1), (3, 2, 2))
        if ranks is None:
            return [self.argument(letter) for letter in "xyz"[: self.number(1, 3)]]
        wide = {"i8": "i32", "f32": "f64"}.get(self.type, self.type)
        target = wide if self.chance(6) else self.type
        kinds = (target, self.type, self.type)
        return [self.buffer(n, k, r) for n, k, r in zip("xyz", kinds, ranks, strict=False)]

    def argument(self, name: str) -> Buffer:
        kind = self.type
        if self.chance(8):
            kind = {"i8": "i32", "f32": "f64", "i32": "i8", "f64": "f32"}[kind]
        return self.buffer(name, kind, int(self.pick(2, 1, 2, 1, 2, 2, 3, 3, 1, 0)))

    def buffer(self, name: str, kind: str, rank: int) -> Buffer:
        buffer = Buffer(name, kind, [Linear(1)] * rank, tag=f"<{len(self.buffers)}>")
        self.buffers.append(buffer)
        return buffer

    def fresh(self, scope: _Scope, stem: str) -> str:
        taken = {buffer.name for buffer in scope.buffers}
        return next(f"{stem}{n}" for n in range(99) if f"{stem}{n}" not in taken)

    # -- statements ------------------------------------------------------------------

    def block(self, scope: _Scope) -> Lines:
        return [line for _ in range(self.pick(1, 1, 1, 2, 3)) for line in self.item(scope)]

    def item(self, scope: _Scope) -> Lines:
        self.left -= 1
        if self.left < 0:
            return self.statement(scope)
        kinds = ["statement"] if scope.depth else []
        if scope.depth < 4 and scope.left >= 2:
            kinds += ["loop"] * (5 - scope.depth) + ["temporary", "accumulator", "pipeline"]
            kinds += ["value"] * (1 + bool(scope.depth))
            kinds += ["contraction"] * 2 if scope.left > 60 else []
        kinds += ["branch", "call", "window"] if scope.depth < 3 else []
        return getattr(self, str(self.pick(*kinds)))(scope)

    def loop(self, scope: _Scope) -> Lines:
        header, inner = self.header(scope)
        return [header, *indent(self.block(inner))]

    def header(self, scope: _Scope) -> tuple[str, _Scope]:
        """A loop, and the scope in it."""
        name = free_name(scope)
        lo, hi, span = self.bounds(scope)
        turns = span.hi.at(TYPICAL) - span.lo.at(TYPICAL) + 1
        if turns > scope.left:
            lo, hi, span, turns = "0", "2", Span(Linear(0), Linear(1)), 2
        return f"for {name} in seq({lo}, {hi}):", scope.inside(Loop(name, span), turns)

    def bounds(self, scope: _Scope) -> tuple[str, str, Span]:
        kinds = ["constant"] * 4 + ["symbolic"] * 5 * bool(self.sizes)
        kinds += ["below", "above"] * bool(scope.loops)
        kind = self.pick(*kinds)
        start = int(self.pick(0, 0, 0, 0, 1, 2))
        if kind == "symbolic":
            size = str(self.pick(*self.sizes))
            more = int(self.pick(0, 0, 0, 1, start, -1))
            last = Linear(more - 1, int(size == "n"), int(size == "m"))
            return str(start), plus(size, more), Span(Linear(start), last)
        if kind == "below":
            outer = scope.loops[self.number(0, len(scope.loops) - 1)]
            more = self.number(0, 2)
            last = outer.span.hi + Linear(more - 1)
            return "0", plus(outer.name, more), Span(Linear(), last)
        if kind == "above":
            outer = scope.loops[self.number(0, len(scope.loops) - 1)]
            more = self.number(0, 1)
            last = outer.span.hi + Linear(more)
            return plus(outer.name, more), str(last + Linear(1)), Span(outer.span.lo, last)
        length = int(self.pick(*VALUES))
        return str(start), str(start + length), Span(Linear(start), Linear(start + length - 1))

    def statement(self, scope: _Scope) -> Lines:
        target = self.pick(*scope.buffers)
        assert isinstance(target, Buffer)
        place = self.draw(accesses(target, scope.loops))
        value = self.value_of(scope, self.source_type(scope, target.type))
        form = self.pick("{} += {}", "{} = {}", "{} += {}", "{} = {}", "{0} = {0} + {1}")
        return [str(form).format(place, value)]

    def source_type(self, scope: _Scope, wanted: str) -> str:
        """Mostly the target's own; else one that can be converted without loss or wrapping."""
        others = {b.type for b in scope.buffers} & _CONVERTED[wanted]
        return str(self.pick(wanted, *sorted(others)))

    def value_of(self, scope: _Scope, kind: str) -> str:
        """A sum or product of reads and constants of one type."""
        reads = [b for b in scope.buffers if b.type == kind]
        floats = kind in ("f32", "f64")
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
                return " ".join([read(), str(self.pick("+", "-")), read(), *self.third(read)])
        forms = [f"-{read()}", f"{read()} - ({read()} - {read()})", f"{read()} + 2.0", "3.0"]
        if floats:
            forms += [f"relu({read()})", f"select({read()}, {read()}, {read()}, 1.0)"]
            forms += [f"{read()} * 0.5"]
        return str(self.pick(*forms))

    def third(self, read: object) -> Lines:
        assert callable(read)
        return ["+", read()] if self.chance(3) else []

    def contraction(self, scope: _Scope) -> Lines:
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
        if operands[0].type not in {target.type} | _CONVERTED[target.type]:
            target = operands[0]

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
        lines.append(f"{places[0]} += {' * '.join(places[1:])}")
        return _nested(lines)

    def branch(self, scope: _Scope) -> Lines:
        condition = self.condition(scope)
        lines = [f"if {condition}:", *indent(self.block(self.deeper(scope)))]
        if self.chance(3):
            lines += ["else:", *indent(self.block(self.deeper(scope)))]
        return lines

    def deeper(self, scope: _Scope) -> _Scope:
        return _Scope(scope.loops, scope.buffers, scope.left, scope.depth + 1)

    def condition(self, scope: _Scope) -> str:
        sides = [loop.name for loop in scope.loops] + list(self.sizes)
        if self.configured and self.chance(2):
            return f"Mode.limit > {self.number(1, 4)}"
        if not sides:
            return "0 < 1"
        left = str(self.pick(*sides))
        right = str(self.pick(str(self.number(0, 6)), *sides, *(f"{s} - 1" for s in self.sizes)))
        simple = [f"{left} < {right}", f"{left} == {right}", f"{left} >= {right}"]
        simple += [f"{left} % {self.number(2, 4)} == {self.number(0, 1)}"]
        first = str(self.pick(*simple))
        if self.chance(6):
            return f"{first} {self.pick('and', 'or')} {self.pick(*sides)} > {self.number(0, 2)}"
        return first

    # -- buffers ---------------------------------------------------------------------

    def temporary(self, scope: _Scope) -> Lines:
        """An array that is filled, and then used."""
        buffer = self.buffer(self.fresh(scope, "t"), self.type, int(self.pick(1, 2, 2)))
        return self.filled(scope, buffer, self.block(scope.knowing(buffer)))

    def pipeline(self, scope: _Scope) -> Lines:
        """A producer, and a consumer that reads some rows of it at a time."""
        buffer = self.buffer(self.fresh(scope, "t"), self.type, int(self.pick(2, 1, 2)))
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
        arrays = [b for b in scope.buffers if b.type == self.type and not b.fixed]
        targets = [b for b in arrays if len(b.shape) == len(moving)]
        target = self.draw(st.sampled_from(targets or [buffer]))
        index = [reach(target, dim, loop.name, loop.span) for dim, loop in enumerate(moving)]
        lines.append(
            f"{target.name}[{', '.join(index)}] {self.pick('=', '+=')} {' + '.join(reads)}"
        )
        users = _nested(lines)
        if self.chance(3):
            users += self.item(scope.knowing(buffer))
        return self.filled(scope, buffer, users)

    def filled(self, scope: _Scope, buffer: Buffer, users: Lines) -> Lines:
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
        lines.append(f"{buffer.name}[{index}] = {self.value_of(inner, self.type)}")
        memory = " @ DRAM_STACK" if on_stack else ""
        return [f"{buffer.name}: {self.type}{buffer.tag}{memory}", *_nested(lines), *users]

    def value(self, scope: _Scope) -> Lines:
        """A scalar that is set once, and used in what follows."""
        buffer = self.buffer(self.fresh(scope, "v"), self.type, 0)
        first = f"{buffer.name} = {self.value_of(scope, self.type)}"
        users: Lines = []
        for target in [b for b in scope.buffers if b.type == self.type and b.shape][:2]:
            place = self.draw(accesses(target, scope.loops))
            users.append(f"{place} {self.pick('=', '+=')} {buffer.name} * {place}")
        return [f"{buffer.name}: {self.type}", first, *users, *self.block(scope.knowing(buffer))]

    def accumulator(self, scope: _Scope) -> Lines:
        """A scalar that is set, used in a block, and stored."""
        buffer = self.buffer(self.fresh(scope, "s"), self.type, 0)
        known = scope.knowing(buffer)
        lines = [f"{buffer.name}: {self.type}"]
        lines.append(f"{buffer.name} = {self.value_of(scope, self.type)}")
        header, inner = self.header(known)
        lines += [header, *indent([f"{buffer.name} += {self.value_of(inner, self.type)}"])]
        targets = [b for b in scope.buffers if b.type == self.type]
        if targets and not self.chance(3):
            place = self.draw(accesses(self.draw(st.sampled_from(targets)), scope.loops))
            return [*lines, f"{place} {self.pick('=', '+=')} {buffer.name}"]
        return [*lines, *self.block(known)]

    def window(self, scope: _Scope) -> Lines:
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
        return [*lines, *_nested(nest), *(self.item(known) if self.chance(2) else [])]

    def windowed(
        self, scope: _Scope, source: Buffer, lengths: tuple[int, ...] = ()
    ) -> tuple[str, list[Linear]]:
        """A window expression with one or two dimensions, and its lengths."""
        rank = len(source.shape)
        kept = len(lengths) or min(rank, int(self.pick(1, 2)))
        wanted = list(lengths) or [int(self.pick(1, 2, 3, 4, 6)) for _ in range(kept)]
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

    def call(self, scope: _Scope) -> Lines:
        """A call of a helper on windows of different arrays."""
        arrays = [b for b in scope.buffers if b.shape and not b.fixed and b.type == self.type]
        flat = [b for b in arrays if len(b.shape) > 1]
        if not arrays:
            return self.loop(scope)
        dst = self.draw(st.sampled_from(arrays))
        others = [b for b in arrays if b is not dst]
        length = int(self.pick(1, 2, 3, 4, 8))
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


_CONVERTED = {"f32": {"i32", "i8"}, "f64": {"f32", "i32", "i8"}, "i32": {"i8"}, "i8": set[str]()}


def _nested(lines: Lines) -> Lines:
    """Every line inside the one before it."""
    return [f"{'    ' * depth}{line}" for depth, line in enumerate(lines)]
