"""Timing plans: how long to time at each point of a search."""

from __future__ import annotations

from dataclasses import replace

from schedsearch.core.records import TimingKind
from schedsearch.evaluate.run.timing import TimingPlan

FEW = 5
"""Samples of a round while many candidates wait. Minima of 15 samples are less noisy on a busy
machine, but then it takes 0.5 s instead of 0.2 s to screen a kernel of 1 ms."""

SCREEN = TimingPlan(kind=TimingKind.SCREEN, min_rounds=2, max_rounds=3, samples=FEW)
ANCHOR = TimingPlan(kind=TimingKind.SCREEN, min_rounds=3, max_rounds=5, samples=FEW)
CONFIRM = TimingPlan(kind=TimingKind.CONFIRM, min_rounds=5, max_rounds=40, decide=True, fresh=True)

PAIR = TimingPlan(
    TimingKind.PAIR, min_rounds=6, max_rounds=20, samples=FEW, decide=True, fresh=True, narrow=0.05
)
"""Two schedules that the user named, one against the other. Six rounds tell a difference of 10 %,
and ten a much smaller one. A twelvefold difference need not be known to three digits."""

SLOW_S = 0.3
"""A baseline slower than this is measured no more often than it has to be."""

SAMPLED_ONCE_S = 0.05
"""A round has one sample of a baseline that is slower than this. Three more rounds would say little
and take seconds."""

CONFIRM_S = 8.0
"""Limit for confirming one candidate, in seconds; three rounds are made in any case. A round is a
process, a call of the slow baseline, and up to `SLOW_S` of the candidate."""

PROCESS_S = 0.15
"""Seconds to start a process and verify a kernel of the suite in it."""


LEAST_ROUNDS = 3


def screen(give_up_below: float) -> TimingPlan:
    """Two rounds for candidates below the speed-up `give_up_below`, and a third for the others."""
    return replace(SCREEN, give_up_below=give_up_below)


def confirm(
    baseline_s: float, seconds: float = CONFIRM_S, process_s: float = PROCESS_S
) -> TimingPlan:
    """Fewer rounds if the baseline takes long (`baseline_s` seconds per call), or a process."""
    round_s = process_s + baseline_s + min(baseline_s, SLOW_S)
    return within(CONFIRM, round_s, min(seconds, CONFIRM_S))


def pair(
    reference_s: float, seconds: float = CONFIRM_S, process_s: float = PROCESS_S
) -> TimingPlan:
    """Fewer rounds if the reference takes long (`reference_s` seconds per call), or a process."""
    round_s = process_s + reference_s + min(reference_s, SLOW_S)
    return within(PAIR, round_s, min(seconds, CONFIRM_S))


def within(plan: TimingPlan, round_s: float, seconds: float) -> TimingPlan:
    """As many rounds of `round_s` as fit into `seconds`, and at least `LEAST_ROUNDS`."""
    rounds = int(min(plan.max_rounds, max(LEAST_ROUNDS, seconds / round_s)))
    return replace(plan, min_rounds=min(plan.min_rounds, rounds), max_rounds=rounds)


CLOSING_S = 17.0
"""Seconds for the end of a search of a kernel of the suite: racing, shortening, confirming,
inspecting. If the same kernel was run before, its last run says how long that takes."""

SLOW_CLOSING_S = 10.0
"""More seconds if a call of the procedure as written takes too long: sanitizers need them."""

MOST_CLOSING, LEAST_SEARCH = 0.4, 0.4
"""Shares of the budget: the largest for the end of the search, and the smallest for the search
itself, however long the run took to begin."""
