"""Recording: an exhaustive search, then its values on one scale, and the fastest confirmed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.spaces.space import Space, spaces_in
from benchmarks.spaces.stand import confirmed, stand
from schedsearch.core.records import GeneratedC, Measurement, Outcome
from schedsearch.search.result import Listener
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.subject import Subject
from schedsearch.store.database import Store

SOURCE = Path(__file__).parent / "kernels.py"

PRIMITIVES = ("reorder", "split", "unroll", "fission", "fuse", "simplify", "stage_scalar")

KERNELS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "matmul": ("matmul", None),
    "conv2d": ("conv2d", None),
    "gemv": ("gemv", None),
    "jacobi_2d": ("jacobi_2d", None),
    "matmul_primitives": ("matmul", PRIMITIVES),
}
"""Procedure and alphabet of each space. With all rewrites, one composite and the cost estimate
find what is best of an arithmetic kernel at once; with primitives alone it takes many steps."""


def record(
    kernel: str,
    store: Path,
    candidates: int,
    limit_s: float,
    seed: int,
    executor: str,
    listener: Listener,
) -> Space:
    """The space that an exhaustive search of `kernel` measures, in the store at `store`; what
    that holds already is continued."""
    proc, transforms = KERNELS[kernel]
    options = Options(
        file=SOURCE,
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
        (space,) = spaces_in(opened)
        speedups = _speedups(opened, subject)
    points = {
        key: replace(point, speedup=speedups[point.same]) if point.speedup else point
        for key, point in space.points.items()
    }
    return replace(space, name=kernel, points=points)


def _speedups(store: Store, subject: Subject) -> dict[str, float]:
    """Of everything that was measured, by trace key: over the procedure as written, on the
    scale of one anchor, and confirmed for the fastest."""
    (scope,) = store.scopes()
    measured = {
        c.trace_key: (c.record.keys.code or "", c.record.measurement)
        for c in store.load(scope)
        if c.record.outcome is Outcome.CORRECT and c.record.measurement is not None
    }
    here = stand(subject)
    fastest = max((m for _, m in measured.values()), key=lambda m: m.speedup.value)
    anchor = _code(store, fastest.reference)
    anchor_speedup = 1.0 / here.ratio(subject.code, anchor)

    def speedup(code_key: str) -> float:
        return here.ratio(_code(store, code_key), anchor) * anchor_speedup

    scale = {key: speedup(key) for key in sorted({m.reference for _, m in measured.values()})}
    screened = {key: _ratio(m) * scale[m.reference] for key, (_, m) in measured.items()}
    return confirmed(screened, lambda key: speedup(measured[key][0]))


def _ratio(measurement: Measurement) -> float:
    """How many times as fast as what it was interleaved with."""
    return median(timed.speedup for timed in measurement.rounds)


def _code(store: Store, code_key: str) -> GeneratedC:
    code = store.code(code_key)
    assert code is not None, "what was measured has its C in the store"
    return code
