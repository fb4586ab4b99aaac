"""`schedsearch explain` and `compare`, of a real store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

from .invoke import SMALL, Answer, invoke

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]


def candidates(home: Path) -> list[StoredCandidate]:
    with Store.open(home / "schedsearch.sqlite", create=False) as store:
        return store.load(store.scopes()[0])


@pytest.fixture
def unmeasured(tuned: Path) -> StoredCandidate:
    """Of two rewrites, in a search that ended before it measured all it had made."""
    more = [*SMALL[:-1], "reorder,fission,unroll", "--fresh"]
    assert invoke(tuned, ["run", "mm.py", *more]).code == 0
    made = [c for c in candidates(tuned) if len(c.record.trace) > 1]
    return next(c for c in made if c.record.outcome is None)


@pytest.fixture
def scheduled(tuned: Path) -> StoredCandidate:
    """Measured, of at least one rewrite: of those the one with most."""
    found = [c for c in candidates(tuned) if c.record.measurement]
    return max(found, key=lambda c: len(c.record.trace))


def read(answer: Answer) -> dict[str, Any]:
    assert answer.code == 0, answer.err
    data = json.loads(answer.out)
    assert isinstance(data, dict)
    return data


def test_every_step_says_what_changed_and_its_effect(
    tuned: Path, scheduled: StoredCandidate, run: Run
) -> None:
    data = read(run("explain", str(scheduled.id), "--json"))
    assert data["schema"] == 1
    assert [step["rewrite"] for step in data["steps"]] == [
        step.to_json() for step in scheduled.record.trace.steps
    ]
    assert data["as_written"]["nest"][0] == "for i in seq(0, 32):"
    assert data["as_written"]["measured"]["speedup"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    last = data["steps"][-1]
    measurement = scheduled.record.measurement
    assert measurement is not None
    joint = last["measured"]["speedup"]["value"]  # of all timings, `measurement` is of one
    assert 0.3 < joint / measurement.speedup.value < 3
    assert last["measured"]["call_ns"] == measurement.candidate_ns
    assert 0 < last["measured"]["of_roof"] < 1.05
    for step in data["steps"]:
        assert step["change"]
        assert step["predicted_gain"] > 0


def test_steps_are_measured_on_request(unmeasured: StoredCandidate, run: Run) -> None:
    answer = run("explain", str(unmeasured.id), "--measure", "--json")
    data = read(answer)
    assert "measuring step" in answer.err
    assert "measured, and kept" in answer.err
    for step in data["steps"]:
        assert step["measured"], step["failure"]
        gain = step["gain_measured"]
        assert gain["how"] in ("interleaved", "same code")
        assert gain["low"] <= step["gain"] <= gain["high"]
        assert gain["decision"] in ("faster", "slower", "same", "inconclusive")
    again = run("explain", str(unmeasured.id), "--measure", "--markdown")
    assert "nothing to measure" in again.err
    assert "by this step" not in again.out
    assert "this step" in again.out
    assert "not measured" not in again.out


def test_what_was_not_measured_is_predicted(unmeasured: StoredCandidate, run: Run) -> None:
    data = read(run("explain", str(unmeasured.id), "--json"))
    assert data["steps"][-1]["measured"] is None
    assert data["steps"][-1]["gain"] is None
    answer = run("explain", str(unmeasured.id))
    assert "not measured; " in answer.out
    assert "~" in answer.out


def test_a_duplicate_has_its_originals_measurement(tuned: Path, run: Run) -> None:
    found = candidates(tuned)
    measured = {c.trace_key: c for c in found if c.record.measurement}
    twins = [c for c in found if c.record.duplicate_of in measured]
    if not twins:
        pytest.skip("this short search met no duplicate of what it measured")
    data = read(run("explain", str(twins[0].id), "--json"))
    original = measured[twins[0].record.duplicate_of or ""]
    assert original.record.measurement is not None
    assert data["steps"][-1]["measured"]["call_ns"] == original.record.measurement.candidate_ns


def test_text_and_markdown_are_readable(tuned: Path, scheduled: StoredCandidate, run: Run) -> None:
    text = run("explain", str(scheduled.id)).out
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "(as written)" in text
    assert "of its roofline" in text
    markdown = run("explain", str(scheduled.id), "--markdown").out
    assert markdown.startswith(f"# candidate {scheduled.id} of matmul32")
    assert markdown.count("```diff") == len(scheduled.record.trace)
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(table) == 3 + len(scheduled.record.trace)


def test_two_schedules_are_compared(tuned: Path, scheduled: StoredCandidate, run: Run) -> None:
    root = candidates(tuned)[0]
    data = read(run("compare", str(root.id), str(scheduled.id), "--json"))
    assert data["shared"] == []
    assert data["own"][0] == []
    assert len(data["own"][1]) == len(scheduled.record.trace)
    # It was timed against the procedure as written, or against one that was.
    assert data["ratio"]["how"] in ("interleaved", "apart")
    if data["ratio"]["how"] == "apart":
        assert data["ratio"]["value"] == pytest.approx(data["speedups"][1], rel=0.02)
        assert data["ratio"]["low"] is data["ratio"]["high"] is None
    else:
        assert data["ratio"]["low"] <= data["ratio"]["value"] <= data["ratio"]["high"]
        timed = [m.ratio.value for m in scheduled.measurements if m.reference_speedup == 1.0]
        assert data["ratio"]["value"] == pytest.approx(timed[-1])
    answer = run("compare", str(root.id), str(scheduled.id), "--c")
    assert answer.code == 0
    assert f"--- candidate {root.id}" in answer.out
    assert all(len(line) <= 80 for line in answer.out.split("--- candidate")[0].splitlines())


def test_shared_steps_are_told_once(tuned: Path, run: Run) -> None:
    child = next(c for c in candidates(tuned) if len(c.record.trace) == 2)
    data = read(run("compare", str(child.parent_id), str(child.id), "--json"))
    assert len(data["shared"]) == 1
    assert [len(own) for own in data["own"]] == [0, 1]


def test_compare_explains_what_it_cannot(tuned: Path, run: Run) -> None:
    answer = run("compare", "1", "99999")
    assert answer.code == 2
    assert "no candidate 99999" in answer.err


def test_two_schedules_are_timed_on_request(
    tuned: Path, scheduled: StoredCandidate, run: Run
) -> None:
    root = candidates(tuned)[0]
    known = len(scheduled.measurements)
    answer = run("compare", str(scheduled.id), str(root.id), "--measure", "--json")
    ratio = read(answer)["ratio"]
    assert ratio["how"] == "interleaved"
    assert f"timing candidate {scheduled.id} against {root.id}" in answer.err
    [timed] = next(c for c in candidates(tuned) if c.id == scheduled.id).measurements[known:]
    assert timed.kind == "pair"
    assert ratio["value"] == pytest.approx(1 / timed.ratio.value)
    shown = run("show", str(scheduled.id)).out
    last = {each.kind: each for each in scheduled.measurements} | {"pair": timed}
    assert shown.count(", of a schedule of about ") == sum(
        each.reference_speedup != 1.0 for each in last.values()
    )
    assert "pair: " in shown


def test_only_what_was_tuned_is_measured(tuned: Path, scheduled: StoredCandidate, run: Run) -> None:
    file = tuned / "mm.py"
    file.write_text(file.read_text().replace("A[i, k] * B[k, j]", "B[k, j] * A[i, k]"))
    for command in (("explain", scheduled.id), ("compare", 1, scheduled.id)):
        answer = run(*map(str, command), "--measure", "--file", "mm.py")
        assert answer.code == 2
        assert "is not what was tuned" in answer.err


def test_another_machines_schedules_are_not_measured(
    tuned: Path, scheduled: StoredCandidate, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here: one whose compiler is not found."""
    compilers = tuned / "bin"
    compilers.mkdir()
    monkeypatch.setenv("PATH", str(compilers))
    answer = run("compare", "1", str(scheduled.id), "--measure")
    assert answer.code == 2
    assert "compiler" in answer.err
