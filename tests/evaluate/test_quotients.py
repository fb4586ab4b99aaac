"""Quotients of floats in vectors, where the divisor is infinite."""

from __future__ import annotations

import ctypes
import platform
import shutil
from dataclasses import replace

import numpy as np
import pytest

from schedsearch.core.build import by_text, compile_flags
from schedsearch.core.isa import X86
from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler

from .test_builder import built

X86_ONLY = pytest.mark.skipif(platform.machine() != X86, reason="other machines divide")
SIGMOID = """#include <math.h>
void f(void *ctxt, float *restrict y, const float *restrict x) {
  for (int i = 0; i < 64; i++) y[i] = 1.0f / (1.0f + expf(-x[i]));
}
"""


@X86_ONLY
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_sigmoid_of_a_large_number_is_not_nan(compiler: str, builder: Builder) -> None:
    """By -ffast-math alone it is, as soon as a compiler has vectors: so every schedule with
    vectors was wrong, and the procedure as written was not."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    builder = replace(builder, compiler=find_compiler(compiler), flags=default_flags())
    library = ctypes.CDLL(built(builder, GeneratedC("f", "", SIGMOID, digest(SIGMOID))).path)
    x = np.linspace(-300, 300, 64, dtype=np.float32)
    y = np.empty_like(x)
    library.f(None, y.ctypes.data_as(ctypes.c_void_p), x.ctypes.data_as(ctypes.c_void_p))
    assert np.allclose(y, 1 / (1 + np.exp(-x.astype(float))), atol=1e-6)


@pytest.mark.parametrize(
    ("flags", "source", "more"),
    [
        (("-march=x86-64-v4", "-ffast-math"), "float f(float a) { return 1.0f / a; }", True),
        (("-march=x86-64-v4", "-ffast-math"), "float f(float a) { return 1.0f + a; }", False),
        (("-march=x86-64-v4", "-ffast-math"), "float f(float a) { return a / 2.0f; }", True),
        (("-march=x86-64-v4", "-ffast-math"), "float f(float *a) { return a[(n) / (16)]; }", False),
        (("-march=x86-64-v4", "-ffast-math"), "float f(float *a) { return a[n / 16]; }", False),
        (("-march=x86-64-v4",), "float f(float a) { return 1.0f / a; }", False),
        (("-march=armv8-a", "-ffast-math"), "float f(float a) { return 1.0f / a; }", False),
    ],
)
def test_only_what_needs_it_is_compiled_otherwise(
    flags: tuple[str, ...], source: str, more: bool
) -> None:
    for compiler, option in ("gcc", "-mno-recip"), ("clang", "-mrecip=none"):
        assert (option in compile_flags(flags, source, compiler)) is more
        others = {*by_text(flags, source, compiler)} - {"-mstackrealign"}
        assert others == ({option} if more else set())


def test_clang_aligns_the_stack_of_vectors() -> None:
    """gcc does by itself."""
    for flags in (("-march=x86-64-v4",), ("-march=haswell", "-ffast-math")):
        assert "-mstackrealign" not in compile_flags(flags, "", "gcc")
    assert "-mstackrealign" in compile_flags(("-march=x86-64-v4",), "", "clang")
    assert "-mstackrealign" not in compile_flags(("-march=armv8-a",), "", "clang")
