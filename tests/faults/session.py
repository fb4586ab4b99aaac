"""A whole run (`python -m faults.session STORE EXECUTOR`) whose measuring is made up: real
expansions, builds, workers, measuring processes and lease, but speed-ups that the code gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from search.worlds import measurement

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, Measurement
from schedsearch.evaluate import bench
from schedsearch.evaluate.bench import Anchor, Bench, Evaluation, TimingPlan
from schedsearch.search import session
from schedsearch.search.budget import Budget
from schedsearch.search.session import Listener, Options, tune

KERNEL = Path(__file__).parent / "kernels" / "transpose.py"
QUICK = TimingPlan("quick", 2, 2, sample_ns=1e5)


class MadeUpBench(Bench):
    """Runs the measuring process, and replaces what it says by a number made of the key."""

    def evaluate(self, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        real = super().evaluate(candidate, QUICK, anchor)
        if not isinstance(real.result, Measurement):
            return real
        speedup = 0.5 + int(digest(candidate.binary_key)[:4], 16) / 0x8000
        return Evaluation(measurement(speedup, plan, anchor), real.verify_s, real.time_s)


def prepare(*args: Any, **options: Any) -> Bench:
    return MadeUpBench(**vars(bench.prepare(*args, **options)))


def main(store: Path, executor: str) -> None:
    session.prepare = prepare  # type: ignore[attr-defined]
    options = Options(
        file=KERNEL,
        proc=None,
        sizes={},
        budget=Budget(1e9),
        store=store,
        executor=executor,
        workers=2,
        transforms=("reorder",),
    )
    try:
        result = tune(options, Listener(print, lambda *_: None, lambda _: None))
    except UserError as error:
        sys.exit(f"error: {error}")
    assert result.best is not None
    print(f"best {result.best.measurement.speedup.value:.6f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
