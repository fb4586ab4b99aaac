"""Random index expressions, with the values they can take.

Arrays get their lengths from the accesses to them, so that every access is within
bounds whatever was drawn: an expression carries its least and greatest value.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

SIZES = ("n", "m")


@dataclass(frozen=True)
class Linear:
    """`const + n * n + m * m` of the procedure's sizes, which are at least 1."""

    const: int = 0
    n: int = 0
    m: int = 0

    def __add__(self, other: Linear) -> Linear:
        return Linear(self.const + other.const, self.n + other.n, self.m + other.m)

    def scaled(self, by: int) -> Linear:
        return Linear(self.const * by, self.n * by, self.m * by)

    def most(self, other: Linear) -> Linear:
        """At least as large as both, for all sizes."""
        return Linear(max(self.const, other.const), max(self.n, other.n), max(self.m, other.m))

    def at(self, size: int) -> int:
        return self.const + (self.n + self.m) * size

    def __str__(self) -> str:
        terms = [f"{c} * {s}" if c != 1 else s for s, c in (("n", self.n), ("m", self.m)) if c]
        if self.const or not terms:
            terms.append(str(self.const))
        return " + ".join(terms).replace("+ -", "- ")


@dataclass(frozen=True)
class Span:
    """First and last value."""

    lo: Linear
    hi: Linear

    def scaled(self, by: int) -> Span:
        ends = self.lo.scaled(by), self.hi.scaled(by)
        return Span(*ends) if by >= 0 else Span(*reversed(ends))

    def __add__(self, other: Span) -> Span:
        return Span(self.lo + other.lo, self.hi + other.hi)

    def plus(self, by: int) -> Span:
        return self + constant(by)


@dataclass(frozen=True)
class Loop:
    name: str
    span: Span


@dataclass
class Buffer:
    """An array; lengths grow with the accesses, unless `fixed`. `tag` stands for them in the
    text until all accesses are known."""

    name: str
    type: str
    shape: list[Linear]
    fixed: bool = False
    tag: str = ""

    def reach(self, dim: int, last: Linear) -> None:
        self.shape[dim] = self.shape[dim].most(last + Linear(1))


def plus(name: str, value: int) -> str:
    """`name + value`, as people write it."""
    return f"{name} {'+' if value > 0 else '-'} {abs(value)}" if value else name


def constant(value: int) -> Span:
    return Span(Linear(value), Linear(value))


@st.composite
def expressions(draw: st.DrawFn, loops: tuple[Loop, ...]) -> tuple[str, Span]:
    """A control expression of the loops around, and its values."""
    if not loops:
        value = draw(st.integers(0, 3))
        return str(value), constant(value)
    loop = draw(st.sampled_from(loops))
    kind = draw(st.sampled_from(["plain"] * 9 + ["offset"] * 3 + list(_KINDS)))
    if kind == "plain":
        return loop.name, loop.span
    if kind == "offset":
        by = draw(st.integers(1, 3))
        return f"{loop.name} + {by}", loop.span + constant(by)
    return _KINDS[kind](draw, loop, loops)


def _constant(draw: st.DrawFn, loop: Loop, loops: tuple[Loop, ...]) -> tuple[str, Span]:
    value = draw(st.integers(0, 4))
    return str(value), constant(value)


def _scaled(draw: st.DrawFn, loop: Loop, loops: tuple[Loop, ...]) -> tuple[str, Span]:
    by = draw(st.integers(2, 4))
    return f"{by} * {loop.name}", loop.span.scaled(by)


def _reversed(draw: st.DrawFn, loop: Loop, loops: tuple[Loop, ...]) -> tuple[str, Span]:
    return f"-{loop.name}", loop.span.scaled(-1)


def _sum(draw: st.DrawFn, loop: Loop, loops: tuple[Loop, ...]) -> tuple[str, Span]:
    other = draw(st.sampled_from(loops))
    by = draw(st.sampled_from([1, 1, 1, 2, -1, 4]))
    sign = "+" if by >= 0 else "-"
    factor = "" if abs(by) == 1 else f"{abs(by)} * "
    return f"{loop.name} {sign} {factor}{other.name}", loop.span + other.span.scaled(by)


def _quotient(draw: st.DrawFn, loop: Loop, loops: tuple[Loop, ...]) -> tuple[str, Span]:
    text, span = _shifted(draw, loop)
    by = draw(st.integers(2, 5))
    lo = Linear(span.lo.const // by) if span.lo.const < 0 else Linear()
    return f"({text}) / {by}", Span(lo, span.hi.most(Linear()))


def _remainder(draw: st.DrawFn, loop: Loop, loops: tuple[Loop, ...]) -> tuple[str, Span]:
    text, _ = _shifted(draw, loop)
    by = draw(st.integers(2, 5))
    factor = draw(st.sampled_from([1, 1, 2, 3]))
    span = Span(Linear(), Linear(factor * (by - 1)))
    return f"{factor} * (({text}) % {by})" if factor > 1 else f"({text}) % {by}", span


def _shifted(draw: st.DrawFn, loop: Loop) -> tuple[str, Span]:
    by = draw(st.sampled_from([0, 0, 1, 3, -1, -5]))
    return plus(loop.name, by), loop.span + constant(by)


_KINDS = {
    "constant": _constant,
    "scaled": _scaled,
    "reversed": _reversed,
    "sum": _sum,
    "quotient": _quotient,
    "remainder": _remainder,
}


@st.composite
def accesses(draw: st.DrawFn, buffer: Buffer, loops: tuple[Loop, ...]) -> str:
    """`buffer[...]`; scalars have no indices."""
    if not buffer.shape:
        return buffer.name
    idx = [draw(_index(buffer, dim, loops)) for dim in range(len(buffer.shape))]
    return f"{buffer.name}[{', '.join(idx)}]"


@st.composite
def _index(draw: st.DrawFn, buffer: Buffer, dim: int, loops: tuple[Loop, ...]) -> str:
    if buffer.fixed:
        return draw(_index_within(buffer.shape[dim], loops))
    text, span = draw(expressions(loops))
    return reach(buffer, dim, text, span)


def reach(buffer: Buffer, dim: int, text: str, span: Span) -> str:
    """The expression moved to where it is an index, and the buffer as long as that needs."""
    lo = span.lo
    if (lo.const < 0) or lo.n < 0 or lo.m < 0:
        shift = Linear(*(max(-c, 0) for c in (lo.const, lo.n, lo.m)))
        text, span = f"{text} + {shift}", Span(lo + shift, span.hi + shift)
    buffer.reach(dim, span.hi)
    return text


@st.composite
def _index_within(draw: st.DrawFn, length: Linear, loops: tuple[Loop, ...]) -> str:
    """An index of a buffer whose length is given: a loop that stays inside, or a constant."""
    short = [
        loop.name
        for loop in loops
        if loop.span.hi.most(length + Linear(-1)) == length + Linear(-1)
        and loop.span.lo.most(Linear()) == loop.span.lo
    ]
    if short and draw(st.integers(0, 3)):
        return draw(st.sampled_from(short))
    return str(draw(st.integers(0, length.const - 1 if not (length.n or length.m) else 0)))
