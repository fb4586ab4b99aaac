"""Compiler and options as a choice: from a run to the files, with one compiler and with two."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.cli import replay
from schedsearch.core.build import DEFAULT_BUILD
from schedsearch.core.records import Outcome
from schedsearch.evaluate.build.compiler import find_compiler, other_compilers
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

from .invoke import KERNELS, Answer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("hurried")]

Run = Callable[..., Answer]

TUNE = ("--executor", "inline", "--budget", "150", "--trials", "3", "--transforms", "compile_with")


def measured(home: Path) -> list[StoredCandidate]:
    with Store.open(home / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        found = store.load(scope)
    return [c for c in found if c.record.outcome is Outcome.CORRECT and c.record.trace.steps]


def test_options_and_restrict_reach_every_file(run: Run, tmp_path: Path) -> None:
    shutil.copy(KERNELS / "matmul32.py", tmp_path / "mm.py")
    said = run("run", "mm.py", "--cc", "gcc", *TUNE)
    assert said.code == 0, said.err
    found = measured(tmp_path)
    assert found
    assert all(c.record.trace.build != DEFAULT_BUILD for c in found)
    for candidate in found:
        build = candidate.record.trace.build
        assert build.compiler == find_compiler("gcc").kind
        (out := tmp_path / str(candidate.id)).mkdir()
        replayed = run("replay", candidate.id)
        assert "C as recorded" in replayed.out, replayed.err
        assert run("export", candidate.id, "--out", out).code == 0
        text = (out / "matmul32.c").read_text()
        header = (out / "matmul32.h").read_text()
        assert ("__restrict__" in text) == ("__restrict__" in header) == build.restrict
        assert any(build.options in line for line in text.splitlines()[:4])
        assert "must not overlap" in header
        command = ["gcc", "-Wall", "-Werror", "-c", out / "matmul32.c", "-o", out / "out.o"]
        subprocess.run(command, check=True)
    again = run("run", "mm.py", "--cc", "gcc", *TUNE)
    assert again.code == 0
    assert "resuming" in again.err
    kept = {c.id: c.record.keys for c in measured(tmp_path)}
    assert all(kept[c.id] == c.record.keys for c in found)


def test_a_compiler_that_is_gone_is_named(
    run: Run, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = run("export", "--out", "kept")
    assert here.code == 0
    assert "not on PATH" not in here.err
    monkeypatch.setattr(replay, "is_installed", lambda compiler: False)
    gone = run("export", "--out", "kept")
    assert gone.code == 0
    gcc = find_compiler()
    assert f"{gcc.kind} {gcc.version} is not on PATH here" in gone.err
    assert sorted(file.name for file in (tuned / "kept").iterdir()) == [
        "matmul32.c",
        "matmul32.h",
        "matmul32.schedule.py",
    ]


def test_the_other_compiler_is_searched_too(run: Run, tmp_path: Path) -> None:
    others = other_compilers(find_compiler())
    if not others:
        pytest.skip("only one C compiler on this machine")
    shutil.copy(KERNELS / "matmul32.py", tmp_path / "mm.py")
    assert run("run", "mm.py", *TUNE[:-4], "--trials", "8", *TUNE[-2:]).code == 0
    kinds = {c.record.trace.build.compiler for c in measured(tmp_path)}
    assert others[0].kind in kinds
