"""Measuring schedules of a space against one of them.

A search measures against an anchor, and its first anchor against the procedure as written,
whose own time may change by the minute: on the machine of the kept spaces naive nests take
40 % longer at times, blocked ones 3 %. So values of two anchors do not compare, and neither
do two values against the procedure as written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, Failure, GeneratedC, TimingKind
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.subject import Subject, bench_of
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import measuring_slot

TOP = 10
"""So many of the fastest are confirmed. A screening flatters: the highest of a thousand noisy
values is too high, and strategies would be held against a best that does not exist."""

PROCESSES = 4
"""In which each of them is measured: where its arrays lie differs from one to the next (gemv:
11.6x to 13.4x of one binary)."""

ROUNDS = TimingPlan(kind=TimingKind.CONFIRM, min_rounds=5, max_rounds=5)
"""In each process."""


@dataclass(frozen=True)
class Stand:
    """A workload, ready to measure."""

    subject: Subject
    bench: Bench

    def ratio(self, code: GeneratedC, to: GeneratedC) -> float:
        """How many times as fast as `to`: the median over rounds of several processes.

        Raises UserError if it fails, which it did not when it was recorded.
        """
        candidate, anchor = self._built(code), Anchor(self._built(to), to.key)
        ratios: list[float] = []
        for _ in range(PROCESSES):
            with measuring_slot():
                result = self.bench.evaluate(candidate, ROUNDS, anchor).result
            if isinstance(result, Failure):
                raise UserError(f"what was correct is not any longer: {result.message}")
            ratios += [timed.speedup for timed in result.rounds]
        return median(ratios)

    def _built(self, code: GeneratedC) -> Artifact:
        artifact = self.subject.builder.build(code, BUILD_TIMEOUT_S)
        if isinstance(artifact, Failure):
            raise UserError(f"what was compiled does not compile any longer: {artifact.message}")
        return artifact


def stand(subject: Subject) -> Stand:
    """Raises UserError as `bench_of`."""
    return Stand(subject, bench_of(subject))


def confirmed(speedups: Mapping[str, float], measure: Callable[[str], float]) -> dict[str, float]:
    """`speedups` by key, the `TOP` fastest measured again, and others until the best is one
    that was."""
    settled = dict(speedups)
    rivals = sorted(speedups, key=lambda key: -speedups[key])[:TOP]
    done = set[str]()
    while rivals:
        for key in rivals:
            settled[key] = measure(key)
        done.update(rivals)
        best = max(settled, key=settled.__getitem__)
        rivals = [] if best in done else [best]
    return settled
