"""A user's instruction whose C reaches for the machine: the run ends well, and says why."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .invoke import KERNELS, Answer

pytestmark = pytest.mark.normal

SET = """from __future__ import annotations
from exo import DRAM, instr


@instr('fclose(fopen("made", "w"));', "#include <stdio.h>")
def logging_dot2(acc: [i32][1] @ DRAM, a: [i8][2] @ DRAM, b: [i8][2] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 2):
        acc[0] += a[k] * b[k]
"""


def test_the_run_ends_well(run: Callable[..., Answer], tmp_path: Path) -> None:
    shutil.copy(KERNELS / "dots.py", tmp_path / "dots.py")
    (tmp_path / "logging_set.py").write_text(SET)
    files = ["--target", "scalar", "--instructions", "logging_set.py"]
    limits = ["--transforms", "use_instruction", "--executor", "inline", "--budget", "150"]
    said = run("run", "dots.py", *files, *limits)
    assert said.code == 0, said.err
    assert "1 correct" in said.out
    assert "1 refused" in said.out
    assert not (tmp_path / "made").exists()
    shown = " ".join(run("show", "2").out.split())
    assert 'the kernel called openat("made"); the sandbox refused it' in shown
