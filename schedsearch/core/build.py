"""How a kernel's C is compiled, as far as the schedule chooses it."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from schedsearch.core.errors import UserError
from schedsearch.core.floats import changes_values
from schedsearch.core.isa import X86

COMPILE_WITH = "compile_with"
"""The rewrite that sets build options; it leaves the procedure as it is."""

COMPILERS = ("gcc", "clang")

PEEL = "-mtune=silvermont"
"""gcc then counts vectors that are not aligned as dearer than others, and so begins its loops at an
aligned element, whichever that is when they run."""

GENERIC = "-mtune=generic"
"""A gcc older than the CPU tunes for what came before. gcc 12 on Zen 5 reads the vectors of a
register block from memory for each row that it multiplies them with: up to twice the time."""

TYPE_GENERIC = "-includetgmath.h"
"""C computes functions in the type of their argument. Otherwise `sqrt` and `sin` of an f32 are f64,
and so is all that is computed with them."""

OPTIONS = (
    "",
    TYPE_GENERIC,
    "-O2",
    "-funroll-loops",
    "-mprefer-vector-width=512",
    "-mprefer-vector-width=256",
    PEEL,
    GENERIC,
)
"""Options that may be added to the target's flags. The list is closed: a trace may come from
anywhere, and some options of compilers run programs (`-fplugin=`)."""


ALWAYS = ("-std=gnu11", "-fPIC", "-DNDEBUG")
"""Options of every kernel, measured or exported: it fits into a shared library, and its checks of
arguments are off."""

OPENMP = "-fopenmp"

WRAP = "-fwrapv"
"""Integers wrap, as NumPy's do. C leaves that undefined for `int`, in which it computes all of
them, and compilers at -O3 take `x + y > x` for `y > 0`."""

NO_WRAP = "-fno-wrapv"
"""What C of a user's own is compiled with, as they do it: gcc may take 13 times as long for bytes
that wrap."""

_INTEGERS = re.compile(r"\bu?int(8|16|32)_t\b")
_QUOTIENT = re.compile(r"\bfloat\b.* / (?!\d+\b(?!\.)|\(\d+\))", re.DOTALL)
"""Of floats: indices are divided by whole numbers alone."""


_FULL_QUOTIENTS = {"gcc": "-mno-recip", "clang": "-mrecip=none"}
"""With -ffast-math compilers for x86 compute quotients of f32 in vectors as products with a
reciprocal, by Newton's method. For an infinite divisor that is NaN, and `1 / (1 + expf(-x))` has
one for finite `x`, where the result is 0."""

_ALIGNED_STACK = "-mstackrealign"
"""clang spills vectors to the stack as its caller left it, at any multiple of 16 bytes. Every other
access of 64 bytes crosses two cache lines then: one kernel took 3.1 or 10.7 us, by its caller."""


def compile_flags(flags: tuple[str, ...], source: str, compiler: str) -> tuple[str, ...]:
    """All that C `source` is compiled with, measured or by its user: `flags` are `Build.flags`,
    `compiler` is the kind of the compiler."""
    return (*flags, *ALWAYS, *by_text(flags, source, compiler), *_openmp(source))


def link_flags(flags: tuple[str, ...], source: str) -> tuple[str, ...]:
    """Options of the link line, before the objects; `-lm` comes after them.

    With an option that changes values gcc (before 13 also for shared libraries) adds code that
    turns denormals off in the whole process.
    """
    return (*(flag for flag in flags if not changes_values(flag)), *_openmp(source))


def by_text(flags: tuple[str, ...], source: str, compiler: str) -> tuple[str, ...]:
    """Options that what is in C `source` needs: integers as data (sizes are `int_fast32_t`),
    quotients of floats, and clang's vectors on the stack."""
    own = (WRAP,) if _INTEGERS.search(source) and NO_WRAP not in flags else ()
    if compiler == "clang" and _for_x86(flags):
        own = (*own, _ALIGNED_STACK)
    if "-ffast-math" in flags and _for_x86(flags) and _QUOTIENT.search(source):
        own = (*own, _FULL_QUOTIENTS[compiler])
    return own


def _for_x86(flags: tuple[str, ...]) -> bool:
    machines = [flag for flag in flags if flag.startswith("-march=")]
    here = platform.machine() == X86
    return any("x86" in flag for flag in machines) or ("-march=native" in machines and here)


def _openmp(source: str) -> tuple[str, ...]:
    return (OPENMP,) if has_threads(source) else ()


def has_threads(source: str) -> bool:
    """Whether C of a kernel is for OpenMP."""
    return "#pragma omp" in source


@dataclass(frozen=True)
class Build:
    """Build options; by default those of the baseline.

    `compiler` is a kind (empty: the target's own), `options` one of `OPTIONS`.
    `restrict`: array arguments are declared not to overlap, which Exo assumes
    anyway but its C does not say.
    """

    compiler: str = ""
    options: str = ""
    restrict: bool = False

    def __post_init__(self) -> None:
        if self.compiler not in ("", *COMPILERS):
            raise ValueError(f"unknown compiler {self.compiler!r}; known: {', '.join(COMPILERS)}")
        if self.options not in OPTIONS:
            known = ", ".join(filter(None, OPTIONS))
            raise ValueError(f"unknown compiler option {self.options!r}; known: {known}")
        if not isinstance(self.restrict, bool):
            raise ValueError(f"restrict is true or false, not {self.restrict!r}")

    def flags(self, base: tuple[str, ...]) -> tuple[str, ...]:
        """The target's flags `base` with these options; an optimisation level replaces theirs."""
        own = tuple(self.options.split())
        if any(word.startswith("-O") for word in own):
            base = tuple(word for word in base if not word.startswith("-O"))
        return (*base, *own)

    def to_json(self) -> dict[str, Any]:
        """As traces in the store have it."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Build:
        """Inverse of `to_json`. Raises UserError on anything else (it may come from anywhere)."""
        if set(data) != {"compiler", "options", "restrict"}:
            raise UserError(f"build options are compiler, options and restrict, not {list(data)}")
        try:
            return Build(data["compiler"], data["options"], data["restrict"])
        except ValueError as error:
            raise UserError(str(error)) from error


DEFAULT_BUILD = Build()
