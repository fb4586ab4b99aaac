"""What equations say, and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from schedsearch.frontends.lowered import refused


@dataclass(frozen=True)
class Place:
    line: int
    column: int


@dataclass(frozen=True)
class Text:
    """What the user wrote, and the file's name."""

    text: str
    file: str

    def refuse(self, place: Place, construct: str, reason: str, instead: str) -> NoReturn:
        """Raises a UserError that shows the place."""
        lines = self.text.splitlines()
        shown = lines[place.line - 1] if place.line <= len(lines) else ""
        error = refused(f"{self.file}:{place.line}", place.column, construct, reason, instead)
        caret = "".join(c if c == "\t" else " " for c in shown[: place.column - 1]) + "^"
        raise type(error)(f"{error}\n    {shown}\n    {caret}")


# -- expressions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Node:
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Number(_Node):
    value: int | float


@dataclass(frozen=True)
class Access(_Node):
    """`A[i, j + 1]`; a name alone is a scalar, an index or a size."""

    name: str
    index: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Negative(_Node):
    arg: Expr


@dataclass(frozen=True)
class Binary(_Node):
    """`+ - * /`"""

    op: str
    lhs: Expr
    rhs: Expr


@dataclass(frozen=True)
class Call(_Node):
    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Where(_Node):
    """`where(lhs op rhs, then, other)`"""

    op: str
    lhs: Expr
    rhs: Expr
    then: Expr
    other: Expr


Expr = Number | Access | Negative | Binary | Call | Where


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly in one, without those of indices."""
    match expr:
        case Negative():
            return (expr.arg,)
        case Binary():
            return expr.lhs, expr.rhs
        case Call():
            return expr.args
        case Where():
            return expr.lhs, expr.rhs, expr.then, expr.other
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    for part in parts(expr):
        yield from walk(part)


def accesses(expr: Expr) -> list[Access]:
    """All names of an expression, from left to right."""
    return [each for each in walk(expr) if isinstance(each, Access)]


# -- statements ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Equation(_Node):
    """`target = value`; `project` is what indices of the value alone are projected by. `add`: what
    the target has is added to."""

    target: Access
    value: Expr
    project: str = "sum"
    add: bool = False


@dataclass(frozen=True)
class Declaration(_Node):
    """`A: f32[N, M]`; the type `index` says how many places an index has."""

    name: str
    type: str
    sizes: tuple[Expr, ...]


@dataclass(frozen=True)
class Outputs(_Node):
    """`out: C, D`"""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Source(_Node):
    """`A = load("a.npy")`"""

    name: str
    path: str


@dataclass(frozen=True)
class Sink(_Node):
    """`save("c.npy", C)`"""

    name: str
    path: str


Statement = Equation | Declaration | Outputs | Source | Sink
