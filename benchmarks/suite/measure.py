"""One kernel: verify every contender, then time all of them in one process."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.case import Case
from benchmarks.suite.contenders import BASELINE, OURS, SINGLE, Absent, Contender, contenders
from benchmarks.suite.data import Array, Arrays, make_arrays
from benchmarks.suite.folders import folder
from benchmarks.suite.rounds import Plan, Samples, clock_of, ratio, seconds, time_interleaved
from benchmarks.suite.stores import best_tuned, searched
from schedsearch.core.errors import UserError
from schedsearch.evaluate.host import host_state
from schedsearch.evaluate.roofline import Roof, measure_roof
from schedsearch.search.subject import Subject

AGAIN = "schedsearch again"
"""Our schedule as its own peer: how far from 1 its ratio is, is this machine's noise."""

# Relative to the largest result. Inputs are positive, so results are without cancellation:
# sums of 2^20 floats differ by some 1e-5, a wrong or missing term of a 512-term one by 1e-2.
TOLERANCE = {"float32": 2e-4, "float64": 1e-11, "float16": 1e-2}


def measure(case: Case, base: Path, plan: Plan, threads: int = 1) -> dict[str, Any]:
    """The suite's row of `case`, as JSON data: times in seconds, ratios of peers to us.
    `base` is the directory of the suite's results.

    Without a tuned schedule the peers are timed all the same, and what compares with it
    (`speedup`, `ratios`, ...) is missing. Raises UserError if the procedure cannot be loaded.
    """
    subject = case.load(threads)
    arrays = make_arrays(case, subject)
    store = folder(base, case, threads).store
    tuned = {OURS: best_tuned(store, subject.workload, threads)}
    if threads > 1:
        tuned[SINGLE] = best_tuned(folder(base, case).store, subject.workload, 1)
    roof = _roof(subject)
    absent: dict[str, str] = {}
    entered: list[Contender] = []
    for contender in contenders(case, subject, arrays, tuned):
        if isinstance(contender, Absent):
            absent[contender.name] = contender.reason
        else:
            entered.append(contender)
    if BASELINE in absent:
        raise UserError(f"{case.name} as written {absent[BASELINE]}")
    wrong = differences(case, arrays, entered)
    entered = [each for each in entered if each.name not in wrong]
    entered += [replace(each, name=AGAIN) for each in entered if each.name == OURS]
    clock = clock_of(threads)
    samples = time_interleaved(
        {each.name: each.call for each in entered},
        arrays.restore,
        plan,
        clock=clock,
        renewed={each.name: each.renewed for each in entered if each.renewed},
    )
    roof = roof.highest(_roof(subject))
    ours = tuned[OURS]
    best = ours.candidate if ours else None
    row: dict[str, Any] = {
        "kernel": case.name,
        "sizes": dict(case.sizes),
        "threads": threads,
        "flops": subject.work.flops,
        "bytes": subject.work.bytes,
        "footprint": arrays.bytes,
        "candidate": best.id if best else None,
        "searched_s": searched(store)[0],
        "schedule": [step.to_json() for step in best.record.trace.steps] if best else None,
        "absent": absent,
        "wrong": wrong,
        "seconds": {name: seconds(own) for name, own in samples.items()},
        "samples": samples,
        "clock": clock,
        "roof": roof.to_json(),
        "host": dict(host_state()),
    }
    return row | _compared(samples, roof)


def _roof(subject: Subject) -> Roof:
    return measure_roof(subject.builder, subject.target, subject.work)


def _compared(samples: dict[str, Samples], roof: Roof) -> dict[str, Any]:
    ours = samples.get(OURS)
    if ours is None:
        return {}
    ratios = {
        name: asdict(ratio(own, ours))
        for name, own in samples.items()
        if name not in (OURS, AGAIN, BASELINE, SINGLE)
    }
    single = {"over_one_thread": asdict(ratio(samples[SINGLE], ours))} if SINGLE in samples else {}
    return single | {
        "noise": asdict(ratio(samples[AGAIN], ours)),
        "speedup": asdict(ratio(samples[BASELINE], ours)),
        "ratios": ratios,
        "best_peer": min(ratios, key=lambda name: ratios[name]["value"], default=None),
        "roofline": roof.share(seconds(ours)),
        "limit": roof.limit,
        "over_roof": roof.exceeded(seconds(ours)),
    }


def differences(case: Case, arrays: Arrays, entered: list[Contender]) -> dict[str, str]:
    """What is wrong with whom: results that are not those of the procedure as written,
    which is the first of `entered`."""
    expected = _results(case, arrays, entered[0])
    wrong = {}
    for contender in entered[1:]:
        try:
            results = _results(case, arrays, contender)
        except Exception as error:  # a library's own; the others still compete
            wrong[contender.name] = f"{type(error).__name__}: {error}"
            continue
        for (name, want), got in zip(expected.items(), results.values(), strict=True):
            if problem := difference(want, got):
                wrong[contender.name] = f"{name}: {problem}"
    return wrong


def difference(want: Array, got: Array) -> str | None:
    """How two arrays differ by more than rounding; None if they do not."""
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if want.dtype.name not in TOLERANCE:
        unequal = int(np.count_nonzero(want != got))
        return f"{unequal} of {want.size} differ" if unequal else None
    if not np.isfinite(want).all():
        return "the procedure itself gives infinities or NaNs on the suite's data"
    scale = float(np.max(np.abs(want))) or 1.0
    off = float(np.max(np.abs(got.astype(np.float64) - want))) / scale
    # Written so that a NaN is a difference.
    return None if off <= TOLERANCE[want.dtype.name] else f"off by {off:.1e} of the largest value"


def _results(case: Case, arrays: Arrays, contender: Contender) -> dict[str, Array]:
    """Outputs of one call from the arrays' start."""
    arrays.restore()
    returned = contender.call()
    if returned is None:
        found = {name: array.copy() for name, array in arrays.outputs}
    else:
        given = returned if isinstance(returned, tuple) else (returned,)
        pairs = zip(arrays.outputs, given, strict=True)
        found = {name: np.asarray(value).copy() for (name, _), value in pairs}
    return {name: np.tril(a) if case.fill(name).lower else a for name, a in found.items()}
