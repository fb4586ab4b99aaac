"""Instruction-set architectures: which one a CPU has, and what it offers."""

from __future__ import annotations

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.isa import KNOWN, best_isa, isa

AVX2 = {"sse2", "avx", "avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"}
AVX512 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@pytest.mark.parametrize(
    ("features", "name", "bits", "registers"),
    [
        ({*AVX2, *AVX512}, "avx512", 512, 32),
        ({*AVX2, "avx512f"}, "avx2", 256, 16),  # Knights Landing
        (AVX2, "avx2", 256, 16),
        (AVX2 - {"movbe"}, "avx", 256, 16),  # as some virtual machines have it
        ({"sse2", "avx"}, "avx", 256, 16),
        ({"sse2"}, "sse2", 128, 16),
        ({"asimd", "fp"}, "neon", 128, 32),
        ({"altivec"}, "scalar", 0, 16),
        (set(), "scalar", 0, 16),
    ],
)
def test_the_best_isa_follows_from_the_features(
    features: set[str], name: str, bits: int, registers: int
) -> None:
    found = best_isa(features)
    assert (found.name, found.vector_bits, found.vector_registers) == (name, bits, registers)


def test_isas_are_found_by_name() -> None:
    assert [isa(each.name) for each in KNOWN] == list(KNOWN)
    with pytest.raises(UserError, match=r"isa 'mmx' is unknown; known: avx512, avx2, "):
        isa("mmx")
