"""`schedsearch report`, of a real store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from api.test_report import data_of

from schedsearch.store.database import Store
from schedsearch.study import ceilings

from .invoke import Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]


def test_a_report_has_the_best_in_every_form(tuned: Path, run: Run) -> None:
    assert run("report", "--out", "out.html").out == "out.html\n"
    data = data_of((tuned / "out.html").read_text())
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        [scope] = store.scopes()
        best = store.best(scope, 1)[0]
        code = store.code(best.record.keys.code or "")
    assert code is not None
    assert data["verdict"]["id"] == best.id
    assert best.record.trace.steps
    own = data["details"][str(best.id)]
    forms = {name: data["texts"][number] for name, number in own["forms"].items()}
    assert list(forms) == ["Schedule", "Exo", "Loop nest", "C", "Assembly"]
    assert "from exo.stdlib.scheduling import" in forms["Schedule"]
    assert forms["C"].endswith(code.source)
    assert "; C " in forms["Assembly"] or "objdump" in forms["Assembly"]
    parent = data["details"][str(best.parent_id)]["forms"]
    assert data["texts"][parent["Exo"]] != forms["Exo"]


def test_a_report_says_that_it_waits_for_others(
    tuned: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def busy(tell: Callable[[str], None]) -> Iterator[None]:
        tell("waiting for process 7 to end its measurement")
        yield

    monkeypatch.setenv("XDG_CACHE_HOME", str(tuned / "empty"))
    monkeypatch.setattr(ceilings, "measuring_slot", busy)
    monkeypatch.setattr(ceilings, "measure_ceilings", lambda *machine: ())
    answer = run("report")
    assert "waiting for process 7 to end its measurement\n" in answer.err
    assert answer.out == "report.html\n"


def test_what_cannot_be_reported_is_explained(tuned: Path, run: Run) -> None:
    assert "no run 99" in run("report", "99").err
    assert "cannot write no/such/place.html" in run("report", "--out", "no/such/place.html").err
