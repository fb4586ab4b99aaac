"""What intervals of speed-ups promised, and what other sessions say. No timing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from schedsearch.core.records import Measurement
from schedsearch.core.standings import Comparison, alone, session_variance, standings
from schedsearch.core.stats import Estimate

_WRITTEN, _KERNEL = "written", "kernel"


@dataclass(frozen=True)
class Coverage:
    """Of one schedule. Shares of intervals that hold the mean of all sessions: of one session
    each (`fresh`), of all sessions so far (`continued`), and of rounds alone (`rounds`). `spread`
    is the standard deviation between sessions, of logs; `widths` are half of the first and of the
    last interval, relative."""

    kernel: str
    sessions: int
    mean: float
    spread: float
    fresh: float
    continued: float
    rounds: float
    widths: tuple[float, float]


def coverage(kernel: str, confirmed: Sequence[Measurement]) -> Coverage:
    """Of confirmations of one schedule against the procedure as written, one a session."""
    ratios = [[each.speedup for each in timed.rounds] for timed in confirmed]
    seen = [
        Comparison.of(number, _KERNEL, _WRITTEN, own, fresh=True)
        for number, own in enumerate(ratios)
    ]
    mean = math.exp(float(np.mean([each.log_ratio for each in seen])))
    so_far = [standings(seen[: n + 1], _WRITTEN)[_KERNEL] for n in range(len(seen))]
    variance, _ = session_variance(seen, _WRITTEN)
    return Coverage(
        kernel,
        len(seen),
        mean,
        math.sqrt(variance),
        _share([alone(own, fresh=True) for own in ratios], mean),
        _share(so_far, mean),
        _share([timed.ratio for timed in confirmed], mean),
        (_half(so_far[0]), _half(so_far[-1])),
    )


def _share(found: Sequence[Estimate], truth: float) -> float:
    return sum(each.low <= truth <= each.high for each in found) / len(found)


def _half(found: Estimate) -> float:
    return math.log(found.high / found.low) / 2


def kendall(order: Sequence[float], truth: Sequence[float], apart: float) -> float | None:
    """Kendall's tau of two rankings, over the pairs that are more than `apart` (relative) apart
    in truth: closer ones have no order. None if all are equal."""
    pairs = [
        (order[one] - order[other]) * (truth[one] - truth[other])
        for one, other in combinations(range(len(truth)), 2)
        if abs(math.log(truth[one] / truth[other])) > apart
    ]
    if not pairs:
        return None
    return sum(1 if agree > 0 else -1 for agree in pairs) / len(pairs)
