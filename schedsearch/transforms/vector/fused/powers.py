"""Powers of f32 registers in C: `2^(b log2(|a|))`, the exponent as a sum of two registers.

`log2(|a|) = k + log2((1 + s) / (1 - s))`, with `|a| = 2^k (1 + f)` and `s = f / (2 + f)`. A product
and its rounding error are two registers, by FMA. What is negative, zero, one, infinite or NaN gives
what the C standard says of `pow` (F.10.4.4).
"""

from __future__ import annotations

from string import Template

from schedsearch.transforms.vector.fused.coefficients import EXP2, LOG2
from schedsearch.transforms.vector.fused.elementary import (
    horner,
    in_registers,
    words_of,
)
from schedsearch.transforms.vector.fused.extremes import larger, smaller
from schedsearch.transforms.vector.fused.snippets import KEEP, REGISTERS, Snippet, function
from schedsearch.transforms.vector.registers import set_name

_LOG2 = """\
typedef unsigned naturals __attribute__((vector_size($bytes)));
    typedef int bits __attribute__((vector_size($bytes)));
    const bits small = (bits)a < 0x00800000;
    const $vec up = a * 0x1p25f;
    const bits x = ((bits)up & small) | ((bits)a & ~small);
    const naturals k = ((naturals)(x - 0x3f3504f3) + $one) >> 23;
    const $vec f = ($vec)((naturals)x - ((k << 23) - $one)) - 1.0f;
    const $vec e = ($vec)((bits)k + (0x4b400000 - 127) - (25 & small)) - 0x1.8p23f;
    $vec d = 2.0f + f;
    VEC_KEEP(d);
    $vec less = d - 2.0f;
    VEC_KEEP(less);
    less = f - less;
#if $scales
    const $vec i = ($vec)$reciprocal(($register)d);
#else
    $vec i = 1.0f / d;
    VEC_KEEP(i);
#endif
    $vec s = f * i;
    VEC_KEEP(s);
    s += ${vec}_fma(-s, d, f) * i;
    VEC_KEEP(s);
    const $vec rest = (${vec}_fma(-s, d, f) - s * less) * i, c = ($vec){0} + 0x1.715476p1f;
    $vec p = s * c;
    VEC_KEEP(p);
    $vec q = ${vec}_fma(s, c, -p);
    VEC_KEEP(q);
    const $vec z = s * s;
    q += rest * c + s * (0x1.4ae0cp-25f + z * $log2);
    $vec sum = e + p;
    VEC_KEEP(sum);
    less = sum - e;
    VEC_KEEP(less);
    p -= less;
    VEC_KEEP(p);
    q += p;
    $vec high = sum + q;
    VEC_KEEP(high);
    less = high - sum;
    VEC_KEEP(less);
    *low = q - less;
    return high;"""
"""Of what is larger than 0 and finite."""

_FMA = """\
#ifdef __FMA__
    return ($vec)$fmadd(($register)a, ($register)b, ($register)c);
#else
    return ($vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#endif"""

_POWER = """\
typedef int bits __attribute__((vector_size($bytes)));
    const bits size = (bits)a & $rest, by = (bits)b & $rest;
    $vec low, high = ${vec}_log2(($vec)size, &low);
    $vec t = b * high;
    VEC_KEEP(t);
    $vec more = ${vec}_fma(b, high, -t) + b * low;
    more = ($vec)((bits)more & (((bits)t & $rest) < $ends));
    t = ${vec}_max(($vec){0} - 200.0f, ${vec}_min(($vec){0} + 200.0f, t));
    $vec n = t + 0x1.8p23f;
    VEC_KEEP(n);
    $vec whole = n - 0x1.8p23f;
    VEC_KEEP(whole);
    t -= whole;
    VEC_KEEP(t);
    t += more;
    t = 1.0f + t * $exp2;
    VEC_KEEP(t);
#if $scales
    t = ($vec)$scale(($register)t, ($register)whole);
#else
    const bits by_2 = (bits)n - 0x4b400000, half = by_2 >> 1;
    t *= ($vec)((half + 127) << 23);
    VEC_KEEP(t);
    t *= ($vec)((by_2 - half + 127) << 23);
#endif
    const bits none = size == 0, far = none | (size == $infinity), below = (bits)a < 0;
    bits r = ((bits)t & ~far) | (far & $infinity & (none ^ ((bits)b >= 0)));
    const bits nan = ((size > $infinity) | (by > $infinity)) & $quiet;
    const $vec exponent = ($vec)((bits)b & (by < $even));
    const bits odd = __builtin_convertvector(exponent, bits);
    const bits broken = __builtin_convertvector(odd, $vec) != exponent;
    const bits wrong = below & broken & ~far & $quiet;
    const bits one = (by == 0) | ((bits)a == $one) | ((size == $one) & (by == $infinity));
    r = ((r | nan | wrong) & ~one) | (one & $one);
    return ($vec)(r ^ (below & ~broken & (odd << 31)));"""

_WORDS = {
    "even": "0x4b800000",  # 2^24: from there on numbers are even, and so are infinities to C
    "ends": "0x43480000",  # 200
    "log2": horner(LOG2["f32"], "z", "f32"),
    "exp2": horner(EXP2["f32"], "t", "f32"),
}


_HAS_FMA = ("defined(__FMA__)", "(defined(__FMA__) || defined(__aarch64__))")
"""By whether the registers have 16 bytes."""


def power(name: str, kind: str, lanes: int) -> Snippet | None:
    """`a^b` of registers, off by at most 8 units of the last place; None if it is another function
    or type. Where there is no such register, no FMA or no -ffast-math, it is C's function for each
    lane."""
    size, vec = 4 * lanes, set_name(kind, lanes)
    if name != "pow_" or kind != "f32" or size not in REGISTERS:
        return None
    words = words_of(kind, lanes) | _WORDS
    words["fmadd"] = words["scale"].replace("scalef", "fmadd")
    fma, log2 = (Template(each).substitute(words) for each in (_FMA, _LOG2))
    helpers = [
        *(KEEP, smaller(kind, lanes), larger(kind, lanes)),
        function(f"{vec}_fma", vec, f"{vec} a, {vec} b, {vec} c", fma),
        function(f"{vec}_log2", vec, f"{vec} a, {vec} *low", log2),
    ]
    before = [each for _, each in helpers]
    known, body = f"{_HAS_FMA[size == 16]} && {REGISTERS[size]}", Template(_POWER).substitute(words)
    return in_registers(name, kind, lanes, f"{vec} a, {vec} b", known, before, body)
