"""Requirements of kernels with threads on the machine and on its compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Compiler, Failure, GeneratedC, Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.host import usable_cores

_PROBE = """
void openmp_probe(int *x) {
#pragma omp parallel for
for (int i = 0; i < 64; i++) x[i] = i;
}
"""
_COMPILE_S = 60.0


def check_threads(threads: int) -> None:
    """Raises UserError unless there are as many cores as threads."""
    cores = len(usable_cores())
    if not 1 <= threads <= cores:
        raise UserError(
            f"--threads {threads}: this process may use 1 to {cores} cores; give one of these"
        )


def with_openmp(target: Target) -> Target:
    """The target, keeping only those of its other compilers that can build parallel loops. Raises
    UserError, with a hint what to install, if its first compiler cannot.
    """
    failure = _cannot(target.compiler, target)
    if failure is not None:
        raise UserError(
            f"{target.compiler.path} cannot build OpenMP kernels:\n{failure.message}\n"
            "gcc needs its libgomp (Debian: `apt install gcc`), clang its libomp "
            "(`apt install libomp-dev`). Or use --threads 1."
        )
    others = tuple(each for each in target.other_compilers if not _cannot(each, target))
    return replace(target, other_compilers=others)


def _cannot(compiler: Compiler, target: Target) -> Failure | None:
    """Asked anew each time: a cache, which knows compilers by their versions, may hold what was
    built before libgomp went or by another installation."""
    code = GeneratedC("openmp_probe", "", _PROBE, digest(_PROBE))
    with TemporaryDirectory() as scratch:
        built = Builder(compiler, target.flags, Path(scratch)).build(code, _COMPILE_S)
    return built if isinstance(built, Failure) else None
