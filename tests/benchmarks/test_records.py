"""The record book: what is kept, how far from it a search ended, that records can be built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.suite import contenders as contenders_module
from benchmarks.suite.catalogue import CASES
from benchmarks.suite.contenders import RECORD, contenders
from benchmarks.suite.measure import measure
from benchmarks.suite.records import (
    BOOK,
    beats_record,
    place,
    recorded,
    replayed,
    write_record,
)
from benchmarks.suite.report import table
from schedsearch.core.errors import UserError
from schedsearch.core.trace import Trace
from schedsearch.peers.rounds import Plan
from schedsearch.transforms.registry import propose, select

pytestmark = pytest.mark.normal

(TRSM,) = (case for case in CASES if case.name == "trsm")
PAGES = sorted(BOOK.glob("*/*.json"))


def step_of(transform: str) -> Trace:
    subject = TRSM.load()
    proposed = propose(subject.ast, subject.target, select([transform]))
    return Trace((next(proposed),))


def row_of(schedule: Trace, **more: Any) -> dict[str, Any]:
    return {
        "kernel": "trsm",
        "sizes": {},
        "schedule": [step.to_json() for step in schedule.steps],
        "searched_s": 60.2,
        "speedup": {"value": 2.0, "low": 1.9, "high": 2.1},
        "roofline": 0.5,
        "ratios": {"numpy": {"value": 1.5, "low": 1.4, "high": 1.6}},
        "best_peer": "numpy",
        **more,
    }


def test_what_is_clearly_faster_or_new_is_kept() -> None:
    schedule = step_of("reorder")
    assert beats_record(row_of(schedule))
    assert beats_record(row_of(schedule, record={"value": 1.1, "low": 1.02, "high": 1.2}))
    assert not beats_record(row_of(schedule, record={"value": 1.1, "low": 0.99, "high": 1.2}))
    assert not beats_record(row_of(Trace()))
    assert not beats_record({"kernel": "trsm", "error": "crashed"})


def test_a_record_is_timed_with_everybody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, schedule = TRSM.load(), step_of("reorder")
    page = place(TRSM, subject.target, tmp_path)
    write_record(page, row_of(schedule), subject.target)
    assert recorded(page) == schedule
    found = json.loads(page.read_text())["found"]
    assert (found["best peer"], found["search"]) == ({"numpy": 1.5}, "60 s")
    monkeypatch.setattr(contenders_module, "place", lambda case, target: page)
    row = measure(TRSM, tmp_path, Plan(3, 0))
    assert len(row["samples"][RECORD]) == 3
    assert RECORD not in row.get("ratios", {})


def test_a_record_that_cannot_be_built_is_absent_with_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "trsm.json"
    monkeypatch.setattr(contenders_module, "place", lambda case, target: page)
    subject = TRSM.load()

    def reason() -> str | None:
        there = contenders(TRSM, subject, {})
        found = {each.name: each for each in there if each.name == RECORD}
        return getattr(found[RECORD], "reason", "") if found else None

    assert reason() is None
    page.write_text("{}")
    assert "is no record" in (reason() or "")
    (step,) = step_of("reorder").steps
    gone = {**step.to_json(), "path": "7.7"}
    page.write_text(json.dumps({"schedule": [gone]}))
    assert "does not replay" in (reason() or "")


def test_the_table_shows_how_far_the_record_is() -> None:
    row = row_of(
        step_of("reorder"),
        record={"value": 0.8, "low": 0.78, "high": 0.82},
        seconds={"schedsearch": 1e-3},
        wrong={},
        limit="compute",
    )
    console = Console(width=220, record=True)
    console.print(table([row]))
    text = console.export_text()
    assert "of the record" in text
    assert "0.80" in text


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_every_record_replays(page: Path) -> None:
    (case,) = (case for case in CASES if case.name == page.stem)
    schedule = recorded(page)
    assert schedule
    threads = page.parent.name.partition("-")[2].removesuffix("-threads")
    subject = case.load(int(threads or 1))
    if page.parent != place(case, subject.target).parent:
        pytest.skip("a record of another kind of target")
    try:
        replayed(subject, schedule)
    except UserError as error:
        pytest.fail(f"{page.name}: {error}; mend the transform, or delete the record and say why")
