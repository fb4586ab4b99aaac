"""What the suite reads from a kernel's tuning store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC, Target, TimingKind, Workload
from schedsearch.evaluate.build.builder import Builder
from schedsearch.search.setup.budget import Stop
from schedsearch.search.setup.run_summary import RunSummary
from schedsearch.search.setup.subject import cache_dir
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

_BEST = 1000


@dataclass(frozen=True)
class Tuned:
    """The best confirmed candidate of a store, with what builds it."""

    candidate: StoredCandidate
    code: GeneratedC
    builder: Builder


def best_tuned(store: Path, workload: Workload, threads: int) -> Tuned | None:
    """The fastest candidate that was confirmed for `threads` threads; the procedure as
    written if none is faster. None if the store knows nothing of this workload.
    """
    if not store.exists():
        return None
    found: list[Tuned] = []
    with Store.open(store, create=False) as opened:
        for scope in opened.scopes():
            target = opened.target(scope)
            if opened.workload(scope) != workload or target.threads != threads:
                continue
            for candidate in opened.best(scope, _BEST):
                measurement = candidate.record.measurement
                code = opened.code(candidate.record.keys.code or "")
                if (
                    code
                    and measurement
                    and measurement.kind in (TimingKind.CONFIRM, TimingKind.BASELINE)
                ):
                    found.append(Tuned(candidate, code, _builder(target)))
                    break
    return max(found, key=lambda tuned: tuned.candidate.record.speedup or 0.0, default=None)


def _builder(target: Target) -> Builder:
    artifacts = cache_dir() / "artifacts"
    return Builder(target.compiler, target.flags, artifacts, target.other_compilers)


def searched(store: Path) -> tuple[float, bool]:
    """Seconds that finished runs of a store took, and whether its space is exhausted."""
    if not store.exists():
        return 0.0, False
    try:
        with Store.open(store, create=False) as opened:
            runs = opened.runs()
    except UserError:
        return 0.0, False  # `schedsearch run` says what is wrong with it
    spent = sum(
        (run.finished_at - run.started_at).total_seconds() for run in runs if run.finished_at
    )
    return spent, any(RunSummary.of(run).stop == str(Stop.EXHAUSTED) for run in runs)
