"""Elementary functions of registers in C: the exponential, the logarithm, and what is made of them.

Processors have no instruction for them, and compilers call C's library once for each lane where the
loop over lanes is inside of another. These are computed on the whole register, for all numbers,
denormal ones, infinities and NaN, within 3.5 units of the last place. Only -ffast-math takes them:
without it the library's results are kept.

`exp(x) = 2^n exp(r)`, with `x = n ln 2 + r`. AVX-512 multiplies by `2^n`. Elsewhere `n = 2 m`, and
both factors `2^m` are made from the bits of `m`: the result overflows, or becomes denormal, where
the second one is multiplied. `log(x) = k ln 2 + log(1 + f)`, with `x = 2^k (1 + f)` and
`log(1 + f) = 2 artanh(f / (2 + f))`. `erf` is a polynomial up to 1, then one less an exponential.
`log1p` finds `k` from the rounded sum, and `f` from its argument; `expm1` takes 1 from the power of
2 first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Template

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused.coefficients import ERF, ERFC, EXP, EXP_NEAR, LOG
from schedsearch.transforms.vector.fused.extremes import larger, smaller
from schedsearch.transforms.vector.fused.snippets import (
    KEEP,
    REGISTERS,
    Snippet,
    function,
    lane_loop,
    register,
)
from schedsearch.transforms.vector.registers import set_name

_CURVES = {
    "expf": "exp",
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log1p": "log1p",
    "tanh": "tanh",
    "erf": "erf",
    "sigmoid": "sigmoid",
    "sigmoid_": "sigmoid",
}
"""The curve that each function is, of its own type."""

_WORDS = {
    "f32": {
        "integer": "int",
        "natural": "unsigned",
        "digits": "23",
        "f": "f",
        "rest": "0x7fffffff",
        "sign": "0x80000000u",
        "infinity": "0x7f800000",
        "quiet": "0x7fc00000",
        "root_half": "0x3f3504f3",
        "least": "0x00800000",
        "up": "0x1p25f",
        "digits_up": "25",
        "one": "0x3f800000",
        "bias": "127",
        "whole": "0x4b400000",
        "as_number": "0x1.8p23f",
        "beyond": "104.0f",
        "number": "float",
        "log2e": "0x1.715476p0f",
        "ln2_high": "0x1.62e4p-1f",
        "ln2_low": "0x1.7f7d1cp-20f",
        "shift": "0x1.8000fep23f",
        "top": "4.0f",
        "alone": "64.0f",
    },
    "f64": {
        "integer": "long long",
        "natural": "unsigned long long",
        "digits": "52",
        "f": "",
        "rest": "0x7fffffffffffffff",
        "sign": "0x8000000000000000u",
        "infinity": "0x7ff0000000000000",
        "quiet": "0x7ff8000000000000",
        "root_half": "0x3fe6a09e667f3bcd",
        "least": "0x0010000000000000",
        "up": "0x1p54",
        "digits_up": "54",
        "one": "0x3ff0000000000000",
        "bias": "1023",
        "whole": "0x4338000000000000",
        "as_number": "0x1.8p52",
        "beyond": "746.0",
        "number": "double",
        "log2e": "0x1.71547652b82fep0",
        "ln2_high": "0x1.62e42fefa3p-1",
        "ln2_low": "0x1.3de6af278ece6p-42",
        "shift": "0x1.80000000003ffp52",
        "top": "6.0",
        "alone": "64.0",
    },
}
"""Parts of C by type. `shift` added to a small number makes it whole and its last bits that number
and the exponent of 1; beyond the size of `beyond` exponentials are 0 or infinite, above `alone`
1 is nothing beside them."""

_TYPES = {"bits": "integer", "naturals": "natural"}
"""Registers that hold the bits of numbers, and the word for their elements."""

SCALES = {64: "defined(__AVX512F__)", 32: "defined(__AVX512VL__)", 16: "defined(__AVX512VL__)"}
"""What has an instruction that multiplies by a power of 2."""

_POWERS = """\
#if $scales
    const $number per = 1;
#else
    const $number per = 2;
#endif
    a = ${vec}_max(($vec){0} - $beyond, a);
    *n = a * ($log2e / per) + $shift;
    VEC_KEEP(*n);
    $vec m = *n - $shift;
    VEC_KEEP(m);
    $vec r = a - m * (per * $ln2_high);
    VEC_KEEP(r);
    r -= m * (per * $ln2_low);
#if $scales
    $vec q = r + r * r * $exp_near;
#else
    $vec q = r + r * r * $exp;
#endif
    VEC_KEEP(q);
    return q;"""
"""`exp(a) - 1`, but for a power of 2, which `scaled` multiplies by; of `a` up to `beyond`."""

_SCALED = """\
#if $scales
    return ($vec)$scale(($register)a, ($register)(n - $shift));
