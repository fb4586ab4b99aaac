"""Instruction-set architectures as data: what schedules have to know of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.core.suggest import unknown


@dataclass(frozen=True)
class Isa:
    """One instruction-set architecture.

    `vector_bits` is the width of its vector registers (0: it has none), `vector_registers`
    how many a procedure may use, or of scalar floating-point registers if it has no
    vectors. `needs` are CPU features as archspec names them; `march` tells gcc and clang
    to compile for any CPU that has them, and for nothing else. `instructions` names the
    sets of Exo instructions this package has for it, each with the features it needs besides.
    """

    name: str
    machine: str
    vector_bits: int
    vector_registers: int
    needs: frozenset[str]
    march: tuple[str, ...]
    instructions: tuple[tuple[str, frozenset[str]], ...] = ()


X86, ARM, ANY = "x86_64", "aarch64", "any"

V3 = frozenset({"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"})
"""What `-march=x86-64-v3` lets compilers use, without what every CPU with AVX2 has. A virtual
machine may hide any of it."""

# Registers: Intel 64 and IA-32 Architectures Software Developer's Manual, vol. 1, ch. 14
# and 15; Arm Architecture Reference Manual for A-profile, B1.2.
KNOWN = (
    Isa(
        "avx512",
        X86,
        512,
        32,
        V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
        ("-march=x86-64-v4",),
        (("avx512", frozenset()), ("avx512_vnni", frozenset({"avx512_vnni"}))),
    ),
    Isa(
        "avx2",
        X86,
        256,
        16,
        V3,
        ("-march=x86-64-v3",),
        (("avx2", frozenset()),),
    ),
    Isa("avx", X86, 256, 16, frozenset({"avx"}), ("-march=x86-64-v2", "-mavx")),
    Isa("sse2", X86, 128, 16, frozenset({"sse2"}), ("-march=x86-64",)),
    Isa(
        "neon",
        ARM,
        128,
        32,
        frozenset({"asimd"}),
        ("-march=armv8-a",),
        (("neon", frozenset()), ("neon_dotprod", frozenset({"asimddp"}))),
    ),
    Isa("scalar", ANY, 0, 16, frozenset(), ("-fno-tree-vectorize", "-fno-tree-slp-vectorize")),
)
"""Every known ISA; of those a CPU has, the first is its best."""

NAMES = tuple(isa.name for isa in KNOWN)


def isa(name: str) -> Isa:
    """The ISA of this name. Raises UserError for an unknown one."""
    found = next((each for each in KNOWN if each.name == name), None)
    if found is None:
        raise UserError(unknown("isa", name, NAMES))
    return found


def best_isa(features: Iterable[str]) -> Isa:
    """The best known ISA of a CPU with these features."""
    have = frozenset(features)
    return next(each for each in KNOWN if each.needs <= have)
