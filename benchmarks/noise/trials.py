"""What the protocol answers, trial by trial."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.noise.pairs import Pair
from schedsearch.core.decision import Decision, first_answer
from schedsearch.search.engine.plans import CONFIRM

WITHIN_S = 3.0
"""An answer that takes longer does not count as found."""

# Equal kernels are tried more often than all others: what is rare takes many trials to see.
_TIMES = {0.0: 8, 0.05: 2}


@dataclass(frozen=True)
class Trial:
    """`right`: a difference was found in time, the true one; `wrong`: another. `error` is that of
    the estimated ratio, relative to the true one; `ratios` are those of all rounds.

    `measuring_s` is the time of all rounds, `answer_s` of those after which the answer was
    clear: more follow only to narrow the interval of the ratio.
    """

    kernel: str
    slowdown: float
    decision: str
    right: bool
    wrong: bool
    error: float
    measuring_s: float
    answer_s: float
    ratios: tuple[float, ...]


def run_trials(
    pairs: Sequence[Pair], seconds: float, seed: int, done: Callable[[Trial], None]
) -> None:
    """Time pairs in random order for about `seconds`, with the plan that confirms winners."""
    rng = random.Random(seed)
    until = time.monotonic() + seconds
    turns: list[Pair] = []
    while time.monotonic() < until:
        if not turns:
            turns = [pair for pair in pairs for _ in range(_TIMES.get(pair.slowdown, 1))]
            rng.shuffle(turns)
        done(attempt(turns.pop(), swapped=rng.random() < 0.5))


def attempt(pair: Pair, swapped: bool) -> Trial:
    """One comparison, of the slower kernel against the other or `swapped`."""
    measurement, seconds = pair.time(CONFIRM, swapped)
    ratios = tuple(each.speedup for each in measurement.rounds)
    decision, rounds = first_answer(ratios)
    # Each round is a process of its own that does the same as the others.
    answer_s = seconds * rounds / len(ratios)
    told = decision in (Decision.FASTER, Decision.SLOWER)
    expected = Decision.FASTER if swapped else Decision.SLOWER
    true_ratio = 1.0 + pair.slowdown if swapped else 1.0 / (1.0 + pair.slowdown)
    right = told and pair.slowdown > 0 and decision is expected
    return Trial(
        pair.kernel,
        pair.slowdown,
        decision.value,
        right and answer_s <= WITHIN_S,
        told and not right,
        measurement.speedup.value / true_ratio - 1.0,
        seconds,
        answer_s,
        ratios,
    )