#else
    typedef $natural exponents __attribute__((vector_size($bytes)));
    const $vec s = ($vec)((exponents)n << $digits);
    a *= s;
    VEC_KEEP(a);
    return a * s;
#endif"""

_RATIO = {
    "f32": """\
#if $scales
    const $vec i = ($vec)$reciprocal(($register)b);
#else
    $vec i = 1.0f / b;
    VEC_KEEP(i);
#endif
    $vec q = a * i;
    VEC_KEEP(q);
    $vec rest = a - q * b;
    VEC_KEEP(rest);
    return q + rest * i;""",
    "f64": "return a / b;",
}
"""A quotient. Compilers have approximate reciprocals of f32: off by 2 units."""

_LOG_OF = """\
const $vec h = 0.5$f * f * f, g = f / (2.0$f + f), z = g * g;
    $vec t = g * (h + z * $log) + e * $ln2_low;
    VEC_KEEP(t);
    t -= h;
    VEC_KEEP(t);
    t += f;
    VEC_KEEP(t);
    t += e * $ln2_high;
    const bits zero = ((bits)u & $rest) == 0, above = (bits)u >= $infinity;
    const bits wrong = ((bits)u < 0) & ~zero, others = ~(zero | above);
    const naturals low = (naturals)zero & ($sign | $infinity);
    return ($vec)((naturals)(((bits)t & others) | ((bits)u & above) | (wrong & $quiet)) | low);"""
"""The logarithm of `u`, which is `2^e (1 + f)`."""

_BODIES = {
    "exp": """\
$vec n, q = ${vec}_powers(${vec}_min(($vec){0} + $beyond, a), &n);
    return ($vec)((bits)${vec}_scaled(q + 1.0$f, n) | ($nan));""",
    "expm1": """\
const bits large = a > $alone;
    $vec n, q = ${vec}_powers(${vec}_min(($vec){0} + $beyond, a), &n);
    $vec less = ${vec}_scaled(($vec){0} + 1.0$f, n) - 1.0$f;
    VEC_KEEP(less);
    const $vec small = less + ${vec}_scaled(q, n), all = ${vec}_scaled(q + 1.0$f, n);
    return ($vec)(((bits)all & large) | ((bits)small & ~large) | ($nan));""",
    # Of `-|x|`, which does not overflow.
    "sigmoid": """\
const bits below = (bits)a < 0;
    $vec n, q = ${vec}_powers(($vec)((naturals)a | $sign), &n);
    const $vec e = ${vec}_scaled(q + 1.0$f, n);
    const $vec top = ($vec)(((bits)e & below) | ((bits)(($vec){0} + 1.0$f) & ~below));
    return ($vec)((bits)${vec}_ratio(top, 1.0$f + e) | ($nan));""",
    # `t / (2 - t)`, where `t = 1 - exp(-2 |x|)`.
    "tanh": """\
$vec n, q = ${vec}_powers(($vec)((naturals)(a + a) | $sign), &n);
    const $vec s = ${vec}_scaled(($vec){0} + 1.0$f, n);
    $vec less = 1.0$f - s;
    VEC_KEEP(less);
    $vec t = less - q * s;
    VEC_KEEP(t);
    t = ${vec}_ratio(t, 2.0$f - t);
    return ($vec)((naturals)t | ((naturals)a & $sign) | (naturals)($nan));""",
    "erf": """\
const bits below = ((bits)a & $rest) < $one;
    const $vec x = ${vec}_min(($vec){0} + $top, ($vec)((bits)a & $rest));
    const $vec z = x * x, u = x - 1.0$f;
    $vec more = x * $erf;
    VEC_KEEP(more);
    const $vec small = x + more;
    $vec n, q = ${vec}_powers(-$erfc, &n);
    const $vec large = 1.0$f - ${vec}_scaled(q + 1.0$f, n);
    const bits r = ((bits)small & below) | ((bits)large & ~below) | ($nan);
    return ($vec)((naturals)r | ((naturals)a & $sign));""",
    "log": """\
const $vec u = a;
    const bits small = (bits)u < $least;
    const $vec up = u * $up;
    const bits x = ((bits)up & small) | ((bits)u & ~small);
    const naturals k = ((naturals)(x - $root_half) + $one) >> $digits;
    const $vec f = ($vec)((naturals)x - ((k << $digits) - $one)) - 1.0$f;
    const $vec e = ($vec)((bits)k + ($whole - $bias) - ($digits_up & small)) - $as_number;
    $log_of""",
    # `2^k` is that of `1 + a`, so that `a / 2^k` and the sum below round once.
    "log1p": """\
$vec u = 1.0$f + a;
    VEC_KEEP(u);
    const naturals k = ((naturals)((bits)u - $root_half) + $one) >> $digits;
    const $vec s = ($vec)((2 * $bias + 2 - k) << $digits);
    $vec less = 0.25$f * s - 1.0$f;
    VEC_KEEP(less);
    $vec f = a * s;
    VEC_KEEP(f);
    f = 0.25$f * f + less;
    const $vec e = ($vec)((bits)k + ($whole - $bias)) - $as_number;
    $log_of""",
}


