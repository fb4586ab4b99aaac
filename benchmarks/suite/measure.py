"""One kernel: verify every contender, then time all of them in the same rounds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.case import Case
from benchmarks.suite.contenders import (
    AGAIN,
    BASELINE,
    OURS,
    OWN,
    RECORD,
    ROOT,
    SINGLE,
    Absent,
    contenders,
)
from benchmarks.suite.folders import folder
from benchmarks.suite.stores import best_tuned, searched
from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.host import host_state, measuring_cores
from schedsearch.evaluate.roof.roofline import Roof, measure_roof
from schedsearch.peers.agreement import differences
from schedsearch.peers.arrays import Array
from schedsearch.peers.contender import Contender, PeerError, Terms
from schedsearch.peers.rounds import Plan, Samples, clock_of, ratio, seconds, time_interleaved
from schedsearch.peers.trial import Entered, Peer, enter
from schedsearch.search.setup.subject import Subject

_TRIES = 3


def compare(
    case: Case, base: Path, plan: Plan, threads: int, exoblas: Path | None = None
) -> dict[str, Any]:
    """The row of `case`; one with an `error` if it cannot be compared.

    Where our schedule differs from itself, as happened to one process of two (131 and 85 us) for
    as long as they lived, all is timed again in new processes.
    """
    row: dict[str, Any] = {}
    for _ in range(_TRIES):
        try:
            row = measure(case, base, plan, threads, exoblas)
        except UserError as error:
            return row or {"kernel": case.name, "error": str(error), "absent": {}, "wrong": {}}
        if agrees_with_itself(row):
            break
    return row


def agrees_with_itself(row: Mapping[str, Any]) -> bool:
    """Whether the two processes of our schedule may be equally fast, up to 5 %."""
    noise = row.get("noise")
    return noise is None or (noise["low"] <= 1.05 and noise["high"] >= 0.95)


def measure(
    case: Case, base: Path, plan: Plan, threads: int = 1, exoblas: Path | None = None
) -> dict[str, Any]:
    """The suite's row of `case`, as JSON data: times in seconds, ratios of peers to us.
    `base` is the directory of the suite's results, `exoblas` a checkout of ExoBLAS.

    Without a tuned schedule the peers are timed all the same, and what compares with it
    (`speedup`, `ratios`, ...) is missing. Raises UserError if the procedure cannot be loaded,
    and if a contender ends while it is timed.
    """
    subject = case.load(threads)
    store = folder(base, case, threads).store
    tuned = {OURS: best_tuned(store, subject.workload, threads)}
    if threads > 1:
        tuned[SINGLE] = best_tuned(folder(base, case).store, subject.workload, 1)
    roof = _roof(subject)
    terms = terms_of(case, subject, threads)
    absent: dict[str, str] = {}
    wrong: dict[str, str] = {}
    with ExitStack() as stack:
        entered: dict[str, Entered] = {}
        expected: dict[str, Array] = {}
        for peer in contenders(case, subject, tuned, exoblas):
            if isinstance(peer, Absent):
                absent[peer.name] = peer.reason
                continue
            try:
                found = entered_right(case, peer, terms, expected)
            except PeerError as error:  # the others still compete
                wrong[peer.name] = str(error)
                continue
            stack.enter_context(found.contender)
            expected = expected or results(case, found.contender)
            entered[peer.name] = found
            if peer.name == OURS:
                again = stack.enter_context(Contender(peer.what, terms))
                entered[AGAIN] = Entered(again, found.ran, {})
        if BASELINE not in entered:
            raise UserError(f"{case.name} as written {(absent | wrong)[BASELINE]}")
        sampled = {n: each.contender for n, each in entered.items()}
        samples = time_interleaved(sampled, plan, threads=threads)
    roof = roof.highest(_roof(subject))
    ours = tuned[OURS]
    best = ours.candidate if ours else None
    row: dict[str, Any] = {
        "kernel": case.name,
        "sizes": dict(case.sizes),
        "threads": threads,
        "flops": subject.work.flops,
        "bytes": subject.work.bytes,
        "footprint": sum(
            prod(each.shape) * np.dtype(each.dtype).itemsize
            for each in terms.arguments
            if each.control is None
        ),
        "candidate": best.id if best else None,
        "searched_s": searched(store)[0],
        "schedule": [step.to_json() for step in best.record.trace.steps] if best else None,
        "absent": absent,
        "wrong": wrong,
        "ran": {name: each.ran for name, each in entered.items()},
        "tried": {name: each.tried for name, each in entered.items() if each.tried},
        "seconds": {name: seconds(own) for name, own in samples.items()},
        "samples": samples,
        "clock": terms.clock,
        "roof": roof.to_json(),
        "host": dict(host_state()),
    }
    return row | _compared(samples, roof)


def terms_of(case: Case, subject: Subject, threads: int) -> Terms:
    """What all contenders have alike."""
    cores, clock = measuring_cores(threads), clock_of(threads)
    return Terms(case.arguments(subject), cores, clock, paths=(str(ROOT),))


def entered_right(case: Case, peer: Peer, terms: Terms, expected: dict[str, Array]) -> Entered:
    """The peer at its best. Raises PeerError if its results are not those expected, if any are."""
    found = enter(peer, terms)
    try:
        if expected and (problem := differences(expected, results(case, found.contender))):
            raise PeerError(problem)
    except PeerError:
        found.contender.close()
        raise
    return found


def results(case: Case, contender: Contender) -> dict[str, Array]:
    """Outputs of one call, as far as they count."""
    return {
        name: np.tril(array) if case.fill(name).lower else array
        for name, array in contender.results().items()
    }


def _roof(subject: Subject) -> Roof:
    return measure_roof(subject.builder, subject.target, subject.work)


def _compared(samples: dict[str, Samples], roof: Roof) -> dict[str, Any]:
    ours = samples.get(OURS)
    if ours is None:
        return {}
    ratios = {name: asdict(ratio(own, ours)) for name, own in samples.items() if name not in OWN}
    record = {"record": asdict(ratio(samples[RECORD], ours))} if RECORD in samples else {}
    single = {"over_one_thread": asdict(ratio(samples[SINGLE], ours))} if SINGLE in samples else {}
    return (
        single
        | record
        | {
            "noise": asdict(ratio(samples[AGAIN], ours)),
            "speedup": asdict(ratio(samples[BASELINE], ours)),
            "ratios": ratios,
            "best_peer": min(ratios, key=lambda name: ratios[name]["value"], default=None),
            "roofline": roof.share(seconds(ours)),
            "limit": roof.limit,
            "over_roof": roof.exceeded(seconds(ours)),
        }
    )
