"""Pairs of kernels to tell apart: built, ready to be timed, their true ratio measured."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exo.stdlib.scheduling import rename, simplify

from benchmarks.noise.kernels import ROWS
from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, Failure, Measurement
from schedsearch.evaluate.bench import Anchor, Bench, TimingPlan, prepare
from schedsearch.evaluate.builder import Builder
from schedsearch.search.subject import load_subject
from schedsearch.search.turns import measuring_slot
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.loader import load_source

FILE = Path(__file__).with_name("kernels.py")
BOUND_BY = {"polynomial": "arithmetic", "combine": "cache", "row_sums": "memory"}
SLOWDOWNS = (0.01, 0.02, 0.05, 0.10)

TRUTH = TimingPlan("truth", min_rounds=40, max_rounds=40)
"""How the true slowdown is measured, undisturbed."""

CLOSE = 0.2
"""A slowdown may be this far off, relative to what it should be."""

ATTEMPTS = 3


@dataclass(frozen=True)
class Pair:
    """`slower` takes `truth` (relative) more time than `bench.baseline`, about `slowdown`.

    A slowdown of 0 is a copy of it: the same code elsewhere in memory.
    """

    kernel: str
    slowdown: float
    bench: Bench
    slower: Artifact
    truth: float = 0.0

    def time(self, plan: TimingPlan, swapped: bool) -> tuple[Measurement, float]:
        """Rounds of the slower one against the other, or `swapped`; and the seconds of them.

        Raises UserError if it cannot be timed.
        """
        baseline = self.bench.baseline
        candidate, anchor = (baseline, self.slower) if swapped else (self.slower, baseline)
        with measuring_slot():
            found = self.bench.evaluate(candidate, plan, Anchor(anchor, anchor.code_key))
        if isinstance(found.result, Failure):
            raise UserError(f"{self.kernel} cannot be timed here: {found.result.message}")
        return found.result, found.time_s


def pairs(work_dir: Path) -> Iterator[Pair]:
    """Of every kernel, itself and every slowdown. Raises UserError if they cannot be built."""
    source = load_source(FILE)
    for kernel in BOUND_BY:
        subject = load_subject(FILE, kernel, {}, cc=None)
        bench = prepare(
            subject.ast, subject.code, subject.binding, subject.builder, work_dir / kernel
        )
        copy = work_dir / f"{kernel}-again.so"
        shutil.copy(bench.baseline.path, copy)
        yield Pair(kernel, 0.0, bench, replace(bench.baseline, path=str(copy)))
        for slowdown in SLOWDOWNS:
            yield _calibrated(source.procs[f"{kernel}_more"], subject.builder, bench, slowdown)


def _calibrated(more: Any, builder: Builder, bench: Bench, slowdown: float) -> Pair:
    """As much more work as slows the kernel down by `slowdown`, nearly: the share first tried
    is of rows, the next of what that was measured to cost, unless that cannot be true."""
    kernel = more.name().removesuffix("_more")
    rows = first = max(round(slowdown * ROWS), 1)
    for _ in range(ATTEMPTS):
        pair = _measured(more, builder, bench, kernel, slowdown, rows)
        if abs(pair.truth / slowdown - 1) <= CLOSE:
            break
        believable = 0.5 * slowdown < pair.truth < 2 * slowdown
        rows = max(round(rows * slowdown / pair.truth), 1) if believable else first
    return pair


def _measured(
    more: Any, builder: Builder, bench: Bench, kernel: str, slowdown: float, rows: int
) -> Pair:
    procedure = rename(simplify(more.partial_eval(again=rows)), kernel)
    artifact = builder.build(generate_c(procedure), timeout_s=60.0)
    if isinstance(artifact, Failure):
        raise UserError(f"a kernel of this benchmark does not compile: {artifact.message}")
    pair = Pair(kernel, slowdown, bench, artifact)
    measurement, _ = pair.time(TRUTH, swapped=True)
    return replace(pair, truth=measurement.speedup.value - 1.0)
