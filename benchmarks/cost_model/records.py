"""What was measured of a kernel, with features counted anew by the code as it is."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.spaces.record import KERNELS
from schedsearch.core.errors import ReplayError, UserError
from schedsearch.core.records import Outcome, Target
from schedsearch.core.trace import Trace
from schedsearch.search.cost_model import Samples, relative
from schedsearch.search.space import Space
from schedsearch.search.space_file import is_one, load
from schedsearch.store.database import Store
from schedsearch.transforms.features import features, log_costs
from schedsearch.transforms.fixed_sizes import specialize
from schedsearch.transforms.loader import load_source
from schedsearch.transforms.replay import Replayer
from schedsearch.transforms.vector.instruction_sets import load_sets

SPACES = Path(__file__).parent.parent / "spaces"


@dataclass(frozen=True)
class Timing:
    """One measured candidate: its trace, and its speed-up over the unscheduled procedure."""

    trace: Trace
    speedup: float


@dataclass(frozen=True)
class Kernel:
    """A procedure and what was measured of it, in the order it was recorded."""

    name: str
    source: Path
    proc: str
    sizes: Mapping[str, int]
    fixed: Mapping[str, int]
    target: Target
    timings: Sequence[Timing]


@dataclass(frozen=True)
class Table:
    """Measured candidates, one row each. `estimates` are log speed-ups over the unscheduled
    procedure by the static estimate; `parents` the row of the parent, -1 if it is not here."""

    name: str
    proc: str
    samples: Samples
    estimates: NDArray[np.float64]
    parents: NDArray[np.int64]
    siblings: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.samples)

    def part(self, rows: NDArray[np.int64]) -> Samples:
        return Samples(self.samples.rows[rows], self.samples.log_speedups[rows])


def kernels(paths: Sequence[Path]) -> list[Kernel]:
    """Those of stores and space files. Raises UserError for anything else."""
    found: list[Kernel] = []
    for path in paths:
        if is_one(path):
            found.append(_of_space(load(path)))
            continue
        with Store.open(path, create=False) as store:
            for scope in store.scopes():
                workload = store.workload(scope)
                timings = [
                    Timing(c.record.trace, c.record.speedup)
                    for c in store.load(scope)
                    if c.record.outcome is Outcome.CORRECT and c.record.speedup
                ]
                found.append(
                    Kernel(
                        f"{workload.proc} ({path.parent.name})",
                        Path(workload.source),
                        workload.proc,
                        dict(workload.sizes),
                        workload.fixed,
                        store.target(scope),
                        timings,
                    )
                )
    return found


def _of_space(space: Space) -> Kernel:
    traces: dict[str, Trace] = {}
    timings = []
    for key, point in space.points.items():
        if point.parent is None or point.rewrite is None:
            traces[key] = Trace()
        else:
            traces[key] = traces[point.parent].then(point.rewrite)
        if point.speedup and point.same == key:
            timings.append(Timing(traces[key], point.speedup))
    if space.name not in KERNELS:
        raise UserError(
            f"{space.name} is none of the recorded spaces' kernels: {', '.join(KERNELS)}"
        )
    proc, _ = KERNELS[space.name]
    return Kernel(space.name, SPACES / "kernels.py", proc, {}, {}, space.target, timings)


def table(kernel: Kernel, limit: int) -> Table:
    """Replays `limit` of the candidates (the unscheduled procedure, and others at random) and
    counts their features. What this version cannot replay is left out."""
    picked = list(kernel.timings)
    if len(picked) > limit:
        chosen = random.Random(0).sample(range(1, len(picked)), limit - 1)
        picked = [picked[n] for n in (0, *sorted(chosen))]
    load_sets(kernel.target.instructions)
    procedure = load_source(kernel.source).procs[kernel.proc]
    replayer = Replayer(specialize(procedure, kernel.fixed))
    vectors, kept = [], []
    for timing in sorted(picked, key=lambda t: len(t.trace) > 0):
        try:
            state = replayer.state(timing.trace)
        except ReplayError:
            continue
        target = replace(kernel.target, build=state.build)
        vectors.append(features(state.ast, target, kernel.sizes)[1])
        kept.append(timing)
    costs = log_costs(vectors).astype(np.float64)
    row = {timing.trace.key: number for number, timing in enumerate(kept)}
    parents = [timing.trace.parent for timing in kept]
    above = ["" if parent is None else parent.key for parent in parents]
    group = {key: number for number, key in enumerate(dict.fromkeys(above))}
    return Table(
        kernel.name,
        kernel.proc,
        Samples(relative(vectors, vectors[0]), np.log([timing.speedup for timing in kept])),
        costs[0] - costs,
        np.array([row.get(key, -1) for key in above]),
        np.array([group[key] for key in above]),
    )