def elementary(name: str, kind: str, lanes: int) -> Snippet | None:
    """A function of registers; None if it is none of these. Where there is no such register, or no
    -ffast-math, it is C's function for each lane."""
    curve, row = _CURVES.get(name, ""), FUNCTIONS[name]
    size = lanes * ELEMENT_TYPES[kind].bits // 8
    if not curve or kind not in _WORDS or size not in REGISTERS:
        return None
    if row.precision == "f32" and kind == "f64":
        return None
    vec = set_name(kind, lanes)
    words = words_of(kind, lanes) | {
        "nan": "(bits)a & (((bits)a & $rest) > $infinity)",
        "exp": horner(EXP[kind], "r", kind),
        "exp_near": horner(EXP_NEAR[kind], "r", kind),
        "log": horner(LOG[kind], "z", kind),
        "log_of": _LOG_OF,
        "erf": horner(ERF[kind], "z", kind),
        "erfc": horner(ERFC[kind], "u", kind),
    }
    helpers = [KEEP[1], smaller(kind, lanes)[1], larger(kind, lanes)[1]]
    for each, params, template in (
        ("powers", f"{vec} a, {vec} *n", _POWERS),
        ("scaled", f"{vec} a, {vec} n", _SCALED),
        ("ratio", f"{vec} a, {vec} b", _RATIO[kind]),
    ):
        helpers.append(function(f"{vec}_{each}", vec, params, _body(template, words))[1])
    body = _body(_BODIES[curve], words)
    return in_registers(name, kind, lanes, f"{vec} a", REGISTERS[size], helpers, body)


def quotient(kind: str, lanes: int) -> Snippet | None:
    """The quotient that these functions are made with; None if there is no such register."""
    vec, size = set_name(kind, lanes), lanes * ELEMENT_TYPES[kind].bits // 8
    if kind not in _WORDS or size not in REGISTERS:
        return None
    text = _body(_RATIO[kind], words_of(kind, lanes))
    known = f"defined(__FAST_MATH__) && {REGISTERS[size]}"
    body = f"#if {known}\n    {text}\n#else\n    return a / b;\n#endif"
    title, own = function(f"{vec}_quotient", vec, f"{vec} a, {vec} b", body)
    return title, f"#if defined(__SSE2__)\n#include <immintrin.h>\n#endif\n{KEEP[1]}\n{own}"


def words_of(kind: str, lanes: int) -> dict[str, str]:
    """Parts of C for such registers."""
    element, size = ELEMENT_TYPES[kind], lanes * ELEMENT_TYPES[kind].bits // 8
    prefix = f"_mm{'' if size == 16 else 8 * size}"
    return _WORDS[kind] | {
        "vec": set_name(kind, lanes),
        "bytes": str(size),
        "scales": SCALES[size],
        "scale": f"{prefix}_scalef_{element.x86}",
        "reciprocal": f"{prefix}_rcp14_{element.x86}",
        "register": register(kind, lanes),
    }


def in_registers(
    name: str, kind: str, lanes: int, params: str, known: str, helpers: Sequence[str], body: str
) -> Snippet:
    """A function of registers that has this body, after its helpers, with -ffast-math and where
    `known` holds. Elsewhere it is C's function for each lane."""
    vec, known = set_name(kind, lanes), f"defined(__FAST_MATH__) && {known}"
    plain = lane_loop(vec, lanes, FUNCTIONS[name].c_of(kind, "{}[l]"))
    body = f"#if {known}\n    {body}\n#else\n    {plain}\n#endif"
    title, text = function(f"{vec}_{name}", vec, params, body)
    return title, "\n".join(["#include <math.h>", f"#if {known}", *helpers, "#endif", text])


def _body(template: str, words: Mapping[str, str]) -> str:
    body = Template(Template(template).substitute(words)).substitute(words)
    vector = f"__attribute__((vector_size({words['bytes']})))"
    used = [name for name in _TYPES if re.search(rf"\b{name}\b", body)]
    lines = [f"typedef {words[_TYPES[name]]} {name} {vector};" for name in used]
    return "\n    ".join([*lines, body])


def horner(coefficients: Sequence[float], variable: str, kind: str) -> str:
    """C of a polynomial."""
    *others, last = (f"{each!r}{_WORDS[kind]['f']}" for each in coefficients)
    for each in reversed(others):
        last = f"({each} + {variable} * {last})"
    return last
