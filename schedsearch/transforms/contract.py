"""What an exported kernel asks of its caller: conditions in C, and sentences for its header.

```
def f(n: size, y: [f32][n], x: f32[n]):      n >= 1
    assert n % 8 == 0                   ->   n % 8 == 0
    assert stride(y, 0) == 1                 y.strides[0] == 1
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from schedsearch.analysis.ranges import bounds, ranges_at
from schedsearch.core import ast as q
from schedsearch.core.lasting import caveats
from schedsearch.core.records import GeneratedC

_OPERATORS = {"and": "&&", "or": "||"}


@dataclass(frozen=True)
class Parameter:
    """An argument as the C function has it."""

    arg: q.Arg
    name: str
    written: bool

    @property
    def is_pointer(self) -> bool:
        return self.arg.type not in q.CONTROL_TYPES and not self.arg.window


def conditions(proc: q.Proc, code: GeneratedC) -> list[str]:
    """C expressions that hold in every call that is allowed, but for those of `overlaps`: sizes
    and extents are positive, and the procedure's asserts. `code` is the C of `proc`."""
    return conditions_with(Writer(proc, _names(parameters(proc, code))))


def conditions_with(write: Writer) -> list[str]:
    """The same, with arguments as `write` calls them; the asserts are the last ones."""
    proc = write.proc
    positive = [q.as_affine(arg.var) for arg in proc.args if arg.type == "size"]
    for arg in proc.args:
        positive += [
            extent
            for extent in arg.shape or ()
            if bounds(extent, write.ranges)[0] < 1 and extent not in positive
        ]
    found = [f"{write.index(value)} >= 1" for value in positive]
    return found + [write.truth(condition) for condition in proc.asserts]


def overlaps(proc: q.Proc, code: GeneratedC) -> list[tuple[str, str, str, str]]:
    """Pairs of dense arrays that must lie apart, as `(array, elements, array, elements)` in C.

    At least one of a pair is written. Windows are left out: the columns of two may alternate.
    """
    given = parameters(proc, code)
    write = Writer(proc, _names(given))
    return [
        (one.name, write.elements(one.arg), other.name, write.elements(other.arg))
        for one, other in combinations([each for each in given if each.is_pointer], 2)
        if one.written or other.written
    ]


def facts(proc: q.Proc, code: GeneratedC) -> list[str]:
    """The same in sentences, and what else its caller has to know."""
    required = conditions(proc, code)
    found = [f"required: {', '.join(required)}"] if required else []
    if any(each.arg.type not in q.CONTROL_TYPES for each in parameters(proc, code)):
        found.append(OF_ARRAYS)
    if "kernel_Context" in code.header:
        found.append("*ctxt is read and written: calls at the same time need one each")
    else:
        found.append("ctxt is not used and may be NULL")
    return [*found, *(caveats(code) or [_REENTRANT])]


OF_ARRAYS = (
    "an array that is written must not overlap any other array; elements have to be aligned to "
    "their own size"
)


def checks(proc: q.Proc, code: GeneratedC) -> list[str]:
    """Conditions, alignment and overlaps as expressions of C, the latter by `lie_apart`."""
    given = parameters(proc, code)
    arrays = [each for each in given if each.arg.type not in q.CONTROL_TYPES]
    starts = [f"{each.name}{'' if each.is_pointer else '.data'}" for each in arrays]
    return [
        *conditions(proc, code),
        *(f"(uintptr_t){start} % sizeof(*{start}) == 0" for start in starts),
        *(
            f"{APART}({one}, sizeof(*{one}) * {size}, {other}, sizeof(*{other}) * {of_other})"
            for one, size, other, of_other in overlaps(proc, code)
        ),
    ]


APART = "lie_apart"
"""A function of C: whether two ranges, each its start and its bytes, have no byte in common."""


_REENTRANT = "re-entrant: threads may call it at the same time, each with outputs of its own"


