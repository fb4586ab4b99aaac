"""Statistics of interleaved timing rounds (derived from stored raw samples), and of rankings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A positive value with a confidence interval `[low, high]`. The interval of an unknown value
    is from 0 to infinity, and it is not shown.

    It reads as a number: `float(e)`, `round(e, 1)`, `f"{e:.2f}"` and the comparisons `<`, `<=`,
    `>`, `>=`, with numbers and with other estimates, are of `value`, the point estimate. They say
    nothing of significance: compare `e.low` for "surely faster than". Without a format, and as
    `str`, the interval is shown too. `==` asks for the same value and interval; no estimate
    equals a number.
    """

    value: float
    """The point estimate."""
    low: float = 0.0
    """The lower end of the 95 % interval."""
    high: float = math.inf
    """The upper end of the 95 % interval; infinite if there is no interval."""

    @property
    def bounded(self) -> bool:
        """Whether there is an interval to show."""
        return self.high < math.inf

    def __float__(self) -> float:
        return self.value

    def __round__(self, digits: int | None = None) -> float:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __lt__(self, other: Estimate | Real | float) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self.value < number

    def __le__(self, other: Estimate | Real | float) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self.value <= number

    def __gt__(self, other: Estimate | Real | float) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self.value > number

    def __ge__(self, other: Estimate | Real | float) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self.value >= number

    def to_json(self) -> dict[str, float | None]:
        """Its three numbers by name; an interval that is not known is None."""
        low, high = (self.low, self.high) if self.bounded else (None, None)
        return {"value": self.value, "low": low, "high": high}

    def __str__(self) -> str:
        interval = f" [{self.low:.2f}, {self.high:.2f}]" if self.bounded else ""
        return f"{self.value:.2f}{interval}"


def _number(other: object) -> float | None:
    """The point that comparisons are with; None: of no number."""
    return float(other) if isinstance(other, Estimate | Real) else None


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
