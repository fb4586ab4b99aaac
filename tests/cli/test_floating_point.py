"""`--fp`: from a search to a lock file, and what keeps contracts apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.cli import doctor
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.locks.place import read_lock
from schedsearch.search.setup.subject import bench_of, load_subject
from schedsearch.store.database import Store

from .invoke import KERNELS, Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]
LIMITED = ("--executor", "inline", "--budget", "150", "--trials", "6", "--size", "n=64")


@pytest.fixture
def here(tmp_path: Path, hurried: None) -> Path:
    shutil.copy(KERNELS / "floats.py", tmp_path)
    return tmp_path


def search(run: Run, proc: str, fp: str, transform: str) -> Answer:
    said = run("run", "floats.py", proc, "--fp", fp, *LIMITED, "--transforms", transform)
    assert said.code == 0, said.err
    return said


@pytest.mark.slow
def test_strict_from_search_to_check(here: Path, run: Run) -> None:
    said = search(run, "product", "strict", "reorder")
    meaning = "strict: results are bit for bit those of the C as written"
    assert f"Floating point {meaning}" in said.out
    assert "fp strict" in said.err
    for file in ("product.c", "product.schedule.py"):
        text = (here / file).read_text()
        assert f"floating point: {meaning}" in text
        assert "-ffp-contract=off" in text
        assert "-ffast-math" not in text
    (row, *_) = json.loads(run("best", "--json").out)
    assert row["fp"] == "strict"
    assert meaning in run("show", str(row["id"])).out
    assert run("replay", str(row["id"])).code == 0
    assert run("export", str(row["id"])).code == 0
    assert run("pin", str(row["id"])).code == 0
    (entry,) = read_lock(here / "schedules.lock").entries
    assert entry.target.fp is FloatingPoint.STRICT
    assert 'fp = "strict"' in (here / "schedules.lock").read_text()
    checked = run("check", "--correct-only")
    assert checked.code == 0, checked.out + checked.err


@pytest.mark.slow
def test_a_fast_schedule_is_not_strict(here: Path, run: Run) -> None:
    """It has a search and a place in the lock of its own, and is not exported as a strict one."""
    found = {fp: search(run, "product", fp, "reorder") for fp in ("strict", "fast")}
    assert all("fp " + fp in said.err for fp, said in found.items())
    with Store.open("schedsearch.sqlite", create=False) as store:
        best = {store.target(scope).fp: store.best(scope, 1)[0].id for scope in store.scopes()}
    assert sorted(best) == ["fast", "strict"]
    for candidate in best.values():
        assert run("pin", str(candidate)).code == 0
    assert len(read_lock(here / "schedules.lock").entries) == 2
    (here / "own.toml").write_text('fp = "strict"\n')
    said = run("export", str(best[FloatingPoint.FAST]), "--target", "own.toml")
    assert said.code == 2
    assert "says fp = strict, but fast is wanted" in said.err


@pytest.mark.slow
def test_a_lock_that_claims_more_than_its_schedule_keeps_is_refused(here: Path, run: Run) -> None:
    """A sum in another order, said to be strict by hand."""
    search(run, "dot", "reassociate", "vectorise_reduction")
    with Store.open("schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        best = next(c for c in store.best(scope, 5) if c.record.trace.steps)
    assert run("pin", str(best.id)).code == 0
    lock = here / "schedules.lock"
    text = lock.read_text()
    assert 'fp = "reassociate"' in text
    lock.write_text(text.replace('fp = "reassociate"', 'fp = "strict"'))
    checked = run("check", "--correct-only")
    assert checked.code == 1
    assert "does not apply" in checked.out
    assert "cannot be reordered" in checked.out or "--fp strict rules it out" in checked.out


def test_strict_searches_no_sums_in_another_order(here: Path, run: Run) -> None:
    said = search(run, "dot", "strict", "vectorise_reduction")
    assert "No schedule faster than dot as written" in said.out


def test_flags_that_break_the_contract(here: Path, run: Run) -> None:
    (here / "own.toml").write_text('flags = ["-O2", "-ffast-math"]\n')
    said = run("run", "floats.py", "dot", "--target", "own.toml", "--fp", "strict", *LIMITED)
    assert said.code == 2
    assert "flags has -ffast-math, which changes results in ways that --fp strict" in said.err
    (here / "own.toml").write_text('fp = "reassociate"\n')
    said = run("run", "floats.py", "dot", "--target", "own.toml", "--fp", "strict", *LIMITED)
    assert said.code == 2
    assert "says fp = reassociate, but strict is wanted" in said.err


def test_fast_math_is_named_where_it_is_to_blame(here: Path, tmp_path: Path) -> None:
    """Where the C as written disagrees with the procedure, here by a planted fault."""
    for fp in FloatingPoint:
        subject = load_subject(here / "floats.py", "over", {"n": 64}, None, fp=fp)
        bench_of(subject, tmp_path / f"right {fp}")
        code = replace(subject.code, source=subject.code.source.replace("100.0f", "100.5f", 1))
        with pytest.raises(UserError, match="disagrees with its evaluation") as caught:
            bench_of(replace(subject, code=code), tmp_path / f"wrong {fp}")
        blamed = "likely cause is -ffast-math" in str(caught.value)
        assert blamed == (fp is FloatingPoint.FAST)
        assert ("--fp reassociate" in str(caught.value)) == blamed


def test_doctor_says_what_a_contract_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_measure", lambda *_: {})
    monkeypatch.setattr(doctor, "_ray", lambda _: {})
    said = run("doctor", "--fp", "strict")
    assert "strict: results are bit for bit those of the C as written" in said.out
    assert "-ffp-contract=off" in said.out
