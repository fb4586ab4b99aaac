"""`lower` shows and writes what other languages become."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.transforms.exo.loader import load_source

from .invoke import SMALL, Answer, invoke

Run = Callable[..., Answer]

SCALED = """
#include "length.h"
void scaled(float alpha, float x[LENGTH]) { for (int i = 0; i < LENGTH; i++) x[i] *= alpha * F; }
void other(float x[4]) { for (int i = 0; i < 4; i++) x[i] = 0.0f; }
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "kernels.c").write_text(SCALED)
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "length.h").write_text("#define LENGTH 8")
    (tmp_path / "double.eq").write_text("y[i] = 2 * x[i]")
    (tmp_path / "kernel.py").write_text("")
    return tmp_path


C = ("lower", "kernels.c", "scaled", "-D", "F=2.0f", "-I", "include")


@pytest.mark.normal
def test_what_is_shown_is_what_is_written(home: Path) -> None:
    shown = invoke(home, C)
    assert shown.code == 0, shown.err
    assert invoke(home, [*C, "--out", "scaled.py"]).code == 0
    assert (home / "scaled.py").read_text() == shown.out
    assert "scaled" in load_source(home / "scaled.py").procs
    assert invoke(home, [*C, "--out", "scaled.py"]).code == 0  # nothing new
    equations = invoke(home, ["lower", "double.eq"])
    assert "def double_1(" in equations.out or "def double(" in equations.out


@pytest.mark.normal
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lower", "kernel.py"], "kernel.py is no .c or .eq file"),
        (["lower", "kernels.c"], "length.h"),
        (
            ["lower", "kernels.c", "-I", "include"],
            "several functions; name one of scaled, other",
        ),
        (["lower", "kernels.c", "nothing", "-I", "include"], "no function nothing"),
        (["lower", "nowhere.c"], "nowhere.c"),
        (["lower", "double.eq", "-D", "N=1"], "macros and headers are for C"),
        ([*C, "--out", "kernels.c"], "kernels.c is there already"),
        (["run", "double.eq", "-D", "N=1"], "macros and headers are for C"),
        (["run", "kernel.py", "-I", "include"], "macros and headers are for C"),
        (
            ["run", "kernels.c", "-I", "include"],
            "several functions; name one of scaled, other",
        ),
        (["pin", "kernels.c"], "`schedsearch lower kernels.c --out kernels.py`"),
        (["check", "double.eq"], "`schedsearch lower double.eq --out double.py`"),
    ],
)
def test_misuse(words: list[str], said: str, home: Path) -> None:
    answer = invoke(home, words)
    assert answer.code == 2
    assert said in " ".join(answer.err.split())
    assert (home / "kernels.c").read_text() == SCALED


@pytest.mark.slow
def test_what_is_tuned_takes_the_place_of_the_file(home: Path) -> None:
    file = home / "double.c"
    own = """void twice(int n, float x[n][n]) {
        for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) x[i][j] *= 2; }"""  # by columns
    file.write_text(own)
    answer = invoke(home, ["run", "double.c", "--size", "n=512", *SMALL])
    assert answer.code == 0, answer.err
    assert "twice.replacement.c" in answer.out
    assert file.read_text() == own
    caller = "#include <stdio.h>\nvoid twice(int, float *);\n"
    caller += 'int main(void) { float x[2] = {3, 4}; twice(1, x); printf("%g %g", x[0], x[1]); }'
    (home / "caller.c").write_text(caller)
    subprocess.run(["gcc", "-O2", "caller.c", "twice.replacement.c"], cwd=home, check=True)
    done = subprocess.run(["./a.out"], cwd=home, capture_output=True, text=True, check=True)
    assert done.stdout == "6 4"


@pytest.mark.slow
def test_c_is_run_with_macros_and_headers(home: Path) -> None:
    """By columns, so that a reorder gains for certain: nothing is written otherwise. Of two arrays
    that may overlap, so that no compiler reorders the loops first."""
    (home / "include" / "length.h").write_text("#define LENGTH 512")
    (home / "columns.c").write_text(
        '#include "length.h"\n'
        "void columns(float x[LENGTH][LENGTH], float y[LENGTH][LENGTH]) {\n"
        "    for (int j = 0; j < LENGTH; j++)\n"
        "        for (int i = 0; i < LENGTH; i++) x[i][j] += F * y[i][j];\n}\n"
    )
    given = ["columns.c", "-D", "F=2.0f", "-I", "include"]
    ran = invoke(home, ["run", *given, *SMALL, "--out", "out"])
    assert ran.code == 0, ran.err
    assert "float x[512][512]" in (home / "out" / "columns.replacement.c").read_text()
