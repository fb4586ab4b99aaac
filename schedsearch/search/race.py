"""Who of the fastest is fastest: timing rounds go to those that may still be.

Screening takes two rounds of what is clearly slower than the best, three of the rest. At
its end, the leaders' intervals overlap, and they were measured at different times
against different anchors. So those that may be the fastest race: in heats, all of them
against one anchor, in fresh rounds, which are pooled over heats. After each heat go
those that are clearly slower than the fastest, and the slowest half of the others
(successive halving: Karnin, Koren, Somekh, ICML 2013; leaving once a comparison is clear:
F-Race, Birattari et al., GECCO 2002). The winner is confirmed against the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schedsearch.core.records import Measurement
from schedsearch.evaluate.timing import TimingPlan

RACE = "race"

CONTENDERS = 3
"""How many of the fastest are confirmed if no more than these are close."""

FIELD = 8
"""How many race, at most: each takes a process and a verification, and some 0.3 s."""

HEAT_S = 10.0
"""What the first heat may take: of slow kernels fewer race."""

ENOUGH = 6
"""Rounds from which intervals of two kernels are worth comparing."""


@dataclass(frozen=True)
class Heat:
    """Rounds for each, and how many are left after it, at most."""

    rounds: int
    left: int

    @property
    def plan(self) -> TimingPlan:
        return TimingPlan(RACE, self.rounds, self.rounds)


HEATS = (Heat(rounds=3, left=4), Heat(rounds=5, left=2), Heat(rounds=8, left=1))


def field(ranked: Sequence[tuple[str, Measurement | None]]) -> list[str]:
    """Who races, of all that were measured, given the fastest first: the screened ones that
    may be as fast as the leader. Nobody if all of them can be confirmed, or there is no time.

    What raced or was confirmed before (in an earlier run) is not measured again.
    """
    timed = [(key, m) for key, m in ranked[: 2 * FIELD] if m is not None]
    if len(timed) <= CONTENDERS:
        return []
    leader = timed[0][1]
    screened = [(key, m) for key, m in timed if m.kind == "screen"]
    close = [key for key, m in screened if m.speedup.high >= leader.speedup.low]
    affordable = int(HEAT_S / (HEATS[0].rounds * _round_s(leader)))
    racing = close[: min(FIELD, affordable)]
    return racing if len(racing) > CONTENDERS else []


def _round_s(leader: Measurement) -> float:
    """Of two kernels that are about as fast."""
    return 2 * leader.calls * sum(leader.rounds[-1].candidate_ns) * 1e-9


def survivors(raced: Mapping[str, Measurement], left: int) -> list[str]:
    """At most `left`, the fastest first, without those that are clearly slower than it."""
    order = sorted(raced, key=lambda key: raced[key].speedup.value, reverse=True)
    if not order:
        return []
    leader = raced[order[0]]
    return [key for key in order if not _clearly_slower(raced[key], leader)][:left]


def _clearly_slower(one: Measurement, leader: Measurement) -> bool:
    """The ranges of three rounds each are apart in one case of ten of equal kernels."""
    enough = min(len(one.rounds), len(leader.rounds)) >= ENOUGH
    return enough and one.speedup.high < leader.speedup.low
