"""Things to store, made up: no procedure is needed to test what remembers them."""

from __future__ import annotations

from dataclasses import replace

from samples import AVX2

from schedsearch.core.records import (
    GeneratedC,
    Measurement,
    Outcome,
    Round,
    Target,
    TuningRecord,
    Workload,
)
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.store import Scope, Store

ROOT = Trace()
CODE = GeneratedC("mm", "void mm(float *);", "void mm(float *x) { *x = 0; }", "c0de")
SOURCE = "@proc\ndef mm(): ...\n"


def workload(proc: str = "mm") -> Workload:
    return Workload(proc, "prockey", (("N", 64), ("M", 32)), "kernels/mm.py", "5ha")


def target(cpu: str = "zen5") -> Target:
    return replace(AVX2, cpu=cpu)


def step(n: int) -> Rewrite:
    return Rewrite("split", 1, (0, n), "for i in seq(0, 8)", (("factor", n),))


def children(parent: Trace, count: int = 3) -> list[TuningRecord]:
    return [TuningRecord(parent.then(step(n)), None) for n in range(count)]


def measurement(speedup: float, kind: str = "screen") -> Measurement:
    round_ = Round(candidate_ns=(100.0, 110.0), reference_ns=(100.0 * speedup, 900.0))
    return Measurement(kind=kind, rounds=(round_,), calls=7, host=(("load", "0.1"),))


def correct(trace: Trace, speedup: float, kind: str = "screen") -> TuningRecord:
    return TuningRecord(trace, Outcome.CORRECT, measurement=measurement(speedup, kind))


def start(store: Store, proc: str = "mm") -> tuple[Scope, int]:
    """A registered scope and a run in it."""
    scope = store.register(workload(proc), target(), SOURCE)
    run = store.start_run(scope, seed=1, strategy="beam", settings={"n": 4}, environment={})
    return scope, run


def start_tree(store: Store, proc: str = "mm") -> tuple[Scope, int]:
    """Like `start`, with a root that has three unmeasured children."""
    scope, run = start(store, proc)
    store.add_root(scope, run, TuningRecord(ROOT, None))
    store.add_expansion(scope, run, ROOT.key, children(ROOT), {})
    return scope, run
