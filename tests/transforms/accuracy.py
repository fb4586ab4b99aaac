"""By how many units of the last place a function of registers is off, at most."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.snippets import types
from schedsearch.transforms.vector.registers import set_name

OURS = """
void ours(const {c} *x, {c} *y, long n)
{{
    for (long i = 0; i < n; i += {lanes})
        *({vec}_u *)(y + i) = {name}(*(const {vec}_u *)(x + i));
}}
"""

THEIRS = """
#include <math.h>
void theirs(const NUMBER *x, WIDE *y, long n)
{
    for (long i = 0; i < n; i++) {
        WIDE a = x[i];
        y[i] = VALUE;
    }
}
"""

# Infinities count as the power of 2 after the largest number.
CHECK = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void ours(const NUMBER *, NUMBER *, long);
void theirs(const NUMBER *, WIDE *, long);
enum { N = 4096 };

static NUMBER x[N], y[N];
static WIDE z[N];
static double off[N];
static double worst, at;

static void compare(void)
{
    const WIDE most = (WIDE)MOST * 2;
    ours(x, y, N);
    theirs(x, z, N);
    for (int i = 0; i < N; i++) {
        WIDE r = z[i], v = y[i];
        r = r > most ? most : r < -most ? -most : r;
        v = v > most ? most : v < -most ? -most : v;
        WIDE size = r < 0 ? -r : r;
        size = size < LEAST ? LEAST : size;
        off[i] = r != r ? (v != v ? 0 : INFINITY) : v != v ? INFINITY : UNITS(v - r, size);
    }
    double most_off = 0;
    for (int i = 0; i < N; i++) most_off = off[i] > most_off ? off[i] : most_off;
    for (int i = 0; i < N && most_off > worst; i++)
        if (off[i] == most_off) worst = most_off, at = x[i];
}
"""

OF_F32 = """
#define MOST 0x1p127
#define LEAST 0x1p-126
static double units(double off, double size)
{
    union { double number; int64_t bits; } unit = {size};
    unit.bits = (unit.bits & 0x7ff0000000000000) - (23ll << 52);
    return fabs(off) / unit.number;
}
#define UNITS units
"""

OF_F64 = """
#define MOST 0x1p1023
#define LEAST 0x1p-1022
static double units(long double off, long double size)
{
    int exponent;
    frexpl(size, &exponent);
    return fabsl(off) / ldexpl(1, exponent - 53);
}
#define UNITS units
"""

ALL_OF_F32 = """
int main(int count, char **words)
{
    const uint64_t step = strtoul(words[1], 0, 10);
    for (uint64_t start = 0; start < 1ull << 32; start += N * step) {
        for (int i = 0; i < N; i++) ((uint32_t *)x)[i] = (uint32_t)(start + i * step);
        compare();
    }
    printf("%g %a", worst, at);
}
"""

SOME_OF_F64 = """
static uint64_t state = 88172645463325252;
static uint64_t next(void)
{
    state ^= state << 13, state ^= state >> 7;
    return state ^= state << 17;
}
static const double SPECIAL[] = {NAN, -NAN, INFINITY, -INFINITY, 0, -0.0, 1, -1, 0x1p-1074,
    -0x1p-1074, 0x1p-1022, 709.78, 709.79, 710, -708.4, -745.13, -745.2, -746, 1e300, -1e300,
    0x1.fffffffffffffp1023, 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 5.9, 6, 6.1};
int main(int count, char **words)
{
    for (int round = atoi(words[1]); round >= 0; round--) {
        for (int i = 0; i < N; i++) {
            const uint64_t bits = next();
            const double part = (double)(int64_t)bits * 0x1p-63;
            const double around = 1 + part * ldexp(1, -(int)(next() % 50));
            const double values[] = {part * 750, part * 3, around};
            if (round % 4) x[i] = values[round % 4 - 1];
            else ((uint64_t *)x)[i] = bits;
        }
        for (int i = 0; !round && i < sizeof SPECIAL / sizeof *SPECIAL; i++) x[i] = SPECIAL[i];
        compare();
    }
    printf("%g %a", worst, at);
}
"""


@cache
def compiled(source: str, command: tuple[str, ...]) -> Path:
    """The object file. Functions share what they are compared with, and what compares them."""
    file = Path(_OBJECTS.name, f"{compiled.cache_info().misses}.c")
    file.write_text(source)
    subprocess.run([*command, "-c", file.name, "-o", f"{file.name}.o"], check=True, cwd=file.parent)
    return file.with_name(f"{file.name}.o")


_OBJECTS = TemporaryDirectory(prefix="accuracy-", ignore_cleanup_errors=True)


def most_off(
    snippet: tuple[str, str],
    value: str,
    kind: str,
    lanes: int,
    effort: int,
    folder: Path,
    compile_with: Sequence[str],
    run_with: Sequence[str] = (),
    fast: bool = True,
) -> float:
    """Of C of `value` in twice the precision. `effort`: of f32 each how-manieth number is looked
    at, of f64 how many thousands are."""
    name, text = snippet
    words = {"c": ELEMENT_TYPES[kind].c, "lanes": lanes, "vec": set_name(kind, lanes), "name": name}
    single = kind == "f32"
    parts = [CHECK, ALL_OF_F32] if single else [CHECK, SOME_OF_F64]
    head, body = CHECK.split("static NUMBER x", 1)
    sources = {
        "ours.c": "\n".join([types(kind, lanes)[1], text, OURS.format(**words)]),
        "theirs.c": THEIRS,
        "check.c": head + (OF_F32 if single else OF_F64) + "static NUMBER x" + body + parts[1],
    }
    compiler, *flags = compile_with
    wide = "double" if single else "long double"
    kinds = (f"-DNUMBER={words['c']}", f"-DWIDE={wide}")
    objects = []
    for file, source in sources.items():
        # What only compares numbers in double precision may take the library's vector forms.
        loose = file == "ours.c" or (file == "theirs.c" and single)
        options = ("-ffast-math",) if fast and loose else ("-fno-trapping-math",)
        given = (*kinds, f"-DVALUE={value}") if file == "theirs.c" else kinds
        objects.append(compiled(source, (compiler, *flags, "-O3", "-w", *options, *given)))
    static = ["-static"] if run_with else []
    subprocess.run([compiler, *static, *objects, "-lm", "-o", "check"], check=True, cwd=folder)
    command = [*run_with, str(folder / "check"), str(effort)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(out.split()[0])
