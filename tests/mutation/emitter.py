"""Plain C of procedures: no schedule, nothing of Exo's code generator.

Many variants of one procedure are in one shared object, whose function has the procedure's name
and calls the variant that a word of its data names: another variant is a copy of the file with
another word, which takes no compiler.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, FLOATS
from schedsearch.core.functions import FUNCTIONS, LETTERS
from schedsearch.core.records import Artifact, GeneratedC
from schedsearch.evaluate.oracle.enclosure import (
    Indices,
    Layout,
    dense,
    expression_kind,
    field_of,
    name_of,
)


class Floats(StrEnum):
    """What floats are computed in: as the procedure says, or all of them in double precision,
    where what differs by more than a rounding shows."""

    AS_WRITTEN = "as written"
    DOUBLE = "double"


@dataclass(frozen=True)
class Variant:
    """A procedure (inlined), and whether its indices stop at the ends of their dimensions."""

    proc: q.Proc
    clamped: bool = False


ROUNDINGS = {"rounded": "__builtin_rint", "floored": "__builtin_floor"}
"""External functions that only variants have, beside `as_f16` and `as_f32`."""

_MARK = b"variant:"


def _functions() -> str:
    """Those of front ends, in double precision."""
    lines = [""]
    for row in (each for each in FUNCTIONS.values() if not each.own):
        params = ", ".join(f"double {letter}" for letter in LETTERS[: row.arity])
        lines.append(f"static inline double x_{row.name}({params}) {{ return {row.c_of('f64')}; }}")
    return "\n".join(lines)


_PRELUDE = """
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
static const volatile struct { char mark[8]; int32_t number; } selected = {"variant:", 0};
static inline int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }
static inline int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }
static inline int64_t floor_div(int64_t a, int64_t b) { return (a - floor_mod(a, b)) / b; }
static inline double x_select(double a, double b, double y, double n) { return a < b ? y : n; }
static inline double x_relu(double a) { return a > 0 ? a : 0; }
static inline double x_fmaxf(double a, double b) { return __builtin_fmax(a, b); }
static inline double x_sin(double a) { return __builtin_sin(a); }
static inline double x_expf(double a) { return __builtin_exp(a); }
static inline double x_sqrt(double a) { return __builtin_sqrt(a); }
static inline double x_sigmoid(double a) { return 1 / (1 + __builtin_exp(-a)); }
static inline double x_rounded(double a) { return __builtin_rint(a); }
static inline double x_floored(double a) { return __builtin_floor(a); }
static inline double x_as_f16(double a) { return (double)(_Float16)a; }
static inline double x_as_f32(double a) { return (double)(float)a; }
"""
_PRELUDE += _functions()
# UndefinedBehaviorSanitizer calls these, instead of a library that reports.
_UNDEFINED = """
int undefined = 0;
#define NOTICED(name) \\
    void __ubsan_handle_##name(void *where, void *a, void *b) { undefined = 1; }
NOTICED(add_overflow)
NOTICED(sub_overflow)
NOTICED(mul_overflow)
NOTICED(negate_overflow)
NOTICED(divrem_overflow)
NOTICED(float_cast_overflow)
"""
WATCHED = "-fsanitize=signed-integer-overflow,integer-divide-by-zero,float-cast-overflow"
"""What C leaves undefined, which `undefined` in the shared object then says."""
_INSIDE = """
static inline int64_t inside(int64_t i, int64_t n) { return i >= 0 && i < n ? i : 0; }
"""
_UNCHECKED = "\n#define inside(i, n) (i)\n"
_CONTEXT = re.compile(r"^typedef struct kernel_Context \{.*?^\} kernel_Context;", re.M | re.S)


def c_of(
    variants: Sequence[Variant],
    code: GeneratedC,
    floats: Floats = Floats.AS_WRITTEN,
    compared: bool = False,
) -> str:
    """C of all `variants`, which have the arguments of `code`'s procedure. Where they are
    `compared` with each other, nothing outside of arrays is accessed, and what is not defined
    is noticed."""
    args = variants[0].proc.args
    types = {
        kind: "double" if floats is Floats.DOUBLE and kind in ("R", *FLOATS) else each.c
        for kind, each in ELEMENT_TYPES.items()
    }
    context = _CONTEXT.search(code.header)
    parameters = ", ".join(["void *context", *map(_parameter, args)])
    names = ", ".join(["context", *(name_of(arg.var) for arg in args)])
    ranks = sorted({len(arg.shape) for arg in args if arg.window and arg.shape})
    lines = [
        _PRELUDE,
        _INSIDE if compared else _UNCHECKED,
        _UNDEFINED if compared else "",
        context.group() if context else "",
        *(f"typedef {ctype} {kind};" for kind, ctype in types.items()),
        *(f"struct win_{n} {{ void *data; int_fast32_t strides[{n}]; }};" for n in ranks),
    ]
    for number, variant in enumerate(variants):
        lines.append(f"static void variant_{number}({parameters})\n{{")
        lines += _Emitter(variant).function()
        lines.append("}")
    lines.append(f"void {code.proc}({parameters})\n{{\n    switch (selected.number) {{")
    lines += [f"    case {n}: variant_{n}({names}); return;" for n in range(len(variants))]
    return "\n".join([*lines, "    }", "}", ""])


def compiled(text: str, folder: Path, name: str, flags: Sequence[str] = ("-O1",)) -> Path:
    """The shared object `name`.so in `folder`."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    object_file = library.with_suffix(".o")
    fixed = ["-march=native", "-ffp-contract=off", "-w", "-fPIC"]
    for command in (
        ["gcc", *fixed, *flags, "-c", "-o", object_file, source],
        ["gcc", "-shared", "-o", library, object_file, "-lm"],
    ):
        subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    return library


