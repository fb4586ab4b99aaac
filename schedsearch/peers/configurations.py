"""The ways in which a library can compute, each chosen by variables of its environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Configuration = Mapping[str, str]

USUAL: Configuration = {}
"""The library's own choice."""

# Kernels of OpenBLAS and the CPU features that they need (its `dynamic.c`), by archspec's names.
# Zen has Haswell's kernels.
_CORES = {
    "Haswell": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
    "Cooperlake": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16"},
    "SapphireRapids": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16", "amx_bf16"},
}


def of_openblas(features: frozenset[str]) -> Iterator[Configuration]:
    """Those that a CPU with these features can run."""
    yield USUAL
    for core, needed in _CORES.items():
        if needed <= features:
            yield {"OPENBLAS_CORETYPE": core}


def of_torch(features: frozenset[str]) -> Iterator[Configuration]:
    """Configurations of MKL, which PyTorch's wheels contain, and of ATen's own loops."""
    yield USUAL
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= features:
        yield {"MKL_ENABLE_INSTRUCTIONS": "AVX512", "ATEN_CPU_CAPABILITY": "avx512"}
    if "avx2" in features:
        yield {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def shown(configuration: Configuration) -> str:
    """`OPENBLAS_CORETYPE=Haswell`; empty for the usual one."""
    return " ".join(f"{name}={value}" for name, value in configuration.items())
