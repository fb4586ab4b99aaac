"""Speed-ups by all timings that a store has of a procedure."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from store_data import ROOT, children, start

from schedsearch.core.records import Keys, Measurement, Outcome, Round, TuningRecord
from schedsearch.core.trace import Trace
from schedsearch.store import Store
from schedsearch.store.views import Scope

A, B, C = (child.trace for child in children(ROOT))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


def begin(store: Store) -> Scope:
    scope, run = start(store)
    store.add_root(scope, run, TuningRecord(ROOT, Outcome.CORRECT, Keys("a", "c-root", "b")))
    store.add_expansion(scope, run, ROOT.key, children(ROOT), {})
    return scope


def session(store: Store, scope: Scope, *timings: tuple[Trace, Measurement]) -> None:
    run = store.start_run(scope, seed=1, strategy="s", settings={}, environment={})
    for trace, timed in timings:
        keys = Keys(f"a-{trace.key}", code(trace), f"b-{trace.key}")
        store.record(scope, run, TuningRecord(trace, Outcome.CORRECT, keys, measurement=timed))


def code(trace: Trace) -> str:
    return f"c-{trace.key}" if trace.steps else "c-root"


def timed(kind: str, times: float, reference: Trace = ROOT, own: float = 1.0) -> Measurement:
    rounds = tuple(Round((100.0,), (100.0 * times + n % 2,)) for n in range(8))
    return Measurement(kind, rounds, 1, (), code(reference), own)


def test_several_sessions_are_one_estimate(path: Path) -> None:
    with Store.open(path) as store:
        scope = begin(store)
        session(store, scope, (A, timed("confirm", 10.0)))
        [once] = store.find(scope, [A.key])
        session(store, scope, (A, timed("confirm", 11.0)))
        [twice] = store.find(scope, [A.key])
        assert once.record.measurement is not None
        assert twice.record.measurement is not None
        one, both = once.record.measurement.speedup, twice.record.measurement.speedup
        assert one.low < 9.9 < 10.1 < one.high
        assert both.low < 10.0 < both.value < 11.0 < both.high
        assert store.joint(scope) == {A.key: both}
        assert store.candidate(twice.id).record.measurement == twice.record.measurement
        table = store.candidate_table(scope)
        [row] = [row for row in table.dicts() if row["trace_key"] == A.key]
        assert (row["speedup"], row["low"], row["high"]) == (both.value, both.low, both.high)


def test_best_is_ordered_as_if_timed_again_together(path: Path) -> None:
    """In the second session the procedure as written is slow: what was found in the first is
    ahead all the same, as a pair of rounds says."""
    with Store.open(path) as store:
        scope = begin(store)
        first = (B, timed("race", 0.95, A, 9.0)), (A, timed("confirm", 10.0))
        session(store, scope, *first)
        second = (C, timed("confirm", 12.0)), (A, timed("pair", 1.02, C, 12.0))
        session(store, scope, *second)
        found = store.best(scope)
        assert [c.record.trace for c in found] == [A, C, B]
        speedups = [c.record.speedup or 0.0 for c in found]
        assert speedups == sorted(speedups, reverse=True)
        assert speedups[0] / speedups[2] == pytest.approx(1 / 0.95, rel=0.01)


@pytest.mark.parametrize(("screened", "first"), [(10.1, A), (10.4, A), (20.0, B)])
def test_who_was_confirmed_is_before_who_was_lucky(
    path: Path, screened: float, first: Trace
) -> None:
    """Unless the other is surely faster. It is before all that are slower."""
    with Store.open(path) as store:
        scope = begin(store)
        lucky, slower = (B, timed("screen", screened)), (C, timed("confirm", 9.0))
        session(store, scope, lucky, slower, (A, timed("confirm", 10.0)))
        found = [c.record.trace for c in store.best(scope)]
        assert found == [*([A, B] if first == A else [B, A]), C]
        assert [c.record.trace for c in store.best(scope, 1)] == [first]


def test_what_was_written_is_known_without_a_confirmation(path: Path) -> None:
    with Store.open(path) as store:
        scope = begin(store)
        root = replace(timed("baseline", 1.0), rounds=(Round((100.0,), (100.0,)),) * 3)
        session(store, scope, (ROOT, root), (A, timed("confirm", 0.99)))
        assert [c.record.trace for c in store.best(scope)] == [ROOT, A]


def test_a_reference_that_was_only_screened_is_a_link(path: Path) -> None:
    """As of a run that was interrupted before it confirmed anything."""
    with Store.open(path) as store:
        scope = begin(store)
        screened, raced = timed("screen", 5.0), timed("race", 1.1, A, 5.0)
        session(store, scope, (A, screened), (B, raced), (C, timed("screen", 0.8, A, 5.0)))
        a, b, c = store.find(scope, [A.key, B.key, C.key])
        for candidate, value in ((a, 5.0), (b, 5.5), (c, 4.0)):
            found = candidate.record.measurement
            assert found is not None
            assert found.speedup.bounded
            assert found.speedup.value == pytest.approx(value, rel=0.01)
        widths = [
            e.high / e.low for x in (a, b, c) if (m := x.record.measurement) and (e := m.speedup)
        ]
        assert widths[0] < min(widths[1:])


def test_what_nothing_links_has_no_interval(path: Path) -> None:
    """Its reference is not in this store."""
    with Store.open(path) as store:
        scope = begin(store)
        lost = replace(timed("confirm", 1.0, own=12.1), reference="c-gone")
        session(store, scope, (A, lost))
        [found] = store.find(scope, [A.key])
        assert found.record.measurement is not None
        assert found.record.measurement.speedup.value == pytest.approx(12.1, rel=0.01)
        assert not found.record.measurement.speedup.bounded
        assert [c.record.trace for c in store.best(scope)] == [A]
        table = store.measurement_table(scope)
        [row] = table.dicts()
        assert (row["low"], row["high"]) == (None, None)


def test_a_confirmation_against_another_schedule_ranks_behind_a_direct_one(path: Path) -> None:
    with Store.open(path) as store:
        scope = begin(store)
        direct = timed("confirm", 10.0)
        indirect = replace(timed("confirm", 1.0, B, 12.1), rounds=(Round((90.0,), (90.0,)),) * 8)
        session(store, scope, (B, timed("confirm", 10.0)), (A, direct))
        session(store, scope, (A, indirect))
        [found] = store.find(scope, [A.key])
        assert found.measurements == (direct, indirect)
        assert found.record.measurement == direct
        assert found.record.measurement.confirmed
        [row] = [row for row in store.candidate_table(scope).dicts() if row["id"] == found.id]
        assert row["candidate_ns"] == direct.candidate_ns


def test_intervals_of_older_stores_that_were_none_are_dropped(path: Path) -> None:
    with Store.open(path) as store:
        scope = begin(store)
        session(store, scope, (A, timed("confirm", 10.0)), (B, timed("confirm", 1.0, A, 10.0)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE measurement SET low = speedup * 0.99, high = speedup * 1.01")
        connection.execute("CREATE TABLE feature (candidate_id INTEGER)")
        connection.execute("UPDATE alembic_version SET version_num = '0009'")
    with Store.open(path, create=False) as store:
        rows = list(store.measurement_table(scope).dicts())
        assert [row["low"] is None for row in rows] == [False, True]
        b = store.find(scope, [B.key])[0].record.measurement
        assert b is not None
        assert b.speedup.bounded  # the samples are there: the chain is known
