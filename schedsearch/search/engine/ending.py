"""What is measured once more when a search has ended: how noisy its machine was, and the roofline,
if the best is above it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schedsearch.core.decision import MARGIN, Decision
from schedsearch.core.records import Artifact, GeneratedC, Measurement, TimingKind
from schedsearch.evaluate.roof.roofline import Roof, measure_roof
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.plans import (
    CLOSING_S,
    LEAST_ROUNDS,
    LEAST_SEARCH,
    MOST_CLOSING,
    within,
)
from schedsearch.search.engine.progress import Best
from schedsearch.search.setup.run_summary import RunSummary
from schedsearch.search.setup.subject import Subject
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.store.views import Run

AFTERWARDS_S = 1.0
"""What may be measured of fast kernels when a budget is used up."""

NOISE = TimingPlan(kind=TimingKind.NOISE, min_rounds=10, max_rounds=10, fresh=True)


@dataclass(frozen=True)
class Time:
    """What is left of a budget, and what a round in a process of its own takes: seconds."""

    seconds: float
    round_s: float

    def plan(self, plan: TimingPlan, share: float) -> TimingPlan | None:
        """With as many rounds as this share of it has; None if that is not even three, and these
        take long."""
        if LEAST_ROUNDS * self.round_s > max(share * self.seconds, AFTERWARDS_S):
            return None
        return within(plan, self.round_s, share * self.seconds)


UNLIMITED = Time(math.inf, 1.0)


def session_noise(
    bench: Bench, subject: Subject, code: GeneratedC | None, time: Time = UNLIMITED
) -> Measurement | None:
    """A kernel against itself (A/A): what its speed-up is off 1 is noise. None if that
    cannot be measured any more, or there is no time for it."""
    plan = time.plan(NOISE, 0.5)
    if plan is None:
        return None

    def against_itself(kernel: Artifact) -> Evaluation:
        return bench.evaluate(kernel, plan, Anchor(kernel, kernel.code_key))

    return timed_again(subject, code, against_itself)


def timed_again(
    subject: Subject, code: GeneratedC | None, timed: Callable[[Artifact], Evaluation]
) -> Measurement | None:
    """A kernel `timed` in its turn; None if it cannot be measured any more."""
    artifact = subject.builder.build(code, BUILD_TIMEOUT_S) if code else None
    if not isinstance(artifact, Artifact):
        return None
    with measuring_slot():
        result = timed(artifact).result
    return result if isinstance(result, Measurement) else None


def margin(noise: Measurement | None) -> float:
    """The relative difference that does not count in this session."""
    return max(MARGIN, abs(noise.ratio.value - 1.0)) if noise else MARGIN


def gained(best: Best, noise: Measurement | None) -> bool:
    """Whether a schedule may be faster than the procedure as written: it was not shown to be the
    same, or slower. Rewrites that gain nothing are no result."""
    decision = best.measurement.verdict(margin(noise))
    return decision not in (Decision.SAME, Decision.SLOWER)


def closing_s(runs: Sequence[Run], budget_s: float, first_s: float = CLOSING_S) -> float:
    """Seconds of a budget that the end of a search has: as long as it took in earlier runs of the
    same kernel, or `first_s`, within bounds."""
    known = [RunSummary.of(run).closing_s for run in runs]
    took = next((took for took in reversed(known) if took), first_s)
    return min(took, MOST_CLOSING * budget_s)


def search_until(budget_s: float, ending_s: float, now_s: float) -> float:
    """When the search of a budget ends, in seconds since its beginning, if it starts `now_s` and
    its end has `ending_s`."""
    return max(budget_s - ending_s, now_s + LEAST_SEARCH * budget_s)


def last_roof(subject: Subject, roof: Roof, best: Best | None) -> Roof:
    """Measured again if the best is above it: before that counts as an error, the roofline may
    have been disturbed."""
    if best is None or not roof.exceeded(best.measurement.candidate_ns * 1e-9):
        return roof
    with measuring_slot():
        return roof.highest(measure_roof(subject.builder, subject.target, subject.work))
