"""How fast are functions, divisions and roots in registers? C of the loops that are timed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from schedsearch.core.build import Build
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Artifact, GeneratedC, Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.roof.kinds import DIVISION, ROOT, Functions, unit_of

_WIDE = "-mprefer-vector-width=512"


def measured_kinds(ops: Iterable[tuple[str, float]]) -> tuple[str, ...]:
    """The types of operations that have a loop of their own here."""
    return tuple(kind for kind, _ in ops if unit_of(kind) != "arithmetic")


def function_libraries(
    builder: Builder, target: Target, kinds: tuple[str, ...], own: Functions, timeout_s: float
) -> Iterator[Path]:
    """The loops, by every compiler that kernels may have; those that do not compile are left
    out."""
    options = ("", _WIDE) if target.vector_bits == 512 else ("",)
    # Compilers approximate roots where the C has no quotients (`core/build.py`).
    numbered = [*enumerate(kinds)]
    roots = [each for each in numbered if each[1].endswith(f" {ROOT}")]
    parts = [part for part in (roots, [e for e in numbered if e not in roots]) if part]
    compilers = target.compiler, *target.other_compilers
    for part, compiler, option in product(parts, compilers, options):
        text, build = _source(part, own, target.fp), Build(compiler.kind, option)
        key = digest_of([text, compiler.kind, option])
        built = builder.build(GeneratedC("functions", "", text, key, build), timeout_s)
        if isinstance(built, Artifact):
            yield Path(built.path)


def _source(kinds: Iterable[tuple[int, str]], own: Functions, fp: FloatingPoint) -> str:
    """All loops, and a table of them: which kind each is of, and bytes of an element."""
    texts, table = ["#include <math.h>"], []
    for number, kind in kinds:
        element = ELEMENT_TYPES[kind.partition(" ")[0]]
        loops = [(name, text) for of, name, text in own if of == kind]
        for way, value in enumerate(_values(kind, fp)):
            name, c = f"function_{number}_{way}", element.c
            head = f"static void {name}(const {c} *a, const {c} *b, {c} *restrict out, long n)"
            body = f"for (long i = 0; i < n; i++) out[i] = {value};"
            loops.append((name, f"{head}\n{{\n    (void)b;\n    {body}\n}}"))
        texts += [text for _, text in loops]
        table += [f"    {{{number}, {element.bits // 8}, {name}}}," for name, _ in loops]
    return "\n".join(
        [
            *texts,
            "const struct { int kind, bytes; void (*run)(); } functions[] = {",
            *table,
            "};",
            f"const int function_count = {len(table)};",
        ]
    )


def _values(kind: str, fp: FloatingPoint) -> list[str]:
    """C of an element, in ways of which the fastest counts."""
    kind, _, how = kind.partition(" ")
    if how == DIVISION:
        return ["a[i] / b[i]", *(["1 / b[i]"] if fp is FloatingPoint.FAST else [])]
    return [FUNCTIONS["sqrt_" if how == ROOT else how].c_of(kind, "{}[i]")]
