"""The text of a procedure as plain loops over NumPy's arrays, for numba."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.element_types import known_type
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.text import show_affine, show_atom
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.peers.array_text import DTYPES, unique_name
from schedsearch.peers.arraywise import NotArraywise, computed


def loops_text(proc: q.Proc, binding: Binding, compiled: bool = True) -> str:
    """Python that defines `prepare`, as in `array_text`; `compiled`: by numba, with `fastmath`.
    Raises NotArraywise for constructs that it cannot express."""
    inlined = inline_calls(proc)
    given = {
        arg.var: binding.value(arg.var.name) for arg in inlined.args if arg.type in q.CONTROL_TYPES
    }
    data = [arg for arg in inlined.args if arg.type not in q.CONTROL_TYPES]
    kinds = {arg.var: known_type(arg.type) for arg in data}
    kinds |= {s.buf: known_type(s.type) for s in q.walk(inlined.body) if isinstance(s, q.Alloc)}
    writer = _Writer(kinds)
    names = ", ".join(unique_name(arg.var) for arg in data)
    body = [*writer.block(inlined.body)]
    lines = ["import math", ""] if any("math." in line for line in body) else []
    lines += ["import numpy as np"]
    lines += ["from numba import njit"] if compiled else []
    lines += ["", "", *(["@njit(fastmath=True)"] if compiled else []), f"def kernel({names}):"]
    lines += [f"    {unique_name(var)} = {value}" for var, value in given.items()]
    lines += [f"    {line}" for line in body] or ["    pass"]
    lines += ["", "", f"def prepare({names}):", f"    return lambda: kernel({names})", ""]
    return "\n".join(lines)


class _Writer:
    def __init__(self, kinds: Mapping[q.Var, str]) -> None:
        self.kinds = kinds

    def block(self, body: tuple[q.Stmt, ...]) -> Iterator[str]:
        for stmt in body:
            match stmt:
                case q.Assign() | q.Reduce():
                    kind = self.read(stmt.rhs) or self.kinds[stmt.buf]
                    own = self.kinds[stmt.buf]
                    value = self.expr(stmt.rhs, computed(kind))
                    if computed(kind) != own:
                        value = f"np.{DTYPES[own]}({value})"
                    sign = "+=" if isinstance(stmt, q.Reduce) else "="
                    yield f"{self.place(stmt.buf, stmt.idx)} {sign} {value}"
                case q.For():
                    bounds = f"{self.affine(stmt.lo)}, {self.affine(stmt.hi)}"
                    yield f"for {unique_name(stmt.iter)} in range({bounds}):"
                    yield from self.nested(stmt.body)
                case q.If():
                    yield f"if {self.expr(stmt.cond, '')}:"
                    yield from self.nested(stmt.body)
                    if stmt.orelse:
                        yield "else:"
                        yield from self.nested(stmt.orelse)
                case q.Alloc():
                    shape = ", ".join(self.affine(extent) for extent in stmt.shape)
                    dtype = DTYPES[self.kinds[stmt.buf]]
                    yield f"{unique_name(stmt.buf)} = np.empty(({shape},), np.{dtype})".replace(
                        "((,), ", "((), "
                    )
                case q.Pass():
                    yield "pass"
                case _:
                    raise NotArraywise(f"no loops for numba have {type(stmt).__name__}")

    def nested(self, body: tuple[q.Stmt, ...]) -> Iterator[str]:
        for line in self.block(body):
            yield f"    {line}"

    def read(self, expr: q.Expr) -> str:
        """The type of the elements read."""
        kinds = [self.kinds[e.buf] for e in q.walk_expr(expr) if isinstance(e, q.Read)]
        return kinds[-1] if kinds else ""

    def place(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        return f"{unique_name(buf)}[{', '.join(map(self.affine, idx)) or '()'}]"

    def affine(self, value: q.Affine) -> str:
        for node in q.walk_expr(value):
            if isinstance(node, q.StrideOf | q.ConfigField):
                raise NotArraywise(f"no loops for numba have {show_atom(node)}")
        return show_affine(value, unique_name).replace("/", "//")

    def expr(self, expr: q.Expr, kind: str) -> str:
        match expr:
            case q.Affine():
                return self.affine(expr)
            case q.Const():
                return f"np.{DTYPES[kind]}({expr.value!r})" if kind else repr(expr.value)
            case q.Read() if expr.buf not in self.kinds:  # a boolean argument
                return unique_name(expr.buf)
            case q.Read():
                text = self.place(expr.buf, expr.idx)
                narrow = self.kinds[expr.buf] != kind
                return f"np.{DTYPES[kind]}({text})" if narrow else text
            case q.USub():
                return f"(-{self.expr(expr.arg, kind)})"
            case q.BinOp():
                op = "//" if expr.op == "/" and kind[:1] == "i" else expr.op
                if op == "//":
                    raise NotArraywise("integers are divided otherwise in C")
                return f"({self.expr(expr.lhs, kind)} {op} {self.expr(expr.rhs, kind)})"
            case q.Extern() if expr.name in FUNCTIONS:
                args = [self.expr(arg, kind) for arg in expr.args]
                numbers = {"zero": f"np.{DTYPES[kind]}(0)", "one": f"np.{DTYPES[kind]}(1)"}
                return f"({FUNCTIONS[expr.name].loop.format(*args, **numbers)})"
            case _:
                raise NotArraywise(f"no loops for numba have {type(expr).__name__}")
