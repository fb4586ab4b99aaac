"""Recording: an exhaustive search, then more rounds for the fastest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from schedsearch.core.records import Failure, Outcome, TuningRecord
from schedsearch.evaluate.bench import Anchor, prepare
from schedsearch.search.budget import Budget
from schedsearch.search.jobs import BUILD_TIMEOUT_S
from schedsearch.search.plans import CONFIRM
from schedsearch.search.session import Listener, Options, tune
from schedsearch.search.space import Space, spaces_in
from schedsearch.search.subject import Subject, cache_dir
from schedsearch.search.turns import measuring_slot
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

PRIMITIVES = ("reorder", "split", "unroll", "fission", "fuse", "simplify", "stage_scalar")

KERNELS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "matmul": ("matmul", None),
    "conv2d": ("conv2d", None),
    "gemv": ("gemv", None),
    "jacobi_2d": ("jacobi_2d", None),
    "matmul_primitives": ("matmul", PRIMITIVES),
}
"""Procedure and alphabet of each space. With all rewrites, one composite and the cost estimate
often find what is best at once; with primitives alone it takes many steps."""

TOP = 30
"""So many of the fastest are confirmed. A screening flatters: the highest of a thousand noisy
values is too high, and strategies would be held against a best that does not exist."""


def record(
    kernel: str,
    store: Path,
    candidates: int,
    limit_s: float,
    seed: int,
    executor: str,
    listener: Listener,
) -> Space:
    """The space that an exhaustive search of `kernel` measures, in a new store at `store`."""
    proc, transforms = KERNELS[kernel]
    options = Options(
        file=Path(__file__).parent / "kernels.py",
        proc=proc,
        sizes={},
        budget=Budget(limit_s, candidates),
        store=store,
        strategy="exhaustive",
        executor=executor,
        seed=seed,
        transforms=transforms,
    )
    subject = tune(options, listener).setting.subject
    listener.phase("confirming the fastest")
    with Store.open(store, create=False) as opened:
        _confirm(opened, subject)
        (space,) = spaces_in(opened)
    return replace(space, name=kernel)


def _confirm(store: Store, subject: Subject) -> None:
    """Measure the fastest on fresh rounds, until all that are ahead have been."""
    (scope,) = store.scopes()
    run_id = store.start_run(scope, seed=0, strategy="confirm", settings={}, environment={})
    bench = prepare(
        subject.ast, subject.code, subject.binding, subject.builder, cache_dir() / "bench"
    )
    baseline = Anchor(bench.baseline, bench.baseline.code_key)
    tried: set[int] = set()
    while rivals := [c for c in store.best(scope, TOP) if _screened(c) and c.id not in tried]:
        candidate = rivals[0]
        tried.add(candidate.id)
        trace, keys = candidate.record.trace, candidate.record.keys
        code = store.code(keys.code or "")
        assert code is not None, "what was measured has its C in the store"
        artifact = subject.builder.build(code, BUILD_TIMEOUT_S)
        if isinstance(artifact, Failure):
            continue
        with measuring_slot():
            result = bench.evaluate(artifact, CONFIRM, baseline).result
        if isinstance(result, Failure):
            found = TuningRecord(trace, result.outcome, keys, result.message)
        else:
            found = TuningRecord(trace, Outcome.CORRECT, keys, measurement=result)
        store.record(scope, run_id, found)
    store.finish_run(run_id, "finished", {})


def _screened(candidate: StoredCandidate) -> bool:
    """Whether its rank rests on a screening."""
    measurement = candidate.record.measurement
    return measurement is not None and measurement.kind not in ("confirm", "baseline")
