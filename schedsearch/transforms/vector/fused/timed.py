"""Our functions of registers in loops over arrays: C to measure how fast they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused.elementary import elementary, quotient
from schedsearch.transforms.vector.fused.powers import power
from schedsearch.transforms.vector.fused.snippets import REGISTERS, Snippet, extern, types

DIVISION, ROOT = "/", "sqrt"


def function_loops(kinds: Iterable[str], vector_bits: int) -> Iterator[tuple[str, str, str]]:
    """For each of `kinds`, as `f32 expf` or `f32 /`, that we have vector code of: it, a name, and C
    of `void NAME(const T *a, const T *b, T *out, long n)`.

    Results stay in registers where there are such ones: a schedule need not store them.
    """
    for kind in kinds:
        element, _, name = kind.partition(" ")
        lanes = vector_bits // ELEMENT_TYPES[element].bits
        known = name in (DIVISION, ROOT) or name in FUNCTIONS
        if known and lanes > 1 and (helper := _function(name, element, lanes)) is not None:
            yield kind, *_loop(helper, element, lanes, FUNCTIONS[name].arity if name != "/" else 2)


def _function(name: str, kind: str, lanes: int) -> Snippet | None:
    if name == DIVISION:
        return quotient(kind, lanes)
    if name == ROOT:
        return extern("sqrt_", kind, lanes)
    asked = name, kind, lanes
    return elementary(*asked) or power(*asked) or extern(*asked)


def _loop(helper: Snippet, kind: str, lanes: int, arity: int) -> Snippet:
    (vec, registers), c = types(kind, lanes), ELEMENT_TYPES[kind].c
    name, known = f"{helper[0]}_each", REGISTERS.get(lanes * ELEMENT_TYPES[kind].bits // 8, "0")
    args = ", ".join(f"*(const {vec} *)({each} + i)" for each in "ab"[:arity])
    text = f"""\
static void {name}(const {c} *a, const {c} *b, {c} *out, long n)
{{
    (void)b;
    for (long i = 0; i < n; i += {lanes}) {{
        {vec} r = {helper[0]}({args});
#if !{known}
        *({vec} *)(out + i) = r;
#elif defined(__aarch64__)
        __asm__ volatile("" : : "w"(r));
#else
        __asm__ volatile("" : : "v"(r));
#endif
    }}
    (void)out;
}}"""
    return name, "\n".join([registers, helper[1], text])
