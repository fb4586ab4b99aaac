"""Instruction sets: every instruction does what its Exo body says, by execution."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.isa import KNOWN
from schedsearch.evaluate.host import cpu_identity
from schedsearch.transforms.instruction_sets import shipped
from transforms.instruction_program import Case, make_case, run
from transforms.interpret import interpret

pytestmark = pytest.mark.slow

QEMU = "qemu-aarch64"
CROSS = "aarch64-linux-gnu-gcc"

NEEDS = {name: isa.needs | more for isa in KNOWN for name, more in isa.instructions}
MACHINE = {name: isa.machine for isa in KNOWN for name, _ in isa.instructions}
MARCH = {name: isa.march for isa in KNOWN for name, _ in isa.instructions}
EXTRA = {"avx512_vnni": ("-mavx512vnni",), "neon_dotprod": ("-march=armv8.2-a+dotprod",)}


def toolchain(name: str, compiler: str) -> tuple[list[str], list[str], str]:
    """How to compile for the set, how to run that, and the header; skips where it cannot."""
    flags = ["-O2", "-w", *MARCH[name], *EXTRA.get(name, ())]
    if MACHINE[name] == "aarch64":
        if compiler != "gcc":
            pytest.skip("NEON is cross-compiled with gcc only")
        for tool in (CROSS, QEMU):
            if not shutil.which(tool):
                pytest.skip(f"{tool} is not installed")
        return [CROSS, "-static", *flags], [QEMU], "#include <arm_neon.h>"
    missing = NEEDS[name] - set(cpu_identity()[1])
    if missing:
        pytest.skip(f"this CPU has no {', '.join(sorted(missing))}")
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    return [compiler, *flags], [], "#include <immintrin.h>"


def lanes(proc: q.Proc) -> int:
    """The largest constant length of an operand."""
    return max(n.const for arg in proc.args for n in arg.shape or () if n.is_const)


def cases(name: str) -> list[Case]:
    rng = np.random.default_rng(11)
    found = []
    for proc in shipped()[name].asts.values():
        sizes = [arg.var.name for arg in proc.args if arg.type == "size"]
        for length in sorted({1, lanes(proc) - 1, lanes(proc)}) if sizes else [0]:
            for _ in range(3):
                found.append(make_case(proc, dict.fromkeys(sizes, length), rng))
    return found


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("name", sorted(shipped()))
def test_instructions_do_what_their_bodies_say(name: str, compiler: str, tmp_path: Path) -> None:
    compile_with, run_with, include = toolchain(name, compiler)
    every = cases(name)
    for case, after in zip(
        every, run(every, compile_with, run_with, include, tmp_path), strict=True
    ):
        interpret(case.proc, case.views())
        for array, wanted in case.held.items():
            assert np.array_equal(after[array], wanted), (case.proc.name, case.sizes, array)
