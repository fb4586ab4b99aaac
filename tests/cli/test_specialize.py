"""`--specialize` from a run to the files, and beside a general run of the same sizes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.store.database import Store

from .invoke import KERNELS, Answer

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]

Run = Callable[..., Answer]

TUNE = (
    *("--size", "M=64", "--size", "N=32", "--cc", "gcc", "--executor", "inline"),
    *("--budget", "150", "--trials", "3", "--transforms", "split,reorder"),
)


@pytest.mark.slow
def test_sizes_become_constants(run: Run, tmp_path: Path) -> None:
    shutil.copy(KERNELS / "sized.py", tmp_path / "sized.py")
    said = run("run", "sized.py", *TUNE, "--specialize", "--json")
    assert said.code == 0, said.err
    assert "scale (M=64 only, N=32 only)" in said.err
    found = json.loads(said.out)
    assert found["sizes"] == {"M": 64, "N": 32}
    assert found["specialized"] == ["M", "N"]
    assert found["counterpart"] is None
    with Store.open(tmp_path / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        candidate = next(c for c in store.best(scope) if c.record.trace.steps)
    assert "C as recorded" in run("replay", candidate.id).out
    assert run("export", candidate.id, "--out", "kept").code == 0
    name = "scale_M64_N32"
    kept = {file.name for file in (tmp_path / "kept").iterdir()}
    assert kept == {f"{name}.c", f"{name}.h", f"{name}.schedule.py"}
    text = (tmp_path / "kept" / f"{name}.schedule.py").read_text()
    assert "p = p.partial_eval(M=64, N=32)" in text
    assert "# sizes: M=64 only, N=32 only" in text
    again = run("run", "sized.py", *TUNE, "--specialize")
    assert "resuming" in again.err
    general = run("run", "sized.py", *TUNE)
    assert general.code == 0, general.err
    assert "resuming" not in general.err
    beside = "For these sizes alone (--specialize), an earlier run: "
    assert (beside in general.out) == (
        any(c.record.trace.steps for c in _best(tmp_path, specialized=True))
    )
    listed = json.loads(run("list", "--json").out)
    assert {row["sizes"] for row in listed} == {"M=64 only, N=32 only", "M=64, N=32"}


def _best(home: Path, specialized: bool) -> list[object]:
    with Store.open(home / "schedsearch.sqlite", create=False) as store:
        scopes = [s for s in store.scopes() if bool(store.workload(s).specialized) is specialized]
        return [c for scope in scopes for c in store.best(scope, 1)]


def test_there_must_be_something_to_bind(run: Run, tmp_path: Path) -> None:
    shutil.copy(KERNELS / "sized.py", tmp_path / "sized.py")
    said = run("run", "sized.py", "--specialize")
    assert said.code == 2
    assert "--specialize needs the sizes to bind" in said.err
    assert "scale has: M, N" in said.err
    said = run("run", "sized.py", "--specialize", "--size", "N=12")
    assert said.code == 2
    assert "N=12" in said.err