def artifact(library: Path, number: int) -> Artifact:
    """A copy of the library whose function is variant `number`; the next one replaces it."""
    data = library.read_bytes()
    at = data.index(_MARK) + len(_MARK)
    copy = library.with_name(f"{library.stem}_chosen.so")
    copy.write_bytes(data[:at] + struct.pack("i", number) + data[at + 4 :])
    return Artifact(str(copy), f"{library.stem} {number}", f"{library.stem} {number}")


@dataclass
class _Emitter(Indices):
    variant: Variant

    @cached_property
    def arguments(self) -> frozenset[q.Var]:
        return frozenset(arg.var for arg in self.variant.proc.args)

    def function(self) -> Iterator[str]:
        for arg in self.variant.proc.args:
            name = name_of(arg.var)
            if arg.type in q.CONTROL_TYPES:
                continue
            shape = arg.shape or ()
            if arg.window and shape:
                yield f"{arg.type} *{name}_data = {name}.data;"
                strides = tuple(f"{name}.strides[{dim}]" for dim in range(len(shape)))
                self.buffers[arg.var] = Layout(tuple(map(self.index, shape)), strides)
            else:
                yield f"{arg.type} *{name}_data = {name};"
                self.buffers[arg.var] = dense([*map(self.index, shape)])
        yield from self.block(self.variant.proc.body)

    def block(self, body: tuple[q.Stmt, ...]) -> Iterator[str]:
        for stmt in body:
            yield from self.stmt(stmt)
        for stmt in body:
            if isinstance(stmt, q.Alloc) and stmt.shape:
                yield f"__builtin_free({name_of(stmt.buf)}_data - 1024);"

    def stmt(self, stmt: q.Stmt) -> Iterator[str]:
        match stmt:
            case q.Assign() | q.Reduce():
                kind = expression_kind(stmt.rhs, stmt.type)
                operator = "=" if isinstance(stmt, q.Assign) else "+="
                value = f"({stmt.type})({self.value(stmt.rhs, kind)})"
                yield f"{self.element(stmt.buf, stmt.idx)} {operator} {value};"
            case q.For():
                var, low, high = name_of(stmt.iter), self.index(stmt.lo), self.index(stmt.hi)
                head = f"int64_t {var} = {low}, end_{var} = {high}; {var} < end_{var}; {var}++"
                yield f"for ({head}) {{"
                yield from self.block(stmt.body)
                yield "}"
            case q.If():
                yield f"if ({self.truth(stmt.cond)}) {{"
                yield from self.block(stmt.body)
                yield "} else {"
                yield from self.block(stmt.orelse)
                yield "}"
            case q.Alloc():
                self.buffers[stmt.buf] = dense([*map(self.index, stmt.shape)])
                count = " * ".join(self.buffers[stmt.buf].extents) or "1"
                name = f"{name_of(stmt.buf)}_data"
                if not stmt.shape:
                    yield f"{stmt.type} {name}[1] = {{0}};"
                    return
                # Loops that are too long may go beyond its ends.
                yield f"{stmt.type} *{name} = __builtin_calloc({count} + 2048, sizeof *{name});"
                yield f"{name} += 1024;"
            case q.WriteConfig():
                where = field_of(stmt.config, stmt.field)
                if isinstance(stmt.rhs, q.Affine) or stmt.type == "bool":
                    yield f"{where} = {self.truth(stmt.rhs)};"
                else:
                    yield f"{where} = {self.value(stmt.rhs, expression_kind(stmt.rhs, stmt.type))};"
            case q.Pass():
                pass
            case q.Call() | q.WindowStmt():
                raise AssertionError("calls and windows are resolved by inline_calls")

    def value(self, expr: q.Expr, kind: str) -> str:
        match expr:
            case q.Const():
                return f"(({kind}){float(expr.value)!r})"
            case q.Read():
                return self.element(expr.buf, expr.idx)
            case q.ReadConfig():
                return field_of(expr.config, expr.field)
            case q.USub():
                return f"(-{self.value(expr.arg, kind)})"
            case q.BinOp():
                return f"({self.value(expr.lhs, kind)} {expr.op} {self.value(expr.rhs, kind)})"
            case q.Extern():
                args = ", ".join(self.value(arg, kind) for arg in expr.args)
                return f"(({kind})x_{expr.name}({args}))"
            case _:
                raise AssertionError("not a data expression")

    def element(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        held, name = self.buffers[buf], name_of(buf)
        terms, ends = [], []
        for index, extent, stride in zip(idx, held.extents, held.strides, strict=True):
            at = self.index(index)
            terms.append(f"{f'clamp({at}, {extent})' if self.variant.clamped else at} * {stride}")
            ends.append(f"({extent} - 1) * {stride}")
        at = " + ".join(terms) or "0"
        if buf not in self.arguments:
            return f"{name}_data[{at}]"
        return f"{name}_data[inside({at}, {' + '.join([*ends, '1'])})]"


def _parameter(arg: q.Arg) -> str:
    if arg.type in q.CONTROL_TYPES:
        return f"{'bool' if arg.type == 'bool' else 'int_fast32_t'} {name_of(arg.var)}"
    if arg.window and arg.shape:
        return f"struct win_{len(arg.shape)} {name_of(arg.var)}"
    return f"void *{name_of(arg.var)}"
