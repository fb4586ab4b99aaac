"""Interleaved rounds, and whether results agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from schedsearch.peers import rounds
from schedsearch.peers.agreement import difference, not_comparable
from schedsearch.peers.rounds import Plan, clock_of, ratio, seconds, time_interleaved


@dataclass
class Steady:
    """Says that it takes `call_s`, and tells a list who was sampled."""

    name: str
    call_s: float
    heard: list[str] = field(default_factory=list)
    renewed: int = 0

    def sample(self, calls: int, *, warm: bool) -> float:
        self.heard.append(self.name)
        return self.call_s

    def renew(self) -> None:
        self.renewed += 1


def test_rounds_are_interleaved() -> None:
    heard: list[str] = []
    pair = {"quick": Steady("q", 0.002, heard), "slow": Steady("s", 0.004, heard)}
    samples = time_interleaved(pair, Plan(rounds=6, seconds=60))
    assert len({len(round_) for round_ in samples["quick"]}) == 1
    order = "".join(heard)
    assert {"qs", "sq"} <= {order[i : i + 2] for i in range(len(order) - 1)}
    estimate = ratio(samples["slow"], samples["quick"])
    assert (estimate.value, estimate.low, estimate.high) == (2, 2, 2)
    assert seconds(samples["slow"]) == 0.004
    assert pair["slow"].renewed == 5


def test_samples_last_equally_long() -> None:
    heard: list[int] = []

    class Counted(Steady):
        def sample(self, calls: int, *, warm: bool) -> float:
            heard.append(calls)
            return super().sample(calls, warm=warm)

    pair = {"quick": Counted("q", 0.002), "slow": Steady("s", 0.02)}
    samples = time_interleaved(pair, Plan(4, 60))
    assert [len(round_) for round_ in samples["slow"]] == [3] * 4
    assert set(heard[-4:]) == {10}


def test_a_first_call_that_is_disturbed_decides_nothing() -> None:
    """One lost slice of time made the sample of a quick kernel a single call."""

    class Disturbed(Steady):
        first = True

        def sample(self, calls: int, *, warm: bool) -> float:
            lost_s, self.first = (0.016 if self.first else 0.0), False
            return super().sample(calls, warm=warm) + lost_s / calls

    samples = time_interleaved({"quick": Disturbed("q", 1e-4), "other": Steady("o", 1e-4)}, Plan(2))
    assert [len(round_) for round_ in samples["quick"]] == [15] * 2


def test_the_clock_of_several_threads_is_the_walls() -> None:
    assert clock_of(2) == "wall"
    assert clock_of(1) in ("cpu", "wall")


def test_what_is_very_slow_is_timed_in_few_rounds() -> None:
    pair = {"quick": Steady("q", 1e-6), "slow": Steady("s", 0.3)}
    samples = time_interleaved(pair, Plan(rounds=5, seconds=60))
    assert Counter(map(len, samples["slow"])) == {1: 3, 0: 2}
    assert ratio(samples["slow"], samples["quick"]).value > 1000


@pytest.mark.parametrize(
    ("got", "says"),
    [
        (np.float32([1, 2, 3]), None),
        (np.float32([1, 2, 3.0001]), None),
        (np.float32([1, 2, 3.01]), "off by 3"),
        (np.float32([1, np.nan, 3]), "off by nan"),
        (np.float32([1, 2]), "shape"),
    ],
)
def test_differences_are_those_beyond_rounding(got: Any, says: str | None) -> None:
    found = difference(np.float32([1, 2, 3]), got)
    assert found is None if says is None else found is not None and says in found


def test_integers_are_compared_exactly() -> None:
    assert difference(np.int32([1, 2]), np.int32([1, 2])) is None
    assert difference(np.int32([1, 2]), np.int32([1, 3])) == "1 of 2 differ"
    assert difference(np.int32([[1], [2]]), np.int32([1, 2])) is None
    assert difference(np.int32([[1, 2]]), np.int32([[1], [2]])) == "shape (2, 1), not (1, 2)"


def test_integers_that_floats_are_truncated_to_may_be_beside_each_other_in_a_few_places() -> None:
    want = np.arange(1000, dtype=np.uint8)
    beside, away, everywhere = want.copy(), want.copy(), want.copy()
    beside[[7, 300]] += 1
    away[7] += 2
    everywhere[::2] += 1
    assert difference(want, beside) == "2 of 1000 differ"
    assert difference(want, beside, truncated=True) is None
    assert difference(want, away, truncated=True) == "1 of 1000 differ"
    assert difference(want, everywhere, truncated=True) == "500 of 1000 differ"


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinities_and_nan_of_the_procedure_itself_are_no_difference_of_a_peer(value: Any) -> None:
    finite = {"x": np.float32([1, 2]), "n": np.int32([1])}
    assert not_comparable(finite) is None
    says = not_comparable({**finite, "y": np.float64([1, value])})
    assert says == "y: the procedure itself gives infinities or NaNs on the data used"


def test_threads_of_the_one_before_sleep_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a contender's samples of a round come in a row, after a pause."""
    heard: list[str] = []
    monkeypatch.setattr(rounds.time, "sleep", lambda s: heard.append("-" if s else ""))
    pair = {name: Steady(name or "b", 0.001, heard) for name in ("a", "")}  # ours has no name
    time_interleaved(pair, Plan(rounds=6, seconds=60), threads=2)
    blocks = "".join(heard).split("-")[1:]
    assert {"".join({*block}) for block in blocks} == {"a", "b"}
    assert len(blocks) == 2 + 6 * 2  # to calibrate, and in each round
    heard.clear()
    time_interleaved(pair, Plan(rounds=2, seconds=60))
    assert "-" not in heard
