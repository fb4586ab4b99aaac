"""Rows that depend on each other start one after another and advance together."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.analysis.walkers import loops
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import ArgValue, Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, label, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("skewed")
(SKEW,) = select(["skew"])
(JAM,) = select(["unroll_and_jam"])


def proposed(name: str) -> list[Rewrite]:
    return list(SKEW.rewrites(mirror(PROCEDURES[name]), TARGET))


def skewed(name: str, depth: int = 0, **args: ArgValue) -> Any:
    """The rewrite with other arguments, of the loop with so many around it."""
    ast = mirror(PROCEDURES[name])
    path = (0,) * (depth + 1)
    given = {"factor": 4, "lag": 1, **args}
    rewrite = Rewrite("skew", 1, path, label(ast.by_path[path]), tuple(sorted(given.items())))
    return apply(PROCEDURES[name], ast, rewrite)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "lags", "sizes"),
    [
        (
            "five_points",
            {1},
            [{"n": n, "m": m} for n, m in ((1, 1), (3, 40), (4, 3), (8, 13), (13, 12), (25, 31))],
        ),
        ("nine_points", {2}, [{}]),
        ("along_a_line", {2}, [{"t": t, "n": n} for t, n in ((1, 9), (7, 8), (9, 23), (27, 40))]),
        ("far_ahead", {4}, [{"n": n, "m": m} for n, m in ((2, 2), (4, 12), (9, 45), (17, 60))]),
        ("two_sweeps", {3}, [{"n": n} for n in (1, 3, 4, 9)]),
        (
            "there_and_back",
            {1},
            [{"t": t, "n": n} for t, n in ((1, 1), (2, 3), (5, 7), (9, 18))],
        ),
        ("staggered", {1}, [{}]),
        ("with_a_source", {1}, [{}]),
        ("with_residuals", {1}, [{}]),
        ("with_one_sum", {1}, [{}]),
    ],
)
def test_the_meaning_stays(
    name: str, lags: set[int], sizes: list[dict[str, int]], tmp_path: Path
) -> None:
    original = PROCEDURES[name]
    found = proposed(name)
    assert {dict(each.args)["lag"] for each in found} == lags
    states = []
    for rewrite in found:
        after = apply(original, mirror(original), rewrite)
        states.append((Trace((rewrite,)), State(after, mirror(after))))
    assert_same_meaning(original, states, sizes, tmp_path)


@pytest.mark.normal
def test_rows_are_side_by_side_in_one_step() -> None:
    rewrite = next(r for r in proposed("nine_points") if len(r.path) == 2)
    assert dict(rewrite.args) == {"factor": 4, "lag": 2}
    after = mirror(apply(PROCEDURES["nine_points"], mirror(PROCEDURES["nine_points"]), rewrite))
    (together,) = [loop for loop in loops(after) if len(loop.body) == 4 and loop.iter.name == "j"]
    assert (together.lo.const, together.hi.const) == (7, 30)


def test_all_rows_may_be_side_by_side() -> None:
    """They begin at 1."""
    assert skewed("nine_points", depth=1, factor=13, lag=2)


@pytest.mark.normal
def test_what_is_left_over_is_too_short() -> None:
    after = skewed("five_points", factor=4)
    assert not [each for each in SKEW.rewrites(mirror(after), TARGET) if "e" not in each.path]


def test_steps_of_time_stay_loops() -> None:
    after = skewed("staggered", factor=2)
    names = [loop.iter.name for loop in loops(mirror(after))]
    start = names.index("i", names.index("i") + 1)
    assert "_ti" in names[start:]


@pytest.mark.parametrize(
    ("name", "lag"), [("far_ahead", 2), ("two_sweeps", 1), ("turned", 1), ("turned", 5)]
)
def test_a_lag_that_is_too_small_is_refused(name: str, lag: int) -> None:
    with pytest.raises(RewriteError, match=r"Cannot fission|do not commute"):
        skewed(name, lag=lag)


@pytest.mark.parametrize(("name", "lag"), [("far_ahead", 3), ("two_sweeps", 2)])
def test_the_next_larger_lag_is_legal(name: str, lag: int) -> None:
    assert skewed(name, lag=lag)


@pytest.mark.parametrize(
    "name", ["in_cache", "apart", "turned", "triangle", "with_an_array_of_its_own"]
)
def test_others_are_not_proposed(name: str) -> None:
    assert not proposed(name)


def test_what_comes_before_the_rows_stays_before_them() -> None:
    before = [dict(each.args).get("before") for each in proposed("with_a_source")]
    assert before == [1, 1, 1]
    with pytest.raises(RewriteError, match="no loop over rows"):
        skewed("with_residuals")


def test_what_comes_before_may_need_all_rows() -> None:
    with pytest.raises(RewriteError, match="Cannot fission"):
        skewed("with_an_end_that_begins", factor=2, before=1)


@pytest.mark.normal
@pytest.mark.parametrize(("name", "kept"), [("with_residuals", True), ("with_one_sum", False)])
def test_only_a_sum_over_all_steps_gets_another_order(name: str, kept: bool) -> None:
    original, (rewrite, *_) = PROCEDURES[name], proposed(name)
    ast = mirror(original)
    assert apply(original, ast, rewrite, FloatingPoint.REASSOCIATE)
    with nullcontext() if kept else pytest.raises(RewriteError):
        assert apply(original, ast, rewrite, FloatingPoint.STRICT)


def test_independent_recurrences_are_jammed() -> None:
    found = [dict(each.args) for each in JAM.rewrites(mirror(PROCEDURES["apart"]), TARGET)]
    assert found == [{"factor": factor} for factor in (2, 4, 8)]


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({"factor": 1}, "from 2 to"),
        ({"factor": True}, "from 2 to"),
        ({"lag": 0}, "from 1 to"),
        ({"before": -1}, "whole number"),
        ({"before": True}, "whole number"),
        ({"before": 7}, "no loop over rows"),
        ({"factor": 14}, "only 13 iterations"),
        ({"factor": 8, "lag": 9}, "too short"),
    ],
)
def test_odd_arguments_are_refused(args: dict[str, ArgValue], reason: str) -> None:
    with pytest.raises(RewriteError, match=reason):
        skewed("nine_points", 1, **args)


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(RewriteError, match="same length"):
        skewed("triangle")


def test_all_arrays_have_to_be_in_cache_to_stay_as_they_are() -> None:
    small = replace(TARGET, cache_bytes=(256, 512))
    assert list(SKEW.rewrites(mirror(PROCEDURES["in_cache"]), small))


def test_rows_that_are_too_short_are_not_proposed_again() -> None:
    short = mirror(skewed("five_points", factor=4))
    found = [rewrite for rewrite in SKEW.rewrites(short, TARGET) if "e" in rewrite.path]
    assert not found
