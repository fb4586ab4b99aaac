"""What writing random procedures needs everywhere: choices, loops, scopes, names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fuzz.indices import Buffer, Linear, Loop, Span, plus

ITERATIONS = 700
"""Of one nest, with sizes taken as `TYPICAL`."""

TYPICAL = 9

VALUES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
"""Of sizes, and lengths of loops."""

TYPES = ("i32", "i8", "f32", "f64", "f16", "ui8", "ui16")
"""Of arrays among others: what is stored in them is converted, mostly with loss."""

NAMES = ("i", "j", "k", "l", "o", "p", "q", "r", "u", "v")

STATEMENTS = 12
"""That loops, branches and temporaries are made for; then they end."""

Lines = list[str]


@dataclass
class Scope:
    """Loops around, buffers that may be read or written, and iterations that are left."""

    loops: tuple[Loop, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    left: float = ITERATIONS
    depth: int = 0

    def inside(self, loop: Loop, turns: float) -> Scope:
        return Scope((*self.loops, loop), self.buffers, self.left / max(turns, 1), self.depth + 1)

    def knowing(self, *buffers: Buffer) -> Scope:
        return Scope(self.loops, (*self.buffers, *buffers), self.left, self.depth)


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines or ["pass"]]


def free_name(scope: Scope) -> str:
    """Of a loop inside."""
    used = {loop.name for loop in scope.loops}
    return next(name for name in NAMES if name not in used)


def nested(lines: Lines) -> Lines:
    """Every line inside the one before it."""
    return [f"{'    ' * depth}{line}" for depth, line in enumerate(lines)]


@dataclass
class Writer:
    """Draws what it writes; `item` calls one of the methods that subclasses define."""

    draw: st.DrawFn
    type: str = "f32"
    configured: bool = False
    buffers: list[Buffer] = field(default_factory=list)
    sizes: tuple[str, ...] = ()
    called: set[str] = field(default_factory=set)
    left: int = STATEMENTS

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def chance(self, one_in: int) -> bool:
        """Shrinks to no."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def kind(self) -> str:
        """Of elements: mostly that of the procedure."""
        return str(self.pick(*TYPES)) if self.chance(4) else self.type

    def buffer(self, name: str, kind: str, rank: int) -> Buffer:
        buffer = Buffer(name, kind, [Linear(1)] * rank, tag=f"<{len(self.buffers)}>")
        self.buffers.append(buffer)
        return buffer

    def fresh(self, scope: Scope, stem: str) -> str:
        taken = {buffer.name for buffer in scope.buffers}
        return next(f"{stem}{n}" for n in range(99) if f"{stem}{n}" not in taken)

    def block(self, scope: Scope) -> Lines:
        return [line for _ in range(self.pick(1, 1, 1, 2, 3)) for line in self.item(scope)]

    def item(self, scope: Scope) -> Lines:
        """A statement, or several that belong together: the kind is the name of a method."""
        self.left -= 1
        if self.left < 0:
            return self.statement(scope)
        kinds = ["statement", "twice", "through"] if scope.depth else []
        if scope.depth < 4 and scope.left >= 2:
            kinds += ["loop"] * (5 - scope.depth) + ["temporary", "accumulator", "pipeline"]
            kinds += ["value"] * (1 + bool(scope.depth))
            kinds += ["contraction"] * 2 if scope.left > 60 else []
        kinds += ["branch", "call", "window", "instructed"] if scope.depth < 3 else []
        kinds += ["unused", "nothing"] if scope.depth else []
        return getattr(self, self.pick(*kinds))(scope)

    def deeper(self, scope: Scope) -> Scope:
        return Scope(scope.loops, scope.buffers, scope.left, scope.depth + 1)

    def header(self, scope: Scope) -> tuple[str, Scope]:
        """A loop, and the scope in it."""
        name = free_name(scope)
        lo, hi, span = self.bounds(scope)
        turns = span.hi.at(TYPICAL) - span.lo.at(TYPICAL) + 1
        if turns > scope.left:
            lo, hi, span, turns = "0", "2", Span(Linear(0), Linear(1)), 2
        return f"for {name} in seq({lo}, {hi}):", scope.inside(Loop(name, span), turns)

    def bounds(self, scope: Scope) -> tuple[str, str, Span]:
        kinds = ["constant"] * 4 + ["symbolic"] * 5 * bool(self.sizes)
        kinds += ["below", "above"] * bool(scope.loops)
        kind = self.pick(*kinds)
        start = self.pick(0, 0, 0, 0, 1, 2)
        if kind == "symbolic":
            size = self.pick(*self.sizes)
            more = self.pick(0, 0, 0, 1, start, -1)
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
        length = self.pick(*VALUES)
        return str(start), str(start + length), Span(Linear(start), Linear(start + length - 1))
