"""`schedsearch pin`: from a real store to a lock file in a repository."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cli.invoke import Answer

from schedsearch.cli.pin import _line
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Keys, Outcome, TuningRecord
from schedsearch.core.stats import Estimate
from schedsearch.frontends.lowered import Lowered
from schedsearch.locks.entry import Lock, LockEntry
from schedsearch.locks.pin import _named
from schedsearch.locks.place import read_lock, write_lock
from schedsearch.search.setup.procedure_file import file_for
from schedsearch.search.setup.trust import remember
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]


def stored(home: Path) -> list[StoredCandidate]:
    with Store.open(home / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        return store.load(scope)


def confirmed(home: Path) -> StoredCandidate:
    """The fastest confirmed one."""
    found = [c for c in stored(home) if c.record.measurement and c.record.trace.steps]
    found = [c for c in found if c.record.measurement and c.record.measurement.kind == "confirm"]
    return max(found, key=lambda c: c.record.speedup or 0.0)


@pytest.fixture
def entry(tuned: Path, run: Run) -> LockEntry:
    """What is pinned by default."""
    answer = run("pin")
    assert answer.code == 0, answer.err
    assert re.search(r"^added matmul32 of mm.py for .*: \d.*x \[", answer.out, re.MULTILINE)
    assert "written: " in answer.out
    (found,) = read_lock(tuned / "schedules.lock").entries
    return found


def test_the_fastest_confirmed_schedule_is_pinned(tuned: Path, entry: LockEntry) -> None:
    best = confirmed(tuned)
    measurement = best.record.measurement
    assert measurement is not None
    assert entry.trace == best.record.trace
    assert entry.keys == Keys(best.record.keys.ast, best.record.keys.code)
    assert entry.workload.source == "mm.py"
    assert entry.speed.confirmed
    assert entry.speed.rounds == len(measurement.rounds)
    pinned, said = entry.speed.ratio, measurement.speedup  # as `best` says
    assert (pinned.low, pinned.value, pinned.high) == pytest.approx(
        (said.low, said.value, said.high), rel=1e-4
    )
    assert entry.speed.noise is not None
    assert entry.speed.roof is not None
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        assert entry.target.differences(store.target(best.scope)).keys() <= {"instructions"}


def test_pinning_again_changes_nothing(tuned: Path, entry: LockEntry, run: Run) -> None:
    before = (tuned / "schedules.lock").read_bytes()
    answer = run("pin", "matmul32")
    assert re.search(r"^unchanged matmul32", answer.out, re.MULTILINE)
    assert (tuned / "schedules.lock").read_bytes() == before


def test_entries_of_other_machines_stay(tuned: Path, entry: LockEntry, run: Run) -> None:
    elsewhere = replace(entry, target=replace(entry.target, cpu="another"))
    older = replace(entry, trace=replace(entry.trace, steps=entry.trace.steps * 2))
    write_lock(tuned / "schedules.lock", Lock((elsewhere, older)))
    answer = run("pin")
    assert re.search(r"^changed matmul32.*\(schedule\)$", answer.out, re.MULTILINE)
    assert set(read_lock(tuned / "schedules.lock").entries) == {elsewhere, entry}


def test_a_lock_file_above_is_used(tuned: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tuned / ".git").mkdir()
    (tuned / "below").mkdir()
    monkeypatch.chdir(tuned / "below")
    answer = run("pin", str(confirmed(tuned).id), "--store", "../schedsearch.sqlite")
    assert answer.code == 2
    assert "give the file with --file" in answer.err
    store, file = "../schedsearch.sqlite", "../mm.py"
    answer = run("pin", str(confirmed(tuned).id), "--store", store, "--file", file)
    assert answer.code == 0, answer.err
    assert read_lock(tuned / "schedules.lock").entries[0].workload.source == "mm.py"


def test_what_is_not_verified_is_not_pinned(tuned: Path, run: Run) -> None:
    best = confirmed(tuned)
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        wrong = TuningRecord(best.record.trace, Outcome.INCORRECT, message="found later")
        store.record(best.scope, best.run_id, wrong)
    answer = run("pin", str(best.id))
    assert answer.code == 2
    assert "is not a verified schedule: incorrect" in answer.err
    root = next(c for c in stored(tuned) if not c.record.trace.steps)
    assert "nothing to pin" in run("pin", str(root.id)).err
    assert not (tuned / "schedules.lock").exists()


def test_a_procedure_that_has_changed_is_not_pinned(tuned: Path, run: Run) -> None:
    source = tuned / "mm.py"
    source.write_text(source.read_text().replace("def matmul32", "\n\ndef matmul32"))
    source.write_text(source.read_text().replace("+=", "= 2.0 * "))
    remember(source, digest(source.read_text()))
    answer = run("pin")
    assert answer.code == 2
    assert "not pinned: matmul32 of mm.py: matmul32 in mm.py is not what was tuned" in answer.out
    assert not (tuned / "schedules.lock").exists()


def test_a_lock_file_that_is_none_is_left_alone(tuned: Path, run: Run) -> None:
    (tuned / "schedules.lock").write_text("schema = 1\n<<<<<<< ours\n")
    answer = run("pin")
    assert answer.code == 2
    assert "merge" in answer.err
    assert (tuned / "schedules.lock").read_text() == "schema = 1\n<<<<<<< ours\n"


def test_kernels_outside_of_the_lock_files_directory(tuned: Path, run: Run) -> None:
    (tuned / "elsewhere").mkdir()
    answer = run("pin", "--lock", "elsewhere/schedules.lock")
    assert answer.code == 2
    assert "--lock" in answer.out


def test_what_check_would_not_execute_is_not_pinned(tuned: Path, run: Run) -> None:
    """A kernel's file may get all of Exo from another one, if the user names it; a lock may not
    name it."""
    text = (tuned / "mm.py").read_text()
    line = "from exo import proc"
    assert line in text
    (tuned / "common.py").write_text(line + "\n")
    (tuned / "other.py").write_text(text.replace(line, "from common import proc"))
    best = str(confirmed(tuned).id)
    assert run("replay", best, "--file", "other.py").code == 0
    answer = run("pin", best, "--file", "other.py")
    assert answer.code == 2
    assert "`schedsearch check` would refuse this entry: " in answer.err
    assert "other.py is not executed: it is none of Python that imports exo" in answer.err
    assert not (tuned / "schedules.lock").exists()


def test_modules_that_users_do_not_see_are_not_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = "from __future__ import annotations\nfrom exo import proc\n\n\n@proc\ndef f(x: f32):\n"
    file = file_for(Lowered("f", f"{text}    x = 1.0\n", ("x",), ("x",)))
    with pytest.raises(UserError, match=r"is in the cache: .*schedsearch lower FILE"):
        _named(file, tmp_path)


def test_what_is_not_faster_for_certain_is_pinned_as_such(entry: LockEntry) -> None:
    doubtful = replace(entry, speed=replace(entry.speed, ratio=Estimate(1.88, 0.49, 7.14)))
    assert "1.88x [0.49, 7.14], not faster for certain" in _line(None, doubtful)
    certain = replace(entry, speed=replace(entry.speed, ratio=Estimate(1.33, 1.22, 1.45)))
    assert "certain" not in _line(None, certain)
