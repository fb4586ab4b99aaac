"""Lock entries for tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from samples import AVX512, WORKLOAD

from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest
from schedsearch.core.records import (
    Compiler,
    GeneratedC,
    InstructionSet,
    Keys,
    Workload,
)
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.locks.entry import LockedRoof, LockedSpeed, LockedTarget, LockEntry
from schedsearch.locks.result import Checked, Status, Timing

TARGET = replace(
    AVX512,
    other_compilers=(Compiler("clang", "19.1.4 (Debian)", "/usr/bin/clang"),),
    instructions=(InstructionSet("avx512", "aa", "/somewhere/avx512.py"),),
)
STRICT = FloatingPoint.STRICT
SETS = (InstructionSet("avx512", "aa", ""), InstructionSet("mine", "bb", "isa/mine.py"))
TRACE = Trace(
    (
        Rewrite("split", 1, (0,), "for i in seq(0, M)", (("factor", 8), ("perfect", True))),
        Rewrite("unroll", 2, (0, 1, "e", 0), 'x = "y"', ()),
    )
)
ENTRY = LockEntry(
    replace(WORKLOAD, specialized=("M",)),
    LockedTarget.of(TARGET, SETS),
    TRACE,
    Keys("aaaa", "cccc"),
    LockedSpeed(
        Estimate(24.812, 24.1, 25.6),
        13,
        True,
        "warm",
        1.1655e6,
        date(2026, 11, 21),
        0.0071,
        LockedRoof(0.91, "f32 multiply-add peak, 252 GFLOP/s"),
    ),
    "0.1.0",
)
CODE = GeneratedC("gemm_M8", "void gemm( );\n", "void gemm( ) {\n\tfor (;;) ;\n}\n", "cccc")
HEADER, SOURCE = "void gemm( float* x );\n", "void gemm( float* x ) {\nx[0] = 1.0f;\n}\n"
GEMM = GeneratedC("gemm", HEADER, SOURCE, digest(f"{HEADER}\n{SOURCE}"))
COMPILED = replace(
    ENTRY,
    workload=Workload("gemm", "proc key", (("K", 64),), "kernels/gemm.py", "sha"),
    target=replace(ENTRY.target, instructions=()),
    trace=Trace(),
    keys=Keys("ast", GEMM.key),
    code=GEMM,
)
TIMING = Timing(Estimate(0.94, 0.93, 0.95), 0.976, 10, 1100.0, 1034.0)


def checked(
    status: Status, proc: str = "gemm", summary: str = "as it is", **more: object
) -> Checked:
    """A result of that status for a procedure of this name."""
    workload = replace(COMPILED.workload, proc=proc)
    return replace(Checked(replace(COMPILED, workload=workload), status, summary), **more)
