"""Schedules by hand: the same books as a search keeps, and searches that go on from there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from present.reading import Reader

import schedsearch
from schedsearch.api.exploring import Exploration
from schedsearch.core.errors import UserError
from schedsearch.core.trace import Trace
from schedsearch.store import Store
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.mirror import mirror

pytestmark = pytest.mark.normal

KERNEL = Path(__file__).parents[1] / "search" / "kernels" / "product.py"
TRANSFORMS = ("fission", "reorder", "split")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


def begin(store: Path) -> Exploration:
    return schedsearch.explore(KERNEL, store=store, transforms=TRANSFORMS, progress=False)


@pytest.fixture
def by_hand(store: Path, scripted: list[str]) -> Iterator[Exploration]:
    with begin(store) as exploration:
        yield exploration


def test_there_and_back(by_hand: Exploration, store: Path) -> None:
    root = by_hand.root
    choices = root.rewrites()
    known = len(schedsearch.open(store).candidates)
    assert len(root.rewrites()) == len(choices) == known - 1
    first = choices.legal.of("reorder")[0]
    here = root.apply(first)
    assert here.trace.steps == (first.rewrite,)
    assert str(here.proc) != str(root.proc)
    assert "@@" in repr(here.diff())
    assert here.undo() is root
    assert here.parent == root
    way_back = [c for c in here.rewrites() if c.stored.record.duplicate_of == Trace().key]
    back = here.apply(way_back[0])
    assert back.trace == Trace()  # the same procedure, reached before
    assert back.undo() is here
    assert by_hand.at(here.trace).trace == here.trace


def test_other_arguments_and_illegal_ones(by_hand: Exploration) -> None:
    root = by_hand.root
    split = root.rewrites().legal.of("split")[0].rewrite
    assert dict(split.args)["factor"] != 3
    args = dict(split.args) | {"factor": 3}
    odd = replace(split, args=tuple(sorted((args | {"tail": "cut"}).items())))
    assert root.apply(odd).trace.steps == (odd,)
    illegal = replace(split, args=tuple(sorted((args | {"tail": "perfect"}).items())))
    with pytest.raises(UserError, match="cannot perfectly divide"):
        root.apply(illegal)
    assert root.apply(odd).trace.steps == (odd,)


def test_measurements_are_kept_for_later_sessions(
    by_hand: Exploration, store: Path, scripted: list[str]
) -> None:
    here = by_hand.root.apply(by_hand.root.rewrites().legal.of("reorder")[0])
    measured = here.measure()
    assert measured.kind == "confirm"
    assert here.candidate.speedup == measured.speedup
    by_hand.close()
    opened = schedsearch.open(store)
    assert opened.runs["status"].tolist() == ["finished"]
    assert opened.runs["strategy"].tolist() == ["by hand"]
    assert opened.runs["measured"].tolist() == [1]
    before = list(scripted)
    with begin(store) as later:
        choices = later.root.rewrites()
        [same] = [each for each in choices if each.measurement is not None]
        assert same.rewrite == here.trace.steps[0]
        assert scripted == [*before, "baseline"]


def test_what_is_shown(by_hand: Exploration) -> None:
    choices = by_hand.root.rewrites()
    assert len(choices.legal) + len(choices.rejected) == len(choices)
    assert all(each.why for each in choices)
    assert [each.number for each in choices] == list(range(len(choices)))
    frame = choices.frame
    assert frame.loc[choices[0].number, "transform"] == choices[0].rewrite.transform
    assert frame["legal"].sum() == len(choices.legal)
    read = Reader(choices._repr_html_())
    assert sum(tag == "tr" for tag, _ in read.tags) == len(choices) + 1
    here = by_hand.root.apply(0)
    assert "scheduled" not in Reader(here._repr_html_()).text
    assert str(here.proc) in repr(here)
    assert "void product" in here.c


def test_a_strategy_goes_on_from_a_schedule(
    by_hand: Exploration, store: Path, scripted: list[str]
) -> None:
    here = by_hand.root.apply(by_hand.root.rewrites().legal.of("split")[0])
    result = here.search(1e9, trials=4, strategy="best-first", executor="inline", progress=False)
    steps = here.trace.steps
    with Store.open(store, create=False) as opened:
        [scope] = opened.scopes()
        found = [c for c in opened.load(scope) if c.run_id == result.run.run_id]
        measured = [t for t in opened.timeline(scope) if t.run_id == result.run.run_id]
        # The end of a run also confirms schedules that it has shortened.
        screens = [t.candidate_id for t in measured if t.kind == "screen"]
        screened = {opened.candidate(each).record.trace.steps[: len(steps)] for each in screens}
    assert found
    assert all(candidate.record.trace.steps[: len(steps)] == steps for candidate in found)
    assert screened == {steps}
    assert result.run.progress.measured == 4
    assert len(result.history) == len(measured)
    # What the search found is known here now.
    deeper = next(c for c in found if c.record.outcome is None)
    assert by_hand.at(deeper.record.trace).trace == deeper.record.trace


def test_the_result_of_a_search(store: Path, scripted: list[str]) -> None:
    result = schedsearch.tune(
        KERNEL, store=store, transforms=TRANSFORMS, trials=5, executor="inline", progress=False
    )
    assert result.best is not None
    assert result.best.trace == result.trace
    assert result.best.speedup == result.speedup
    state = mirror(result.proc)
    assert ast_key(state, result.trace.build) == result.best.keys.ast
    assert result.c == result.best.c
    assert "def schedule_product" in result.python
    assert result.history["best_so_far"].is_monotonic_increasing
    assert result.history["candidate_id"].nunique() >= 5
    assert "C" in Reader(result._repr_html_()).text
    with schedsearch.open(store) as opened:
        assert opened.candidates.loc[result.best.id, "speedup"] == result.speedup.value
