"""Instruction sets: every instruction does what its Exo body says, by execution."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from exo.API import Procedure

from schedsearch.core import ast as q
from schedsearch.core.isa import KNOWN
from schedsearch.core.keys import digest
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.transforms.vector.extension import execute, vector_set
from schedsearch.transforms.vector.instruction_sets import shipped
from schedsearch.transforms.vector.table import SETS, X86, Set, set_text
from transforms.instruction_program import Case, make_case, run
from transforms.interpret import interpret

pytestmark = pytest.mark.slow

QEMU = "qemu-aarch64"
CROSS = "aarch64-linux-gnu-gcc"

NEEDS = {name: isa.needs | more for isa in KNOWN for name, more in isa.instructions}
MACHINE = {name: isa.machine for isa in KNOWN for name, _ in isa.instructions}
DIGESTS = {
    "avx2": "8335197c297a3a3380e756d49fc288dd",
    "avx512": "a6dd7738536b97ee32e77a61e5e58797",
    "avx512_vnni": "3dfa3063cc3289a285e1e87334a01729",
    "neon": "d7fedf6a21cd15644cd61a343e058ff7",
    "neon_dotprod": "9e608a154e797e7c26c0639060b85150",
}
REGISTERS_DIGEST = "0b5d8dc52d7b17e83c1243e1cb6041e1"
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


def test_texts_are_those_that_stored_traces_and_targets_name() -> None:
    """Another text is another target, and stored traces that use the set no longer replay."""
    assert {name: each.record.digest for name, each in shipped().items()} == DIGESTS


def test_a_width_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the operations whose C is said, and no others."""
    halves = {"all": {"w": "", "reg": "__m128<t>"}}
    row = Set("Halves", "immintrin.h", 128, (X86, halves), ("f32", "i32"))
    monkeypatch.setitem(SETS, "halves", row)
    found = execute("halves", set_text("halves"), {})
    instr = found["halves_f32_fma"]._loopir_proc.instr.c_instr
    assert instr.startswith("{acc_data} = (vec_f32x4)_mm_fmadd_ps((__m128){a_data}, ")
    assert {"halves_i32_mul", "halves_f32_div", "halves_convert_i32_to_f32"} <= found.keys()
    assert not {"halves_i32_div", "halves_f32_load_n", "halves_f32_sum"} & found.keys()


def test_instructions_of_registers_are_those_of_stored_code() -> None:
    found = []
    for kind, lanes in product(("f32", "f64", "i32"), (2, 4, 8, 16)):
        for name, value in vector_set(kind, lanes).items():
            if isinstance(value, Procedure):
                instr = value._loopir_proc.instr
                found.append((name, [str(value), instr.c_instr, instr.c_global]))
    assert digest(repr(sorted(found))) == REGISTERS_DIGEST


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