def parameters(proc: q.Proc, code: GeneratedC) -> list[Parameter]:
    """The arguments of `proc` with their names in C, after the context."""
    declared = re.search(rf"^void {re.escape(code.proc)}\( (.*) \)", code.header, re.MULTILINE)
    assert declared is not None, "the header declares the procedure"
    texts = declared[1].split(", ")[1:]
    return [
        Parameter(
            arg, text.split()[-1], "const " not in text and not re.search(r"win_\d+\w+c ", text)
        )
        for arg, text in zip(proc.args, texts, strict=True)
    ]


def _names(given: list[Parameter]) -> dict[int, str]:
    return {each.arg.var.uid: each.name for each in given}


class Writer:
    """Writes control expressions of a procedure in C; `names` are what its arguments are called
    there, by uid. Those of windows have a member `strides`."""

    def __init__(self, proc: q.Proc, names: Mapping[int, str]) -> None:
        self.proc, self.names = proc, names
        self.args = {arg.var.uid: arg for arg in proc.args}
        self.ranges = ranges_at(proc, ())

    def index(self, value: q.Affine) -> str:
        parts: list[str] = []
        for atom, factor in sorted(value.terms, key=lambda term: term[1] < 0):
            text = self.atom(atom)
            text = text if abs(factor) == 1 else f"{abs(factor)} * {_operand(text)}"
            parts += ["-" if factor < 0 else "+", text]
        if value.const or not parts:
            parts += ["-" if value.const < 0 else "+", str(abs(value.const))]
        head = parts[1] if parts[0] == "+" else f"-{parts[1]}"
        return " ".join([head, *parts[2:]])

    def atom(self, atom: q.Atom) -> str:
        """Divisions of C round towards 0, those of Exo down."""
        match atom:
            case q.Var():
                return self.names[atom.uid]
            case q.FloorDiv():
                num = self.index(atom.num)
                if bounds(atom.num, self.ranges)[0] < 0:
                    num = f"{num} - {self.atom(q.Mod(atom.num, atom.den))}"
                return f"{_operand(num)} / {atom.den}"
            case q.Mod():
                rest = f"{_operand(self.index(atom.num))} % {atom.den}"
                if bounds(atom.num, self.ranges)[0] >= 0:
                    return rest
                return f"({rest} + {atom.den}) % {atom.den}"
            case q.StrideOf():
                return self.stride(self.args[atom.buf.uid], atom.dim)
            case q.ConfigField():
                return f"ctxt->{atom.config}.{atom.field}"

    def stride(self, arg: q.Arg, dim: int) -> str:
        if arg.window:
            return f"{self.names[arg.var.uid]}.strides[{dim}]"
        return self._product((arg.shape or ())[dim + 1 :])

    def elements(self, arg: q.Arg) -> str:
        return self._product(arg.shape or ())

    def _product(self, extents: tuple[q.Affine, ...]) -> str:
        texts = [self.index(extent) for extent in extents]
        return " * ".join(map(_operand, texts)) or "1"

    def truth(self, expr: q.Expr) -> str:
        match expr:
            case q.BinOp() if expr.op in _OPERATORS:
                sides = [self._nested(side, expr.op) for side in (expr.lhs, expr.rhs)]
                return f" {_OPERATORS[expr.op]} ".join(sides)
            case q.BinOp():
                return f"{self.truth(expr.lhs)} {expr.op} {self.truth(expr.rhs)}"
            case q.Affine():
                return self.index(expr)
            case q.Const():
                return str(int(expr.value))
            case q.Read():
                return self.names[expr.buf.uid]
            case q.ReadConfig():
                return f"ctxt->{expr.config}.{expr.field}"
            case _:
                raise ValueError(f"not a condition: {expr}")

    def _nested(self, expr: q.Expr, around: str) -> str:
        text = self.truth(expr)
        inner = isinstance(expr, q.BinOp) and expr.op in _OPERATORS and expr.op != around
        return f"({text})" if inner else text


def _operand(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"
