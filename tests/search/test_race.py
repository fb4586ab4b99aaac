"""Racing: who takes part, and who is left."""

from __future__ import annotations

from schedsearch.core.records import Measurement, Round
from schedsearch.search.engine.confirmation import CLOSE, CONTENDERS, FAR, FIELD, field, survivors


def timed(*ratios: float, kind: str = "screen", call_ns: float = 1e6) -> Measurement:
    rounds = tuple(Round((call_ns,) * 3, (call_ns * ratio,) * 3) for ratio in ratios)
    return Measurement(kind, rounds, calls=max(1, int(1e7 / call_ns)))


def test_those_race_that_are_close_to_the_leader() -> None:
    leader, close, slower = timed(10.0), timed(10.0 * (1.01 - CLOSE)), timed(10.0 * (0.99 - CLOSE))
    rivals = [(f"close{n}", close) for n in range(CONTENDERS)]
    ranked = [("leader", leader), *rivals, ("slower", slower), ("failed", None)]
    assert field(ranked) == ["leader", *(key for key, _ in rivals)]


def test_the_first_race_though_the_leader_is_far_ahead_if_only_screenings_say_so() -> None:
    apart = [(f"n{n}", timed(9.0 - n)) for n in range(9)]
    assert field(apart) == ["n0", "n1", "n2"]
    assert len(apart[:CONTENDERS]) == 3
    known = ("known", timed(10.0, kind="confirm"))
    assert field([known, *apart]) == []
    assert field([known, ("first", timed(9.9)), ("second", timed(9.8)), *apart]) == [
        "first",
        "second",
    ]


def test_nobody_races_alone() -> None:
    assert field([]) == []
    assert field([("only", timed(2.0)), ("failed", None)]) == []
    assert field([("known", timed(2.0, kind="confirm")), ("only", timed(2.0))]) == []


def test_at_most_so_many_race_and_fewer_if_they_are_slow() -> None:
    def size(call_ns: float) -> int:
        return len(field([(f"n{n}", timed(2.0, 2.0, call_ns=call_ns)) for n in range(99)]))

    assert size(1e6) == FIELD
    assert CONTENDERS < size(1e8) < FIELD
    assert size(1e9) == 0


def test_what_raced_or_was_confirmed_is_not_measured_again() -> None:
    kinds = ["screen", "race", "confirm", "screen", "screen", "screen"]
    ranked = [(f"n{n}", timed(9.0, 10.0, kind=kind)) for n, kind in enumerate(kinds)]
    assert field(ranked) == ["n0", "n3", "n4", "n5"]


def test_the_slowest_leave() -> None:
    raced = {f"n{n}": timed(*[5.0 + 0.1 * n, 7.0] * 3) for n in range(6)}
    assert survivors(raced, 4) == ["n5", "n4", "n3", "n2"]
    assert set(survivors(raced, 99)) == set(raced)
    best = raced["n5"].middle
    far, near = timed((0.99 - FAR) * best), timed((1.01 - FAR) * best)
    assert survivors({"far": far, "near": near, **raced}, 99) == [*survivors(raced, 99), "near"]
    assert survivors({}, 3) == []


def test_pooled_rounds_are_of_one_reference() -> None:
    first, second = timed(2.0, 2.0, kind="race"), timed(3.0, kind="race")
    assert first.pooled(second).rounds == (*first.rounds, *second.rounds)
    assert timed(2.0).pooled(second) == second
