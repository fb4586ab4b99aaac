"""A slice of the campaign (`python -m faults` kills more often)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from itertools import count
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from faults import campaign, checks
from faults.driving import Plan
from schedsearch.search.strategies.make import STRATEGIES
from schedsearch.store import schema
from schedsearch.store.database import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    return campaign.processes()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.mark.parametrize("seed", [0, 1])
def test_a_killed_search_loses_nothing_and_ends_alike(
    context: ForkServerContext, tmp_path: Path, seed: int
) -> None:
    assert campaign.kill_drivers(context, tmp_path, seed, most=8).kills >= 4


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_search_that_dies_between_two_transactions_ends_alike(
    store: Store, strategy: str
) -> None:
    """Any two, for the default strategy; every tenth for the others."""
    plan = Plan(5, strategy, states=14)
    peaceful = campaign.finish(store, plan)
    for commits in count(0, 1 if strategy == "best-first" else 10):
        same = replace(plan, proc=f"dies after {commits}")
        if not campaign.die_after(store, same, commits):
            break
        assert campaign.finish(store, same) == peaceful
    assert commits > 9


def test_a_search_interrupted_at_any_step_ends_alike(store: Store) -> None:
    plan = Plan(6, "best-first", states=14)
    peaceful = campaign.finish(store, plan)
    for step in range(1, 40, 2):
        same = replace(plan, proc=f"interrupted at {step}")
        campaign.finish(store, same, interrupt_at=step)
        assert campaign.finish(store, same) == peaceful


def test_two_searches_at_once_share_a_store(context: ForkServerContext, tmp_path: Path) -> None:
    """Of the same procedure, and of another one."""
    plan, other = Plan(7, "best-first"), Plan(7, "best-first", proc="other")
    with Store.open(tmp_path / "undisturbed.sqlite") as alone:
        peaceful = campaign.finish(alone, plan)
    path = tmp_path / "shared.sqlite"
    assert campaign.together(context, path, [plan, plan, other]) == [peaceful.best] * 3
    with Store.open(path) as store:
        assert [run.seed for run in store.runs()] == [plan.seed] * 3
        for scope in store.scopes():
            assert checks.found(store, scope) == peaceful.found
            keys = [candidate.trace_key for candidate in store.load(scope)]
            assert len(keys) == len(set(keys))


class JumpingClock(datetime):
    """Set back and forth by up to ten years."""

    dice = random.Random(0)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(days=cls.dice.uniform(-3650, 3650))


def test_a_clock_that_jumps_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(6, "best-first", states=14)
    peaceful = campaign.finish(store, plan)
    monkeypatch.setattr(schema, "datetime", JumpingClock)
    monkeypatch.setattr(schema, "_said", schema._said)  # later tests begin from today's time
    same = replace(plan, proc="clock")
    assert campaign.die_after(store, same, 15)
    assert campaign.finish(store, same) == peaceful
    first, last = store.runs()[-2:]
    store.finish_run(last.id, "finished", {})
    last = store.runs()[-1]
    times = [timed.at for timed in store.timeline(last.scope)]
    assert times == sorted(times)
    assert last.finished_at is not None
    assert first.started_at < last.started_at < times[-1] < last.finished_at
