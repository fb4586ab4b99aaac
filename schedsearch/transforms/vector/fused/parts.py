"""C of an instruction for a whole loop on several threads, each with a part of the iterations."""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.model import Fused, by_value, moving, strides


def parallel_parts(fused: Fused, uid: int, one: str) -> Iterator[str]:
    """Lines that have `one`, the function for one thread, find the extreme of each part, which is
    `found[p].value` then. All begin with the element itself, operand `uid`; each lies in a cache
    line of its own."""
    element = ELEMENT_TYPES[fused.operands[uid].type].c
    yield f"struct {{ _Alignas(64) {element} value; }} found[{fused.parts}];"
    yield "#pragma omp parallel for"
    yield f"for (long p = 0; p < {fused.parts}; p++) {{"
    yield f"    const long first = n * p / {fused.parts};"
    yield f"    const long count = n * (p + 1) / {fused.parts} - first;"
    yield f"    found[p].value = *x{uid};"
    yield f"    if (count > 0) {one}({', '.join(_arguments(fused, uid))});"
    yield "}"


def _arguments(fused: Fused, uid: int) -> Iterator[str]:
    yield "count"
    for number, op in enumerate(fused.operands):
        name = f"x{number}"
        if op.places:
            for place in range(op.places):
                moved = " + first" if moving(fused, number, place) else ""
                yield f"{name}_{place}{moved}"
            continue
        if number == uid:
            yield "&found[p].value"
        else:
            yield f"{name} + first" if op.moves and not by_value(op) else name
        yield from (f"{name}_s{dim}" for dim in strides(op))
