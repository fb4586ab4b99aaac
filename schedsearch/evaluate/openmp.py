"""What kernels with threads need of the machine and of its compiler."""

from __future__ import annotations

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.host import usable_cores

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
        raise UserError(f"--threads {threads}: this process may use 1 to {cores} cores")


def check_openmp(builder: Builder) -> None:
    """Raises UserError, with what to install, if the compiler cannot build parallel loops."""
    code = GeneratedC("openmp_probe", "", _PROBE, digest(_PROBE))
    built = builder.build(code, _COMPILE_S)
    if isinstance(built, Failure):
        raise UserError(
            f"{builder.compiler.path} cannot build OpenMP kernels:\n{built.message}\n"
            "gcc needs its libgomp (Debian: `apt install gcc`), clang its libomp "
            "(`apt install libomp-dev`). Or use --threads 1."
        )
