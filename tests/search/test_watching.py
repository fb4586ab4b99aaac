"""What another terminal shows of a search."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from store.store_data import start_tree

from schedsearch.core.errors import UserError
from schedsearch.search.engine.ending import search_until
from schedsearch.search.watching import latest, progress_of
from schedsearch.store import Store


@pytest.mark.parametrize(("seconds", "phase"), [(10, "searching"), (37, "finishing")])
def test_it_knows_when_the_search_ends_and_when_the_run_began(
    seconds: float, phase: str, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "store.sqlite") as store:
        scope, _ = start_tree(store)
        run_id = store.start_run(
            scope,
            seed=0,
            strategy="beam",
            settings={"budget_s": 60.0},
            environment={"before_s": 4.0, "search_s": 40.0},
        )
        run = latest(store, run_id)
        shown = progress_of(store, run, run.started_at + timedelta(seconds=seconds))
    assert shown.phase == phase
    assert shown.elapsed_s == pytest.approx(seconds + 4)
    assert shown.search_s == 40


def test_a_search_has_its_least_share_however_late_it_begins() -> None:
    assert search_until(60, 17, 5) == 43
    assert search_until(60, 24, 30) == 54


@pytest.mark.parametrize("wrong", [{"before_s": "x"}, {"search_s": None}, {"before_s": math.inf}])
def test_a_run_that_says_no_numbers_is_named(wrong: dict[str, Any], tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.sqlite") as store:
        scope, _ = start_tree(store)
        run_id = store.start_run(
            scope, seed=0, strategy="beam", settings={"budget_s": 60.0}, environment=wrong
        )
        run = latest(store, run_id)
        with pytest.raises(UserError, match="_s"):
            progress_of(store, run, run.started_at)
