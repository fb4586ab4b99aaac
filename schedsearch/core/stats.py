"""Statistics of interleaved timing rounds (derived from stored raw samples), and of rankings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A positive value with a confidence interval `[low, high]`. The interval of an unknown value
    is from 0 to infinity, and it is not shown."""

    value: float
    low: float = 0.0
    high: float = math.inf

    @property
    def bounded(self) -> bool:
        """Whether there is an interval to show."""
        return self.high < math.inf

    def to_json(self) -> dict[str, float | None]:
        low, high = (self.low, self.high) if self.bounded else (None, None)
        return {"value": self.value, "low": low, "high": high}

    def __str__(self) -> str:
        interval = f" [{self.low:.2f}, {self.high:.2f}]" if self.bounded else ""
        return f"{self.value:.2f}{interval}"


def median_with_interval(values: Sequence[float], level: float = 0.95) -> Estimate:
    """Median of `values` and its percentile-bootstrap interval (Efron 1979).

    With fewer than three values the interval is their range: resampling so few
    would claim a certainty that is not there. The resampling seed is fixed, so
    the same samples always give the same interval.
    """
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise ValueError("no values")
    middle = float(np.median(data))
    if data.size < 3:
        return Estimate(middle, float(data.min()), float(data.max()))
    rng = np.random.default_rng(0)
    medians = np.median(data[rng.integers(0, data.size, (1000, data.size))], axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(middle, float(low), float(high))
