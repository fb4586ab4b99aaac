"""The best on arrays of another alignment: aligned where the search had them unaligned, or the
other way round (`core/alignment.py`)."""

from __future__ import annotations

from schedsearch.core.alignment import other
from schedsearch.core.records import GeneratedC, TimingKind
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.ending import UNLIMITED, Time, timed_again
from schedsearch.search.setup.run_summary import Elsewhere
from schedsearch.search.setup.subject import Subject

PLAN = TimingPlan(kind=TimingKind.ELSEWHERE, min_rounds=6, max_rounds=10, fresh=True)

MOST_BYTES = 1 << 29


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
