"""The best on arrays of another alignment: aligned where the search had them unaligned, or the
other way round (`core/alignment.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schedsearch.core.alignment import arrays, other
from schedsearch.core.fields import Fields
from schedsearch.core.numbers import duration, speedup
from schedsearch.core.records import GeneratedC, Measurement
from schedsearch.core.stats import Estimate
from schedsearch.evaluate.bench import Bench
from schedsearch.evaluate.timing import TimingPlan
from schedsearch.search.closing import UNLIMITED, Time, timed_again
from schedsearch.search.subject import Subject
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

PLAN = TimingPlan(kind="elsewhere", min_rounds=6, max_rounds=10, fresh=True)

MOST_BYTES = 1 << 29

DIFFERENCE = 0.03
"""Relative: what callers do not have to know."""


@dataclass(frozen=True)
class Elsewhere:
    """One kernel in one `measurement`: the candidate is on arrays as it was tuned for, the
    reference on arrays aligned to `align` bytes."""

    align: int
    measurement: Measurement

    @property
    def speed(self) -> Estimate:
        """How many times as fast it is with the other alignment."""
        ratio = self.measurement.ratio
        return Estimate(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)

    @property
    def differs(self) -> bool:
        """By so much that users are told, and not by chance."""
        speed = self.speed
        return abs(speed.value - 1) > DIFFERENCE and not speed.low <= 1 <= speed.high

    def __str__(self) -> str:
        """`arrays aligned to 64 bytes: 97 us instead of 105 us, 1.08x [1.07, 1.09] as fast`"""
        own, there = self.measurement.candidate_ns * 1e-9, self.measurement.reference_ns * 1e-9
        times = f"{duration(there)} instead of {duration(own)}"
        return f"{arrays(self.align)}: {times}, {speedup(self.speed)} as fast"

    def to_json(self) -> dict[str, Any]:
        return {"align": self.align, "measurement": self.measurement.to_json()}

    @staticmethod
    def from_json(data: Any) -> Elsewhere:
        """Raises UserError for anything else (it may come from anywhere)."""
        given = Fields(data, "elsewhere")
        measurement = Measurement.from_json(given.value("measurement", dict, "a measurement"))
        return Elsewhere(given.integer("align", least=1), measurement)


def measure_elsewhere(
    bench: Bench, subject: Subject, code: GeneratedC | None, time: Time = UNLIMITED
) -> Elsewhere | None:
    """None if the kernel cannot be measured any more, or there is no time for it; nor where arrays
    are so large that they should not be there twice."""
    align, plan = other(subject.target.align), time.plan(PLAN, 1.0)
    if plan is None or bench.cases[-1].bytes > MOST_BYTES:
        return None
    found = timed_again(subject, code, lambda kernel: bench.time_elsewhere(kernel, align, plan))
    return Elsewhere(align, found) if found else None


def stored_elsewhere(store: Store, candidate: StoredCandidate) -> Elsewhere | None:
    """As the latest run that ended with this candidate measured it; None if none did."""
    for run in reversed(store.runs(candidate.scope)):
        summary = run.summary or {}
        if summary.get("best") == candidate.trace_key and summary.get("elsewhere"):
            return Elsewhere.from_json(summary["elsewhere"])
    return None
