"""One kernel on arrays as `malloc` gives them, and on arrays that begin at a cache line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.case import Case
from benchmarks.suite.folders import folder
from benchmarks.suite.stores import best_tuned
from schedsearch.core.alignment import LINE
from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, TimingKind
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.run_summary import Elsewhere
from schedsearch.search.setup.subject import bench_of
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import measuring_slot

PLAN = TimingPlan(kind=TimingKind.ELSEWHERE, min_rounds=12, max_rounds=12, fresh=True)

LIMIT = 1.1
"""Times as long as on aligned arrays: what takes longer needs a reason."""


@dataclass(frozen=True)
class Found:
    """A kernel as written, or tuned with the options `build`, on arrays of both alignments."""

    kernel: str
    tuned: bool
    build: str
    elsewhere: Elsewhere

    @property
    def slower(self) -> bool:
        """Whether it is shown to be above the limit."""
        return self.elsewhere.speed.low > LIMIT


def compare(case: Case, base: Path) -> Iterator[Found]:
    """As written, and as the suite tuned it into `base`, if it did. Raises UserError if a kernel
    is not built or measured."""
    subject = case.load()
    tuned = best_tuned(folder(base, case).store, subject.workload, 1)
    with tempfile.TemporaryDirectory() as scratch:
        bench = bench_of(subject, Path(scratch))
        kernels = [(False, "", bench.baseline)]
        if tuned is not None and tuned.candidate.record.trace.steps:
            built = tuned.builder.build(tuned.code, BUILD_TIMEOUT_S)
            if isinstance(built, Failure):
                raise UserError(f"{case.name} is not built: {built.message}")
            kernels.append((True, tuned.code.build.options, built))
        for is_tuned, options, kernel in kernels:
            with measuring_slot():
                result = bench.time_elsewhere(kernel, LINE, PLAN).result
            if isinstance(result, Failure):
                raise UserError(f"{case.name} is not measured: {result.message}")
            yield Found(case.name, is_tuned, options, Elsewhere(LINE, result))
