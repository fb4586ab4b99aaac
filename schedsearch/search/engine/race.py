"""The race of the fastest schedules: timing rounds go to those that may still win.

At the end of a search its leaders have few rounds each, measured at different times
against different anchors, in one process each: and a kernel is some percent faster or
slower in each process, by where its memory happens to lie, which more rounds there do
not show (`benchmarks/racing` has it recorded). So the leaders race: in heats of one round
in a new process for each, all against one anchor, pooled over heats; after each heat
the slowest leave (successive halving in smaller steps: Karnin, Koren, Somekh, "Almost
optimal exploration in multi-armed bandits", ICML 2013). The winner is confirmed against
the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schedsearch.core.records import Measurement, TimingKind
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.plans import FEW

CONTENDERS = 3
"""How many of the fastest race even if one of them leads by far: it may owe that to luck, or to
the anchors that it was screened against."""

FIELD = 12
"""How many race, at most: each visit takes a process and a verification, and some 0.15 s."""

CLOSE = 0.1
"""What was screened slower than the leader by this part of it or more is not the fastest:
screenings of equal kernels differ by 2 to 3 % (standard deviation)."""

HEAT = TimingPlan(TimingKind.RACE, 1, 1, samples=FEW)
"""One round for each. The second in the same process tells less than the first of another."""

FAR = 0.2
"""What is slower than the fastest of a heat by this part of it leaves at once."""

HEATS = (12, 8, 6, 5, 5, 5, 5)
"""How many are left after each heat, at most: one process alone decides nothing. The last five
stay, so that their order is known as well as the winner's."""

HEAT_S = 5.0
"""What the first heat may take: of slow kernels fewer race."""


def field(ranked: Sequence[tuple[str, Measurement | None]], seconds: float = HEAT_S) -> list[str]:
    """What races, of all that were measured, given the fastest first: the screened ones that
    may be as fast as the leader. Empty if it is one, or the first heat takes longer than `seconds`.

    What raced or was confirmed before (in an earlier run) is not measured again.
    """
    timed = [(key, m) for key, m in ranked[: 2 * FIELD] if m is not None]
    if not timed:
        return []
    leader = timed[0][1]
    slowest = (1.0 - CLOSE) * leader.middle
    screened = [(key, m) for key, m in timed if m.kind == TimingKind.SCREEN]
    anyway = CONTENDERS if leader.kind == TimingKind.SCREEN else 0
    close = [key for n, (key, m) in enumerate(screened) if n < anyway or m.middle > slowest]
    affordable = int(min(seconds, HEAT_S) / (HEAT.max_rounds * _round_s(leader)))
    racing = close[: min(FIELD, affordable)]
    return racing if len(racing) > 1 else []


def _round_s(leader: Measurement) -> float:
    """Of two kernels that are about as fast."""
    return 2 * leader.calls * sum(leader.rounds[-1].candidate_ns) * 1e-9


def survivors(raced: Mapping[str, Measurement], left: int) -> list[str]:
    """At most `left`, the fastest first; none that is far behind."""
    ranked = sorted(raced, key=lambda key: raced[key].middle, reverse=True)
    return [
        key for key in ranked[:left] if raced[key].middle > (1.0 - FAR) * raced[ranked[0]].middle
    ]
