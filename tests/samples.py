"""A made-up workload and targets, for tests of what remembers or compares them."""

from __future__ import annotations

from dataclasses import replace

from schedsearch.core.records import Compiler, Target, Workload

AVX2 = Target(
    cpu="zen5",
    features=("avx2", "fma"),
    isa="avx2",
    vector_bits=256,
    vector_registers=16,
    line_bytes=64,
    cache_bytes=(49152, 1048576),
    cores=2,
    compiler=Compiler("gcc", "12.2.0", "/usr/bin/gcc"),
    flags=("-O3",),
    exo_version="1.0.0",
    z3_version="4.13",
)
AVX512 = replace(
    AVX2,
    features=("avx2", "avx512f"),
    isa="avx512",
    vector_bits=512,
    vector_registers=32,
    cache_bytes=(32768, 1048576),
    flags=("-O3", "-march=native"),
)
WORKLOAD = Workload("gemm", "abc", (("M", 8), ("N", 9)), "kernels/gemm.py", "sha")
