"""Minima and maxima of registers: which instructions each way to write them is, and their C.

Compilers make one instruction of a loop `r[l] = a[l] < b[l] ? a[l] : b[l]` over the lanes, but not
where such loops are inside of others, as in a register block. So these name it.

x86 has exactly `a < b ? a : b`: of a NaN, and of zeros of both signs, the second operand. All
other forms are that one and a test for NaN, which there is none of where NaN is not expected
(`__FINITE_MATH_ONLY__`).
"""

from __future__ import annotations

from collections.abc import Callable

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, FLOATS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused.snippets import (
    Snippet,
    bits,
    function,
    lane_loop,
    register,
)
from schedsearch.transforms.vector.registers import set_name

_X86 = {64: ("_mm512", "__AVX512F__"), 32: ("_mm256", "__AVX2__"), 16: ("_mm", "__SSE4_1__")}
"""By bytes of a register: how intrinsics begin, and what they need."""


def composed(expr: q.Extern, kind: str, call: Callable[..., str]) -> str | None:
    """C of a minimum, maximum or absolute value as `smaller`, `larger`, `if_number` and
    `absolute`, which `call` calls with parts of the expression, or with C; None if `expr` is none,
    or none of this type."""
    row = FUNCTIONS[expr.name]
    if kind not in _SUFFIXES or (row.extreme and row.precision not in ("", kind)):
        return None
    if kind in FLOATS and (size := _size_of(expr)) is not None:
        return call(absolute, size)
    if row.extreme:
        # max_ and min_ are NaN if the first is, Exo's fmaxf is the first if the second is NaN.
        a, b = expr.args
        value = call(larger, b, a) if row.extreme == "max" else call(smaller, a, b)
        return call(if_number, b if row.own else a, value, a) if kind in FLOATS else value
    if row.chooses == "==" and expr.args[0] == expr.args[1] and kind in FLOATS:
        return call(if_number, *expr.args[1:])
    if row.chooses not in ("<", "<=") or expr.args[2:] not in (expr.args[:2], expr.args[1::-1]):
        return None
    a, b, then, other = expr.args
    if row.chooses == "<":
        return call(smaller if then == a else larger, a, b)
    # Of equal numbers the first one, which is the second operand the other way round.
    value = call(smaller if then == a else larger, b, a)
    if kind not in FLOATS:
        return value
    return call(if_number, a, call(if_number, b, value, other), other)


def _size_of(expr: q.Extern) -> q.Expr | None:
    """The value of which `expr` is the absolute value. `fmaxf(x, -x)` is one: which zero it takes
    is open."""
    if expr.name == "abs_":
        return expr.args[0]
    if expr.name == "fmaxf":
        for one, other in (expr.args, expr.args[::-1]):
            if isinstance(other, q.USub) and other.arg == one:
                return one
    return None


def absolute(kind: str, lanes: int) -> Snippet:
    """`fabs(a)`: without its sign bit."""
    vec, sign = set_name(kind, lanes), 1 << (ELEMENT_TYPES[kind].bits - 1)
    body = [
        bits(kind, lanes),
        f"return ({vec})((bits)a & {sign - 1:#x});",
    ]
    return function(f"{vec}_absolute", vec, f"{vec} a", "\n    ".join(body))


def smaller(kind: str, lanes: int) -> Snippet:
    """`a < b ? a : b`"""
    return _either("min", "a < b ? a : b", ("a", "b"), kind, lanes)


def larger(kind: str, lanes: int) -> Snippet:
    """`a < b ? b : a`"""
    return _either("max", "a < b ? b : a", ("b", "a"), kind, lanes)


_SUFFIXES = {
    kind: (ELEMENT_TYPES[kind].x86, ELEMENT_TYPES[kind].neon) for kind in ("f32", "f64", "i32")
}


def _either(name: str, value: str, order: tuple[str, str], kind: str, lanes: int) -> Snippet:
    first, second = order
    x86 = f"{{p}}_{name}_{{s}}(({{r}}){first}, ({{r}}){second})"
    neon = f"v{name}q_{{s}}(({{r}})a, ({{r}})b)"
    if kind in FLOATS:
        exact = "vbslq_{{s}}(vcltq_{{s}}(({{r}})a, ({{r}})b), ({{r}}){0}, ({{r}}){1})"
        exact = exact.format(*(("a", "b") if name == "min" else ("b", "a")))
    else:
        exact = neon
    return _named(name, "ab", value, x86, (neon, exact), kind, lanes)


def if_number(kind: str, lanes: int) -> Snippet:
    """`a == a ? c : d`"""
    ordered = "(({r})a, ({r})a, _CMP_ORD_Q)"
    match lanes * ELEMENT_TYPES[kind].bits // 8:
        case 64:
            x86 = f"{{p}}_mask_blend_{{s}}({{p}}_cmp_{{s}}_mask{ordered}, ({{r}})d, ({{r}})c)"
        case 32:
            x86 = f"{{p}}_blendv_{{s}}(({{r}})d, ({{r}})c, {{p}}_cmp_{{s}}{ordered})"
        case _:
            x86 = "{p}_blendv_{s}(({r})d, ({r})c, {p}_cmpord_{s}(({r})a, ({r})a))"
    neon = "vbslq_{s}(vceqq_{s}(({r})a, ({r})a), ({r})c, ({r})d)"
    return _named("if_number", "acd", "a == a ? c : d", x86, ("c", neon), kind, lanes, "c")


def _named(
    name: str,
    letters: str,
    value: str,
    x86: str,
    neon: tuple[str, str],
    kind: str,
    lanes: int,
    finite: str = "",
) -> Snippet:
    """A function with an instruction for each target, or a loop over the lanes. `neon`: where NaN
    is not expected, and elsewhere; so is `finite` for all targets."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind]
    size = lanes * element.bits // 8
    cases, includes = [], []
    if finite:
        cases.append(("__FINITE_MATH_ONLY__", finite))
    if size in _X86:
        prefix, feature = _X86[size]
        words = {"p": prefix, "s": element.x86, "r": register(kind, lanes)}
        cases.append((f"defined({feature})", f"({vec}){x86.format(**words)}"))
        includes.append((f"defined({feature})", "immintrin.h"))
    if size == 16:
        base = "float" if kind in FLOATS else "int"
        words = {"s": element.neon, "r": f"{base}{element.bits}x{lanes}_t"}
        fast, exact = (f"({vec}){each.format(**words)}" for each in neon)
        cases.append(("defined(__ARM_NEON) && __FINITE_MATH_ONLY__", fast))
        cases.append(("defined(__ARM_NEON)", exact))
        includes.append(("defined(__ARM_NEON)", "arm_neon.h"))
    lines = []
    for number, (condition, text) in enumerate(cases):
        lines += [f"#{'el' if number else ''}if {condition}", f"    return {text};"]
    loop = lane_loop(vec, lanes, _in_lanes(value))
    body = "\n".join([*lines, "#else", f"    {loop}", "#endif"]) if lines else f"    {loop}"
    params = ", ".join(f"{vec} {letter}" for letter in letters)
    title, text = function(f"{vec}_{name}", vec, params, body.lstrip())
    heads = [f"#if {condition}\n#include <{header}>\n#endif" for condition, header in includes]
    return title, "\n".join([*heads, text])


def _in_lanes(value: str) -> str:
    return "".join(f"{each}[l]" if each in "abcd" else each for each in value)
