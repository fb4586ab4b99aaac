"""Pairs of kernels to tell apart: built, ready to be timed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exo.stdlib.scheduling import rename

from benchmarks.noise.kernels import UNITS
from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, Failure, Measurement
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.subject import bench_of, load_subject
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source

FILE = Path(__file__).with_name("kernels.py")
BOUND_BY = {
    "polynomial": "arithmetic",
    "combine_l2": "L2",
    "combine_l3": "L3",
    "stream": "memory",
}
SLOWDOWNS = (0.01, 0.02, 0.05, 0.10)


@dataclass(frozen=True)
class Pair:
    """`slower` takes `slowdown` (relative) more time than `bench.baseline`.

    A slowdown of 0 is a copy of it: the same code elsewhere in memory.
    """

    kernel: str
    slowdown: float
    bench: Bench
    slower: Artifact

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
        subject = load_subject(FILE, kernel, {"units": UNITS}, cc=None, specialized=True)
        bench = bench_of(subject, work_dir / kernel)
        copy = work_dir / f"{kernel}-again.so"
        shutil.copy(bench.baseline.path, copy)
        yield Pair(kernel, 0.0, bench, replace(bench.baseline, path=str(copy)))
        for slowdown in SLOWDOWNS:
            units = round(UNITS * (1 + slowdown))
            code = generate_c(with_units(source.procs[kernel], units, subject.ast.name))
            artifact = subject.builder.build(code, timeout_s=60.0)
            if isinstance(artifact, Failure):
                raise UserError(f"a kernel of this benchmark does not compile: {artifact.message}")
            yield Pair(kernel, slowdown, bench, artifact)


def with_units(general: Any, units: int, name: str) -> Any:
    """`general` for that many units of work, under a name."""
    return rename(general.partial_eval(units=units), name)
