"""The contract of `Store`, checked of every backend in `store_backends.BACKENDS`."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_backends import BACKENDS, KINDS, Reopen
from store_data import (
    CODE,
    ROOT,
    SOURCE,
    children,
    correct,
    measurement,
    start,
    start_tree,
    step,
    target,
    workload,
)

from schedsearch.core.build import Build
from schedsearch.core.errors import UserError
from schedsearch.core.fields import LARGEST
from schedsearch.core.records import Keys, Measurement, Outcome, Round, TuningRecord
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.store import RunStatus, Scope, Store

FIRST = ROOT.then(step(0))
SECOND = ROOT.then(step(1))
THIRD = ROOT.then(step(2))


# -- workloads, targets, runs ---------------------------------------------------


@pytest.mark.normal
def test_register_is_idempotent_and_reads_back(store: Store, reopen: Reopen) -> None:
    scope = store.register(workload(), target(), SOURCE)
    other = reopen()
    assert other.register(workload(), target(), SOURCE) == scope
    assert other.workload(scope) == workload()
    assert other.workload(scope).key == workload().key
    assert other.target(scope) == target()
    assert other.source(scope) == SOURCE


def test_a_signature_is_kept_and_no_identity(store: Store, reopen: Reopen) -> None:
    scope = store.register(workload(), target(), SOURCE)
    signed = dataclasses.replace(workload(), signature=("reduce", "write 0,1"))
    assert store.register(signed, target(), SOURCE) == scope
    assert reopen().workload(scope).signature == signed.signature


def test_register_keeps_the_last_source_of_an_unchanged_procedure(store: Store) -> None:
    scope = store.register(workload(), target(), SOURCE)
    moved = dataclasses.replace(workload(), source="elsewhere.py", source_sha="beef")
    assert store.register(moved, target(), "# moved\n") == scope
    assert store.workload(scope).source == "elsewhere.py"
    assert store.workload(scope).source_sha == "beef"
    assert store.source(scope) == "# moved\n"


def test_scopes_are_the_pairs_that_ran(store: Store) -> None:
    mm, _ = start(store, "mm")
    conv, _ = start(store, "conv")
    start(store, "mm")
    never_run = store.register(workload("mm"), target("skylake"), SOURCE)
    assert never_run.workload_id == mm.workload_id
    assert never_run not in store.scopes()
    assert store.scopes() == [mm, conv]


def test_a_run_reads_back(store: Store, reopen: Reopen) -> None:
    scope = store.register(workload(), target(), SOURCE)
    before = datetime.now(UTC)
    run_id = store.start_run(
        scope, seed=3, strategy="beam", settings={"width": 8}, environment={"load": [0.5]}
    )
    (run,) = reopen().runs(scope)
    assert (run.id, run.scope, run.seed, run.strategy) == (run_id, scope, 3, "beam")
    assert (run.settings, run.environment) == ({"width": 8}, {"load": [0.5]})
    assert (run.status, run.finished_at, run.summary) == (RunStatus.RUNNING, None, None)
    assert timedelta(0) <= run.started_at - before < timedelta(minutes=5)

    store.finish_run(run_id, "finished", {"best": 2.5})
    (run,) = reopen().runs(scope)
    assert (run.status, run.summary) == (RunStatus.FINISHED, {"best": 2.5})
    assert run.finished_at is not None
    assert run.finished_at >= run.started_at


def test_runs_of_one_scope_or_of_all(store: Store) -> None:
    mm, first = start(store, "mm")
    conv, second = start(store, "conv")
    _, third = start(store, "mm")
    assert [run.id for run in store.runs()] == [first, second, third]
    assert [run.id for run in store.runs(mm)] == [first, third]
    assert [run.id for run in store.runs(conv)] == [second]


def test_only_known_runs_and_statuses_finish(store: Store) -> None:
    _, run = start(store)
    with pytest.raises(LookupError):
        store.finish_run(run + 1, "finished", {})
    with pytest.raises(ValueError, match="done"):
        store.finish_run(run, "done", {})


# -- the tree ---------------------------------------------------------------------


def test_root_is_added_once(store: Store) -> None:
    scope, run = start(store)
    assert store.add_root(scope, run, correct(ROOT, 1.0))
    assert not store.add_root(scope, run, TuningRecord(ROOT, None))
    (root,) = store.load(scope)
    assert (root.parent_id, root.expanded, root.trace_key) == (None, False, ROOT.key)
    assert root.record == correct(ROOT, 1.0)


def test_root_has_no_rewrites(store: Store) -> None:
    scope, run = start(store)
    with pytest.raises(ValueError, match="no rewrites"):
        store.add_root(scope, run, TuningRecord(FIRST, None))
    assert store.load(scope) == []


def test_expansion_adds_all_children_and_marks_the_parent(store: Store, reopen: Reopen) -> None:
    scope, run = start(store)
    store.add_root(scope, run, TuningRecord(ROOT, None))
    illegal = TuningRecord(THIRD, Outcome.ILLEGAL, message="loop carries a dependence")
    kids = [*children(ROOT, 2), illegal]
    assert store.add_expansion(scope, run, ROOT.key, kids, {})
    root, *stored = reopen().load(scope)
    assert root.expanded
    assert [c.record for c in stored] == kids
    assert [c.trace_key for c in stored] == [kid.trace.key for kid in kids]
    assert {c.parent_id for c in stored} == {root.id}
    assert not any(c.expanded for c in stored)


def test_portions_of_an_expansion_mark_the_parent_with_the_last(store: Store) -> None:
    scope, run = start(store)
    store.add_root(scope, run, TuningRecord(ROOT, None))
    first, *rest = children(ROOT)
    assert store.add_expansion(scope, run, ROOT.key, [first], {"expand": 1.0}, whole=False)
    root, *found = store.load(scope)
    assert (root.expanded, len(found)) == (False, 1)
    assert store.add_expansion(scope, run, ROOT.key, rest, {"expand": 2.0})
    root, *found = store.load(scope)
    assert (root.expanded, len(found)) == (True, 1 + len(rest))
    assert store.stage_seconds(scope)["expand"] == 3.0


def test_a_reopened_parent_takes_further_children(store: Store) -> None:
    scope, run = start_tree(store)
    before = store.load(scope)
    store.reopen(scope)
    root, *others = store.load(scope)
    assert (root.expanded, others) == (False, before[1:])
    late = [TuningRecord(ROOT.then(step(9)), None)]
    assert store.add_expansion(scope, run, ROOT.key, late, {})
    root, *now = store.load(scope)
    assert (root.expanded, len(now)) == (True, len(others) + 1)


def test_second_expansion_of_a_parent_changes_nothing(store: Store) -> None:
    scope, run = start_tree(store)
    before = store.load(scope)
    late = [TuningRecord(ROOT.then(step(9)), None)]
    assert not store.add_expansion(scope, run, ROOT.key, late, {"expand": 1.0})
    assert store.load(scope) == before
    assert store.stage_seconds(scope) == {}


def test_the_timeline_has_every_measurement_of_what_is_verified(store: Store) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 2.0))
    store.record(scope, run, correct(SECOND, 9.0))
    store.record(scope, run, correct(FIRST, 1.5, "confirm"))
    store.record(scope, run, TuningRecord(SECOND, Outcome.INCORRECT, message="C[0] is 1"))
    found = store.timeline(scope)
    assert [(t.kind, t.speedup, t.run_id) for t in found] == [
        ("screen", 2.0, run),
        ("confirm", 1.5, run),
    ]
    assert found[0].at <= found[1].at
    assert found[0].at.tzinfo is not None


def test_a_replay_adds_candidates_below_each_other(store: Store, reopen: Reopen) -> None:
    scope, run = start(store)
    store.add_root(scope, run, TuningRecord(ROOT, None))
    below = FIRST.then(step(1))
    way = [TuningRecord(FIRST, None), TuningRecord(below, Outcome.ILLEGAL, message="no loop")]
    store.add_replay(scope, run, way, {"rewrite": 0.5})
    store.add_replay(scope, run, way, {"rewrite": 0.5})
    root, first, second = reopen().load(scope)
    assert (first.parent_id, second.parent_id) == (root.id, first.id)
    assert second.record == way[1]
    assert not root.expanded
    assert store.known(scope, [SECOND.key, below.key]) == {below.key}
    assert store.stage_seconds(scope) == {"rewrite": 1.0}


def test_an_expansion_adds_what_no_replay_did(store: Store) -> None:
    scope, run = start(store)
    store.add_root(scope, run, TuningRecord(ROOT, None))
    store.add_replay(scope, run, [TuningRecord(SECOND, None)], {})
    assert store.add_expansion(scope, run, ROOT.key, children(ROOT), {})
    root, *rest = store.load(scope)
    assert root.expanded
    assert [c.trace_key for c in rest] == [SECOND.key, FIRST.key, THIRD.key]


@pytest.mark.normal
def test_a_replay_from_nowhere_is_refused(store: Store) -> None:
    scope, run = start_tree(store)
    nowhere = [TuningRecord(FIRST.then(step(0)).then(step(0)), None)]
    with pytest.raises(LookupError):
        store.add_replay(scope, run, nowhere, {})
    with pytest.raises(ValueError, match="root"):
        store.add_replay(scope, run, [TuningRecord(ROOT, None)], {})
    assert len(store.load(scope)) == 4


def test_a_parent_without_children_is_expanded_too(store: Store) -> None:
    scope, run = start_tree(store)
    assert store.add_expansion(scope, run, FIRST.key, [], {})
    assert [c.expanded for c in store.load(scope)] == [True, True, False, False]


def test_a_walk_sees_the_tree_as_it_was_when_it_began(store: Store) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 2.0))
    walk = store.walk(scope)
    seen = [next(walk)]
    assert store.add_expansion(scope, run, SECOND.key, children(SECOND), {})
    store.record(scope, run, correct(SECOND, 3.0))
    seen += walk
    assert [len(c.measurements) for c in seen] == [0, 1, 0, 0]
    assert [c.has_children for c in seen] == [True, False, False, False]
    assert [c.has_children for c in store.load(scope)] == [True, False, True, *[False] * 4]


def test_candidates_and_measured_ones_are_counted(store: Store) -> None:
    scope, run = start_tree(store)
    start_tree(store, "other")
    assert store.counts(scope) == (4, 0)
    store.record(scope, run, correct(FIRST, 2.0))
    store.record(scope, run, correct(FIRST, 2.5, "confirm"))
    store.record(scope, run, TuningRecord(SECOND, Outcome.CRASH))
    assert store.counts(scope) == (4, 1)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("kids", "error"),
    [
        ([TuningRecord(FIRST, None)], ValueError),
        ([*children(FIRST), *children(SECOND)], ValueError),
        ([TuningRecord(FIRST.then(step(0)).then(step(0)), None)], ValueError),
        ([TuningRecord(ROOT, None)], ValueError),
        ([*children(FIRST, 2), *children(FIRST, 1)], ValueError),
        ([TuningRecord(FIRST.then(step(0)), Outcome.DUPLICATE, duplicate_of="?")], LookupError),
    ],
)
def test_a_wrong_batch_of_children_changes_nothing(
    store: Store, kids: list[TuningRecord], error: type[Exception]
) -> None:
    scope, run = start_tree(store)
    before = store.load(scope)
    with pytest.raises(error):
        store.add_expansion(scope, run, FIRST.key, kids, {"expand": 1.0})
    assert store.load(scope) == before
    assert store.stage_seconds(scope) == {}


def test_unknown_trace_keys_are_lookup_errors(store: Store) -> None:
    scope, run = start_tree(store)
    other, _ = start(store, "conv")
    with pytest.raises(LookupError, match="no candidate"):
        store.add_expansion(scope, run, FIRST.then(step(0)).key, [], {})
    with pytest.raises(LookupError, match="no candidate"):
        store.record(other, run, correct(FIRST, 2.0))


def test_candidates_are_found_by_their_traces(store: Store) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 2.0))
    found = store.find(scope, [SECOND.key, FIRST.key, "unknown"])
    assert [c.record.trace for c in found] == [FIRST, SECOND]
    assert found[0].record.speedup == pytest.approx(2.0)
    assert store.find(scope, []) == []


def test_duplicates_refer_to_earlier_later_and_stored_candidates(store: Store) -> None:
    scope, run = start_tree(store)
    late, early, known = (FIRST.then(step(n)) for n in range(3))
    kids = [
        TuningRecord(early, Outcome.DUPLICATE, duplicate_of=late.key, duplicate_level="code"),
        TuningRecord(late, None),
        TuningRecord(known, Outcome.DUPLICATE, duplicate_of=SECOND.key, duplicate_level="ast"),
    ]
    store.add_expansion(scope, run, FIRST.key, kids, {})
    parent = next(c for c in store.load(scope) if c.record.trace == FIRST)
    assert [c.record for c in store.children(parent.id)] == kids


@pytest.mark.normal
def test_scopes_do_not_see_each_other(store: Store) -> None:
    mm, _ = start_tree(store, "mm")
    conv, run = start_tree(store, "conv")
    store.record(conv, run, correct(FIRST, 2.0))
    assert store.best(mm) == []
    assert store.outcomes(mm) == {None: 4}
    assert store.outcomes(conv) == {None: 3, Outcome.CORRECT: 1}
    assert {c.scope for c in store.load(mm)} == {mm}
    assert not {c.id for c in store.load(mm)} & {c.id for c in store.load(conv)}


@pytest.mark.normal
def test_candidate_and_children_agree_with_load_at_any_depth(store: Store) -> None:
    scope, run = start_tree(store)
    trace = FIRST
    for _ in range(5):
        store.add_expansion(scope, run, trace.key, children(trace), {})
        trace = trace.then(step(0))
    store.record(scope, run, correct(trace, 3.0))
    loaded = store.load(scope)
    assert len(loaded) == 1 + 6 * 3
    assert [store.candidate(c.id) for c in loaded] == loaded
    for c in loaded:
        assert store.children(c.id) == [kid for kid in loaded if kid.parent_id == c.id]


def test_unknown_candidate_is_a_user_error(store: Store) -> None:
    with pytest.raises(UserError, match="no candidate 17"):
        store.candidate(17)


# -- outcomes and measurements ------------------------------------------------------


def test_record_sets_outcome_keys_and_measurement(store: Store, reopen: Reopen) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, TuningRecord(FIRST, None, Keys(ast="a", code="c"), "legal"))
    found = dataclasses.replace(correct(FIRST, 2.0), keys=Keys(binary="b"))
    assert store.record(scope, run, found) is Outcome.CORRECT
    stored = reopen().load(scope)[1].record
    assert stored == dataclasses.replace(found, keys=Keys("a", "c", "b"), message="legal")


def test_measurements_are_added_and_the_latest_confirm_ranks(store: Store) -> None:
    scope, run = start_tree(store)
    given_ = [(5.0, "screen"), (3.0, "confirm"), (4.0, "confirm"), (9.0, "screen")]
    for speedup, kind in given_:
        store.record(scope, run, correct(FIRST, speedup, kind))
    stored = store.load(scope)[1]
    assert stored.measurements == tuple(measurement(s, kind) for s, kind in given_)
    assert stored.record.measurement == measurement(4.0, "confirm")


def test_best_ranks_by_latest_confirm_else_latest_screen(store: Store) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 9.0))
    store.record(scope, run, correct(FIRST, 2.0, "confirm"))
    store.record(scope, run, correct(SECOND, 4.0))
    store.record(scope, run, correct(SECOND, 3.0))
    store.record(scope, run, correct(THIRD, 1.0, "confirm"))
    store.record(scope, run, correct(THIRD, 2.5, "confirm"))
    ranked = store.best(scope)
    assert [c.record.trace for c in ranked] == [SECOND, THIRD, FIRST]
    assert [c.record.speedup for c in ranked] == [3.0, 2.5, 2.0]
    assert store.best(scope, limit=2) == ranked[:2]


def test_best_needs_correct_and_measured(store: Store) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, TuningRecord(FIRST, Outcome.CORRECT))
    timed_out = dataclasses.replace(correct(SECOND, 8.0), outcome=Outcome.TIMEOUT)
    store.record(scope, run, timed_out)
    assert store.best(scope) == []


def test_found_incorrect_later_never_ranks_again(store: Store) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 9.0))
    wrong = TuningRecord(FIRST, Outcome.INCORRECT, message="differs at C[3, 1]")
    assert store.record(scope, run, wrong) is Outcome.INCORRECT
    assert store.record(scope, run, correct(FIRST, 9.5, "confirm")) is Outcome.INCORRECT
    assert store.best(scope) == []
    stored = store.load(scope)[1]
    assert stored.record.message.startswith("differs at C[3, 1]\nlater correct")
    assert len(stored.measurements) == 2


@pytest.mark.normal
@pytest.mark.parametrize(
    "worse", sorted(set(Outcome) - {Outcome.CORRECT, Outcome.INCORRECT}), ids=str
)
def test_correct_yields_to_incorrect_only(store: Store, worse: Outcome) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 2.0))
    later = TuningRecord(FIRST, worse, message="busy machine")
    assert store.record(scope, run, later) is Outcome.CORRECT
    (stored,) = store.best(scope)
    assert stored.record.outcome is Outcome.CORRECT
    assert stored.record.message == f"later {worse}: busy machine"


@pytest.mark.normal
@pytest.mark.parametrize("first", sorted(set(Outcome) - {Outcome.CORRECT, Outcome.INCORRECT}))
def test_a_failed_attempt_is_replaced_by_the_next(store: Store, first: Outcome) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, TuningRecord(FIRST, first, message="first attempt"))
    assert store.record(scope, run, TuningRecord(FIRST, None)) is first
    assert store.load(scope)[1].record.message == "first attempt"
    assert store.record(scope, run, correct(FIRST, 2.0)) is Outcome.CORRECT
    assert store.load(scope)[1].record == correct(FIRST, 2.0)


def test_equal_binaries_are_found_after_the_build(store: Store) -> None:
    scope, run = start_tree(store)
    twin = TuningRecord(
        SECOND, Outcome.DUPLICATE, Keys(binary="b"), "", FIRST.key, duplicate_level="binary"
    )
    store.record(scope, run, twin)
    assert store.load(scope)[2].record == twin


# -- fresh starts -----------------------------------------------------------------------


def start_afresh(store: Store) -> tuple[Scope, int]:
    """A second tree, with children, of what `start_tree` has."""
    scope = store.afresh(store.register(workload(), target(), SOURCE))
    run = store.start_run(scope, seed=1, strategy="beam", settings={}, environment={})
    store.add_root(scope, run, TuningRecord(ROOT, None))
    store.add_expansion(scope, run, ROOT.key, children(ROOT), {"expand": 1.0})
    return scope, run


def test_what_was_never_run_needs_no_fresh_start(store: Store) -> None:
    scope = store.register(workload(), target(), SOURCE)
    assert store.afresh(scope) == scope


@pytest.mark.normal
def test_a_fresh_start_sees_nothing_and_deletes_nothing(store: Store, reopen: Reopen) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 2.0))
    before = store.load(scope)
    fresh = store.afresh(scope)
    assert (store.load(fresh), store.runs(fresh), store.counts(fresh)) == ([], [], (0, 0))
    assert store.known(fresh, [FIRST.key]) == set()
    assert store.register(workload(), target(), SOURCE) == scope, "it has no run yet"

    fresh, second = start_afresh(store)
    other = reopen()
    assert other.load(scope) == before
    assert {c.scope for c in other.load(fresh)} == {fresh}
    assert other.trees(scope) == other.trees(fresh) == [scope, fresh]
    assert other.scopes() == [fresh]
    assert other.find_scope(workload(), target()) == fresh
    assert other.register(workload(), target(), SOURCE) == fresh
    assert [r.id for r in other.runs(fresh)] == [second]
    assert (other.stage_seconds(scope), other.stage_seconds(fresh)) == ({}, {"expand": 1.0})


def test_the_best_are_of_all_trees_and_the_last_has_the_last_word(store: Store) -> None:
    scope, run = start_tree(store)
    for trace, speedup in ((FIRST, 9.0), (SECOND, 4.0), (THIRD, 2.0)):
        store.record(scope, run, correct(trace, speedup))
    fresh, run = start_afresh(store)
    assert [c.record.speedup for c in store.best(fresh)] == [9.0, 4.0, 2.0]
    store.record(fresh, run, TuningRecord(FIRST, Outcome.INCORRECT))
    store.record(fresh, run, correct(SECOND, 1.5))
    ranked = [(c.scope, c.record.trace, c.record.speedup) for c in store.best(scope)]
    assert ranked == [(scope, THIRD, 2.0), (fresh, SECOND, 1.5)]
    assert store.best(fresh) == store.best(scope)


def test_the_later_measurement_ranks_though_the_clock_was_set_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, correct(FIRST, 2.0))
    earlier = datetime(2001, 1, 1, tzinfo=UTC)
    monkeypatch.setattr("schedsearch.store.tree.utc_now", lambda: earlier)
    store.record(scope, run, correct(FIRST, 3.0))
    assert [c.record.speedup for c in store.best(scope)] == [3.0]
    assert [t.speedup for t in store.timeline(scope)] == [2.0, 3.0]


# -- stage times and code -------------------------------------------------------------


def test_stage_times_add_up_over_calls_and_runs(store: Store) -> None:
    scope, run = start(store)
    store.add_root(scope, run, TuningRecord(ROOT, None, stage_s=(("verify", 1.0),)))
    kid = TuningRecord(FIRST, None, stage_s=(("codegen", 0.5),))
    store.add_expansion(scope, run, ROOT.key, [kid], {"expand": 2.0, "codegen": 0.25})
    _, second_run = start(store)
    timed = TuningRecord(FIRST, Outcome.CRASH, stage_s=(("build", 4.0), ("codegen", 0.25)))
    store.record(scope, second_run, timed)
    expected = {"build": 4.0, "codegen": 1.0, "expand": 2.0, "verify": 1.0}
    assert store.stage_seconds(scope) == expected
    assert store.load(scope)[1].record.stage_s == (("codegen", 0.75), ("build", 4.0))


def test_the_version_changes_with_whatever_is_written(store: Store, reopen: Reopen) -> None:
    seen = [store.version()]
    scope, run = start_tree(store)
    seen.append(store.version())
    known = children(ROOT)[0].trace
    store.add_expansion(scope, run, known.key, children(known), {"rewrite": 0.5})
    seen.append(store.version())
    store.record(scope, run, TuningRecord(known, Outcome.TIMEOUT, message="too slow"))
    seen.append(store.version())
    store.record(scope, run, correct(known, 2.0))
    seen.append(store.version())
    store.record(scope, run, correct(known, 2.0))
    seen.append(store.version())
    store.finish_run(run, "finished", {})
    seen.append(store.version())
    assert len(set(seen)) == len(seen)
    assert reopen().version() == seen[-1]


def test_code_reads_back(store: Store, reopen: Reopen) -> None:
    store.add_code([CODE])
    store.add_code([dataclasses.replace(CODE, source="other text under the same key"), CODE])
    store.add_code([])
    assert reopen().code(CODE.key) == CODE
    assert store.code("unknown") is None


@pytest.mark.normal
def test_code_keeps_its_build_options(store: Store, reopen: Reopen) -> None:
    built = dataclasses.replace(CODE, key="other", build=Build("clang", "-O2", True))
    store.add_code([CODE, built])
    assert reopen().code("other") == built
    assert reopen().code(CODE.key) == CODE


def test_dropped_code_is_that_of_none_of_the_best(store: Store) -> None:
    scope, run = start_tree(store)
    other, other_run = start_tree(store, "other")
    traces = (ROOT, FIRST, SECOND)
    for name, place, its_run in (("mm", scope, run), ("other", other, other_run)):
        for n, trace in enumerate(traces):
            key = f"{name}{n}"
            store.add_code([dataclasses.replace(CODE, key=key)])
            found = dataclasses.replace(correct(trace, 1.0 + n), keys=Keys(code=key))
            store.record(place, its_run, found)
    store.add_code([dataclasses.replace(CODE, key="of nobody")])
    keys = ["mm0", "mm1", "mm2", "other0", "other1", "other2", "of nobody"]
    assert store.drop_code(1, dry_run=True) == 3
    assert all(store.code(key) for key in keys)
    assert store.drop_code(1) == 3
    assert [key for key in keys if store.code(key)] == ["mm0", "mm2", "other0", "other2"]
    assert store.drop_code(1) == 0
    assert len(store.best(scope)) == 3


def test_a_compacted_store_has_everything(store: Store, reopen: Reopen) -> None:
    scope, _ = start_tree(store)
    store.add_code([CODE])
    store.compact()
    assert reopen().load(scope) == store.load(scope)
    assert store.code(CODE.key) == CODE


def test_a_workload_keeps_what_is_constant_and_is_found(store: Store, reopen: Reopen) -> None:
    special = dataclasses.replace(workload(), specialized=("M",))
    assert special.fixed == {"M": 32}
    assert special.key != workload().key
    assert store.find_scope(special, target()) is None
    scopes = [store.register(w, target(), SOURCE) for w in (special, workload())]
    assert len(set(scopes)) == 2
    assert reopen().workload(scopes[0]) == special
    assert reopen().workload(scopes[1]).specialized == ()
    assert store.find_scope(special, target()) == scopes[0]
    assert store.find_scope(workload(), target()) == scopes[1]


# -- any record ---------------------------------------------------------------------------

# Names are printable; messages are kept as they can be shown (core/shown.py).
words = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=12)
texts = st.text(
    st.characters(categories=("L", "N", "P", "S")) | st.sampled_from("\n\t "), max_size=30
)
seconds = st.floats(min_value=1e-9, max_value=1e9)
samples = st.lists(seconds, min_size=1, max_size=4).map(tuple)
hex_keys = st.none() | st.text("0123456789abcdef", min_size=1, max_size=8)
rewrites = st.builds(
    Rewrite,
    words,
    st.integers(0, 2**40),
    st.lists(st.integers(0, 10**9 - 1) | st.just("e"), max_size=4).map(tuple),
    words,
    st.dictionaries(words, st.integers(-LARGEST, LARGEST) | words | st.booleans(), max_size=3).map(
        lambda args: tuple(sorted(args.items()))
    ),
)
measurements = st.builds(
    Measurement,
    kind=st.sampled_from(["screen", "confirm"]),
    rounds=st.lists(st.builds(Round, samples, samples), min_size=1, max_size=3).map(tuple),
    calls=st.integers(1, 10**9),
    host=st.dictionaries(words, words, max_size=2).map(lambda d: tuple(sorted(d.items()))),
    reference=words,
    reference_speedup=seconds,
)
records = st.builds(
    TuningRecord,
    trace=rewrites.map(ROOT.then),
    outcome=st.none() | st.sampled_from(Outcome),
    keys=st.builds(Keys, hex_keys, hex_keys, hex_keys),
    message=texts,
    measurement=st.none() | measurements,
    stage_s=st.dictionaries(texts, seconds, max_size=3).map(lambda d: tuple(d.items())),
)


@st.composite
def batches(draw: st.DrawFn) -> list[TuningRecord]:
    """Children of the root; some are duplicates of others."""
    batch = draw(st.lists(records, max_size=5, unique_by=lambda r: r.trace.key))
    keys = [r.trace.key for r in batch]
    return [
        dataclasses.replace(r, duplicate_of=draw(st.sampled_from(keys)), duplicate_level="ast")
        if r.outcome is Outcome.DUPLICATE
        else r
        for r in batch
    ]


@pytest.mark.slow
@pytest.mark.parametrize("backend", KINDS)
def test_any_record_reads_back(backend: str, tmp_path: Path) -> None:
    numbers = count()
    with BACKENDS[backend](tmp_path) as store:

        @settings(deadline=None, max_examples=20 if backend == "postgresql" else 100)
        @given(batches())
        def check(batch: list[TuningRecord]) -> None:
            scope, run = start(store, f"proc{next(numbers)}")
            store.add_root(scope, run, TuningRecord(ROOT, None))
            store.add_expansion(scope, run, ROOT.key, batch, {})
            root, *kids = store.load(scope)
            assert [kid.record for kid in kids] == batch
            assert [kid.trace_key for kid in kids] == [r.trace.key for r in batch]
            assert store.children(root.id) == kids

        check()


def test_messages_with_undecodable_bytes_are_kept_readable(store: Store) -> None:
    scope, run = start_tree(store)
    message = b"mm.c:1: stray \xff".decode(errors="surrogateescape")
    store.record(scope, run, TuningRecord(FIRST, Outcome.COMPILE_ERROR, message=message))
    assert store.load(scope)[1].record.message == "mm.c:1: stray \\udcff"


def test_messages_with_nul_are_kept_readable(store: Store) -> None:
    scope, run = start_tree(store)
    store.record(scope, run, TuningRecord(FIRST, Outcome.CRASH, message="wrote \0 to it"))
    assert store.load(scope)[1].record.message == "wrote \\x00 to it"


def test_large_seeds_are_kept(store: Store) -> None:
    scope = store.register(workload(), target(), SOURCE)
    large = 2**63 - 1
    store.start_run(scope, seed=large, strategy="beam", settings={}, environment={})
    assert store.runs(scope)[0].seed == large


@pytest.mark.normal
def test_deep_traces_read_back(store: Store) -> None:
    scope, run = start_tree(store)
    trace = FIRST
    for _ in range(40):
        store.add_expansion(scope, run, trace.key, children(trace, 1), {})
        trace = trace.then(step(0))
    last = store.load(scope)[-1]
    assert last.record.trace == trace
    assert Trace.loads(last.record.trace.dumps()) == trace
