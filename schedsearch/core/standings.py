"""Speed-ups over the baseline, from all timings of all sessions together.

A timing compares a kernel with its anchor: the baseline, or another schedule. Logs of ratios add up
along chains. So timings are the edges of a network that ends at the baseline, and all kernels are
estimated jointly, by weighted least squares (network meta-analysis: Lumley, Statistics in Medicine
21, 2002). An anchor's uncertainty is thereby part of every result that was timed against it.

The baseline is some percent faster or slower in each session, because memory lies elsewhere and
other programs run; its schedules mostly do not change in the same way. Each session has its own
value of the baseline: a normal variable around the value of all sessions. The variance is estimated
from kernels that were timed against it in several sessions (DerSimonian and Laird, Controlled
Clinical Trials 7, 1986, pooled over kernels), and shrunk to `SESSION`, which counts as much as
`SESSION_FREEDOM` degrees of freedom (a scaled inverse chi-squared prior): one session does not show
how sessions differ. Schedules timed in the same session are ordered by what both were timed
against, whatever that session's value was.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, median

import numpy as np

from schedsearch.core.stats import Estimate

SESSION = 0.03
"""Standard deviation of the log of a speed-up over the baseline, between sessions."""

SESSION_FREEDOM = 4

PAIR = 0.005
"""The same between two schedules: equal code placed elsewhere differs by that much."""

PROCESS = 0.03
"""The same between processes, which the rounds of one do not show."""

_ROUND = 0.04
"""Standard deviation of one round, where there are too few rounds to tell."""
_LEAST = 0.001
"""No median is known better."""


@dataclass(frozen=True)
class Comparison:
    """The log of the speed-up of `kernel` over `reference` in a session, and its variance."""

    session: int
    kernel: str
    reference: str
    log_ratio: float
    variance: float

    @staticmethod
    def of(
        session: int, kernel: str, reference: str, ratios: Sequence[float], *, fresh: bool
    ) -> Comparison:
        """The comparison by a timing's rounds; `fresh`: each round was of another process."""
        logs = [math.log(each) for each in ratios]
        variance = variance_of_median(logs) + (0.0 if fresh else PROCESS**2)
        return Comparison(session, kernel, reference, median(logs), variance)


def variance_of_median(values: Sequence[float]) -> float:
    """From the distance of two order statistics: it is right for any distribution of rounds, and
    a few disturbed ones do not count (McKean and Schrader, Communications in Statistics 13, 1984;
    which of them: Price and Bonett, Journal of Statistical Computation and Simulation 68, 2001).
    """
    number = len(values)
    if number < 3:
        return _ROUND**2 / number
    rank = max(1, round((number + 1) / 2 - math.sqrt(number)))
    outside = 2 * sum(math.comb(number, below) for below in range(rank)) / 2**number
    apart = sorted(values)[number - rank] - sorted(values)[rank - 1]
    deviation = apart / (2 * NormalDist().inv_cdf(1 - outside / 2))
    return max(deviation, _LEAST) ** 2


def alone(ratios: Sequence[float], *, fresh: bool) -> Estimate:
    """The speed-up by one timing against the baseline, if no other is known."""
    only = Comparison.of(0, "kernel", "", ratios, fresh=fresh)
    return standings([only], "")["kernel"]


def standings(timings: Iterable[Comparison], written: str) -> dict[str, Estimate]:
    """The speed-up, with its 95 % interval for the mean over sessions, of every kernel that is
    linked to the baseline `written`."""
    told = list(timings)
    reached = linked(told, written)
    told = [each for each in told if each.kernel in reached and each.kernel != each.reference]
    kernels = sorted(reached - {written})
    sessions = sorted({each.session for each in told if written in (each.kernel, each.reference)})
    place = {name: number for number, name in enumerate([*kernels, *sessions])}
    variance, freedom = session_variance(told, written)
    information = np.diag([0.0] * len(kernels) + [1.0 / variance] * len(sessions))
    right = np.zeros(len(place))
    for each in told:
        row = np.zeros(len(place))
        row[place[each.session if each.kernel == written else each.kernel]] += 1.0
        row[place[each.session if each.reference == written else each.reference]] -= 1.0
        weight = 1.0 / (each.variance + PAIR**2)
        information += weight * np.outer(row, row)
        right += weight * each.log_ratio * row
    covariance = np.linalg.inv(information)
    logs = covariance @ right
    reach = quantile_of_t(freedom) * np.sqrt(np.diag(covariance))
    return {
        name: Estimate(*(float(math.exp(logs[n] + side * reach[n])) for side in (0, -1, 1)))
        for n, name in enumerate(kernels)
    }


def linked(timings: Iterable[Comparison], written: str) -> set[str]:
    """The kernels that chains of timings link to the procedure `written`, and itself."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    for each in timings:
        near[each.kernel].add(each.reference)
        near[each.reference].add(each.kernel)
    reached, ahead = {written}, [written]
    while ahead:
        new = near[ahead.pop()] - reached
        reached |= new
        ahead += new
    return reached


def session_variance(timings: Iterable[Comparison], written: str) -> tuple[float, float]:
    """Variance of logs of speed-ups over the baseline, between sessions, and its degrees of
    freedom; estimated from kernels that were timed against it in several sessions."""
    visits: defaultdict[str, defaultdict[int, list[Comparison]]]
    visits = defaultdict(lambda: defaultdict(list))
    for each in timings:
        if each.reference == written:
            visits[each.kernel][each.session].append(each)
    spread = scale = 0.0
    seen: set[int] = set()
    for by_session in visits.values():
        if len(by_session) > 1:
            apart, per_variance = _heterogeneity(by_session)
            spread, scale = spread + apart, scale + per_variance
            seen |= by_session.keys()
    freedom = max(len(seen) - 1, 0)
    found = max(spread / scale, 0.0) if scale else 0.0
    total = SESSION_FREEDOM + freedom
    return (SESSION_FREEDOM * SESSION**2 + freedom * found) / total, total


def _heterogeneity(by_session: Mapping[int, Sequence[Comparison]]) -> tuple[float, float]:
    """Cochran's Q less its mean if sessions were alike, and by how much it grows with their
    variance."""
    weights, logs = [], []
    for timed in by_session.values():
        own = [1.0 / each.variance for each in timed]
        weights.append(sum(own))
        logs.append(float(np.average([each.log_ratio for each in timed], weights=own)))
    total = sum(weights)
    mean = float(np.average(logs, weights=weights))
    q = sum(w * (log - mean) ** 2 for w, log in zip(weights, logs, strict=True))
    return q - (len(logs) - 1), total - sum(w * w for w in weights) / total


@cache
def quantile_of_t(freedom: float) -> float:
    """Quantile of Student's t, two-sided 95 %, for 3 degrees of freedom or more (Abramowitz and
    Stegun, 26.7.5). Importing scipy takes longer than all of this."""
    z = NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
