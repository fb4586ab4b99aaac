"""The HTML report of a run: what is in it, that it is whole, and that it is safe to open."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from present.reading import Reader
from present.reading import pictures as images
from store.store_data import CODE, ROOT, children, correct, start, start_tree

from schedsearch.api.report import report
from schedsearch.api.searched import Search, find_run
from schedsearch.api.tree import measured_code, shown_tree, tree_data
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
from schedsearch.present import page
from schedsearch.present.extras import library
from schedsearch.store import Store
from schedsearch.store.views import Scope, StoredCandidate

HOSTILE = "</script><script>alert(1)</script><img src=http://a.b/c onerror=alert(1)>"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BLOCK = re.compile(r'<script type="application/json" id="(\w+)">(.*?)</script>', re.S)


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


def blocks(page: str) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in BLOCK.findall(page)}


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
    assert not [named for _, named in read.tags if "href" in named]
    assert len(images(read)) == len([named for _, named in read.tags if "src" in named])
    [policy] = [named["content"] for _, named in read.tags if "http-equiv" in named]
    assert "default-src 'none'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    data = blocks(page)
    drawn = {named["data-figure"] for _, named in read.tags if "data-figure" in named}
    assert drawn == set(data) - {"tree"}
    assert {"convergence", "gains", "outcomes", "stages"} <= drawn
    assert "schedsearch replay" in read.text
    assert "Code is not shown: mm was tuned from kernels/mm.py" in read.text
    assert data["tree"]["details"][str(data["tree"]["best"])]["measurement"]


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
    assert {tag for tag, _ in read.tags} & {"iframe", "a", "link"} == set()
    assert len(images(read)) == 2  # none is from elsewhere
    data = blocks(page)
    assert HOSTILE in data["tree"]["strings"]
    for name in set(data) - {"tree"}:  # Plotly reads tags in labels
        assert "<script" not in json.dumps(data[name])
        assert "<img" not in json.dumps(data[name])
    assert data["tree"]["strings"][data["tree"]["message"][2]] == HOSTILE
    assert CODE.source in read.text


@pytest.mark.slow
def test_twenty_thousand_candidates_are_a_few_megabytes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        grow(store, scope, run, 20_000, 500)
        page = reported(store)
        total, _ = store.counts(scope)
    assert total >= 20_000
    assert len(page) - len(library()) < 3_000_000
    assert len(blocks(page)["tree"]["id"]) == total


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
    assert set(blocks(view.page)) == {"tree"}


def test_the_fastest_have_their_c_beside_that_of_the_measured_one_above(tmp_path: Path) -> None:
    first = children(ROOT)[0].trace
    second = children(first)[0].trace
    codes = [GeneratedC("mm", "", f"line;\nx = {n};", f"key{n}") for n in range(3)]
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start(store)
        store.add_code(codes)
        store.add_root(scope, run, replace(correct(ROOT, 1.0), keys=Keys(code="key0")))
        store.add_expansion(scope, run, ROOT.key, [TuningRecord(first, None)], {})
        below = replace(correct(second, 2.0), keys=Keys(code="key2"))
        store.add_expansion(scope, run, first.key, [below], {})
        table = store.candidate_table(scope)
        found = measured_code(store, table, {99})
        assert measured_code(store, table, set(found)) == {}
    [(title, lines)] = found[table.rows[2][0]]
    assert title == f"C, beside candidate {table.rows[0][0]}"
    assert lines[1:] == [" line;", "-x = 0;", "+x = 2;"]
    assert len(found) == 1


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
        assert "No schedule faster" in reported(store, "a")


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


def browsed(file: Path, page: str) -> str:
    """The page as a browser has it once its scripts have run; it complained of nothing."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser here")
    file.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]
    profile = f"--user-data-dir={file.with_suffix('.profile')}"
    seen = subprocess.run(
        [found, *options, profile, "--virtual-time-budget=4000", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in seen.stderr
    return seen.stdout


@pytest.mark.normal
def test_a_browser_draws_it_without_complaint(tmp_path: Path) -> None:
    """Its policy is enforced: a script or a request that it forbids would be reported, such as
    of tags in a name."""
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store, HOSTILE)
        grow(store, scope, run, 200)
        page = reported(store)
    seen = browsed(tmp_path / "report.html", page)
    tree = blocks(page)["tree"]
    assert seen.count('class="main-svg"') >= 6
    assert f"candidate {tree['id'][tree['best']]}</h3>" in seen
    assert not re.search("<img (?!alt=)", seen)


KEYS = """
addEventListener("load", () => {
  const list = document.querySelector(".tree-scroll"), said = [];
  for (const key of %s) {
    list.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    said.push(document.querySelector(".tree-details h3").textContent + "|" +
      document.querySelector(".spoken").textContent);
  }
  document.title = JSON.stringify(said);
});
"""


def test_a_tree_is_walked_by_keys(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        grow(store, scope, run, 200)
        tree = shown_tree(store, scope, store.target(scope), None)
    keys = ["Home", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight"]
    keys += ["End", "ArrowUp", "ArrowUp", "Enter"]
    script = library() + KEYS % json.dumps(keys)
    html = page.page("tree", [page.tree("tree")], {"tree": tree}, script)
    found = re.search("<title>(.*?)</title>", browsed(tmp_path / "tree.html", html))
    assert found
    said = [each.split("|") for each in json.loads(unescape(found[1]))]
    root, child, last = (f"candidate {tree['id'][n]}" for n in (0, 1, 3))
    assert [where for where, _ in said[:7]] == [root, root, root, child, child, child, last]
    states = [state.rsplit(", ", 1)[-1] for _, state in said[:6]]
    assert states == ["open", "closed", "open", "open", "closed", "open"]
    assert said[8] == [child, f"{tree['parent'].count(1) - 5} more"]
    assert said[9][1].startswith("level 2: ")


@pytest.mark.normal
def test_without_plotly_the_extra_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(store, find_run(store, None))
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    for drawn in (search.plot.arguments, search.plot.convergence, lambda: search.tree):
        with pytest.raises(UserError, match=r"schedsearch\[notebook\]"):
            drawn()


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
            text = Reader(reported(store)).text
        assert ("timed against another schedule" in text) == (reference > 1.0)
        assert ("Clearly faster" in text) == (reference == 1.0)
