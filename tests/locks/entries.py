"""Lock entries for tests that only read them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from schedsearch.core.keys import digest
from schedsearch.core.records import Compiler, GeneratedC, Keys, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace
from schedsearch.locks.entry import LockedSpeed, LockedTarget, LockEntry
from schedsearch.locks.result import Checked, Status, Timing

SPEED = LockedSpeed(Estimate(20.0, 19.8, 20.2), 13, True, "warm", 1000.0, date(2026, 11, 21))
TARGET = LockedTarget(
    cpu="zen5",
    isa="avx512",
    features="f",
    vector_bits=512,
    vector_registers=32,
    line_bytes=64,
    cache_bytes=(32768,),
    cores=2,
    threads=1,
    compiler=Compiler("gcc", "12.2.0", ""),
    other_compilers=(),
    flags=("-O3",),
    exo_version="1.0.0",
    z3_version="5.4",
    instructions=(),
)
HEADER, SOURCE = "void gemm( float* x );\n", "void gemm( float* x ) {\nx[0] = 1.0f;\n}\n"
CODE = GeneratedC("gemm", HEADER, SOURCE, digest(f"{HEADER}\n{SOURCE}"))
ENTRY = LockEntry(
    Workload("gemm", "proc key", (("K", 64),), "kernels/gemm.py", "sha"),
    TARGET,
    Trace(),
    Keys("ast", CODE.key),
    SPEED,
    "0.1.0",
    code=CODE,
)


def checked(
    status: Status, proc: str = "gemm", summary: str = "as it is", **more: object
) -> Checked:
    """A result of that status for a procedure of this name."""
    workload = replace(ENTRY.workload, proc=proc)
    return replace(Checked(replace(ENTRY, workload=workload), status, summary), **more)


TIMING = Timing(Estimate(0.94, 0.93, 0.95), 0.976, 10, 1100.0, 1034.0)
