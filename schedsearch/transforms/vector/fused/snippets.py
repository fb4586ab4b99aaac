"""C snippets that fused vector instructions are made of: `(name, text)` each.

Every snippet guards itself, so that several instructions may bring the same one.
"""

from __future__ import annotations

from collections.abc import Iterable

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS, LETTERS
from schedsearch.transforms.vector.registers import set_name

Snippet = tuple[str, str]

# Masked intrinsics by bytes of a register: width in their names, and what they need.
_WIDTHS = {64: ("512", "__AVX512F__"), 32: ("256", "__AVX512VL__"), 16: ("", "__AVX512VL__")}


INTEGER_OF = {1: "signed char", 2: "short", 4: "int", 8: "long long"}
"""Integers of so many bytes; a register has at most 64 lanes."""


def bits(kind: str, lanes: int) -> str:
    """The type `bits`: the register as integers of the same size."""
    size = ELEMENT_TYPES[kind].bits // 8
    return f"typedef {INTEGER_OF[size]} bits __attribute__((vector_size({lanes * size})));"


_HALVES = {
    4: (
        "__F16C__",
        "({result})_mm_cvtph_ps(_mm_cvtsi64_si128((long long)a))",
        "({result})_mm_cvtsi128_si64(_mm_cvtps_ph((__m128)a, _MM_FROUND_CUR_DIRECTION))",
    ),
    8: (
        "__F16C__",
        "({result})_mm256_cvtph_ps((__m128i)a)",
        "({result})_mm256_cvtps_ph((__m256)a, _MM_FROUND_CUR_DIRECTION)",
    ),
    16: (
        "__AVX512F__",
        "({result})_mm512_cvtph_ps((__m256i)a)",
        "({result})_mm512_cvtps_ph((__m512)a, _MM_FROUND_CUR_DIRECTION)",
    ),
}
"""By lanes: the CPU feature that converts f16, the C from f16 to f32, and back."""


