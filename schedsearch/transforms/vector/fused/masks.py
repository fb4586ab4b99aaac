"""C snippets of conditions on lanes: choices by masks, and whether one holds in any lane."""

from __future__ import annotations

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS, LETTERS
from schedsearch.transforms.vector.fused.snippets import INTEGER_OF, Snippet, bits, function
from schedsearch.transforms.vector.registers import set_name


def chosen(name: str, kind: str, lanes: int) -> Snippet:
    """A choice, by masks. Of a loop over lanes, gcc 12 makes -1 of `a == b ? 0 : 1`, and often no
    vectors; of lanes that come from shuffles it takes one by one."""
    vec = set_name(kind, lanes)
    body = [
        bits(kind, lanes),
        f"const bits taken = (bits)(a {FUNCTIONS[name].chooses} b);",
        f"return ({vec})(((bits)c & taken) | ((bits)d & ~taken));",
    ]
    params = ", ".join(f"{vec} {letter}" for letter in LETTERS)
    return function(f"{vec}_{name}_by_mask", vec, params, "\n    ".join(body))


_TESTS = {
    64: ("defined(__AVX512F__)", "_mm512_test_epi32_mask((__m512i)a, (__m512i)a) != 0"),
    32: ("defined(__AVX2__)", "!_mm256_testz_si256((__m256i)a, (__m256i)a)"),
    16: ("defined(__SSE4_1__)", "!_mm_testz_si128((__m128i)a, (__m128i)a)"),
}
"""By bytes of a register: what tells whether any bit is set, and what has it."""


def some_lane(kind: str, lanes: int) -> Snippet:
    """Whether any bit of a register is set."""
    vec, each = set_name(kind, lanes), ELEMENT_TYPES[kind].bits // 8
    size, integer = lanes * each, INTEGER_OF[each]
    plain = [
        bits(kind, lanes),
        "const bits all = (bits)a;",
        f"{integer} found = 0;",
        f"for (int l = 0; l < {lanes}; l++) found |= all[l];",
        "return found != 0;",
    ]
    body = "\n    ".join(plain)
    if size not in _TESTS:
        return function(f"{vec}_some", "int", f"{vec} a", body)
    condition, test = _TESTS[size]
    body = f"#if {condition}\n    return {test};\n#else\n    {body}\n#endif"
    title, text = function(f"{vec}_some", "int", f"{vec} a", body)
    return title, f"#if {condition}\n#include <immintrin.h>\n#endif\n{text}"
