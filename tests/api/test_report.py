"""The HTML report of a run: what is in it, that it is whole, and that it is safe to open."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from present.browser import browser
from present.reading import Reader
from store.store_data import CODE, ROOT, children, correct, start, start_tree

from schedsearch.api.codes import C
from schedsearch.api.document import page_data
from schedsearch.api.report import report
from schedsearch.api.searched import Search, find_run
from schedsearch.api.tree import TreeView, tree_data
from schedsearch.core.errors import UserError
from schedsearch.core.records import (
    Failure,
    GeneratedC,
    Keys,
    Measurement,
    Outcome,
    Round,
    TuningRecord,
)
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.store import Store
from schedsearch.store.views import Scope, StoredCandidate

HOSTILE = "</script><script>alert(1)</script><img src=http://a.b/c onerror=alert(1)>"
DATA = re.compile(r'<script type="application/octet-stream" id="data">(.*?)</script>', re.S)

MOST_BYTES = 2_000_000
"""Of a page."""


def grow(store: Store, scope: Scope, run: int, size: int, width: int = 60) -> None:
    """At least `size` candidates: some measured, some rejected, most neither."""
    choose = random.Random(size)
    traces = [child.trace for child in children(ROOT)]
    known = len(traces) + 1
    while known < size:
        parent = traces.pop(choose.randrange(len(traces)))
        below = [_grown(child.trace, choose) for child in children(parent, width)]
        store.add_expansion(scope, run, parent.key, below, {"rewrite": 0.5})
        traces += [record.trace for record in below if record.outcome is not Outcome.ILLEGAL]
        known += width


def _grown(trace: Trace, choose: random.Random) -> TuningRecord:
    chance = choose.random()
    if chance < 0.1:
        return correct(trace, choose.uniform(0.5, 40.0))
    if chance < 0.3:
        return TuningRecord(trace, Outcome.ILLEGAL, message="it carries a dependence")
    return TuningRecord(trace, None)


def data_of(page: str) -> dict[str, Any]:
    [packed] = DATA.findall(page)
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


def reported(store: Store, wanted: str | None = None) -> str:
    return report(Search(store, find_run(store, wanted)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        grow(store, scope, run, 200)
        store.finish_run(run, "finished", {})
    return Store.open(tmp_path / "s.sqlite")


def test_the_tree_says_what_the_store_says(store: Store) -> None:
    [scope] = store.scopes()
    data = tree_data(store.candidate_table(scope))
    known = store.load(scope)
    assert data["id"] == [candidate.id for candidate in known]
    strings = data["strings"]
    for number, candidate in enumerate(known):
        record = candidate.record
        parent = data["parent"][number]
        assert parent < number
        assert (data["id"][parent] if parent >= 0 else None) == candidate.parent_id
        last = str(record.trace.steps[-1]) if record.trace.steps else ""
        assert strings[data["rewrite"][number]] == last
        assert strings[data["message"][number]] == record.message
        speedup = data["speedup"][number]
        assert (speedup is None) == (record.measurement is None)
        assert speedup is None or speedup == pytest.approx(record.speedup, rel=1e-3)
    assert data["id"][data["best"]] == store.best(scope, 1)[0].id


@pytest.mark.normal
def test_a_page_has_everything_and_asks_for_nothing(store: Store) -> None:
    page = reported(store)
    read = Reader(page)
    assert [named["href"] for _, named in read.tags if "href" in named] == ["data:,"]
    assert not [named for _, named in read.tags if "src" in named]
    [policy] = [named["content"] or "" for _, named in read.tags if "http-equiv" in named]
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    [script] = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    data = data_of(page)
    assert data == json.loads(
        json.dumps(page_data(Search(store, find_run(store, None)), frozen=True))
    )
    assert "schedsearch replay" in data["reproduce"]
    assert any("mm was tuned from kernels/mm.py" in line for line in data["trust"])
    best = data["details"][str(data["verdict"]["id"])]
    assert best["samples"]["ratios"]
    assert len(page) < MOST_BYTES


@pytest.mark.normal
def test_text_from_a_store_stays_text(tmp_path: Path) -> None:
    trace = Trace((Rewrite("split", 1, (0,), HOSTILE, ((HOSTILE, 3),)),))
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start(store, HOSTILE)
        store.add_root(scope, run, correct(ROOT, 1.0))
        bad = TuningRecord(children(ROOT)[1].trace, Outcome.ILLEGAL, message=HOSTILE)
        store.add_expansion(scope, run, ROOT.key, [TuningRecord(trace, None), bad], {HOSTILE: 1.0})
        store.add_code([CODE])
        timed = correct(trace, 2.0)
        store.record(
            scope,
            run,
            TuningRecord(trace, timed.outcome, Keys(code=CODE.key), measurement=timed.measurement),
        )
        page = reported(store)
    read = Reader(page)
    allowed = {
        "html",
        "head",
        "meta",
        "title",
        "link",
        "style",
        "body",
        "div",
        "noscript",
        "script",
    }
    assert {tag for tag, _ in read.tags} == allowed
    assert len([tag for tag, _ in read.tags if tag == "script"]) == 2
    data = data_of(page)
    tree = data["candidates"]
    assert tree["strings"][tree["message"][2]] == HOSTILE
    assert any(CODE.source in text for text in data["texts"])


@pytest.mark.slow
def test_twenty_thousand_candidates_are_two_megabytes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        grow(store, scope, run, 20_000, 500)
        page = reported(store)
        total, _ = store.counts(scope)
    assert total >= 20_000
    assert len(page) < MOST_BYTES
    assert len(data_of(page)["candidates"]["id"]) == total


@pytest.mark.normal
def test_frames_and_figures_have_what_was_measured(store: Store) -> None:
    search = Search(store, find_run(store, None))
    known = store.load(search.scope)
    timed = {c.id: c for c in known if c.record.measurement}
    curve = search.convergence()
    assert len(curve) == len(timed)
    assert curve["best_so_far"].iloc[-1] == max(c.record.speedup or 0 for c in timed.values())
    assert curve["best_so_far"].is_monotonic_increasing
    gains = search.gains()
    assert len(gains) == sum(c.parent_id in timed for c in timed.values())
    for id_, gain in gains["gain"].items():
        parent = timed[known_parent(timed[id_])]
        own = timed[id_].record.speedup
        assert gain == pytest.approx((own or 0) / (parent.record.speedup or 1))
    assert search.outcomes()["candidates"].sum() == len(known)
    assert search.stage_times()["seconds"].sum() > 0
    steps = [step for c in timed.values() for step in c.record.trace.steps]
    assert len(search.arguments()) == len(steps)  # one number each
    [heat] = search.plot.arguments().data
    assert max(max(row) for row in heat.z) == curve["best_so_far"].iloc[-1]
    assert search.plot.roofline() is None  # this store has no roofline
    assert f"{len(timed)} correct" in repr(search)


def known_parent(candidate: StoredCandidate) -> int:
    assert candidate.parent_id is not None
    return candidate.parent_id


@pytest.mark.normal
def test_a_notebook_gets_the_tree_in_a_frame_of_its_own(store: Store) -> None:
    view = Search(store, find_run(store, None)).tree
    [(tag, named)] = Reader(view._repr_html_()).tags
    assert tag == "iframe"
    assert named["srcdoc"] == view.page
    assert data_of(view.page)["candidates"]["id"]


def test_a_tree_is_saved_or_the_place_is_refused(tmp_path: Path) -> None:
    view = TreeView("tree", "<p>€</p>")
    view.save(tmp_path / "tree.html")
    assert (tmp_path / "tree.html").read_text(encoding="utf-8") == view.page
    with pytest.raises(UserError, match=r"cannot write .*; choose another place"):
        view.save(str(tmp_path / "none" / "tree.html"))


def test_a_text_that_several_candidates_share_is_there_once(tmp_path: Path) -> None:
    first, second = (child.trace for child in children(ROOT, 2))
    code = GeneratedC("mm", "", "line;\nx = 1;", "key")
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start(store)
        store.add_code([code])
        store.add_root(scope, run, correct(ROOT, 1.0))
        below = [
            replace(correct(trace, speedup), keys=Keys(code="key"))
            for trace, speedup in ((first, 2.0), (second, 3.0))
        ]
        store.add_expansion(scope, run, ROOT.key, below, {})
        data = page_data(Search(store, find_run(store, None)), frozen=True)
    texts = [data["texts"][each["forms"][C]] for each in data["details"].values() if each["forms"]]
    assert len(texts) == 2
    assert all(code.source in text for text in texts)
    assert len(data["texts"]) == 1


@pytest.mark.normal
def test_a_run_is_found_by_number_and_by_procedure(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        runs = {name: start_tree(store, name)[1] for name in ("a", "b")}
        assert find_run(store, None).id == runs["b"]
        assert find_run(store, "a").id == runs["a"]
        assert find_run(store, str(runs["a"])).id == runs["a"]
        for wanted in ("c", "77"):
            with pytest.raises(UserError, match=wanted):
                find_run(store, wanted)
        assert "No schedule faster" in data_of(reported(store, "a"))["verdict"]["text"]


@pytest.mark.normal
def test_a_failed_best_is_not_the_best(tmp_path: Path) -> None:
    first, second = (child.trace for child in children(ROOT, 2))
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        store.record(scope, run, correct(first, 3.0))
        store.record(scope, run, correct(second, 9.0))
        wrong = Failure(Outcome.INCORRECT, "C[0] differs")
        store.record(scope, run, TuningRecord(second, wrong.outcome, message=wrong.message))
        data = tree_data(store.candidate_table(scope))
    assert data["speedup"][data["best"]] == 3.0
    assert data["strings"][data["outcome"][data["id"].index(data["id"][2])]] == "incorrect"


@pytest.mark.slow
def test_a_browser_draws_it_without_complaint(tmp_path: Path) -> None:
    """Its policy is enforced: a script or a request that it forbids would be reported, such as
    of tags in a name."""
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store, HOSTILE)
        grow(store, scope, run, 200)
        page = reported(store)
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    best = data_of(page)["verdict"]["id"]
    with browser(tmp_path) as tab:
        tab.open((tmp_path / "report.html").as_uri())
        tab.wait(f"document.querySelector('aside h3')?.textContent == 'candidate {best}'")
        tab.wait("document.querySelectorAll('.drawn svg').length >= 4")
        assert HOSTILE in tab.run("document.querySelector('h1').textContent")
        assert tab.run("document.images.length") == 0
        assert not tab.complaints


@pytest.mark.normal
def test_without_plotly_the_extra_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(store, find_run(store, None))
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    for drawn in (search.plot.arguments, search.plot.convergence):
        with pytest.raises(UserError, match=r"schedsearch\[notebook\]"):
            drawn()


@pytest.mark.normal
def test_a_report_needs_no_extra(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("plotly", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    assert data_of(reported(store))["curve"]["speedup"]


@pytest.mark.normal
def test_what_was_timed_against_another_schedule_says_so(tmp_path: Path) -> None:
    """There is no verdict on the procedure as written then."""
    trace = children(ROOT)[0].trace
    for reference, ratio in ((1.0, 2.0), (3.0, 0.7)):
        with Store.open(tmp_path / f"{reference}.sqlite") as store:
            scope, run = start_tree(store)
            timed = Measurement(
                "race", (Round((100.0,), (100.0 * ratio,)),) * 6, 1, reference_speedup=reference
            )
            record = TuningRecord(trace, Outcome.CORRECT, measurement=timed)
            store.record(scope, run, record)
            text = " ".join(data_of(reported(store))["trust"])
        assert ("timed against another schedule" in text) == (reference > 1.0)
        assert ("Clearly faster" in text) == (reference == 1.0)


def test_other_levels_of_memory_are_measured_for_kept_pages_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measuring them would disturb the search that a live page shows."""
    monkeypatch.setattr(Search, "roof", Roof(1e-5, 1e-4, 200.0, "f32", 12.0, "memory"))
    monkeypatch.setattr(Search, "ceilings", (("L1", 300.0), ("L2", 100.0)))
    search = Search(store, find_run(store, None))
    assert page_data(search, frozen=True)["roof"]["ceilings"] == [["L1", 300.0], ["L2", 100.0]]
    assert page_data(search, frozen=False)["roof"]["ceilings"] == []
