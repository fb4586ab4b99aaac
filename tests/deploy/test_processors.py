"""Libraries run on processors that have less than that which built them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from shutil import which

import pytest

from schedsearch.core.isa import isa
from schedsearch.deploy.library.levels import baseline

from .libraries import (
    AVX2,
    AVX512,
    CC,
    ROOT,
    compile_,
    library,
    lock,
    program,
)

__all__ = ["library", "lock", "program"]

pytestmark = pytest.mark.normal  # kernels are compiled and verified

HASWELL = pytest.mark.skipif(
    which("qemu-x86_64") is None or baseline().name != "sse2",
    reason="no qemu-x86_64 (apt install qemu-user), or another kind of processor",
)


def emulated(program: Path, cpu: str, **environment: str) -> tuple[list[str], str]:
    command = ["qemu-x86_64", "-cpu", cpu, str(program)]
    own = {**os.environ, **environment}
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "TCG" not in line]
    return done.stdout.split(), "\n".join(said)


@HASWELL
@pytest.mark.parametrize(
    ("cpu", "level"),
    [
        ("Haswell", "avx2"),
        ("Nehalem", "sse2"),
        ("qemu64", "sse2"),
        # These lack something that -march=x86-64-v3 allows.
        *(
            (f"Haswell,{feature}=off", "sse2")
            for feature in ("fma", "bmi2", "movbe", "f16c", "abm")
        ),
    ],
)
@AVX2
def test_other_processors_run_what_they_can(program: Path, cpu: str, level: str) -> None:
    names, said = emulated(program, cpu)
    assert {name.partition("_")[0] for name in names} == {level}
    assert said == ""


@HASWELL
@AVX512
def test_what_a_processor_does_not_have_cannot_be_forced(program: Path) -> None:
    names, said = emulated(program, "Haswell", LIB_A_ISA="avx512")
    assert names[-1] == "avx2"
    assert said == "lib_a: LIB_A_ISA=avx512, which this processor does not have; avx2 is used"


@HASWELL
@AVX512
def test_a_wrong_choice_is_an_illegal_instruction(
    library: Path, program: Path, tmp_path: Path
) -> None:
    """So the tests above can fail."""
    folder = tmp_path / "out"
    shutil.copytree(library, folder)
    header = folder / "src/lib_a/isa.h"
    text = re.sub(
        r"has_avx512\(void\)\n\{.*?\n\}",
        "has_avx512(void) { return true; }",
        header.read_text(),
        flags=re.DOTALL,
    )
    assert text != header.read_text()
    header.write_text(text)
    compile_(folder)
    objects = [str(path) for path in (folder / "lib").glob("*.o")]
    main = str(program.with_suffix(".c"))
    command = [CC, "-static", main, f"-I{folder / 'include'}", *objects, "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with pytest.raises(AssertionError, match=r"uncaught target signal 4|assert -4"):
        emulated(tmp_path / "main", "Haswell")


ON_ARM = """
#include "isa.h"
#define SCHEDSEARCH_LIBRARY "lib_a"
#define SCHEDSEARCH_FORCED_BY "LIB_A_ISA"
static const struct isa isas[] = {{"scalar", has_scalar}, {"neon", has_neon}};
#include "choose.h"
int main(void) { printf("%s %d", isas[schedsearch_isa()].name, has_asimddp()); return 0; }
"""


@pytest.mark.skipif(
    not (which("aarch64-linux-gnu-gcc") and which("qemu-aarch64")),
    reason="no aarch64-linux-gnu-gcc, or no qemu-aarch64",
)
@pytest.mark.parametrize(("cpu", "told"), [("cortex-a53", "neon 0"), ("cortex-a76", "neon 1")])
def test_arm_processors_tell_what_they_have(cpu: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(ON_ARM)
    options = [f"-I{ROOT / 'schedsearch/deploy/runtime'}", *isa("neon").march, "-Wall", "-Werror"]
    command = ["aarch64-linux-gnu-gcc", "-static", *options, "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    emulator = ["qemu-aarch64", "-cpu", cpu, "./main"]
    done = subprocess.run(emulator, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == told


@pytest.mark.skipif(baseline().name != "sse2", reason="x86-64 only")
def test_only_variants_have_wide_instructions(library: Path, tmp_path: Path) -> None:
    if which("objdump") is None:
        pytest.skip("no objdump")
    subprocess.run(["ar", "x", str(library / "lib/liblib_a.a")], cwd=tmp_path, check=True)
    wide = re.compile(r"%[yz]mm|\tv(?:mov|add|mul|fm|xor|pxor|broad|perm)")
    found = set()
    for file in tmp_path.glob("*.o"):
        shown = subprocess.run(
            ["objdump", "-d", str(file)], capture_output=True, text=True, check=True
        )
        if wide.search(shown.stdout):
            found.add(file.stem)
    every = {path.stem for path in tmp_path.glob("*.o")}
    assert found == {name for name in every if "_avx" in name}
