"""A store as DataFrames and candidates, also while it grows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from present.reading import Reader
from store.store_data import ROOT, children, correct, start, start_tree

import schedsearch
from schedsearch.api.searched import find_run
from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, Outcome, TuningRecord
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.present import html
from schedsearch.store import Store
from schedsearch.study.stepping import BY_HAND

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@pytest.mark.normal
@settings(max_examples=4, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.floats(0.1, 9) | st.none()), max_size=12))
def test_the_tree_counts_descendants_and_finds_the_best(
    tmp_path_factory: pytest.TempPathFactory, grown: list[tuple[int, float | None]]
) -> None:
    """Every pair expands one of the nodes so far, and measures it or not."""
    path = tmp_path_factory.mktemp("tree") / "s.sqlite"
    with Store.open(path) as store:
        scope, run = start_tree(store)
        traces = [ROOT, *(child.trace for child in children(ROOT))]
        for which, speedup in grown:
            trace = traces[which % len(traces)]
            below = children(trace, 2)
            if trace != ROOT and store.add_expansion(scope, run, trace.key, below, {}):
                traces += [child.trace for child in below]
            if speedup is not None:
                store.record(scope, run, correct(trace, speedup))
        rows = {c.trace_key: c for c in store.load(scope)}
    with schedsearch.open(path) as opened:
        tree = opened.tree
    assert len(tree) == len(rows)
    for candidate in rows.values():
        steps = candidate.record.trace.steps
        below = [c for c in rows.values() if c.record.trace.steps[: len(steps)] == steps]
        row = tree.loc[candidate.id]
        assert row["size"] == len(below)
        assert row["children"] == sum(c.parent_id == candidate.id for c in below)
        best = max((c.record.speedup or 0.0 for c in below), default=0.0)
        assert row["best_below"] == pytest.approx(best) or (best == 0 and row.isna()["best_below"])
    on_path = tree[tree["on_best_path"]]
    assert list(on_path["depth"]) == list(range(len(on_path)))
    if tree["speedup"].notna().any():
        assert on_path.iloc[-1]["speedup"] == tree["speedup"].max()


def test_what_is_written_meanwhile_is_seen(path: Path) -> None:
    with Store.open(path) as store:
        scope, run = start_tree(store)
        with schedsearch.open(path) as opened:
            assert len(opened.candidates) == 4
            assert opened.candidates["outcome"].eq("not_measured").all()
            store.record(scope, run, correct(children(ROOT)[0].trace, 3.0))
            assert opened.best().speedup is not None
            assert list(opened.candidates["outcome"]).count("correct") == 1
            assert opened.runs["status"].tolist() == ["running"]
            assert opened.measurements["speedup"].tolist() == [3.0]


def test_a_confirmation_ranks_and_a_later_failure_unranks(path: Path) -> None:
    first, second = (child.trace for child in children(ROOT, 2))
    with Store.open(path) as store:
        scope, run = start_tree(store)
        for kind, speedup in (("screen", 5.0), ("confirm", 4.0), ("race", 6.0)):
            store.record(scope, run, correct(first, speedup, kind))
        store.record(scope, run, correct(second, 9.0))
        wrong = Failure(Outcome.INCORRECT, "C[0] differs")
        store.record(scope, run, TuningRecord(second, wrong.outcome, message=wrong.message))
    with schedsearch.open(path) as opened:
        frame = opened.candidates.set_index("trace_key")
        assert frame.loc[first.key, ["speedup", "kind"]].tolist() == [4.0, "confirm"]
        assert frame.loc[second.key, "outcome"] == "incorrect"
        assert frame["speedup"].notna().sum() == 1
        assert opened.scopes.loc[0, "best"] == opened.best().id
        assert len(opened.measurements) == 4


@pytest.mark.normal
def test_children_are_rows_of_the_whole_also_of_earlier_searches(path: Path) -> None:
    with Store.open(path) as store:
        scope, run = start_tree(store)
        first, second, _ = (child.trace for child in children(ROOT))
        store.add_expansion(scope, run, first.key, children(first), {})
        store.record(scope, run, correct(second, 2.0, "confirm"))
    with schedsearch.open(path) as opened:
        whole = opened.candidates
        for parent in whole.index:
            own = whole[whole["parent_id"] == parent]
            found = opened.candidate(parent).children
            assert_frame_equal(
                found, own, check_dtype=False, check_categorical=False, check_index_type=False
            )
        before = opened.candidate(1).children
    with Store.open(path) as store:
        later = store.afresh(scope)
        run = store.start_run(later, seed=1, strategy="beam", settings={}, environment={})
        store.add_root(later, run, TuningRecord(ROOT, None))
    with schedsearch.open(path) as opened:
        assert len(opened.candidates) == 1
        assert opened.candidate(1).children.equals(before)


def test_runs_by_hand_are_not_what_a_report_is_about(path: Path) -> None:
    with Store.open(path) as store:
        scope, run = start_tree(store)
        by_hand = store.start_run(scope, seed=0, strategy=BY_HAND, settings={}, environment={})
        assert find_run(store, None).id == run
        assert find_run(store, by_hand).id == by_hand


@pytest.mark.normal
def test_names_from_files_are_text(path: Path) -> None:
    trace = Trace((Rewrite("split", 1, (0,), HOSTILE, (("by", HOSTILE),)),))
    with Store.open(path) as store:
        scope, run = start(store, HOSTILE)
        store.add_root(scope, run, TuningRecord(ROOT, None))
        store.add_expansion(scope, run, ROOT.key, [TuningRecord(trace, None)], {})
        store.record(scope, run, correct(trace, 2.0))
    with schedsearch.open(path) as opened:
        best = opened.best()
        assert best.measurement is not None
        records = html.trace(best.trace), html.measurement(best.measurement)
        for shown in (opened._repr_html_(), best._repr_html_(), *records):
            read = Reader(shown)
            assert "script" not in {tag for tag, _ in read.tags}
        assert HOSTILE in repr(best)
        assert best.parent is not None
        assert best.parent.children.index.tolist() == [best.id]


@pytest.mark.normal
def test_several_procedures_have_to_be_told_apart(path: Path) -> None:
    with Store.open(path) as store:
        for proc, speedup in (("a", 2.0), ("b", 3.0)):
            scope, run = start_tree(store, proc)
            store.record(scope, run, correct(children(ROOT)[0].trace, speedup))
    with schedsearch.open(path) as opened:
        assert opened.best("b").workload.proc == "b"
        assert set(opened.candidates["procedure"]) == {"a", "b"}
        with pytest.raises(UserError, match="take one by its id"):
            opened.best()
        with pytest.raises(UserError, match="no procedure 'c'"):
            opened.best("c")
        with pytest.raises(UserError, match="no candidate 99"):
            opened.candidate(99)


def test_a_procedure_whose_file_is_gone_is_asked_for(path: Path) -> None:
    with Store.open(path) as store:
        scope, run = start_tree(store)
        store.record(scope, run, correct(children(ROOT)[0].trace, 2.0))
    with schedsearch.open(path) as opened, pytest.raises(UserError, match="not there"):
        opened.best().diff()


def test_there_has_to_be_a_store(path: Path) -> None:
    with pytest.raises(UserError, match="no tuning store"):
        schedsearch.open(path)
    assert not path.exists()


@pytest.mark.normal
def test_importing_loads_nothing_heavy(path: Path) -> None:
    Store.open(path).close()
    program = (
        "import sys, schedsearch; print(dir(schedsearch)); heavy = {'exo', 'ray', 'pandas'};"
        f"assert not heavy & set(sys.modules); db = schedsearch.open({str(path)!r});"
        "assert not {'ray', 'pandas'} & set(sys.modules);"
        "sys.modules['pandas'] = None; db.runs"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "pip install 'schedsearch[notebook]'" in ended.stderr.splitlines()[-1]
