"""A slice of the campaign (`python -m faults` kills more often)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from faults import campaign
from faults.driving import Plan
from schedsearch.search.strategies import STRATEGIES
from schedsearch.store.database import Store


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
    """Any two, for the default strategy; every fifth for the others."""
    plan = Plan(5, strategy, states=14)
    peaceful = campaign.finish(store, plan)
    for commits in count(0, 1 if strategy == "best-first" else 5):
        same = replace(plan, proc=f"dies after {commits}")
        if not campaign.die_after(store, same, commits):
            break
        assert campaign.finish(store, same) == peaceful
    assert commits > 20


def test_a_search_interrupted_at_any_step_ends_alike(store: Store) -> None:
    plan = Plan(6, "best-first", states=14)
    peaceful = campaign.finish(store, plan)
    for step in range(1, 40):
        same = replace(plan, proc=f"interrupted at {step}")
        campaign.finish(store, same, interrupt_at=step)
        assert campaign.finish(store, same) == peaceful
