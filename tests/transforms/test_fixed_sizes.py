"""Sizes as constants: the procedure, and the schedule that a user keeps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer
from transforms.helpers import TARGET, Procedures, source

PROCEDURES = Procedures("kernels")


def test_the_arguments_become_constants_everywhere() -> None:
    proc = mirror(specialize(PROCEDURES["gemm"], {"M": 5, "N": 16}))
    assert proc.name == "gemm_M5_N16"
    assert [arg.var.name for arg in proc.args if arg.type == "size"] == ["K"]
    extents = {loop.iter.name: loop.extent for loop in q.walk(proc.body) if isinstance(loop, q.For)}
    assert {extents["i"], extents["j"]} == {5, 16}
    signature = generate_c(specialize(PROCEDURES["gemm"], {"M": 5, "N": 16})).header
    assert "void gemm_M5_N16( void *ctxt, int_fast32_t K, " in signature


def test_nothing_to_bind_changes_nothing() -> None:
    assert specialize(PROCEDURES["gemm"], {}) is PROCEDURES["gemm"]


def test_what_exo_cannot_bind_is_said() -> None:
    with pytest.raises(UserError, match="cannot bind sizes of gemm"):
        specialize(PROCEDURES["gemm"], {"Q": 4})


@pytest.mark.normal
def test_the_exported_schedule_begins_with_the_binding(tmp_path: Path) -> None:
    fixed = {"K": 3, "M": 8, "N": 16}
    procedure = specialize(PROCEDURES["gemm"], fixed)
    rewrite = next(select(["split"])[0].rewrites(mirror(procedure), TARGET))
    trace = Trace((rewrite,))
    text = schedule_python(source("kernels"), "gemm", trace, fixed=fixed)
    (file := tmp_path / "gemm.py").write_text(text)
    shown = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, check=True
    ).stdout
    code = generate_c(Replayer(procedure).state(trace).procedure)
    assert "void gemm_K3_M8_N16( void *ctxt, " in shown
    assert shown.count("for (") == code.source.count("for (")
