"""What is said of a kernel on arrays of another alignment."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schedsearch.core.alignment import other
from schedsearch.core.errors import UserError
from schedsearch.core.records import Measurement, Round
from schedsearch.search.engine.ending import NOISE, UNLIMITED, Time, session_noise
from schedsearch.search.other_alignment import MOST_BYTES, measure_elsewhere
from schedsearch.search.setup.run_summary import Elsewhere
from schedsearch.search.setup.subject import Subject

pytestmark = pytest.mark.normal


def found(*ratios: float) -> Elsewhere:
    """On the other arrays it takes 1 us, here `ratios` of that."""
    rounds = tuple(Round((1000.0 * ratio,), (1000.0,)) for ratio in ratios)
    return Elsewhere(64, Measurement("elsewhere", rounds, 1))


def test_callers_who_align_are_told_of_those_who_do_not_and_the_other_way_round() -> None:
    assert [other(align) for align in (16, 32, 64, 4096)] == [64, 64, 16, 16]


def test_both_times_are_said() -> None:
    assert str(found(1.25, 1.25, 1.25)) == (
        "arrays aligned to 64 bytes: 1 us instead of 1.25 us, 1.25x [1.25, 1.25] as fast"
    )


@pytest.mark.parametrize(
    ("ratios", "differs"),
    [
        ((1.05, 1.06, 1.05, 1.04), True),
        ((0.9, 0.91, 0.9, 0.92), True),
        ((1.02, 1.03, 1.02, 1.02), False),
        ((0.98, 0.98, 0.99, 0.98), False),
        ((0.7, 1.05, 1.4, 1.3, 0.8), False),
    ],
)
def test_what_is_less_than_three_per_cent_or_chance_is_not(
    ratios: tuple[float, ...], differs: bool
) -> None:
    assert found(*ratios).differs is differs


def test_it_survives_its_json_and_nothing_else_is_read() -> None:
    own = found(1.2, 1.3)
    assert Elsewhere.from_json(json.loads(json.dumps(own.to_json()))) == own
    for wrong in ({}, {"align": 64}, {"align": 0, "measurement": {}}, [], {"measurement": 3}):
        with pytest.raises(UserError):
            Elsewhere.from_json(wrong)


def test_nothing_is_measured_when_the_time_is_up_unless_it_is_soon_done() -> None:
    assert Time(0.0, 2.0).plan(NOISE, 0.5) is None
    assert Time(11.0, 2.0).plan(NOISE, 0.5) is None
    for time, rounds in ((Time(12.0, 2.0), 3), (Time(-3.0, 0.15), 3), (UNLIMITED, 10)):
        plan = time.plan(NOISE, 0.5)
        assert plan is not None
        assert plan.max_rounds == rounds
    subject = cast(Subject, SimpleNamespace(target=SimpleNamespace(align=16)))
    nothing = cast(Any, None)
    assert session_noise(nothing, subject, None, Time(0.0, 2.0)) is None
    assert measure_elsewhere(nothing, subject, None, Time(0.0, 2.0)) is None


def test_large_arrays_are_not_there_twice() -> None:
    large = cast(Any, SimpleNamespace(cases=[SimpleNamespace(bytes=MOST_BYTES + 1)]))
    subject = cast(Subject, SimpleNamespace(target=SimpleNamespace(align=16)))
    assert measure_elsewhere(large, subject, None) is None
