"""Procedures with named windows: Exo's own C does not compile, ours does and is right."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exo.backend.LoopIR_compiler import compile_to_strings
from exo.stdlib import scheduling

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import pick
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.right_windows import with_right_windows
from transforms.helpers import Procedures, arguments, source
from transforms.interpret import interpret
from transforms.native import Library

pytestmark = pytest.mark.normal

PROCEDURES = Procedures("named")
WRONG = ("written", "column", "block", "temporary", "passed", "passed_to_be_read", "passed_on")
RIGHT = ("add", "add_shifted", "called")


def right(code: GeneratedC, ast: q.Proc, folder: Path) -> bool:
    sizes = {"n": 5, "m": 3}
    wanted, found = arguments(ast, sizes, 5), arguments(ast, sizes, 5)
    interpret(ast, wanted)
    Library([code], folder).call(0, ast, found)
    return all(map(np.array_equal, found, wanted))


def compiles(procedure: Any, folder: Path) -> bool:
    """What Exo itself generates."""
    header, source = compile_to_strings("kernel", [procedure._loopir_proc])
    (folder / "raw.c").write_text(re.sub("#include .kernel.h.", "", f"{header}\n{source}"))
    done = subprocess.run(
        ["gcc", "-c", "raw.c", "-o", "raw.o"], cwd=folder, capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.parametrize("name", [*WRONG, "called_behind"])
def test_what_exo_has_no_right_c_for(name: str, tmp_path: Path) -> None:
    procedure = pick(source("named"), name)
    assert not compiles(procedure, tmp_path)
    assert right(generate_c(procedure), mirror(procedure), tmp_path)


@pytest.mark.parametrize("name", ["called", "called_behind", "passed", "passed_on"])
def test_so_has_what_calls_become(name: str, tmp_path: Path) -> None:
    procedure = pick(source("named"), name)
    inlined = scheduling.inline(procedure, "add_behind(_)" if "behind" in name else "add(_)")
    assert not compiles(inlined, tmp_path)
    assert right(generate_c(inlined), mirror(procedure), tmp_path)


@pytest.mark.parametrize("name", RIGHT)
def test_others_stay_as_they_are(name: str) -> None:
    ir = pick(source("named"), name)._loopir_proc
    assert with_right_windows(ir) is ir


def test_a_place_that_may_change_is_not_copied() -> None:
    """It still has no C, but no wrong one either."""
    ir = PROCEDURES["moving"]._loopir_proc
    assert str(with_right_windows(ir)) == str(ir)
