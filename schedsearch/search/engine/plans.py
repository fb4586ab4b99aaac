"""How long to time, at each point of a search."""

from __future__ import annotations

from dataclasses import replace

from schedsearch.core.records import TimingKind
from schedsearch.evaluate.run.timing import TimingPlan

FEW = 5
"""Samples of a round where many candidates wait. Minima of 15 are less noisy on a busy machine, but
a screening then takes 0.5 s instead of 0.2 s, of a kernel of 1 ms."""

SCREEN = TimingPlan(kind=TimingKind.SCREEN, min_rounds=2, max_rounds=3, samples=FEW)
ANCHOR = TimingPlan(kind=TimingKind.SCREEN, min_rounds=3, max_rounds=5, samples=FEW)
CONFIRM = TimingPlan(kind=TimingKind.CONFIRM, min_rounds=5, max_rounds=40, decide=True, fresh=True)

PAIR = TimingPlan(
    TimingKind.PAIR, min_rounds=6, max_rounds=20, samples=FEW, decide=True, fresh=True, narrow=0.05
)
"""Two schedules that the user named, one against the other. Six rounds tell 10 %, ten much less; of
twelvefold nobody asks whether it is 12.1 or 12.4."""

SLOW_S = 0.3
"""A baseline slower than this is measured no more often than it has to be."""

SAMPLED_ONCE_S = 0.05
"""Of a baseline slower than this a round has one sample: three rounds more say little and take
seconds."""

CONFIRM_S = 8.0
"""What confirming one candidate may cost; three rounds at least. A round is a call of a slow
baseline, as long, up to `SLOW_S`, of the candidate, and a process of its own."""

PROCESS_S = 0.15
"""To start one, and to verify in it, of kernels of the suite."""


LEAST_ROUNDS = 3


def screen(give_up_below: float) -> TimingPlan:
    """Two rounds tell what is slower than `give_up_below`, a speed-up; the rest gets a third."""
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
    """The same, if what it is timed against takes long (`reference_s` seconds per call)."""
    round_s = process_s + reference_s + min(reference_s, SLOW_S)
    return within(PAIR, round_s, min(seconds, CONFIRM_S))


def within(plan: TimingPlan, round_s: float, seconds: float) -> TimingPlan:
    """As many rounds, of `round_s` each, as `seconds` have; `LEAST_ROUNDS` in any case."""
    rounds = int(min(plan.max_rounds, max(LEAST_ROUNDS, seconds / round_s)))
    return replace(plan, min_rounds=min(plan.min_rounds, rounds), max_rounds=rounds)


CLOSING_S = 17.0
"""What follows the search, of kernels of the suite: racing, shortening, confirming, inspecting.
The last run of the same kernel knows better."""

SLOW_CLOSING_S = 10.0
"""More, where a call as written takes too long: sanitizers take about as long."""

MOST_CLOSING, LEAST_SEARCH = 0.4, 0.4
"""Shares of the budget: what follows the search has no more, and the search no less, however
long it took to begin."""
