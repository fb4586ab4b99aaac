"""`schedsearch explain` and `compare`, of a real store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

from .invoke import Answer

Run = Callable[..., Answer]


def candidates(home: Path) -> list[StoredCandidate]:
    with Store.open(home / "schedsearch.sqlite", create=False) as store:
        return store.load(store.scopes()[0])


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
    assert last["measured"]["speedup"]["value"] == measurement.speedup.value
    assert last["measured"]["call_ns"] == measurement.candidate_ns
    assert 0 < last["measured"]["of_roof"] < 1.05
    for step in data["steps"]:
        assert step["change"]
        assert step["predicted_gain"] > 0


def test_gains_multiply_to_the_whole(tuned: Path, scheduled: StoredCandidate, run: Run) -> None:
    data = read(run("explain", str(scheduled.id), "--json"))
    whole = 1.0
    for step in data["steps"]:
        whole *= step["gain"] or 1.0
    assert whole == pytest.approx(data["steps"][-1]["measured"]["speedup"]["value"])


def test_what_was_not_measured_is_predicted(tuned: Path, run: Run) -> None:
    unmeasured = next(
        c for c in candidates(tuned) if c.record.outcome is None and c.record.trace.steps
    )
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
    assert "of its roof" in text
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
    speedups = data["speedups"]
    assert data["ratio"]["value"] == pytest.approx(speedups[1] / speedups[0])
    assert data["ratio"]["low"] <= data["ratio"]["value"] <= data["ratio"]["high"]
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
