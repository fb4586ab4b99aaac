"""C peers: a case's original, or the unscheduled procedure's own C as an expert hands it to a
compiler.

That is with `restrict` on every pointer (`as_experts_compile`). Options are `-O3 -march=native
-ffast-math`, and Polly's where clang has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core.build import COMPILERS, Build
from schedsearch.core.keys import digest
from schedsearch.core.records import Failure, GeneratedC, Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags

_COMPILE_S = 120.0
_POLLY = ("-mllvm", "-polly")
_PRODUCT = """
void probe(double A[restrict 200][200], double B[restrict 200][200], double C[restrict 200][200]) {
    for (int i = 0; i < 200; i++)
        for (int j = 0; j < 200; j++)
            for (int k = 0; k < 200; k++)
                C[i][j] += A[i][k] * B[k][j];
}
"""
_PROBE = GeneratedC("probe", "", _PRODUCT, digest(_PRODUCT))


@dataclass(frozen=True)
class CompilerPeer:
    """A compiler with flags, by the name it has in the table."""

    name: str
    builder: Builder


def compiler_peers(target: Target, cache: Path) -> Iterator[CompilerPeer | tuple[str, str]]:
    """What is installed; for what is not, its name and why."""
    for kind in COMPILERS:
        compiler = target.compiler_for(Build(compiler=kind))
        if compiler is None:
            yield f"{kind} -O3", "not installed"
            continue
        builder = Builder(compiler, default_flags(), cache)
        yield CompilerPeer(f"{kind} -O3", builder)
        if kind == "clang":
            yield _polly(builder)


def _polly(builder: Builder) -> CompilerPeer | tuple[str, str]:
    title = "clang +Polly"
    with_polly = replace(builder, flags=(*builder.flags, *_POLLY))
    plain, other = (each.build(_PROBE, _COMPILE_S) for each in (builder, with_polly))
    if isinstance(plain, Failure) or isinstance(other, Failure):
        return title, "this clang has no Polly"
    if plain.binary_key == other.binary_key:
        return title, "this clang takes the options of Polly, and compiles a product as without"
    return CompilerPeer(title, with_polly)