def types(kind: str, lanes: int) -> Snippet:
    """A register type, and its unaligned form (`_u`) for memory."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind]
    size = element.bits // 8
    text = (
        f"typedef {element.c} {vec} __attribute__((vector_size({lanes * size})));\n"
        f"typedef {element.c} {vec}_u "
        f"__attribute__((vector_size({lanes * size}), aligned({size}), may_alias));"
    )
    return vec, guarded(vec, text)


def spread(kind: str, lanes: int) -> Snippet:
    """A scalar in every lane."""
    return _lanewise(f"{set_name(kind, lanes)}_all", kind, lanes, f"{ELEMENT_TYPES[kind].c} a", "a")


def conversion(before: str, after: str, lanes: int) -> Snippet:
    """Between types of element. gcc converts f16 lane by lane unless told the instruction, which is
    one to and from f32."""
    source, result = set_name(before, lanes), set_name(after, lanes)
    name, params, plain = f"{source}_to_{after}", f"{source} a", lane_loop(result, lanes, "a[l]")
    if "f16" not in (before, after) or lanes not in _HALVES:
        return function(name, result, params, plain)
    if after not in ("f16", "f32"):
        single, (to_single, text) = types("f32", lanes)[1], conversion("f16", "f32", lanes)
        value = lane_loop(result, lanes, "b[l]")
        body = f"const {set_name('f32', lanes)} b = {to_single}(a);\n    {value}"
        title, last = function(name, result, params, body)
        return title, "\n".join([single, text, last])
    feature, widen, narrow = _HALVES[lanes]
    value = (narrow if after == "f16" else widen).format(result=result)
    condition = f"defined({feature})"
    body = f"#if {condition}\n    return {value};\n#else\n    {plain}\n#endif"
    title, text = function(name, result, params, body)
    return title, f"#if {condition}\n#include <immintrin.h>\n#endif\n{text}"


def extern(name: str, kind: str, lanes: int) -> Snippet:
    """An external function, in single precision on single-precision numbers; two of Exo's, by
    name, on all."""
    vec, row = set_name(kind, lanes), FUNCTIONS[name]
    params = ", ".join(f"{vec} {letter}" for letter in LETTERS[: row.arity])
    value = row.c_of(kind, "{}[l]")
    function = f"{vec}_{name}"
    title, text = _lanewise(function, kind, lanes, params, value)
    return title, f"#include <math.h>\n{text}"


def total(kind: str, lanes: int) -> Snippet:
    """The sum of all lanes, by halves: left to itself, gcc adds them one by one."""
    vec, ctype = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    if lanes == 2:
        return function(f"{vec}_sum", ctype, f"{vec} a", "return a[0] + a[1];")
    if lanes == 4:
        body = f"const {vec} b = a + {_shuffle((2, 3, 0, 1))};\n    return b[0] + b[1];"
        return function(f"{vec}_sum", ctype, f"{vec} a", body)
    half, (add, before) = types(kind, lanes // 2), total(kind, lanes // 2)
    low, high = (_shuffle(range(n, n + lanes // 2)) for n in (0, lanes // 2))
    name, text = function(f"{vec}_sum", ctype, f"{vec} a", f"return {add}({low} + {high});")
    return name, f"{half[1]}\n{before}\n{text}"


def _shuffle(order: Iterable[int]) -> str:
    return f"__builtin_shufflevector(a, a, {', '.join(map(str, order))})"


def turned(kind: str, lanes: int, by: int) -> Snippet:
    """All lanes, moved by so many places in a circle."""
    vec = set_name(kind, lanes)
    order = _shuffle((lane + by) % lanes for lane in range(lanes))
    return function(f"{vec}_turned_{by}", vec, f"{vec} a", f"return {order};")


def shifted(kind: str, lanes: int, by: int) -> Snippet:
    """The lanes from number `by` on of two registers that follow each other."""
    vec, size = set_name(kind, lanes), ELEMENT_TYPES[kind].bits // 8
    order = ", ".join(str(by + lane) for lane in range(lanes))
    plain = f"return __builtin_shufflevector(a, b, {order});"
    name = f"{vec}_shifted_{by}"
    if lanes * size != 64 or size < 4:
        return function(name, vec, f"{vec} a, {vec} b", plain)
    value = f"({vec})_mm512_alignr_epi{8 * size}((__m512i)b, (__m512i)a, {by})"
    body = f"#if defined(__AVX512F__)\n    return {value};\n#else\n    {plain}\n#endif"
    title, text = function(name, vec, f"{vec} a, {vec} b", body)
    return title, f"#if defined(__AVX512F__)\n#include <immintrin.h>\n#endif\n{text}"


def after(kind: str, lanes: int) -> Snippet:
    """An element, and all lanes but the last after it."""
    vec = set_name(kind, lanes)
    order = ", ".join(str(lanes + lane) for lane in range(lanes - 1))
    text = f"return __builtin_shufflevector(({vec}){{b}}, a, 0, {order});"
    return function(f"{vec}_after", vec, f"{vec} a, {ELEMENT_TYPES[kind].c} b", text)


def rows_of(kind: str, lanes: int, row: int, start: int) -> Snippet:
    """Each element for the lanes of its row; the first lane is number `start` of a row."""
    vec = set_name(kind, lanes)
    order = _shuffle((start + lane) // row for lane in range(lanes))
    return function(f"{vec}_rows_of_{row}_{start}", vec, f"{vec} a", f"return {order};")


def first(kind: str, lanes: int) -> Snippet:
    """The first `n` lanes, 0 in the others."""
    vec = set_name(kind, lanes)
    return _kept(f"{vec}_first", kind, lanes, f"{vec} a, long n", "(bits)a & kept")


def merge(kind: str, lanes: int) -> Snippet:
    """The first `n` lanes of one register, the others of another."""
    vec = set_name(kind, lanes)
    params = f"{vec} a, {vec} b, long n"
    return _kept(f"{vec}_merge", kind, lanes, params, "((bits)a & kept) | ((bits)b & ~kept)")


def masked_merge(kind: str, lanes: int) -> Snippet:
    """The same as `merge`, by a masked instruction where the target has one."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind]
    name, plain = merge(kind, lanes)
    cast = f"({register(kind, lanes)})"
    masked = f"return ({vec})_mm{{width}}_mask_mov_{element.x86}({cast}b, {{mask}}, {cast}a);"
    title, text = _partial(
        kind, lanes, "merge_n", vec, f"{vec} a, {vec} b, long n", masked, f"return {name}(a, b, n);"
    )
    return title, f"{plain}\n{text}"


def _kept(name: str, kind: str, lanes: int, params: str, value: str) -> Snippet:
    """A function of the first `n` lanes: in `kept` all their bits are set. Of a loop with
    `l < n ? a[l] : b[l]` gcc 12 makes a branch for every lane."""
    vec, size = set_name(kind, lanes), ELEMENT_TYPES[kind].bits // 8
    numbers = ", ".join(map(str, range(lanes)))
    body = [
        bits(kind, lanes),
        f"const bits kept = (bits){{{numbers}}} < (bits){{0}} + ({INTEGER_OF[size]})n;",
        f"return ({vec})({value});",
    ]
    return function(name, vec, params, "\n    ".join(body))


