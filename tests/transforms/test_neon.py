"""Schedules for a foreign target: made for NEON, cross-compiled, run in emulation."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.isa import isa
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.vector.instruction_sets import with_instructions
from transforms.helpers import TARGET, Procedures, arguments
from transforms.interpret import interpret

CROSS, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64"
ABSENT = [tool for tool in (CROSS, QEMU) if not shutil.which(tool)]

NEON = with_instructions(
    replace(
        TARGET,
        cpu="aarch64",
        isa="neon",
        features=("asimd", "asimddp"),
        vector_bits=isa("neon").vector_bits,
        vector_registers=isa("neon").vector_registers,
    ),
    [],
)
PROCEDURES = ChainMap(Procedures("blocks"), Procedures("instructed"))

CASES: list[tuple[str, str, dict[str, int]]] = [
    ("product", "register_block", {"M": 7, "N": 37, "K": 5}),
    ("product", "vectorise", {"M": 7, "N": 37, "K": 5}),
    ("transposed", "register_block", {}),
    ("column_sums", "vectorise", {"n": 37}),
    ("row_dots", "use_instruction", {}),
]


@cache
def scheduled(name: str, transform: str) -> Any:
    """After the transform's first proposal; loops are brought to the order it wants first."""
    procedure = PROCEDURES[name]
    for _ in range(3):
        ast = mirror(procedure)
        found = next(select([transform])[0].rewrites(ast, NEON), None)
        if found is not None:
            return apply(procedure, ast, found)
        *_, inward = select(["reorder"])[0].rewrites(ast, NEON)
        procedure = apply(procedure, ast, inward)
    raise AssertionError(f"{transform} proposes nothing for {name}")


def program(code: GeneratedC, proc: q.Proc, args: list[Any]) -> str:
    """Reads the arrays, calls the kernel, writes the arrays."""
    reads, passed, writes = [], ["0"], []
    for arg, value in zip(proc.args, args, strict=True):
        name = f"held_{arg.var.name}"
        if isinstance(value, np.ndarray):
            reads.append(f"static {ELEMENT_TYPES[arg.type].c} {name}[{value.size}];")
            reads.append(f"if (fread({name}, sizeof {name}, 1, stdin) != 1) return 1;")
            writes.append(f"fwrite({name}, sizeof {name}, 1, stdout);")
            passed.append(name)
        else:
            passed.append(str(value))
    call = f"{code.proc}({', '.join(passed)});"
    body = "\n".join([*reads, call, *writes, "return 0;"])
    return f"{code.header}\n{code.source}\n#include <stdio.h>\nint main(void) {{\n{body}\n}}\n"


@pytest.mark.normal
@pytest.mark.parametrize(("name", "transform", "sizes"), CASES)
def test_schedules_for_neon_are_neon_code(
    name: str, transform: str, sizes: Mapping[str, int]
) -> None:
    """Without a cross compiler too: widths and instructions are those of the target."""
    procedure = scheduled(name, transform)
    text = generate_c(procedure).source
    assert set(re.findall(r"vector_size\((\d+)\)", text)) <= {"16"}
    assert ("vdotq_s32" in text) == (transform == "use_instruction")


@pytest.mark.normal
@pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}")
@pytest.mark.skipif(platform.machine() == "aarch64", reason="native here")
@pytest.mark.parametrize(("name", "transform", "sizes"), CASES)
def test_schedules_for_neon_keep_the_meaning(
    name: str, transform: str, sizes: Mapping[str, int], tmp_path: Path
) -> None:
    meaning = mirror(PROCEDURES[name])
    code = generate_c(scheduled(name, transform))
    wanted, given = arguments(meaning, sizes, 3), arguments(meaning, sizes, 3)
    interpret(meaning, wanted)
    file, linked = tmp_path / "program.c", tmp_path / "program"
    file.write_text(program(code, meaning, given))
    flags = ["-O3", "-march=armv8.2-a+dotprod", "-ffast-math", "-static", "-w"]
    subprocess.run([CROSS, *flags, "-o", linked, file, "-lm"], check=True)
    arrays = [value for value in given if isinstance(value, np.ndarray)]
    answer = subprocess.run(
        [QEMU, linked],
        input=b"".join(value.tobytes() for value in arrays),
        capture_output=True,
        check=True,
    )
    expected = [value for value in wanted if isinstance(value, np.ndarray)]
    at = 0
    for value in expected:
        found = np.frombuffer(answer.stdout, value.dtype, value.size, at).reshape(value.shape)
        assert np.array_equal(found, value)
        at += value.nbytes
