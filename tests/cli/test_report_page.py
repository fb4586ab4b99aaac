"""`schedsearch report`, of a real store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.store.database import Store

from .invoke import Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]


def test_a_report_shows_what_the_rewrites_of_the_best_changed(tuned: Path, run: Run) -> None:
    assert run("report", "--out", "out.html").out == "out.html\n"
    text = (tuned / "out.html").read_text()
    [tree] = re.findall(r'<script type="application/json" id="tree">(.*?)</script>', text)
    data = json.loads(tree)
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        [scope] = store.scopes()
        best = store.best(scope, 1)[0]
        code = store.code(best.record.keys.code or "")
    assert code is not None
    assert data["id"][data["best"]] == best.id
    assert best.record.trace.steps
    shown = data["details"][str(data["best"])]["diffs"]
    assert [title for title, _ in shown] == ["loop nest", "Exo", "C"]
    added = {line[1:] for line in shown[2][1] if line.startswith("+")}
    own = {line for line in added if not line.startswith("/*")}  # how it is compiled
    assert own
    assert own <= {*code.source.splitlines()}


def test_what_cannot_be_reported_is_explained(tuned: Path, run: Run) -> None:
    assert "no run 99" in run("report", "99").err
    assert "cannot write no/such/place.html" in run("report", "--out", "no/such/place.html").err