def partial_load(kind: str, lanes: int) -> Snippet:
    """The first `n` lanes from memory, 0 in the others."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind]
    plain = f"{vec} r = {{0}};\n    for (long l = 0; l < n; l++) r[l] = p[l];\n    return r;"
    masked = f"return ({vec})_mm{{width}}_maskz_loadu_{element.x86}({{mask}}, p);"
    return _partial(kind, lanes, "load_n", vec, f"const {element.c} *p, long n", masked, plain)


def partial_store(kind: str, lanes: int) -> Snippet:
    """The first `n` lanes to memory."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind]
    params = f"{element.c} *p, {vec} a, long n"
    plain = "for (long l = 0; l < n; l++) p[l] = a[l];"
    masked = f"_mm{{width}}_mask_storeu_{element.x86}(p, {{mask}}, ({register(kind, lanes)})a);"
    return _partial(kind, lanes, "store_n", "void", params, masked, plain)


def register(kind: str, lanes: int) -> str:
    """The register's type for intrinsics."""
    suffix = {"f32": "", "f64": "d"}.get(kind, "i")
    return f"__m{lanes * ELEMENT_TYPES[kind].bits}{suffix}"


def _partial(
    kind: str, lanes: int, name: str, result: str, params: str, masked: str, plain: str
) -> Snippet:
    """A function with a masked instruction where the target has one."""
    name, size = f"{set_name(kind, lanes)}_{name}", ELEMENT_TYPES[kind].bits // 8
    if lanes * size not in _WIDTHS:
        return function(name, result, params, plain)
    width, feature = _WIDTHS[lanes * size]
    condition = f"defined({feature})" + (" && defined(__AVX512BW__)" if size < 4 else "")
    mask = "(1ull << (n - 1) << 1) - 1"  # n is from 1 to 64
    body = "\n".join(
        [
            f"#if {condition}",
            "    " + masked.format(width=width, mask=mask),
            "#else",
            f"    {plain}",
            "#endif",
        ]
    )
    title, text = function(name, result, params, body.lstrip())
    include = f"#if {condition}\n#include <immintrin.h>\n#endif"
    return title, f"{include}\n{text}"


def _lanewise(name: str, kind: str, lanes: int, params: str, value: str) -> Snippet:
    vec = set_name(kind, lanes)
    return function(name, vec, params, lane_loop(vec, lanes, value))


def lane_loop(vec: str, lanes: int, value: str) -> str:
    """The body of a function that computes a `value` for each lane `l`."""
    return f"{vec} r;\n    for (int l = 0; l < {lanes}; l++) r[l] = {value};\n    return r;"


def function(name: str, result: str, params: str, body: str) -> Snippet:
    """An inlined function."""
    head = f"static inline __attribute__((always_inline)) {result} {name}({params})"
    return name, guarded(name, f"{head}\n{{\n    {body}\n}}")


def guarded(name: str, text: str) -> str:
    macro = f"HAVE_{name.upper()}"
    return f"#ifndef {macro}\n#define {macro}\n{text}\n#endif"


KEEP = (
    "VEC_KEEP",
    guarded(
        "vec_keep",
        """\
/* Sums before it are as they stand, under -ffast-math too. */
#ifdef __aarch64__
#define VEC_KEEP(a) __asm__("" : "+w"(a))
#else
#define VEC_KEEP(a) __asm__("" : "+v"(a))
#endif""",
    ),
)

REGISTERS = {
    64: "defined(__AVX512F__)",
    32: "defined(__AVX2__)",
    16: "(defined(__SSE2__) || defined(__aarch64__))",
}
"""What has registers of so many bytes."""


def in_order(kind: str, lanes: int) -> Snippet:
    """Keeps a register as it stands, if the target has one of its size: sums stay in order."""
    vec, size = set_name(kind, lanes), lanes * ELEMENT_TYPES[kind].bits // 8
    name = f"{vec.upper()}_IN_ORDER"
    has = REGISTERS.get(size, "0")
    text = f"#if {has}\n#define {name}(a) VEC_KEEP(a)\n#else\n#define {name}(a)\n#endif"
    return name, f"{KEEP[1]}\n{guarded(name.lower(), text)}"
